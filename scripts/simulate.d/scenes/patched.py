"""Scenes of long documents that are patched: the log has what changed, memory and tables have the whole."""

from scenes.parts import line, passes, send

AT = {"collection": "patched"}


def patched(dice, generator):
    """Patches come behind each other's sync and before it; then the process is killed, or the power goes."""
    names = ["a", "b"][: dice.choice([1, 2])]
    body = "p" * dice.choice([600, 6000, 20_000])
    puts = [line(generator, "documents.put", **AT, id=name, value={"n": 0, "long": body}) for name in names]
    # Folded before the first patch, or not.
    events = [send(puts), passes(dice.choice([5, 50, 3000]))]
    for _ in range(dice.choice([2, 5, 8])):
        events += [send([change(dice, generator, dice.choice(names), body) for _ in range(dice.choice([1, 1, 3]))]), passes(dice.choice([1, 5, 50]))]
    find = [send([line(generator, "documents.find", **AT, where={"n": {"$gt": 0}})]), passes(100)]
    again = [dice.choice([{"do": "kill"}, {"do": "cut"}]), generator.again()]
    return [*events, *dice.choice([[], find]), *dice.choice([[], again, again])]


def change(dice, generator, name, body):
    at = {**AT, "id": name}
    kind = dice.random()
    if kind < 0.1:
        return line(generator, "documents.delete", **at)
    if kind < 0.2:
        return line(generator, "documents.put", **at, value={"n": generator.unique(), "long": body})
    if kind < 0.4:
        return line(generator, "documents.increment", **at, path="n")
    return line(generator, "documents.patch", **at, mergePatch={"n": generator.unique()})
