"""Queries: selectors that meet what the generator writes."""

from makers import builds

PATHS = ["n", "x", "name", "tags", "o.p", "o.q", "added", "_id", "tags.0"]


def operand(g, path):
    if path == "_id":
        return g.identifier()
    if path == "n":
        return g.values.randrange(max(1, g.counter))
    return g.values.choice([0, 1, 2, 1.5, "a", "ada", None, True, ["red"], "red", [1, 2], 1.0])


def condition(g, path):
    operator = g.values.choice(["eq", "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$exists", "$type", "$size", "$all",
                                "$elemMatch", "$allMatch", "$beginsWith", "$mod", "$not"])
    if operator == "eq":
        return operand(g, path)
    if operator in ("$in", "$nin"):
        return {operator: [operand(g, path) for _ in range(g.values.randrange(4))]}
    if operator == "$exists":
        return {operator: g.chance(0.5)}
    if operator == "$type":
        return {operator: g.values.choice(["null", "boolean", "number", "string", "array", "object"])}
    if operator == "$size":
        return {operator: g.values.randrange(4)}
    if operator == "$all":
        return {operator: g.some(["red", "green"])}
    if operator in ("$elemMatch", "$allMatch"):
        return {operator: g.values.choice([{"$eq": "red"}, {"$gt": 1}, {"$in": ["red", "blue", 2]}])}
    if operator == "$beginsWith":
        return {operator: g.values.choice(["a", "", "b\u00e9"])}
    if operator == "$mod":
        return {operator: [g.values.choice([2, 3]), g.values.choice([0, 1])]}
    if operator == "$not":
        return {operator: {"$gt": operand(g, path)}}
    value = operand(g, path)
    return {operator: value}


def selector(g, depth=2):
    chance = g.values.random()
    if chance < 0.05:
        return {}
    if depth and chance < 0.25:
        return {g.values.choice(["$and", "$or", "$nor"]): [selector(g, depth - 1) for _ in range(g.values.randrange(1, 3))]}
    if depth and chance < 0.3:
        return {"$not": selector(g, depth - 1)}
    paths = g.values.sample(PATHS, g.values.choice([1, 1, 1, 2]))
    return {path: condition(g, path) for path in paths}


def sort(g):
    return [g.values.choice([path, {path: g.values.choice(["asc", "desc"])}]) for path in g.values.sample(["n", "x", "name", "o.p", "_id"], 2)]


def query(g, method):
    params = {"collection": g.collection()}
    if g.chance(0.8):
        params["where"] = selector(g)
    if g.chance(0.4):
        params["sort"] = sort(g)
    return params | g.maybe("fields", g.some(["n", "x", "o.p", "_id"])) | g.maybe("allowScan", True, 0.1) | g.maybe("limit", g.values.choice([1, 2, 5, 100]))


@builds("documents.find", 20)
def find(g):
    follow = g.page("documents.find", 0)
    if "cursor" in follow and "like" in follow:
        return {**follow["like"], "cursor": follow["cursor"]}
    if g.chance(0.08):
        return query(g, "documents.find") | {"atRev": g.any_rev(), "limit": 1000}
    return query(g, "documents.find")


@builds("documents.count", 12)
def count(g):
    return {"collection": g.collection(), **({"where": selector(g)} if g.chance(0.7) else {})}


@builds("documents.distinct", 8)
def distinct(g):
    return {"collection": g.collection(), "field": g.values.choice(PATHS), **({"where": selector(g)} if g.chance(0.4) else {}),
            **g.maybe("limit", g.values.choice([1, 3, 1000]))}


@builds("documents.aggregate", 8)
def aggregate(g):
    compute = {"many": {"count": "n"}, "total": {"sum": "n"}, "least": {"min": "x"}, "most": {"max": "n"}, "mean": {"avg": "n"}}
    return {"collection": g.collection(), **({"where": selector(g)} if g.chance(0.4) else {}), **g.maybe("groupBy", g.some(["x", "name", "tags"])),
            "compute": {name: compute[name] for name in g.some(list(compute))}}


@builds("documents.explain", 4)
def explain(g):
    return query(g, "documents.explain")


@builds("documents.search", 6)
def search(g):
    return {"collection": g.collection(), "query": g.values.choice(["ada", "lovelace", "owl", "red", "nothing here", "ad*"]),
            **g.maybe("limit", g.values.choice([1, 5])), **g.maybe("snippetWords", 4)}


@builds("documents.watch", 15)
def watch(g):
    params = {"collection": g.collection(), **({"where": selector(g)} if g.chance(0.5) else {})}
    return params | g.maybe("sort", sort(g)) | g.maybe("limit", g.values.choice([1, 3, 10]))


@builds("documents.unwatch", 3)
def unwatch(g):
    return {"subscription": g.minted("live", 99)}
