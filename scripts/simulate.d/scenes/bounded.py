"""Scenes of bounds: of what a role may have, and of how large the log becomes."""

from scenes.parts import CLIENT, connect, line, passes, pauses, send


# More than the log may have in the smallest profile.
HOT_BYTES = 20 << 20


def put(generator, number):
    return line(generator, "settings.put", domain="bounded", key=f"k{number}", value=number)


def audited_turn(dice, generator):
    """In a turn in which the audit writes something, no more is stored than at any other time: the role fills its bound before."""
    events = [connect("bounded", "bounded"), send([put(generator, number) for number in range(3)], "bounded"), *pauses(100, 100)]
    for number in range(3, 15, 3):
        last = [put(generator, more) for more in range(number, number + 3)]
        last.insert(dice.choice([0, 0, 1]), line(generator, "secrets.lock"))
        events += [send(last, "bounded"), *pauses(100, 100), send([line(generator, "secrets.unlock")]), *pauses(100)]
    return events


def hot_keys(dice, generator):
    """The same few keys are written all the time, of which the log has each change and the tables the last."""
    start = {"do": "start", "configuration": generator.configuration() | {"profile": "small"}}
    length, keys = dice.choice([30_000, 60_000]), "ab"[: dice.choice([1, 2])]
    hot = lambda: line(generator, "settings.put", domain="hot", key=dice.choice(keys), value=f"{generator.unique()} ".ljust(length, "h"))
    events = [{"do": "kill"}, start, connect(CLIENT)]
    for _ in range(HOT_BYTES // length // 8):
        events += [send([hot() for _ in range(8)]), passes(dice.choice([5, 20]))]
    return [*events, {"do": "settle"}, {"do": "kill"}, generator.again()]
