"""Scenes of descriptors that are passed, and whose close hangs."""

from scenes.parts import awaited, connect, fault, line, pauses, send

# Of enum PassedKind.
FILE = 0


def newcomer_beside_hanging(dice, generator):
    """Somebody has passed files that hang in being closed, and no descriptor is left: who comes in is told something."""
    ask = line(generator, "storage.ping")
    passed = [send([line(generator, "storage.ping")], descriptors=[FILE] * 25) for _ in range(4)]
    few = {"do": "few", "count": dice.choice([40, 60]), "scene": True}
    return [fault(generator, ["close"], "hang", "kura-closer@", is_scene=True, times=0),
            *(event for each in passed for event in (each, *pauses(20))), few,
            {"do": "arrive", "client": "newcomer", "role": "admin", "lines": [ask]}, awaited([ask]), {"do": "clear"}]


def passed_by_many(dice, generator):
    """Somebody passes a few files on each of many connections, and their close hangs: who comes in is served all the same."""
    ask = line(generator, "storage.ping")
    names = [f"passing{n}" for n in range(300)]
    return [fault(generator, ["close"], "hang", "kura-closer@", is_scene=True, times=0),
            *(event for name in names for event in (connect(name), send([], name, descriptors=[FILE] * 4, tail="{"))), *pauses(*[50] * 20),
            {"do": "arrive", "client": "newcomer", "role": "admin", "lines": [ask]}, awaited([ask], is_served=True), {"do": "clear"}]
