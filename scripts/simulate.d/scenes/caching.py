"""Scenes of caches: what is fetched while it is invalidated, and what their files do not take."""

import errno as e

from scenes.parts import CLIENT, connect, fault, line, passes, send, told


def invalidated_meanwhile(dice, generator):
    """A value that is fetched anew is invalidated before it is brought."""
    at = {"namespace": "fetched", "key": "k"}
    put = line(generator, "models.put", **at, value={"n": generator.unique()}, ttlSeconds=0, staleSeconds=3600, tags=["t0", "t1"])
    get = line(generator, "models.get", **at, claim=True, leaseSeconds=60)
    by = dice.choice([{"tag": "t0"}, {"tag": "t1"}, {"tag": "t1"}, {"tag": "t2"}, {"prefix": "k"}, {}])
    invalidate = line(generator, "models.invalidate", namespace="fetched", **by)
    token = told(get, "token", otherwise="0" * 64)
    brought = dice.choice([*[line(generator, "models.touch", **at, ttlSeconds=3600, token=token)] * 3,
                           line(generator, "models.put", **at, value={"n": generator.unique()}, ttlSeconds=3600, token=token)])
    return [send([put, get]), passes(50), connect("other"), send([invalidate], "other"), passes(50), send([brought]), passes(50),
            send([line(generator, "models.get", **at)])]


def unwritten_at_a_stop(dice, generator):
    """What replaces or removes a model does not get to the file, and the daemon stops."""
    return [event for _ in range(4) for event in unwritten(dice, generator)]


def unwritten(dice, generator):
    at = {"namespace": "unwritten"}
    keys = ["a", "b", "c"]
    put = lambda key: line(generator, "models.put", **at, key=key, value={"n": generator.unique()})
    later = [dice.choice([line(generator, "models.delete", **at, key=key), put(key)]) for key in keys[:2]]
    gets = [line(generator, "models.get", **at, key=key) for key in keys]
    return [connect(CLIENT), send([put(key) for key in keys]), passes(dice.choice([1000, 10_000, 70_000])), send(later),
            passes(dice.choice([0.1, 10, 300])),
            fault(generator, dice.choice([["write"], ["sync"], ["write", "sync"]]), dice.choice([e.EIO, e.ENOSPC]), "cache",
                  times=dice.choice([1, 5])),
            passes(dice.choice([0.1, 10])), {"do": "signal", "number": 15}, passes(5000), {"do": "kill"}, {"do": "clear"},
            generator.again(), connect(CLIENT), send(gets), passes(100), {"do": "settle"}]
