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


def put(item, content, **more):
    """The method and params of a request, like those below."""
    room = ROOMS[item[0]]
    return room.put, {**dict(zip(room.names, item[1:])), room.content: content, **more}


def get(item):
    return ROOMS[item[0]].get, dict(zip(ROOMS[item[0]].names, item[1:]))


def delete(item):
    return ROOMS[item[0]].delete, dict(zip(ROOMS[item[0]].names, item[1:]))


def together(calls):
    """All of them in one transaction."""
    return "transaction.apply", {"operations": [{"method": method, "params": params} for method, params in calls]}


def content(item, reply):
    """What the reply to a `get` shows; None when nothing is there."""
    return reply.get(ROOMS[item[0]].content)


def fetch(caller, item):
    """The reply to its `get`; a connection calls, or a daemon."""
    method, params = get(item)
    return caller.call(method, **params)


def read(connection, item):
    """The content of an item, None when it is absent; a refusal is text, which equals nothing that was put."""
    try:
        return content(item, fetch(connection, item))
    except Refused as error:
        return None if error.kind == "notFound" else f"refused: {error}"
