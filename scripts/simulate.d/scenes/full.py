"""Scenes of a full disk: who waits for what cannot be written is told so."""

import errno as e

from mischief import SECOND
from scenes.parts import awaited, connect, fault, line, pauses, send

AT = {"collection": "full"}


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
