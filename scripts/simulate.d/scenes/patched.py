"""Scenes of long documents that are patched: the log has what changed, memory and tables have the whole."""

from mischief import SECOND
from scenes.parts import CLIENT, connect, fault, line, passes, send

AT = {"collection": "patched"}
NAMES = ["a", "b"]


def patched(dice, generator):
    """Patches come behind each other's sync and before it, in one segment of the log and the next, between kills and power cuts."""
    names = NAMES[: dice.choice([1, 2])]
    body = "p" * dice.choice([600, 6000, 20_000])
    # Folded before the first patch, or not.
    events = [send([put(generator, name, body) for name in names]), passes(dice.choice([5, 50, 3000]))]
    for _ in range(6):
        for _ in range(dice.choice([2, 5, 8])):
            lines = [change(dice, generator, dice.choice(names), body) for _ in range(dice.choice([1, 1, 3]))]
            events += [send(lines), passes(dice.choice([1, 5, 50]))]
        if dice.random() < 0.25:
            events += [send([line(generator, "documents.find", **AT, where={"n": {"$gt": 0}})]), passes(100)]
        again = [{"do": dice.choice(["kill", "cut"])}, generator.again(), connect(CLIENT)]
        events += dice.choice([again, again, next_segment(generator)])
    return events


def folded_amid(dice, generator):
    """A change of a long document waits for its sync, and the power goes; the state before it was acknowledged, and folded meanwhile."""
    beside = {"collection": "patched-beside"}
    events = []
    for _ in range(5):
        body = "f" * dice.choice([600, 6000, 6000, 20_000])
        puts = [*(put(generator, name, body) for name in NAMES), line(generator, "documents.put", **beside, value={"n": 1})]
        slow = fault(generator, ["sync"], "slow", "kura-sync@.log", span=60 * SECOND)
        last = [change(dice, generator, name, body) for name in NAMES[: dice.choice([1, 2])]]
        # Whoever asks for the others has what is synced folded, and a compaction makes it durable in the tables.
        asks = [send([line(generator, "documents.find", **beside)], "other"), passes(100),
                send([line(generator, "storage.compact")], "other")]
        events += [connect(CLIENT), connect("other"), send(puts), passes(dice.choice([20, 50])),
                   slow, send([line(generator, "storage.ping")], "other"), send(last), passes(dice.choice([1, 20])),
                   *asks[: dice.choice([0, 1, 3, 3, 3])], passes(dice.choice([1, 500, 1500])),
                   {"do": "cut"}, {"do": "clear"}, generator.again(), {"do": "settle"}]
    return events


def put(generator, name, body):
    return line(generator, "documents.put", **AT, id=name, value={"n": generator.unique(), "long": body})


def change(dice, generator, name, body):
    at = {**AT, "id": name}
    kind = dice.random()
    if kind < 0.05:
        return line(generator, "documents.delete", **at)
    if kind < 0.2:
        return put(generator, name, body)
    if kind < 0.35:
        return line(generator, "documents.increment", **at, path="n")
    return line(generator, "documents.patch", **at, mergePatch={"n": generator.unique()})


def next_segment(generator):
    """The log goes on in another file."""
    secret = {"service": "patched", "account": f"x{generator.unique()}"}
    puts = [line(generator, "secrets.put", **secret, secret=f"canary-patched-{n}") for n in (1, 2)]
    return [send([*puts, line(generator, "secrets.destroyVersion", **secret, version=1)]), passes(1000)]
