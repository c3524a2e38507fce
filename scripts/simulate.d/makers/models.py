"""The model cache: two namespaces, few keys, claims and their tokens."""

from makers import builds

LIFE = [0, 1, 60, 86400]


def place(g):
    return {"namespace": g.models(), "key": g.key()}


def model(g):
    return {"n": g.unique(), "of": "models"} if g.chance(0.9) else {"n": g.unique(), "long": "z" * g.values.choice([2000, 40_000])}


def life(g):
    return g.maybe("ttlSeconds", g.values.choice(LIFE)) | g.maybe("staleSeconds", g.values.choice(LIFE), 0.1)


def token(g, params):
    """The token that was won for this key, or sometimes another."""
    name = f"models/{params['namespace']}/{params['key']}"
    return g.minted(name, "0" * 64) if not g.chance(0.1) else g.minted("models", "0" * 64)


@builds("models.get", 30)
def get(g):
    params = place(g)
    if g.chance(0.5):
        params |= {"claim": True} | g.maybe("waitMs", g.values.choice([0, 100, 1000])) | \
            g.maybe("leaseSeconds", g.values.choice([1, 5, 60]))
    return params | g.maybe("maxAgeSeconds", g.values.choice([0, 60]))


@builds("models.getMany", 8)
def get_many(g):
    return {"namespace": g.models(), "keys": g.some(g.keys), **g.maybe("maxAgeSeconds", 0, 0.1)}


@builds("models.put", 30)
def put(g):
    params = place(g) | {"value": model(g)} | life(g)
    if g.chance(0.4):
        params["token"] = token(g, params)
    return params | g.maybe("etag", "v1") | g.maybe("tags", g.some(["t0", "t1"])) | g.maybe("ifAbsent", True, 0.1) | \
        g.maybe("store", False, 0.05)


@builds("models.putMany", 6)
def put_many(g):
    return {"namespace": g.models(), "entries": [{"key": key, "value": model(g)} for key in g.some(g.keys)], **life(g),
            **g.maybe("ifAbsent", True)}


@builds("models.touch", 5)
def touch(g):
    params = place(g) | life(g) | g.maybe("etag", "v1")
    return params | ({"token": token(g, params)} if g.chance(0.4) else {})


@builds("models.fail", 5)
def fail(g):
    return {"token": token(g, place(g)), **g.maybe("retryAfterSeconds", g.values.choice([0, 1, 30]))}


@builds("models.renew", 5)
def renew(g):
    params = g.again_at("claimed models", place(g))
    return params | {"token": token(g, params), "leaseSeconds": g.values.choice([1, 30])}


@builds("models.delete", 6)
def delete(g):
    return place(g) | g.maybe("logical", True)


@builds("models.deleteMany", 4)
def delete_many(g):
    return {"namespace": g.models(), "keys": g.some(g.keys), **g.maybe("logical", True)}


@builds("models.invalidate", 4)
def invalidate(g):
    params = {"namespace": g.models()} | g.values.choice([{}, {"prefix": "k"}, {"tag": "t0"}])
    return params | g.maybe("mode", g.values.choice(["stale", "drop"]))


@builds("models.list", 5)
def listing(g):
    return {"namespace": g.models(), **g.page("models.list", 5)}


@builds("models.configure", 3)
def configure(g):
    choices = [{"ttlSeconds": 60}, {"maxEntries": 2}, {"maxBytes": 4096}, {"partition": True}, {"partition": False}, {"persist": False},
               {"persist": True}]
    if g.is_on("scratch"):
        choices.append({"scratch": True})
    return {"namespace": g.models(), **g.values.choice(choices)}


@builds("models.describe", 3)
def describe(g):
    return {"namespace": g.models()}


@builds("models.scopes", 3)
def scopes(g):
    return {}
