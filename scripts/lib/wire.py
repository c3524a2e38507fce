"""JSON as it stands on the wire: numbers as they are written, what RFC 7493 forbids, and what a schema says of a value."""

import json
import re

import client

SURROGATE = re.compile("[\ud800-\udfff]")


class Raw(str):
    """A JSON text that is sent as it is; of what is received, a number as it is written."""


class Members(dict):
    """An object; `pairs` has repeated names too."""

    def __init__(self, pairs):
        super().__init__(pairs)
        self.pairs = pairs


def no_constant(word):
    raise ValueError(f"{word} is no JSON")


def parse(text):
    """The value of UTF-8 by RFC 8259, its numbers Raw and its objects Members; else ValueError or RecursionError."""
    return json.loads(text.decode(), object_pairs_hook=Members, parse_int=Raw, parse_float=Raw, parse_constant=no_constant)


def walk(value):
    """Yields a parsed value, all values within it and the names of its objects, each with how many brackets are around it."""
    todo = [(value, 0)]
    while todo:
        item, level = todo.pop()
        yield item, level
        if isinstance(item, Members):
            todo += [(part, level + 1) for pair in item.pairs for part in pair]
        elif isinstance(item, list):
            todo += [(part, level + 1) for part in item]


def depth(value):
    """How many brackets deep a parsed value is."""
    return max(level + isinstance(item, (Members, list)) for item, level in walk(value))


def forbidden(value):
    """What RFC 7493 forbids in a parsed value, or None."""
    for item, _ in walk(value):
        if isinstance(item, Members) and len(item) < len(item.pairs):
            return "duplicateName"
        if isinstance(item, str) and SURROGATE.search(item):
            return "loneSurrogate"
    return None


def text(value):
    """JSON, with Raw as it stands."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(name) + ":" + text(inner) for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(text, value)) + "]"
    return json.dumps(value)


class Exact(client.Connection):
    """A connection that sends Raw as it stands and receives numbers as Raw, but for the ids of replies."""

    @staticmethod
    def request(identifier, method, params):
        return f'{{"jsonrpc":"2.0","id":{identifier},"method":{json.dumps(method)},"params":{text(params)}}}\n'.encode()

    @staticmethod
    def decode(line):
        reply = json.loads(line, parse_int=Raw, parse_float=Raw)
        if isinstance(reply.get("id"), Raw):
            reply["id"] = int(reply["id"])
        return reply


def breaks(value, schema, place="result"):
    """Where a received value breaks a schema of the kinds that the method table has, or None."""
    kind = schema.get("type")
    if kind == "integer":
        if not isinstance(value, Raw) or not re.fullmatch(r"-?\d+", value):
            return f"{place} is no whole number: {value!r}"
        if not schema.get("minimum", -2**63) <= int(value) <= schema.get("maximum", 2**63):
            return f"{place} is out of its range: {value}"
    elif kind == "boolean":
        return None if value is True or value is False else f"{place} is neither true nor false"
    elif kind == "string":
        if not isinstance(value, str) or isinstance(value, Raw) or "enum" in schema and value not in schema["enum"]:
            return f"{place} is no such text: {value!r}"
        if len(value.encode()) > schema.get("x-maxBytes", 1 << 40):
            return f"{place} is too long: {len(value)}"
        if "pattern" in schema and not re.search(schema["pattern"].removesuffix("$") + r"\Z", value):
            return f"{place} is a text of another form: {value!r}"
    elif kind == "array":
        if not isinstance(value, list) or len(value) > schema.get("maxItems", 1 << 40):
            return f"{place} is no array, or too long"
        return next(filter(None, (breaks(part, schema.get("items", {}), f"{place}/{at}") for at, part in enumerate(value))), None)
    elif kind == "object":
        if not isinstance(value, dict):
            return f"{place} is no object"
        known, more = schema.get("properties", {}), schema.get("additionalProperties", {})
        for name in schema.get("required", []):
            if name not in value:
                return f"{place} lacks {name}"
        for name, part in value.items():
            if name not in known and more is False:
                return f"{place} has {name}, which is not described"
            found = breaks(part, known.get(name, more or {}), f"{place}/{name}")
            if found:
                return found
    return None
