"""Documents: three collections, a few ids, and values in which queries find something."""

import base64

from makers import EMPTY, builds
from makers.queries import selector
from values import text


def document(g):
    if g.chance(0.06):
        return g.values.choice([None, 0, "text", [1, 2, 3], True])
    value = {"n": g.unique()}
    if g.chance(0.8):
        value["x"] = g.values.choice([0, 1, 2, 3, "a", "b", None, True, 1.5, [1, 2]])
    if g.chance(0.6):
        value["tags"] = g.some(["red", "green", "blue"])
    if g.chance(0.4):
        value["o"] = {"p": g.values.choice([0, 1, 2.25, "deep", None]), "q": [1, {"r": 2}]}
    if g.chance(0.4):
        value["name"] = g.values.choice(["ada", "bob", "b\u00e9", ""]) + g.values.choice(["", " lovelace", " owl"])
    if g.chance(0.03):
        value["long"] = "y" * g.values.choice([3000, 70_000])
    return value


@builds("documents.put", 50)
def put(g):
    collection, name = g.collection(), g.identifier()
    params = {"collection": collection, "value": document(g)}
    if not g.chance(0.05):
        params |= {"id": name} | g.if_rev("documents", collection, name)
    return params


@builds("documents.get", 25)
def get(g):
    return {"collection": g.collection(), "id": g.identifier(), **g.maybe("default", "none", 0.1), **g.maybe("expand", ["x"], 0.05),
            **g.maybe("atRev", g.any_rev(), 0.15)}


@builds("documents.history", 10)
def history(g):
    return {"collection": g.collection(), "id": g.identifier(), **g.maybe("limit", g.values.choice([1, 2, 100])),
            **g.maybe("beforeRev", g.any_rev(), 0.2), **g.maybe("values", True, 0.7)}


@builds("documents.getMany")
def get_many(g):
    return {"collection": g.collection(), "ids": g.some(g.identifiers)}


@builds("documents.putMany", 15)
def put_many(g):
    collection = g.collection()
    documents = []
    for name in g.some(g.identifiers):
        documents.append({"id": name, "value": document(g), **g.if_rev("documents", collection, name)})
    return {"collection": collection, "documents": documents}


@builds("documents.delete", 15)
def delete(g):
    collection, name = g.collection(), g.identifier()
    return {"collection": collection, "id": name, **g.if_rev("documents", collection, name)}


@builds("documents.deleteMany", 6)
def delete_many(g):
    if g.chance(0.5):
        return {"collection": g.collection(), "ids": g.some(g.identifiers)}
    return {"collection": g.collection(), "where": selector(g), **g.maybe("dryRun", True, 0.3), **g.maybe("atomic", True),
            **g.maybe("allowScan", True)}


@builds("documents.patch", 25)
def patch(g):
    collection, name = g.collection(), g.identifier()
    params = {"collection": collection, "id": name, **g.if_rev("documents", collection, name)}
    if g.chance(0.6):
        params["mergePatch"] = g.values.choice([
            {"x": g.values.choice([1, None, "patched"])}, {"o": {"p": g.unique(), "q": None}}, {"m": {"deep": {"er": g.unique()}}},
            {"tags": ["red", "new"]}, {"name": "ada"}, {}])
        if g.chance(0.05):
            params |= {"mergePatch": ["all"], "replace": True}
        return params
    operations = [
        {"op": "add", "path": "/added", "value": g.unique()}, {"op": "remove", "path": "/x"},
        {"op": "replace", "path": "/n", "value": g.unique()},
        {"op": "add", "path": "/tags/-", "value": "late"}, {"op": "copy", "from": "/n", "path": "/copied"},
        {"op": "move", "from": "/o/p", "path": "/moved"}, {"op": "test", "path": "/x", "value": 1},
        {"op": "add", "path": "/o/q/0", "value": {"z": 1}},
        {"op": "remove", "path": "/tags/0"}]
    return params | {"jsonPatch": g.values.sample(operations, g.values.choice([1, 1, 2, 3]))}


@builds("documents.increment", 15)
def increment(g):
    return {"collection": g.collection(), "id": g.identifier(),
            "path": g.values.choice(["n", "x", "o.p", "sum", "a.b.c", "tags.0", "o.q.0"]),
            **g.maybe("by", g.values.choice([1, -2, 0.5, 0.25, 1000, 0]))}


@builds("documents.restore", 8)
def restore(g):
    return {"collection": g.collection(), "id": g.identifier()}


def contents(g):
    return (f"attachment {g.unique()} ".encode() * g.values.choice([1, 3, 2000]))[:30_000]


@builds("documents.attach", 8)
def attach(g):
    place = g.again_at("document", {"collection": g.collection(), "id": g.identifier()})
    params = {**place, "name": g.values.choice(["front", "back"]), **g.maybe("contentType", "text/plain"),
              **g.if_rev("documents", place["collection"], place["id"])}
    data = contents(g)
    if g.is_on("descriptors") and g.chance(0.5):
        g.pass_descriptor(data)
        return params | {"fd": True}
    return params | {"data": base64.b64encode(data).decode()}


@builds("documents.attachment", 8)
def attachment(g):
    place = {"collection": g.collection(), "id": g.identifier(), "name": g.values.choice(["front", "back"])}
    return {**g.again_at("attached", place), **g.maybe("as", "fd" if g.is_on("descriptors") else "inline", 0.4)}


@builds("documents.detach", 4)
def detach(g):
    return g.again_at("attached", {"collection": g.collection(), "id": g.identifier(), "name": g.values.choice(["front", "back"])})


@builds("documents.list", 10)
def listing(g):
    return {"collection": g.collection(), **g.page("documents.list", 10)}


@builds("documents.import", 4)
def imports(g):
    records = [(name, document(g)) for name in g.some(g.identifiers)]
    lines = [text(g.numbers({"id": name, "value": value})) for name, value in records]
    if g.chance(0.1):
        lines.insert(g.values.randrange(len(lines) + 1), "{no json")
        g.note("broken", True)
    g.note("imported", [[name, g.numbers(value)] for name, value in records])
    data = ("[" + ",".join(lines) + "]" if g.chance(0.2) else "\n".join(lines) + "\n").encode()
    g.pass_descriptor(data)
    return {"collection": g.collection(), "fd": True, **g.maybe("onError", "skip")}


@builds("documents.export", 4)
def export(g):
    g.pass_descriptor(EMPTY)
    return {"collection": g.collection(), "fd": True, **g.maybe("attachments", True)}


@builds("documents.scopes", 8)
def scopes(g):
    return {}


@builds("documents.configure", 5)
def configure(g):
    params = {"collection": g.collection()}
    chance = g.values.random()
    if chance < 0.35:
        params["indexes"] = g.some([
            {"name": "byX", "fields": ["x"]}, {"name": "byName", "fields": ["name", "n"]}, {"name": "byDeep", "fields": ["o.p"]},
            {"name": "few", "fields": ["n"], "where": {"x": {"$gt": 1}}}, {"name": "one", "fields": ["n"], "unique": True}])
    elif chance < 0.5 and g.is_on("search"):
        params["searchFields"] = g.values.choice([["name"], ["name", "tags"], None])
    elif chance < 0.6:
        params["schema"] = g.values.choice([None, {"type": "object"}, {"properties": {"name": {"type": "string"}}}])
        params["schemaMode"] = g.values.choice(["off", "warn", "enforce"])
    elif chance < 0.65 and g.is_on("references"):
        params["references"] = [{"field": "name", "collection": g.collection(),
                                 "onDelete": g.values.choice(["deny", "nullify", "cascade"])}]
    elif chance < 0.7 and g.is_on("migrations"):
        params |= {"version": 2, "migrations": [{"to": 2, "steps": [{"rename": {"from": "x", "to": "y", "ifExists": "keep"}}]}]} | \
            g.maybe("dryRun", True)
    elif chance < 0.8 and g.is_on("relaxed"):
        params |= {"durability": g.values.choice(["relaxed", "durable"])} | g.maybe("flushSeconds", g.values.choice([2, 2, 60]))
    elif chance < 0.85:
        params["tombstoneDays"] = g.values.choice([1, 30, None])
    elif chance < 0.92:
        params["history"] = g.values.choice([{"count": 1}, {"count": 3}, {"count": 9, "days": 1}, {"days": 1, "bytes": 65536}, None])
    return params | g.maybe("backup", g.values.choice([True, False]), 0.1)


@builds("documents.describe", 6)
def describe(g):
    return {"collection": g.collection(), **g.maybe("waitMs", g.values.choice([0, 50, 2000]))}


@builds("documents.drop", 2)
def drop(g):
    return {"collection": g.collection()}


@builds("documents.purge", 2)
def purge(g):
    return {"collection": g.collection(), **g.maybe("olderThanDays", g.values.choice([0, 1]))}
