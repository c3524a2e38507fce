"""What is there before a request, and what is read back after a start: the sane parameters are the examples of the description."""

import base64
import json
import os
import time

from stranger import Refused

SCOPES = ("domain", "collection", "service", "namespace")
KEY = base64.b64encode(b"k" * 32).decode()
# In the place of a method's example, where that cannot be carried out here.
SANE = {
    "documents.attach": {"collection": "c", "id": "7", "name": "front.png", "data": "aGVsbG8="},
    "blobs.put": {"namespace": "c", "key": "a", "data": "aGVsbG8=", "contentType": "image/png"},
    "documents.configure": {
        "collection": "c", "indexes": [{"name": "byName", "fields": ["name"], "unique": False, "where": {"area": {"$gt": 5}}}],
        "references": [{"field": "parent", "collection": "c", "onDelete": "nullify"}], "searchFields": [{"path": "name", "weight": 2}],
        "version": 2, "migrations": [{"to": 2, "steps": [{"setDefault": {"path": "a", "value": 1}}, {
            "convert": {"path": "area", "to": "string", "onFailure": "keep"}}]}]},
    "documents.patch": {"collection": "c", "id": "JP", "mergePatch": {"capital": "T", "area": 5}},
    "documents.search": {"collection": "c", "query": "japan"},
    "documents.describe": {"collection": "c"},
    "models.get": {"namespace": "c", "key": "home"},
    "blobs.get": {"namespace": "c", "key": "a"},
    "blobs.configure": {"namespace": "c", "ttlSeconds": 86400, "maxBytes": 104857600, "maxEntries": 1000},
    "storage.backup": {"fd": True},
    "storage.bundle": {"fd": True},
    "secrets.addSlot": {"kind": "recovery"},
    "secrets.rotate": {},
}
# A sane value of a parameter that no example has, where another one says more.
PARTS = {
    "jsonPatch": [{"op": "add", "path": "/a", "value": 1}], "range": {"offset": 0, "length": 3}, "where": {"area": {"$gt": 1}},
    "compute": {"all": {"sum": "area"}}, "attributes": {"host": "a"}, "schema": {"properties": {"size": {"type": "integer", "minimum": 6}}},
    "sort": [{"name": "desc"}], "fields": ["name"], "expand": ["parent"], "delete": ["old"], "stores": ["settings"], "tags": ["t"],
}
# A method whose parameter comes from an answer: the call, and where in its result.
TAKEN = {
    "models.renew": ("token", "models.get", {"key": "other", "claim": True}, "token"),
    "models.fail": ("token", "models.get", {"namespace": "tokens", "key": "other", "claim": True}, "token"),
    "blobs.appendUpload": ("upload", "blobs.beginUpload", {"namespace": "uploads", "key": "b", "bytes": 5}, "upload"),
    "blobs.commitUpload": ("upload", "blobs.beginUpload", {"namespace": "uploads", "key": "b", "bytes": 0}, "upload"),
    "blobs.abortUpload": ("upload", "blobs.beginUpload", {"namespace": "uploads", "key": "b", "bytes": 5}, "upload"),
    "secrets.verifySignature": ("signature", "secrets.sign", {"account": "signer", "data": "ship it"}, "signature"),
    "secrets.verifyHmac": ("code", "secrets.hmac", {"account": "codes", "data": "order 7"}, "code"),
    "secrets.decrypt": ("ciphertext", "secrets.encrypt", {"account": "sealer", "data": "card"}, "ciphertext"),
    "secrets.rewrap": ("ciphertext", "secrets.encrypt", {"account": "sealer", "data": "card"}, "ciphertext"),
}


def prepare(method, scope):
    """The calls after which a method's sane request finds what it is about."""
    name, store = method["name"], method["name"].split(".")[0]
    if store == "settings":
        return [("settings.putMany", {"domain": scope, "values": {"theme": "light", "launches": 1, "size": 12, "old": 1}})]
    if store == "documents":
        value = {"name": "Japan", "area": 7, "continent": "Asia", "visits": {"today": 1}, "due": 3, "parent": "CH", "population": 5}
        calls = [("documents.putMany", {"collection": scope, "documents": [{"id": one, "value": value} for one in ("JP", "CH", "home", "7", "1")]}),
                 ("documents.attach", {"collection": scope, "id": "7", "name": "front.png", "data": "aGVsbG8="})]
        if name in ("documents.search", "documents.get", "documents.getMany", "documents.find", "documents.explain"):
            calls.insert(0, ("documents.configure", {"collection": scope, "searchFields": ["name"], "indexes": [{"name": "byArea", "fields": [
                "area"]}], "references": [{"field": "parent", "collection": scope, "onDelete": "nullify"}]}))
        return calls + ([("documents.delete", {"collection": scope, "id": "JP"})] if name == "documents.restore" else [])
    if store == "secrets":
        keys = (("signer", "ed25519"), ("codes", "hmac-sha512-256"), ("sealer", "xchacha20-poly1305"))
        return [("secrets.put", {"service": scope, "account": "ada", "secret": "open sesame"}),
                ("secrets.put", {"service": scope, "account": "bob", "secret": {"user": "b"}})] + [
            ("secrets.put", {"service": scope, "account": account, "secretBase64": KEY, "algorithm": algorithm}) for account, algorithm in keys]
    if store == "models":
        return [("models.put", {"namespace": scope, "key": "home", "value": [1], "ttlSeconds": 600, "tags": ["user-7"]})]
    if store == "blobs":
        return [("blobs.put", {"namespace": scope, "key": "a", "data": "aGVsbG8="}),
                ("blobs.put", {"namespace": scope, "key": "large", "data": "aGVs" * 10_000})]
    if store == "backups":
        return [("storage.backup", {"name": "before-upgrade"})]
    return []


def sane(method, scope, connection):
    """Parameters that a method takes; (they, sane values of the others)."""
    example = SANE.get(method["name"]) or {one["name"]: one["value"] for one in method["examples"][0]["params"]}
    params = {name: scope if name in SCOPES else value for name, value in example.items()}
    if method["name"] == "documents.configure":
        params["references"] = [params["references"][0] | {"collection": scope}]
    if "confirm" in params:
        params["confirm"] = scope
    if method["name"] in TAKEN:
        name, source, given, member = TAKEN[method["name"]]
        own = {one: scope for one in SCOPES if one in params and one not in given}
        params[name] = connection.call(source, **own, **given).get(member, "AAAA")
    return params


def undo(name, result):
    """What is to be called after a success, so that others find the store as it was."""
    if name == "secrets.lock":
        return [("secrets.unlock", {})]
    if name == "secrets.addSlot":
        return [("secrets.removeSlot", {"slot": result["slot"]["id"]})]
    if name in ("storage.backup", "storage.bundle") and result.get("name"):
        return [("backups.prune", {"names": [result["name"]]})]
    return [("secrets.addSlot", {"kind": "keyFile"})] if name == "secrets.removeSlot" else []


def clear(connection, name, scope):
    """Takes away what a request of this name has left in its scope."""
    call = {"secrets": ("secrets.clear", {"service": scope, "confirm": scope}), "documents": ("documents.drop", {"collection": scope}),
            "models": ("models.invalidate", {"namespace": scope}), "blobs": ("blobs.delete", {"namespace": scope, "key": "a"})}.get(
        name.split(".")[0])
    if call:
        told(connection.call, call[0], **call[1])


def descriptor():
    """An open file with one record in it, to be read or written."""
    number = os.memfd_create("record")
    os.write(number, b'{"id":"r","value":{"name":"Peru"}}\n')
    os.lseek(number, 0, os.SEEK_SET)
    return number


def pages(connection, method, member, **params):
    """All elements of a list."""
    found = []
    while True:
        result = connection.call(method, **params)
        part = result[member]
        found += part.items() if isinstance(part, dict) else part
        if "cursor" not in result:
            return found
        params["cursor"] = result["cursor"]


def told(call, *arguments, **named):
    """A result, or the kind of the refusal."""
    try:
        return call(*arguments, **named)
    except Refused as error:
        return f"refused: {error.kind}"


# What depends on the moment, or is done behind the replies.
FLEETING = {"state", "done", "total", "entries", "bytes", "conflict", "migration", "search", "ageMs", "rewrapping", "tombstones", "head",
            "attachmentBytes"}


def lasting(value):
    if isinstance(value, dict):
        return {name: lasting(part) for name, part in value.items() if name not in FLEETING}
    return [lasting(part) for part in value] if isinstance(value, list) else value


def durable(connection):
    """All that must be the same after kill -9, by what it is."""
    found = {}
    for scope in connection.call("settings.scopes")["scopes"]:
        domain = scope["domain"]
        found["settings", domain] = dict(pages(connection, "settings.list", "values", domain=domain))
        found["settings.describe", domain] = lasting(connection.call("settings.describe", domain=domain))
    for scope in connection.call("documents.scopes")["scopes"]:
        collection = scope["collection"]
        for one in pages(connection, "documents.list", "documents", collection=collection):
            found["documents", collection, one["id"]] = one
        found["documents.describe", collection] = described(connection, collection)
        found["attachment", collection] = told(connection.call, "documents.attachment", collection=collection, id="7", name="front.png")
    scopes = told(connection.call, "secrets.scopes")
    found["secrets"] = scopes if isinstance(scopes, str) else scopes["scopes"]
    if not isinstance(scopes, str):
        for scope in scopes["scopes"]:
            service = scope["service"]
            found["secrets.describe", service] = lasting(told(connection.call, "secrets.describe", service=service))
            for one in pages(connection, "secrets.list", "items", service=service):
                name = {part: one[part] for part in ("service", "account", "accessGroup") if part in one}
                found["secret", service, json.dumps(name)] = (
                    one, told(connection.call, "secrets.get", **name), told(connection.call, "secrets.versions", **name))
    return found


def described(connection, collection):
    """What a collection is, once its indexes are built: some of what is told of them is known from then on."""
    until = time.monotonic() + 30
    while True:
        found = connection.call("documents.describe", collection=collection)
        if time.monotonic() > until or all(index.get("state") != "building" for index in found.get("indexes", [])):
            return lasting(found)
        time.sleep(0.01)


def cached(connection):
    """What caches have: an entry may go, and is never another one."""
    found = {}
    for scope in connection.call("models.scopes")["scopes"]:
        for one in pages(connection, "models.list", "entries", namespace=scope["namespace"]):
            value = connection.call("models.get", namespace=scope["namespace"], key=one["key"]).get("value")
            if value is not None:
                found["model", scope["namespace"], one["key"]] = value
    for scope in connection.call("blobs.scopes")["scopes"]:
        for one in pages(connection, "blobs.list", "blobs", namespace=scope["namespace"]):
            name = {part: one[part] for part in ("key", "variant") if part in one}
            found["blob", scope["namespace"], json.dumps(name)] = [one["digest"], one["bytes"]]
    return found


def fixed(value):
    """A text that two values have in common when they are the same, their numbers digit by digit."""
    return json.dumps(value, sort_keys=True)
