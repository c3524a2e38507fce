"""Scenes of relaxed changes, which nobody syncs while they are played: what must not wait for them."""

from makers import EMPTY
from mischief import SECOND
from scenes.parts import FOREVER, awaited, connect, line, pauses, send

AT = {"domain": "idle"}
# Nanoseconds in which a little is transferred, on the slowest disk too. The relaxed changes of others are synced later.
BRIEF = 3 * SECOND


def relaxes(generator):
    return line(generator, "settings.configure", **AT, durability="relaxed", flushSeconds=FOREVER)


def changes(dice, generator):
    """One after the other, by another client: some at once, and then others."""
    span, quick = dice.choice([1, 1, 5, 30]), dice.choice([0, 3, 6])
    return [event for value in range(20)
            for event in (send([line(generator, "settings.put", **AT, key="k", value=value)], "other"),
                          *(pauses(span, span) if value >= quick else ()))]


def destroyed_beside(dice, generator):
    """A version is destroyed while relaxed changes come all the time."""
    secret = {"service": "idle", "account": "x1"}
    before = [relaxes(generator), *(line(generator, "secrets.put", **secret, secret=f"canary-idle-{n}") for n in (1, 2))]
    last = [line(generator, "secrets.destroyVersion", **secret, version=1)]
    return [send(before), *pauses(100, 100, 100), connect("other"), send(last), *changes(dice, generator), awaited(last)]


def transferred_beside(dice, generator):
    """The end of a transfer is told while relaxed changes come, and so is what was asked behind it."""
    method = dice.choice(["storage.compact", "storage.check", "storage.check", "storage.bundle", "storage.backup", "documents.export",
                          "documents.export",
                          "documents.import"])
    params = {"storage.bundle": {"name": "idle"}, "storage.backup": {"name": "idle"},
              "documents.export": {"collection": "idle", "fd": True},
              "documents.import": {"collection": "idle", "fd": True}}.get(method, {})
    data = {"documents.export": [EMPTY], "documents.import": [b'{"id":"i","value":1}\n']}.get(method, [])
    last = [line(generator, method, **params), line(generator, "settings.get", **AT, key="k")]
    if method == "documents.import":
        last[0]["note"] = {"imported": [["i", 1]]}
    return [send([relaxes(generator)]), *pauses(100, 100), connect("other"), send(last, **({"descriptors": data} if data else {})),
            *changes(dice, generator), awaited(last, span=BRIEF)]
