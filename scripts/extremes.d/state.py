"""A daemon to be tried, and what is there before a request: the sane parameters are the examples of the description."""

import base64
import os

import client
from client import Gone
from contents import Found
from daemon import Daemon, StartFailed, ending
from wire import Exact

# How long a busy machine may take for what takes moments, in seconds.
PATIENCE = 60
# A request that waits on purpose is cancelled after this.
WAITING = 0.25
# What a daemon must not do shows as one of these.
FAULTS = (Found, Gone, StartFailed, TimeoutError, AssertionError)
SCOPES = ("domain", "collection", "service", "namespace")
KEY = base64.b64encode(b"k" * 32).decode()
# In the place of a method's example, where that cannot be carried out here.
SANE = {
    "documents.attach": {"collection": "c", "id": "7", "name": "front.png", "data": "aGVsbG8="},
    "blobs.put": {"namespace": "c", "key": "a", "data": "aGVsbG8=", "contentType": "image/png"},
    "documents.configure": {
        "collection": "c", "indexes": [{"name": "byName", "fields": ["name"], "unique": False, "where": {"area": {"$gt": 5}}}],
        "references": [{"field": "parent", "collection": "c", "onDelete": "nullify"}],
        "searchFields": [{"path": "name", "weight": 2}], "version": 2, "migrations": [{"to": 2, "steps": [
            {"setDefault": {"path": "a", "value": 1}}, {"convert": {"path": "area", "to": "string", "onFailure": "keep"}}]}]},
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
    "compute": {"all": {"sum": "area"}}, "attributes": {"host": "a"},
    "schema": {"properties": {"size": {"type": "integer", "minimum": 6}}},
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


# What a method's sane request is about, by its store; SCOPE stands for its scope.
SCOPE = "SCOPE"
VALUE = {"name": "Japan", "area": 7, "continent": "Asia", "visits": {"today": 1}, "due": 3, "parent": "CH", "population": 5}
INDEXED = {"collection": SCOPE, "searchFields": ["name"], "indexes": [{"name": "byArea", "fields": ["area"]}],
           "references": [{"field": "parent", "collection": SCOPE, "onDelete": "nullify"}]}
KEYS = {"signer": "ed25519", "codes": "hmac-sha512-256", "sealer": "xchacha20-poly1305"}
BEFORE = {
    "settings": [("settings.putMany", {"domain": SCOPE, "values": {"theme": "light", "launches": 1, "size": 12, "old": 1}})],
    "documents": [
        ("documents.putMany", {
            "collection": SCOPE, "documents": [{"id": one, "value": VALUE} for one in ("JP", "CH", "home", "7", "1")]}),
        ("documents.attach", {"collection": SCOPE, "id": "7", "name": "front.png", "data": "aGVsbG8="})],
    "secrets": [
        ("secrets.put", {"service": SCOPE, "account": "ada", "secret": "open sesame"}),
        ("secrets.put", {"service": SCOPE, "account": "bob", "secret": {"user": "b"}}),
        *(("secrets.put", {"service": SCOPE, "account": account, "secretBase64": KEY, "algorithm": algorithm})
          for account, algorithm in KEYS.items())],
    "models": [("models.put", {"namespace": SCOPE, "key": "home", "value": [1], "ttlSeconds": 600, "tags": ["user-7"]})],
    "blobs": [("blobs.put", {"namespace": SCOPE, "key": "a", "data": "aGVsbG8="}),
              ("blobs.put", {"namespace": SCOPE, "key": "large", "data": "aGVs" * 10_000})],
    "backups": [("storage.backup", {"name": "before-upgrade"})],
}
# What takes away what a request has left in its scope.
AFTER = {
    "secrets": [("secrets.clear", {"service": SCOPE, "confirm": SCOPE})], "documents": [("documents.drop", {"collection": SCOPE})],
    "models": [("models.invalidate", {"namespace": SCOPE})], "blobs": [("blobs.delete", {"namespace": SCOPE, "key": "a"})]}


class Tried(Daemon):
    """A daemon in a directory below `work`, asked with the patience that a busy machine needs."""

    connection = Exact

    def __init__(self, work, data, options=()):
        super().__init__(work, os.path.join(work, data), options)

    def connect(self, timeout=PATIENCE):
        return super().connect(timeout)

    def start(self):
        return super().start(timeout=PATIENCE)

    def drain(self):
        code = self.stop(PATIENCE)
        if code != 0:
            raise Found("does not drain" if code is None else f"drains with {ending(code)}: {self.last_words()}")

    def alive(self):
        if self.process.poll() is not None:
            raise Found(f"the daemon is gone: {ending(self.process.returncode)}")


def methods(daemon):
    """The description's methods by name."""
    with client.Connection(daemon.socket, PATIENCE) as connection:
        return {method["name"]: method for method in connection.call("rpc.discover")["methods"]}


def scope_of(params):
    return next((params[one] for one in SCOPES if isinstance(params.get(one), str)), "s")


def scoped(value, scope):
    """The value with a scope in the place of SCOPE."""
    if isinstance(value, dict):
        return {name: scoped(part, scope) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [scoped(part, scope) for part in value]
    return scope if value == SCOPE else value


def prepare(name, scope):
    """The calls after which a method's sane request finds what it is about."""
    calls = list(BEFORE.get(name.split(".")[0], []))
    if name in ("documents.search", "documents.get", "documents.getMany", "documents.find", "documents.explain"):
        calls.insert(0, ("documents.configure", INDEXED))
    if name == "documents.restore":
        calls.append(("documents.delete", {"collection": SCOPE, "id": "JP"}))
    return scoped(calls, scope)


def clear(name, scope):
    """The calls that take away what a request of this name has left in its scope."""
    return scoped(AFTER.get(name.split(".")[0], []), scope)


def sane(method, scope, connection):
    """Parameters that a method takes."""
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
    """The calls after a success, so that others find the store as it was."""
    if name == "secrets.lock":
        return [("secrets.unlock", {})]
    if name == "secrets.addSlot":
        return [("secrets.removeSlot", {"slot": result["slot"]["id"]})]
    if name in ("storage.backup", "storage.bundle") and result.get("name"):
        return [("backups.prune", {"names": [result["name"]]})]
    return [("secrets.addSlot", {"kind": "keyFile"})] if name == "secrets.removeSlot" else []


def carry_out(connection, calls):
    """Makes the calls, which may be refused."""
    for method, params in calls:
        connection.ask(method, **params)


def exchange(connection, name, params):
    """The whole reply to a request. One that waits on purpose is cancelled; one with a descriptor gets a file of one record."""
    descriptors = []
    if params.get("fd") is True:
        descriptors = [os.memfd_create("record")]
        os.write(descriptors[0], b'{"id":"r","value":{"name":"Peru"}}\n')
        os.lseek(descriptors[0], 0, os.SEEK_SET)
    connection.send(connection.request(1, name, params), descriptors)
    for number in descriptors:
        os.close(number)
    if name != "storage.record" and not any(one.endswith("Ms") for one in params):
        return connection.reply(1)
    connection.socket.settimeout(WAITING)
    try:
        return connection.reply(1)
    except TimeoutError:
        connection.socket.settimeout(PATIENCE)
        connection.send(connection.request(2, "rpc.cancel", {"id": 1}))
        # The cancellation's own reply may come first.
        replies = [connection.reply(), connection.reply()]
        return next((reply for reply in replies if reply["id"] == 1), replies[0])
    finally:
        connection.socket.settimeout(PATIENCE)
