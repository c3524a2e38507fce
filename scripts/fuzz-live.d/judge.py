"""What a line must be answered with, and whether a reply is well formed."""

from collections import Counter
from dataclasses import dataclass

from wire import Raw, breaks, depth, forbidden, parse

MAXIMUM_DEPTH = 128
NULL = ("null",)


class NotWire(Exception):
    """Not JSON by the wire's grammar."""


def read(line):
    """The value of a line, or NotWire."""
    try:
        value = parse(line)
    except (ValueError, RecursionError) as error:
        raise NotWire(str(error)) from error
    why = "depth" if depth(value) > MAXIMUM_DEPTH else forbidden(value)
    if why:
        raise NotWire(why)
    return value


def identity(value):
    """An id in a form that tells 1 from "1"."""
    return NULL if value is None else ("number" if isinstance(value, Raw) else "string", str(value))


@dataclass(eq=False)
class Expectation:
    """One output line that must come: a reply under an id, or a batch's replies under theirs."""

    ids: list
    is_batch: bool = False
    # Whether it may come before what was sent before it.
    is_loose: bool = False
    method: str = ""
    # A line that the daemon cannot read. It is answered under null, or under the id that stands in it.
    unread: bytes = None
    # What is done to a key that the client alone writes: the action, and the value of a put.
    model: tuple = None
    may_wait: bool = False


def expected(line, limits, out_of_band):
    """The Expectation of a line, or None when nothing may come."""
    if not line.strip(b" \t\r"):
        return None
    line = line.removesuffix(b"\r")
    if len(line) > limits["lineBytes"]:
        return Expectation([NULL], unread=line)
    try:
        value = read(line)
    except NotWire:
        return Expectation([NULL], unread=line)
    if isinstance(value, list):
        if not value or len(value) > limits["batchItems"]:
            return Expectation([NULL])
        ids = [found for found in map(reply_id, value) if found]
        return Expectation(ids, is_batch=True) if ids else None
    found = reply_id(value)
    if not found:
        return None
    method = value["method"] if is_request(value) else ""
    return Expectation([found], is_loose=method in out_of_band, method=method)


def is_request(value):
    # A number is a Raw, which is another type than a text's.
    return (isinstance(value, dict) and type(value.get("jsonrpc")) is type(value.get("method")) is str and value["jsonrpc"] == "2.0"
            and value.keys() <= {"jsonrpc", "id", "method", "params"} and isinstance(value.get("params", {}), (dict, list)))


def reply_id(value):
    """The id under which a request is answered, None for a notification."""
    if not isinstance(value, dict):
        return NULL
    given = value.get("id")
    if given is not None and not isinstance(given, str):
        return NULL
    return None if is_request(value) and "id" not in value else identity(given)


class Replies:
    """Judges single replies by what `rpc.discover` says of them, and counts them by kind."""

    def __init__(self, description):
        self.results = {method["name"]: method["result"]["schema"] for method in description["methods"]}
        self.codes = {kind: error["code"] for kind, error in description["components"]["errors"].items()}
        self.seen = Counter()

    def fault(self, reply, method=None):
        """Why a reply is not well formed, or None."""
        if not isinstance(reply, dict) or list(reply)[:2] != ["jsonrpc", "id"] or reply["jsonrpc"] != "2.0" or len(reply) != 3:
            return "no reply"
        if "result" in reply:
            self.seen["result"] += 1
            if not isinstance(reply["result"], dict):
                return "a result is an object"
            return breaks(reply["result"], self.results[method]) if method in self.results else None
        error = reply.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return "neither result nor error"
        data = error.get("data")
        if not isinstance(data, dict) or data.get("kind") not in self.codes or data.get("retryable") not in (True, False):
            return "an error without its kind"
        kind = data["kind"]
        if error.get("code") != str(self.codes[kind]):
            return "another code than its kind's"
        self.seen[kind] += 1
        return kind if kind in ("internalError", "outcomeUnknown") else None
