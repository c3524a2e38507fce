"""What a line must be answered with, and whether a reply is well formed."""

import json
import re

SURROGATE = re.compile("[\ud800-\udfff]")
MAXIMUM_DEPTH = 128


class Number(str):
    """A number as it is written: ids come back digit by digit."""


class NotWire(Exception):
    """Not JSON by the wire's grammar."""


def members(pairs):
    result = dict(pairs)
    if len(result) < len(pairs):
        raise NotWire("a repeated name")
    return result


def constant(word):
    raise NotWire(word)


def depth(value):
    deepest, todo = 0, [(value, 1)]
    while todo:
        item, level = todo.pop()
        if isinstance(item, (dict, list)):
            deepest = max(deepest, level)
            todo += [(inner, level + 1) for inner in (item.values() if isinstance(item, dict) else item)]
    return deepest


def strings(value):
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo += list(item) + list(item.values())
        elif isinstance(item, list):
            todo += item
        elif isinstance(item, str):
            yield item


def read(line):
    """The value of a line, or NotWire."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=members, parse_int=Number, parse_float=Number,
                           parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise NotWire(str(error)) from error
    if depth(value) > MAXIMUM_DEPTH or any(SURROGATE.search(text) for text in strings(value)):
        raise NotWire("surrogates or depth")
    return value


NULL = ("null",)


def identity(value):
    """An id in a form that tells 1 from "1"."""
    return NULL if value is None else ("number" if isinstance(value, Number) else "string", str(value))


class Expectation:
    """One output line that must come: a reply under an id, or a batch's replies under theirs.

    `unread`: a line that the daemon cannot read. It is answered under null, or under the id that stands in it.
    """

    def __init__(self, ids, is_batch=False, is_loose=False, model=None, unread=None):
        self.ids = ids
        self.unread = unread
        self.is_batch = is_batch
        self.is_loose = is_loose
        self.model = model


def expected(line, limits, out_of_band):
    """The Expectation of a line, or None when nothing may come."""
    if not line.strip(b" \t\r"):
        return None
    if len(line.removesuffix(b"\r")) > limits["lineBytes"]:
        return Expectation([NULL], unread=line)
    try:
        value = read(line.removesuffix(b"\r"))
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
    is_loose = isinstance(value, dict) and is_request(value) and value["method"] in out_of_band
    return Expectation([found], is_loose=is_loose)


def is_request(value):
    return (type(value.get("jsonrpc")) is str and value["jsonrpc"] == "2.0" and type(value.get("method")) is str
            and not set(value) - {"jsonrpc", "id", "method", "params"}
            and isinstance(value.get("params", {}), (dict, list)))


def reply_id(value):
    """The id under which a request is answered, None for a notification."""
    if not isinstance(value, dict):
        return NULL
    given = value.get("id")
    if "id" in value and given is not None and not isinstance(given, str):
        return NULL
    if is_request(value):
        return identity(given) if "id" in value else None
    return identity(given)


class Replies:
    """Judges single replies by what `rpc.discover` says of them."""

    def __init__(self, description):
        self.results = {method["name"]: method["result"]["schema"] for method in description["methods"]}
        self.kinds = {kind: entry["code"] for kind, entry in
                      ((name, error) for name, error in description["components"]["errors"].items())}
        self.seen = {}

    def fault(self, reply, method=None):
        """Why a reply is not well formed, or None."""
        if not isinstance(reply, dict) or list(reply)[:2] != ["jsonrpc", "id"] or reply["jsonrpc"] != "2.0" or len(reply) != 3:
            return "no reply"
        if "result" in reply:
            self.seen["result"] = self.seen.get("result", 0) + 1
            if not isinstance(reply["result"], dict):
                return "a result is an object"
            return breaks(reply["result"], self.results[method]) if method in self.results else None
        error = reply.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("message"), str):
            return "neither result nor error"
        data = error.get("data")
        if not isinstance(data, dict) or data.get("kind") not in self.kinds or data.get("retryable") not in (True, False):
            return "an error without its kind"
        if error.get("code") != str(self.kinds[data["kind"]]):
            return "another code than its kind's"
        self.seen[data["kind"]] = self.seen.get(data["kind"], 0) + 1
        return f"{data['kind']}" if data["kind"] in ("internalError", "outcomeUnknown") else None


def breaks(value, schema, place=""):
    """Where a value breaks a schema of the kinds that the method table has, or None."""
    kind = schema.get("type")
    if kind == "integer":
        if not isinstance(value, Number) or not re.fullmatch(r"-?\d+", value):
            return f"{place}: no whole number"
        if not schema.get("minimum", -2**63) <= int(value) <= schema.get("maximum", 2**63):
            return f"{place}: {value} out of range"
    elif kind == "boolean" and value not in (True, False):
        return f"{place}: not true or false"
    elif kind == "string":
        if not isinstance(value, str) or isinstance(value, Number):
            return f"{place}: no string"
        if len(value.encode()) > schema.get("x-maxBytes", 1 << 30) or "enum" in schema and value not in schema["enum"]:
            return f"{place}: a string that it may not be"
        if "pattern" in schema and not re.search(schema["pattern"].removesuffix("$") + r"\Z", value):
            return f"{place}: a string of another form"
    elif kind == "array":
        if not isinstance(value, list) or len(value) > schema.get("maxItems", 1 << 40):
            return f"{place}: no array, or too long"
        return next(filter(None, (breaks(item, schema.get("items", {}), f"{place}/{at}") for at, item in enumerate(value))), None)
    elif kind == "object":
        if not isinstance(value, dict):
            return f"{place}: no object"
        properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in schema.get("required", []):
            if name not in value:
                return f"{place}: {name} is missing"
        for name, item in value.items():
            if name not in properties and more is False:
                return f"{place}: {name} is not described"
            found = breaks(item, properties.get(name, more or {}), f"{place}/{name}")
            if found:
                return found
    return None
