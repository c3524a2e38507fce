"""Scenes of secrets: versions that are destroyed where files cannot be made, and what expires while the clock is put back."""

import errno as e
from datetime import datetime, timedelta, timezone

from makers.secrets import FLEETING
from mischief import SECOND
from scenes.parts import CLIENT, awaited, connect, fault, line, passes, send


def versions(generator, count=2, account="x1"):
    return [line(generator, "secrets.put", service="scrubbed", account=account, secret=f"canary-secretive-{n}")
            for n in range(1, count + 1)]


def destroyed(generator, version=1, account="x1"):
    return line(generator, "secrets.destroyVersion", service="scrubbed", account=account, version=version)


def destroyed_without_room(dice, generator):
    """Versions are destroyed while the log cannot get new files, or the fold finds no room: all are answered."""
    error = dice.choice([e.ENOSPC, e.ENOSPC, e.EDQUOT, e.EIO])
    what = dice.choice([(["name"], error, "data/log/"), (["name"], error, "data/log/"), (["write"], e.ENOSPC, "durable/kura.sqlite")])
    destroys = [destroyed(generator, version) for version in (1, 2, 3)]
    rule = fault(generator, *what, times=0, is_scene=True)
    return [send(versions(generator, 4)), passes(dice.choice([1, 300])), rule,
            *(event for each in destroys for event in (send([each]), passes(dice.choice([1, 100, 1000])))), awaited(destroys),
            {"do": "clear"}]


def expires_meanwhile(dice, generator):
    """A secret's time passes while the wall clock is put back."""
    if generator.wall is None:
        return []
    at = {"service": "quiet", "account": FLEETING}
    soon = datetime.fromtimestamp(generator.wall // SECOND, timezone.utc) + timedelta(seconds=3)
    put = line(generator, "secrets.put", **at, secret=f"canary-expires-{generator.unique()}", expiresAt=f"{soon:%Y-%m-%dT%H:%M:%SZ}")
    get = lambda: line(generator, "secrets.get", **at)
    return [send([put, get()]), passes(dice.choice([20, 1000])), {"do": "shift", "span": -dice.choice([2, 60, 3600]) * SECOND},
            send([get()]), passes(dice.choice([3500, 6000])), send([get()]), passes(3000), send([get()])]


def struck_while_letting_go(dice, generator):
    """The process is killed, or the power goes, while the log lets go of a file in which a destroyed version was."""
    keeps_nothing = generator.configuration() | {"changes": {"retainBytes": 0, "retainSeconds": 1}}
    events = []
    for _ in range(3):
        # One that has these versions: those of another scene may be gone.
        account = f"l{generator.unique()}"
        call, skip = dice.choice([("sync", 0), ("sync", 0), ("sync", 0), ("name", 0), ("name", 1)])
        path = dice.choice(["kura-keeper@data/log/*.log$"] * 4 + ["kura-keeper@data/tmp/*.log$"])
        strike = fault(generator, [call], dice.choice(["kill", "kill", "cut"]), path, skip=skip)
        events += [{"do": "kill"}, {"do": "start", "configuration": keeps_nothing}, connect(CLIENT),
                   send(versions(generator, 3, account)), passes(3000),
                   strike, send([destroyed(generator, dice.choice([1, 2]), account)]), passes(5000), {"do": "kill"}, {"do": "clear"},
                   generator.again(), {"do": "settle"}, connect(CLIENT),
                   send([line(generator, "storage.check"), line(generator, "storage.status")]), passes(500)]
    return events


def called_off_meanwhile(dice, generator):
    """A version is destroyed, and the request called off while what is left of it is overwritten."""
    last = destroyed(generator)
    cancels = [line(generator, "rpc.cancel", id=last["id"]) for _ in range(dice.choice([1, 2]))]
    return [send(versions(generator, 1)), passes(dice.choice([5, 300])), send([last]), passes(dice.choice([0.01, 0.1, 1, 5])),
            send(cancels), passes(1000)]


def torn_while_scrubbing(dice, generator):
    """The power goes while what a destroyed version has left in the tables is overwritten, among what others have on the same pages."""
    put = lambda account, n: line(generator, "secrets.put", service="scrubbed", account=account,
                                  secret=f"canary-torn-{n}-{generator.unique()}")
    names = [f"y{n}" for n in dice.sample(range(100), 60)]
    events = [send([put(name, 1) for name in names]), passes(3000)]
    for _ in range(4):
        gone = dice.sample(names, 8)
        strike = fault(generator, ["sync"], "cut", "kura-fold@durable/kura.sqlite$", skip=dice.choice([1, 2, 2, 2, 3]))
        destroys = [line(generator, "secrets.destroyVersion", service="scrubbed", account=name, version=1) for name in gone]
        events += [connect(CLIENT), send([put(name, 2) for name in gone]), passes(3000), strike, send(destroys), passes(3000),
                   {"do": "cut"}, {"do": "clear"}, generator.again(), {"do": "settle"}]
        names = [name for name in names if name not in gone]
    return events


def cut_amid_zeros(dice, generator):
    """The power goes while the tables' WAL is overwritten with zeros: no start takes what is left of it for the newest."""
    events = [send(versions(generator, 2, f"z{generator.unique()}")), passes(3000)]
    for _ in range(6):
        puts = [line(generator, "documents.put", collection="zeroed", id=f"i{n}", value={"n": generator.unique(), "pad": "x" * 3000})
                for n in range(dice.choice([1, 2, 3]))]
        hangs = fault(generator, ["sync"], "hang", "kura-fold@durable/kura.sqlite-wal$", is_scene=True, skip=dice.choice([1, 1, 1, 2]))
        events += [send([line(generator, "storage.compact")]), passes(3000), *(event for put in puts for event in (send([put]), passes(1200))),
                   hangs, send([line(generator, "storage.compact")]), passes(3000), {"do": "cut"}, {"do": "clear"},
                   generator.again(), {"do": "settle"}, connect(CLIENT)]
    return events
