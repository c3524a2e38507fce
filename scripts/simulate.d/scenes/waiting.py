"""Scenes of waiting: a relaxed change with nothing strict behind it, and calls that hang while others must go on."""

from mischief import MILLISECOND, SECOND
from scenes.parts import CLIENT, FOREVER, SOON, awaited, connect, hang, line, send


def silence(dice, generator):
    """A change that is synced in a minute, and behind it what must not wait for that."""
    waiting = dice.choice(["documents.list", "documents.find", "storage.backup", "storage.bundle", "storage.check", "storage.compact",
                           "secrets.destroyVersion", "documents.export"])
    at = {"collection": "quiet"} if waiting.startswith("documents.") else dice.choice([{"domain": "quiet"}, {"collection": "quiet"}])
    store = "settings" if "domain" in at else "documents"
    put = {"key": "k", "value": 1} if store == "settings" else {"id": "i", "value": {"n": 1}}
    ends = {"documents.list": {"collection": "quiet"}, "documents.find": {"collection": "quiet", "where": {"n": 1}},
            "storage.backup": {"name": "quiet"}, "storage.bundle": {"name": "quietly"}}
    if waiting == "secrets.destroyVersion":
        before = [line(generator, "secrets.put", service="quiet", account="x1", secret=f"canary-quiet-{n}") for n in (1, 2)]
        ends[waiting] = {"service": "quiet", "account": "x1", "version": 1}
    else:
        before = []
    if waiting == "documents.export":
        generator.pass_descriptor(1)
        ends[waiting] = {"collection": "quiet", "fd": True}
    descriptors, generator.descriptors = generator.descriptors, []
    last = [line(generator, waiting, **ends.get(waiting, {})), line(generator, "storage.ping")]
    return [send([line(generator, f"{store}.configure", **at, durability="relaxed", flushSeconds=FOREVER), *before]),
            {"do": "advance", "span": 300 * MILLISECOND}, send([line(generator, f"{store}.put", **at, **put)]),
            {"do": "advance", "span": 50 * MILLISECOND},
            send(last, **({"descriptors": descriptors} if descriptors else {})), awaited(last)]


def stored(generator, key):
    """A content that came with the request; a large one is copied by a thread."""
    return line(generator, "blobs.put", namespace="strange", key=key, fd=True)


def foreign_reads(dice, generator):
    """Reads of passed files hang; others, who pass whole files or send large ones, do not wait for them, nor the first for ever."""
    hanging = [stored(generator, f"h{n}") for n in range(dice.choice([2, 3, 4]))]
    others = [line(generator, "documents.put", collection="quiet", id="a", value={"n": 1}),
              line(generator, "documents.attach", collection="quiet", id="a", name="small", data="AAAA"), line(generator, "storage.ping")]
    passed = [stored(generator, "whole")] if dice.random() < 0.7 else []
    return [hang(generator, "unnamed", times=len(hanging)), send(hanging, descriptors=[0] * len(hanging)),
            {"do": "advance", "span": 20 * MILLISECOND}, {"do": "connect", "client": "other", "role": "admin"},
            send(others + passed, client="other", **({"descriptors": [0]} if passed else {})), awaited(others + passed), {"do": "clear"}]


def foreign_read_at_a_stop(dice, generator):
    """The daemon ends though a read of a passed file hangs."""
    return [hang(generator, "unnamed"), send([stored(generator, "h")], descriptors=[0]), {"do": "advance", "span": 20 * MILLISECOND},
            {"do": "signal", "number": 15}, {"do": "insist", "span": 60 * SECOND, "ended": True}]


def held_snapshot(dice, generator):
    """A query hangs in its snapshot; destroying a version waits for it no longer than it says."""
    before = [line(generator, "secrets.put", service="quiet", account="x1", secret=f"canary-held-{n}") for n in (1, 2)]
    before += [line(generator, "documents.put", collection="quiet", id=f"i{n}", value={"n": n}) for n in range(3)]
    query = [line(generator, "documents.find", collection="quiet", where={"n": {"$gt": 0}})]
    last = [line(generator, "secrets.destroyVersion", service="quiet", account="x1", version=1)]
    return [send(before), {"do": "advance", "span": 300 * MILLISECOND}, hang(generator, "kura-query@durable/kura.sqlite"), send(query),
            {"do": "advance", "span": 50 * MILLISECOND}, {"do": "connect", "client": "other", "role": "admin"},
            send(last, client="other"), awaited(last), {"do": "clear"}]


def threads_together(dice, generator):
    """Threads are done with what they were given at the same moment, over and over; each answer comes when it is ready."""
    names = [CLIENT, "second", "third", "fourth", "fifth"]
    puts = [line(generator, "documents.put", collection="quiet", id=f"i{n}", value={"n": n}) for n in range(3)]
    find = lambda: line(generator, "documents.find", collection="quiet", where={"n": {"$gt": 0}})
    put = lambda: line(generator, "settings.put", domain="quiet", key="k", value=generator.unique())
    attach = lambda: line(generator, "documents.attach", collection="quiet", id=f"i{dice.randrange(3)}", name="a",
                          data=dice.choice(["AAAA", "BBBB"]))
    events = [*(connect(name) for name in names[1:]), send(puts), {"do": "settle"}, *(connect(name) for name in names),
              {"do": "crowd", "permille": dice.choice([10, 30, 100])}]
    for _ in range(60):
        last = [dice.choice([find, put, attach, attach, attach])() for _ in names]
        events += [*(send([each], name) for each, name in zip(last, names)), awaited(last, span=SOON)]
    return [*events, {"do": "crowd", "permille": None}]
