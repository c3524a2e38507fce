"""What a daemon holds, read back whole; and a directory that has something of everything.

For any connection with `call` and `ask`: `scripts/strangers` has one of its own.
"""

import json
import time


class Found(Exception):
    """The daemon, or a program, did what it must not do."""


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


def told(connection, method, **params):
    """A result, or the kind of the refusal."""
    reply = connection.ask(method, **params)
    return reply["result"] if "result" in reply else f"refused: {reply['error']['data']['kind']}"


# What depends on the moment, or is done behind the replies.
FLEETING = {"state", "done", "total", "entries", "bytes", "conflict", "migration", "search", "ageMs", "rewrapping", "tombstones",
            "head", "attachmentBytes"}


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
        found["attachment", collection] = told(
            connection, "documents.attachment", collection=collection, id="7", name="front.png")
    secrets = told(connection, "secrets.scopes")
    is_refused = isinstance(secrets, str)
    found["secrets"] = secrets if is_refused else secrets["scopes"]
    for scope in [] if is_refused else secrets["scopes"]:
        service = scope["service"]
        found["secrets.describe", service] = lasting(told(connection, "secrets.describe", service=service))
        for one in pages(connection, "secrets.list", "items", service=service):
            name = named(one, "service", "account", "accessGroup")
            found["secret", service, json.dumps(name)] = (
                one, told(connection, "secrets.get", **name), told(connection, "secrets.versions", **name))
    return found


def named(one, *parts):
    """Those of an entry's members that name it."""
    return {part: one[part] for part in parts if part in one}


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
            found["blob", scope["namespace"], json.dumps(named(one, "key", "variant"))] = [one["digest"], one["bytes"]]
    return found


def fixed(value):
    """A text that two values have in common when they are the same, their numbers digit by digit."""
    return json.dumps(value, sort_keys=True)


def differing(before, after, places):
    """Those of the places at which two readings are not the same."""
    return [place for place in places if fixed(before.get(place)) != fixed(after.get(place))]


KEPT = [
    ("settings.putMany", {"domain": "app", "values": {"theme": "dark", "size": 12, "list": [1, 2.50, None]}}),
    ("settings.register", {"domain": "app", "defaults": {"font": "serif"}}),
    ("settings.configure", {"domain": "strict", "schema": {"properties": {"port": {"type": "integer"}}}, "mode": "enforce"}),
    ("settings.put", {"domain": "strict", "key": "port", "value": 8080}),
    ("settings.configure", {"domain": "ticks", "durability": "relaxed", "flushSeconds": 3600}),
    ("settings.put", {"domain": "ticks", "key": "count", "value": 1}),
    ("documents.configure", {
        "collection": "notes", "indexes": [{"name": "byMail", "fields": ["mail"], "unique": True}], "searchFields": ["text"],
        "schema": {"type": "object"}, "retainDays": 36500}),
    ("documents.attach", {"collection": "notes", "id": "7", "name": "front.png", "data": "aGVs" * 10_000}),
    ("documents.delete", {"collection": "notes", "id": "3"}),
    ("documents.putMany", {"collection": "plain", "documents": [{"id": f"p{at}", "value": at} for at in range(30)]}),
    ("secrets.put", {"service": "mail", "account": "ada", "secret": "open sesame", "expiresAt": "2400-01-01T00:00:00Z"}),
    ("secrets.put", {"service": "mail", "account": "bob", "secret": {"user": "b"}}),
    ("secrets.generate", {"service": "mail", "account": "signer", "kind": "key", "algorithm": "ed25519"}),
    ("models.configure", {"namespace": "apart", "partition": True}),
    ("models.put", {"namespace": "apart", "key": "home", "value": [1], "ttlSeconds": 600, "tags": ["a"]}),
    ("models.put", {"namespace": "feed", "key": "home", "value": {"a": 1}, "ttlSeconds": 600}),
    ("blobs.put", {"namespace": "images", "key": "small", "data": "aGVsbG8="}),
    ("blobs.put", {"namespace": "images", "key": "large", "data": "aGVs" * 10_000}),
    ("storage.backup", {"name": "first"}),
]


def fill(daemon):
    """Something of everything, in tables and log, as kill -9 leaves it after a clean stop and a second run."""
    daemon.start()
    with daemon.connect() as connection:
        for at in range(10):
            value = {"mail": f"n{at}@example.org", "text": f"note {at}", "rank": at}
            connection.call("documents.put", collection="notes", id=f"{at}", value=value)
        for method, params in KEPT:
            connection.call(method, **params)
    daemon.stop()
    daemon.start()
    with daemon.connect() as connection:
        connection.call("settings.put", domain="app", key="later", value="in the log alone")
        connection.call("documents.put", collection="notes", id="later", value={"mail": "later", "text": "later"})
        connection.call("secrets.put", service="mail", account="later", secret="later")
        connection.call("models.put", namespace="feed", key="later", value=1)
        before = durable(connection)
    daemon.kill()
    return before
