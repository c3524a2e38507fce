"""What is there before a request: the sane parameters are the examples of the description."""

import base64
import os

from contents import told

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
