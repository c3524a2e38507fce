"""Scenes of ends: a drain meets those who wait, and those who have just come in; a start is killed again and again."""

from mischief import SECOND
from scenes.parts import CLIENT, awaited, connect, fault, hang, line, passes, send

ENDS = {"do": "insist", "span": 60 * SECOND, "ended": True}


def drained_while_waiting(dice, generator):
    """The time for draining is over, and a request still waits for what does not come."""
    at = {"namespace": "drained", "key": "k"}
    puts = [line(generator, "documents.put", collection="drained", id=f"i{n}", value={"n": n}) for n in range(3)]
    query = line(generator, dice.choice(["documents.find", "documents.deleteMany"]), collection="drained", where={"n": {"$gt": 0}},
                 timeoutMs=600_000)
    wins = line(generator, "models.get", **at, claim=True, leaseSeconds=3600)
    waits = line(generator, "models.get", **at, claim=True, waitMs=600_000)
    return [send(puts), passes(300), connect("other"), connect("third"), send([wins]), passes(10),
            hang(generator, "kura-query@durable/kura.sqlite"),
            send([query], "other"), send([waits], "third"), passes(dice.choice([1, 50])), {"do": "signal", "number": 15},
            awaited([query, waits]), {"do": "clear"}, ENDS]


def drained_newcomers(dice, generator):
    """Some come in just before a drain, with and without a first request."""
    names = [f"new{n}" for n in range(dice.choice([1, 3, 6]))]
    asks = lambda: [line(generator, dice.choice(["storage.ping", "settings.scopes"]))]
    events = [{"do": "arrive", "client": name, "role": "admin", "lines": asks()} if dice.random() < 0.7 else connect(name)
              for name in names]
    return [passes(20), *events, {"do": "signal", "number": 15}, ENDS]


def killed_starts(dice, generator):
    """Starts are killed, one after the other, while they look at tables and log."""
    puts = [line(generator, "documents.put", collection="drained", id=f"k{n}", value={"n": generator.unique()}) for n in range(5)]
    rule = fault(generator, [dice.choice(["open", "open", "write"])], "kill", dice.choice(["durable/", "durable/", "data/log"]),
                 skip=int(20 * dice.random()), times=0)
    start = generator.again()
    starts = [event for _ in range(12) for event in ({**start, "waits": False}, {"do": "advance", "span": 2 * SECOND}, {"do": "kill"})]
    return [send(puts), passes(dice.choice([5, 300])), {"do": "kill"}, rule, *starts, {"do": "clear"}, start]


def killed_behind_a_cut(dice, generator):
    """The power goes while rows are not synced, which may tear the last ones; starts die on their way through the log."""
    events = []
    for _ in range(6):
        put = line(generator, "documents.put", collection="torn", id=dice.choice("ab"),
                   value={"n": generator.unique(), "long": "t" * dice.choice([900, 9000, 20_000, 60_000])})
        start = generator.again()
        dies = lambda: {"do": "advance", "span": SECOND, "seams": dice.randrange(100, 1500)}
        starts = [event for _ in range(dice.choice([1, 2])) for event in ({**start, "waits": False}, dies(), {"do": "kill"})]
        events += [connect(CLIENT), fault(generator, ["sync"], "slow", ".log", span=60 * SECOND), send([put]), passes(dice.choice([1, 5])),
                   {"do": "cut"}, {"do": "clear"}, *starts, start, {"do": "settle"}]
    return events
