"""Scenes of a log that cannot be synced or written: what is told of what was under way."""

import errno as e

from mischief import MILLISECOND, SECOND
from scenes.parts import CLIENT, FOREVER, awaited, connect, fault, line, pauses, send


def failed_sync(dice, generator):
    """A sync fails while requests wait, and others behind them: all are answered before the daemon ends."""
    before = [line(generator, "documents.put", collection="failing", id=f"i{n}", value={"n": n}) for n in range(3)]
    waits = dice.choice([("documents.find", {"where": {"n": {"$gt": 0}}}), ("documents.list", {}), ("documents.aggregate", {})])
    waiting = [line(generator, waits[0], collection="failing", **waits[1]),
               *(line(generator, *each, domain="failing", key="k")
                 for each in dice.choices([["settings.get"], ["settings.increment"]], k=2))]
    last = [line(generator, "settings.put", domain="failing", key="l", value=1)]
    return [send(before), *pauses(*[dice.choice([1, 100])] * 3), connect("other"),
            fault(generator, ["read", "write"], "slow", "kura.sqlite", is_scene=True, times=5, span=5 * SECOND), send(waiting),
            *pauses(*[50] * 8),
            fault(generator, ["sync"], e.EIO, ".log", is_scene=True), send(last, "other"), awaited(waiting, is_told=True), {"do": "clear"}]


def failed_write(dice, generator):
    """The log cannot be written in a turn with relaxed changes: what they are told is true after the next start."""
    at = {"domain": "failing-relaxed"}
    before = [line(generator, "settings.configure", **at, durability="relaxed", flushSeconds=FOREVER),
              line(generator, "settings.put", **at, key="k", value=0)]
    last = [line(generator, "settings.put", **at, key=f"k{n}", value=generator.unique()) for n in range(dice.choice([1, 3]))]
    last += dice.choice([[], [line(generator, "settings.get", **at, key="k0")],
                         [line(generator, "settings.put", domain="failing", key="m", value=1)]])
    return [send(before), *pauses(*[100] * 3), fault(generator, ["write"], e.EIO, ".log", times=dice.choice([1, 5])), send(last),
            *pauses(*[50] * 4),
            {"do": "clear"}]


def sync_behind(dice, generator):
    """The thread's sync fails while others' changes are written: what they are told is true after the power has gone."""
    return [event for _ in range(3) for event in [*synced_behind(dice, generator), {"do": "settle"}]]


def synced_behind(dice, generator):
    clients = [f"writer{n}" for n in range(dice.choice([2, 4]))]
    large, *others = [line(generator, "settings.put", domain="failing", key=f"s{n}", value=value)
                      for n, value in enumerate([f"{generator.unique()}".ljust(9000, "y"), *(generator.unique() for _ in clients[1:])])]
    # Somebody is served meanwhile, so that the thread syncs; and the next turn takes its time.
    return [connect(CLIENT), *(connect(client) for client in clients), fault(generator, ["sync"], e.EIO, "kura-sync@.log"),
            fault(generator, ["write"], "slow", ".log", skip=dice.choice([1, 1, 2]), span=dice.choice([5, 20]) * MILLISECOND),
            send([line(generator, "storage.ping")]), send([large], clients[0]),
            *(send([each], client) for each, client in zip(others, clients[1:])),
            *pauses(*[50] * 8), {"do": "cut"}, {"do": "clear"}, generator.again()]
