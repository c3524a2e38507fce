"""Scenes of roles whose grants are taken away while they have something under way."""

from mischief import MILLISECOND
from scenes.parts import connect, fault, line, passes, send

WHOLE = ["list", "read", "create", "update", "delete", "admin", "use"]


def granted(generator, *grants):
    """The role app has these grants, and no others."""
    configuration = generator.configuration()
    configuration["roles"]["app"] = {"grants": [{"store": store, "scope": scope, "allow": WHOLE} for store, scope in grants]}
    return configured(configuration)


def configured(configuration):
    """The daemon has read this configuration."""
    return [{"do": "configure", "configuration": configuration}, {"do": "signal", "number": 1}, passes(3000)]


def known_key(dice, generator):
    """What was done under a request key is asked for again by who may not do it any more."""
    operations = [{"method": "settings.put", "params": {"domain": "granted", "key": "k", "value": generator.unique()}},
                  {"method": "documents.put", "params": {"collection": "granted", "id": "k", "value": {"n": 1}}}]
    operations = dice.choice([operations, operations[:1], operations[::-1]])
    apply = lambda: line(generator, "transaction.apply", operations=operations, requestKey=f"g{key}")
    key = generator.unique()
    plain = line(generator, operations[0]["method"], **operations[0]["params"])
    return [*granted(generator, ("settings", "*"), ("documents", "*")), connect("granted", "app"), send([apply()], "granted"), passes(300),
            *granted(generator, ("settings", "d0"), ("documents", "c*")), send([plain], "granted"), passes(100), send([apply()], "granted"),
            passes(300),
            *configured(generator.configuration())]


def taken_meanwhile(dice, generator):
    """A version is destroyed, and who has asked for it may not any more while what is left of it is overwritten."""
    put = line(generator, "secrets.put", service="granted", account="x1", secret="canary-granted")
    destroy = line(generator, "secrets.destroyVersion", service="granted", account="x1", version=1)
    slow = fault(generator, ["sync", "write"], "slow", "durable/", is_scene=True, times=3, span=dice.choice([30, 300]) * MILLISECOND)
    return [*granted(generator, ("secrets", "*")), connect("granted", "app"), send([put], "granted"), passes(300), slow,
            send([destroy], "granted"), passes(dice.choice([1, 20])), *granted(generator, ("settings", "d0")), {"do": "clear"},
            *configured(generator.configuration())]
