"""Scenes of what stands in one turn: descriptors, cancellations, and what is taken back when the turn finds no room."""

import errno as e

from makers.blobs import digest
from scenes.parts import AHEAD, awaited, connect, fault, freed, line, passes, send, told

UNREADABLE = ["hello", "[1,2", '{"jsonrpc":"2.0","method":"blobs.put"', "\u0001", '{"a":1}}']


def behind_what_cannot_be_read(dice, generator):
    """A line that is none comes with a descriptor, and behind it a request with another one."""
    mine, foreign = (f"{word} {generator.unique()}".encode() for word in ("mine", "foreign"))
    put = line(generator, "blobs.put", namespace="strange", key="p", fd=True) | {"note": {"content": digest(mine)}}
    return [send([dice.choice(UNREADABLE), put], descriptors=[foreign, mine]), passes(200)]


def cancelled_twice(dice, generator):
    """What only waits, for an index or for what a cache's file has, is called off two times in one turn."""
    at = {"collection": "indexed"}
    puts = [line(generator, "documents.put", **at, id=f"c{n}", value={"n": n}) for n in range(3)]
    puts.append(line(generator, "models.put", namespace="indexed", key="k", value={"n": 1}))
    index = line(generator, "documents.configure", **at, indexes=[{"name": "n", "fields": [dice.choice(["n", "m"])]}])
    slow = lambda calls, path: fault(generator, calls, "slow", path, is_scene=True, times=dice.choice([3, 8]), span=300_000_000)
    if dice.random() < 0.5:
        waits = line(generator, "documents.describe", **at, waitMs=60_000)
        before = [passes(300), slow(["write", "sync"], "durable/"), send([index], AHEAD), passes(dice.choice([0.1, 10]))]
    else:
        waits = line(generator, "models.get", namespace="indexed", key="none")
        before = [passes(3000), {"do": "kill"}, slow(["read"], "cache"), generator.again(), *freed(generator)]
    cancels = [line(generator, "rpc.cancel", id=waits["id"]) for _ in range(2)]
    together = [send([waits, *cancels], AHEAD)] if dice.random() < 0.5 else [send([waits], AHEAD), passes(dice.choice([0.1, 10])),
                                                                             send(cancels, AHEAD)]
    return [*freed(generator), send(puts, AHEAD), *before, *together, awaited([waits]), {"do": "clear"}]


def watched_without_room(dice, generator):
    """Live queries are begun and ended in a turn that finds no room."""
    at = {"collection": "watched"}
    put = lambda name: line(generator, "documents.put", **at, id=name, value={"n": generator.unique()})
    watch = lambda: line(generator, "documents.watch", **at, where={"n": {"$gt": 0}}, limit=100)
    first = watch()
    undone = dice.choice([[watch()], [line(generator, "documents.unwatch", subscription=told(first, "subscription"))]])
    turn = dice.choice([[*undone, put("b"), put("c")], [put("b"), *undone, put("c")]])
    return [send([put("a"), first]), passes(300), fault(generator, ["write"], dice.choice([e.ENOSPC, e.EDQUOT]), ".log"),
            send(turn), passes(300), {"do": "clear"}, passes(1500), send([put("a"), put("d")]), passes(300)]


def destroyed_in_a_turn(dice, generator):
    """A version is destroyed, and a cache changed, in a turn that finds no room."""
    secret = lambda n: line(generator, "secrets.put", service="scrubbed", account="x1", secret=f"canary-turn-{n}")
    turn = [line(generator, "secrets.destroyVersion", service="scrubbed", account="x1", version=1),
            line(generator, "models.put", namespace="undone", key="k", value={"n": generator.unique()}),
            line(generator, "settings.put", domain="undone", key="k", value=generator.unique())]
    if dice.random() < 0.3:
        dice.shuffle(turn)
    return [*freed(generator), send([secret(1), secret(2)], AHEAD), passes(300),
            fault(generator, ["write"], dice.choice([e.ENOSPC, e.EDQUOT]), ".log", times=dice.choice([1, 1, 2])),
            send(turn[: dice.choice([2, 3])], AHEAD), passes(300), {"do": "clear"}, passes(1500)]
