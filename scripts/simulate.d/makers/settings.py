"""Settings: three domains, a few keys, values that tell whose they are."""

from makers import builds


def setting(g):
    chance = g.values.random()
    if chance < 0.3:
        return g.values.choice([0, 1, -1, 7, 41, 2**53 - 1])
    if chance < 0.4:
        return g.values.choice([None, True, False, "", [], {}])
    if chance < 0.5:
        return g.values.choice([1.5, "\u00e9\u6771", {"a": {"b": [1, 2]}}, "x" * g.values.choice([10, 300, 5000])])
    return {"n": g.unique(), "of": "settings"}


@builds("settings.get", 20)
def get(g):
    params = {"domain": g.domain(), "key": g.key()}
    if g.chance(0.2):
        params["default"] = g.values.choice([0, "none", None])
    if g.chance(0.2):
        params["explain"] = True
    return params


@builds("settings.getMany")
def get_many(g):
    return {"domain": g.domain(), "keys": g.some(g.keys), **g.maybe("explain", True)}


@builds("settings.put", 40)
def put(g):
    domain, key = g.domain(), g.key()
    return {"domain": domain, "key": key, "value": setting(g), **g.if_rev("settings", domain, key)}


@builds("settings.delete", 15)
def delete(g):
    domain, key = g.domain(), g.key()
    return {"domain": domain, "key": key, **g.if_rev("settings", domain, key)}


@builds("settings.list", 12)
def listing(g):
    return {"domain": g.domain(), **g.page("settings.list", 10), **g.maybe("layers", g.values.choice(["effective", "app"])),
            **g.maybe("explain", True), **g.maybe("prefix", "k")}


@builds("settings.putMany", 15)
def put_many(g):
    domain = g.domain()
    values = {key: setting(g) for key in g.some(g.keys)}
    deleted = [key for key in g.some(g.keys) if key not in values]
    params = {"domain": domain, "values": values}
    if g.chance(0.4):
        params["delete"] = deleted
    if g.chance(0.2):
        params["ifRev"] = g.any_rev()
    return params


@builds("settings.increment", 20)
def increment(g):
    return {"domain": g.domain(), "key": g.values.choice(["count", g.key()]), **g.maybe("by", g.values.choice([1, -1, 0, 10, 2**53 - 1])),
            **g.maybe("initial", g.values.choice([0, 100]))}


@builds("settings.count")
def count(g):
    return {"domain": g.domain()}


@builds("settings.scopes")
def scopes(g):
    return {}


@builds("settings.register", 3)
def register(g):
    return {"domain": g.domain(), "defaults": {key: setting(g) for key in g.some(g.keys)}, **g.maybe("replace", True)}


@builds("settings.override", 3)
def override(g):
    return {"domain": g.domain(), "key": g.key(), "value": setting(g)}


@builds("settings.clearOverrides", 3)
def clear_overrides(g):
    return g.values.choice([{}, {"domain": g.domain()}, {"domain": g.domain(), "key": g.key()}])


@builds("settings.configure", 4)
def configure(g):
    params = {"domain": g.domain()}
    if g.chance(0.3):
        params["schema"] = g.values.choice([None, {"properties": {"k0": {"type": "integer", "default": 5}}}, {"properties": {"k1": {"type": ["string", "object"]}}}])
        params["mode"] = g.values.choice(["off", "warn", "enforce"])
        params |= g.maybe("force", True) | g.maybe("dryRun", True)
    if g.is_on("relaxed") and g.chance(0.6):
        params["durability"] = g.values.choice(["relaxed", "relaxed", "durable"])
        params |= g.maybe("flushSeconds", g.values.choice([1, 5, 60]))
    return params | g.maybe("backup", g.values.choice([True, False]))


@builds("settings.describe", 5)
def describe(g):
    return {"domain": g.domain(), **g.maybe("key", g.key()), **g.maybe("limit", g.values.choice([1, 2, 1000]))}


@builds("settings.export", 5)
def export(g):
    return {**g.maybe("domains", g.some(g.domains)), **g.page("settings.export", 10)}


@builds("settings.import", 6)
def imports(g):
    values = {domain: {key: setting(g) for key in g.some(g.keys)} for domain in g.some(g.domains)}
    return {"values": values, **g.maybe("mode", g.values.choice(["merge", "replace"])), **g.maybe("dryRun", True)}
