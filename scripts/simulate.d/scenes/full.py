"""Scenes of a full disk: who waits for what cannot be written is told so."""

import errno as e

from mischief import SECOND
from scenes.parts import CLIENT, awaited, connect, fault, line, passes, pauses, send

AT = {"collection": "full"}


def tables(dice, generator):
    """The tables find no room: for a purge, and then for a checkpoint."""
    return [*purge(dice, generator), {"do": "settle"}, connect(CLIENT), *checkpoint(dice, generator)]


def no_room(generator):
    """The tables find none, and the log does."""
    return fault(generator, ["write", "cut"], e.ENOSPC, "durable/kura.sqlite", is_scene=True, times=0)


def purge(dice, generator):
    """A purge has begun, and the fold finds no room for it, nor for what is written meanwhile."""
    before = [line(generator, "documents.put", **AT, id=name, value={"n": 1}) for name in "ij"]
    deletes = [line(generator, "documents.delete", **AT, id=name) for name in "ij"]
    last = [line(generator, "documents.purge", **AT, olderThanDays=0)]
    changes = [event for n in range(dice.choice([0, 1, 4]))
               for event in (send([line(generator, "settings.put", domain="full", key="k", value=n)], "other"), *pauses(50, 50))]
    return [send(before), *pauses(50), send(deletes), {"do": "settle"}, connect("other"), no_room(generator), send(last), *changes,
            *pauses(*[100] * 4), awaited(last),
            {"do": "clear"}]


def reference(dice, generator):
    """A deletion waits for the index of a reference, which finds no room to be built."""
    before = [line(generator, "documents.put", **AT, id="i", value={"name": "j"}),
              line(generator, "documents.put", collection="fuller", id="j", value={})]
    rule = {"field": "name", "collection": "fuller", "onDelete": dice.choice(["deny", "nullify", "cascade"])}
    last = [line(generator, "documents.configure", **AT, references=[rule]),
            line(generator, "documents.delete", collection="fuller", id="j")]
    return [send(before), {"do": "settle"}, no_room(generator), send(last), *pauses(*[100] * 4), awaited(last[1:]), {"do": "clear"}]


def checkpoint(dice, generator):
    """Closed segments are folded and wait for a checkpoint, which finds no room; others are answered beside it."""
    put = lambda: line(generator, "documents.put", **AT, id=dice.choice("ij"), value={"n": generator.unique()})
    segments = [event for _ in range(dice.choice([1, 2, 3]))
                for event in (send([put()]), passes(50), {"do": "kill"}, generator.again(), connect(CLIENT))]
    # Whoever asks for the others has them folded.
    folded = line(generator, "documents.find", **AT, where={"n": {"$gt": 0}})
    last, beside = line(generator, "settings.put", domain="full", key="l", value=generator.unique()), line(generator, "storage.ping")
    return [*segments, send([put(), folded]), passes(dice.choice([100, 300, 1000])), connect("other"),
            fault(generator, ["write", "cut"], e.ENOSPC, "durable/kura.sqlite$", is_scene=True, times=0),
            fault(generator, ["write"], dice.choice([e.ENOSPC, e.EDQUOT]), ".log", is_scene=True),
            send([last]), passes(dice.choice([4000, 7000])), send([beside], "other"), awaited([beside]), {"do": "clear"}]
