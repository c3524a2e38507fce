"""Requests by item: an item is the letter of its room and the words that name it, as ("d", "cards", "one") does a document."""

import collections

from client import Refused

# Methods, the parameters that name an item, and the parameter that is its content, in requests and in replies.
Room = collections.namedtuple("Room", "put get delete names content")
ROOMS = {
    "s": Room("settings.put", "settings.get", "settings.delete", ("domain", "key"), "value"),
    "d": Room("documents.put", "documents.get", "documents.delete", ("collection", "id"), "value"),
    "x": Room("secrets.put", "secrets.get", "secrets.delete", ("service", "account"), "secret"),
    "a": Room("documents.attach", "documents.attachment", "documents.detach", ("collection", "id", "name"), "data"),
    "b": Room("blobs.put", "blobs.get", "blobs.delete", ("namespace", "key"), "data"),
    "m": Room("models.put", "models.get", "models.delete", ("namespace", "key"), "value"),
}
# What is put there lasts; the others are caches, which may lose what they have.
LASTING = "sdxa"
# A request, and its effects: triples of item, kind and value.
Change = collections.namedtuple("Change", "method params effects")
# `touch`: another revision, the same content.
PUT, DELETE, INCREMENT, TOUCH = "put", "delete", "increment", "touch"


def named(item):
    """The params that name an item."""
    return dict(zip(ROOMS[item[0]].names, item[1:]))


def put(item, content, **more):
    room = ROOMS[item[0]]
    return Change(room.put, {**named(item), room.content: content, **more}, [(item, PUT, content)])


def delete(item):
    return Change(ROOMS[item[0]].delete, named(item), [(item, DELETE, None)])


def increment(item):
    return Change("settings.increment", named(item), [(item, INCREMENT, 1)])


def many(puts, deletes=()):
    """Puts of settings of one domain, and deletions, or puts of documents of one collection: all in one request."""
    params, effects = [put.params for put in puts], [effect for change in (*puts, *deletes) for effect in change.effects]
    if "collection" in params[0]:
        documents = [{"id": one["id"], "value": one["value"]} for one in params]
        return Change("documents.putMany", {"collection": params[0]["collection"], "documents": documents}, effects)
    values, gone = {one["key"]: one["value"] for one in params}, [delete.params["key"] for delete in deletes]
    return Change("settings.putMany", {"domain": params[0]["domain"], "values": values, "delete": gone}, effects)


def together(changes):
    """All of them in one transaction."""
    operations = [{"method": change.method, "params": change.params} for change in changes]
    return Change("transaction.apply", {"operations": operations}, [effect for change in changes for effect in change.effects])


def get(item):
    """Method and params."""
    return ROOMS[item[0]].get, named(item)


def content(item, reply):
    """What the reply to a `get` shows; None when nothing is there."""
    return reply.get(ROOMS[item[0]].content)


def fetch(caller, item):
    """The reply to its `get`; a connection calls, or a daemon."""
    method, params = get(item)
    return caller.call(method, **params)


# What is read of a secret while the secrets are sealed.
SEALED = "refused: sealed"


def read(connection, item):
    """The content of an item, None when it is absent; a refusal is text, which equals nothing that was put."""
    try:
        return content(item, fetch(connection, item))
    except Refused as error:
        return None if error.kind == "notFound" else SEALED if error.kind == "sealed" else f"refused: {error}"
