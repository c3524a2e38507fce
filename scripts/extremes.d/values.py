"""What is extreme, by a parameter's schema; and whether a result is what its schema says."""

import re

from stranger import Raw

MOMENTS = [
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "1677-09-21T00:12:44Z", "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z", "2106-02-07T06:28:16Z", "2262-04-11T23:47:16.854Z", "2262-04-11T23:47:17Z",
    "2554-07-21T23:34:34Z", "2610-12-31T23:59:59Z", "2611-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00Z", "+275760-09-13T00:00:00Z", "-0001-01-01T00:00:00Z", "2030-06-30T23:59:60Z", "2030-02-30T00:00:00Z",
    "2000-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2030-01-01T24:00:00Z", "2030-01-01T00:00:00+14:00",
    "2030-01-01T00:00:00-23:59", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "2030-01-01T00:00:00.1Z",
    "2030-01-01T00:00:00.9999Z", "2030-01-01T00:00:00.123456789Z", "2030-01-01t00:00:00z", "2030-01-01", "99999999999999999999Z",
]
NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53 - 1, 2**53, 2**63 - 1, 2**63, -2**53, -2**63, -2**63 - 1, 2**64] + [
    Raw(number) for number in ("-0", "1.0", "0.5", "1e3", "1e308", "-1e308", "1e309", "1e-400", "5e-324", "1e99999999999999999999",
                               "0.1234567890123456789", "9" * 400)]
OTHERS = [None, True, False, "", "0", [], {}]
# Above this a text is sent once a parameter, and never in pairs.
LARGE = 1 << 16


def extremes(schema, description, sane):
    """Values for one parameter, some of which it must refuse."""
    kind = schema.get("type")
    if kind == "integer":
        least, greatest = schema["minimum"], schema["maximum"]
        return unique([least, greatest, least - 1, greatest + 1] + NUMBERS + [None, "1", True, [1]])
    if kind == "string" and "enum" in schema:
        return schema["enum"] + ["", "no such word", None, 1]
    if kind == "string":
        longest = schema.get("x-maxBytes", 1 << 16)
        found = [sane, "", "a", "x" * longest, "x" * (longest + 1), "é" * (longest // 2), "😀" * (longest // 4 + 1), "a\u0000b", "\n",
                 "\u007f", "%n%s", "../../x", "/", Raw('"\\ud800"'), Raw('"\\u0061"'), None, 0]
        return found + (MOMENTS if "RFC 3339" in description else [])
    if kind == "boolean":
        return [True, False, None, 0, "true"]
    if kind == "array":
        most = schema.get("maxItems", 1000)
        item = sane[0] if sane else 0
        inner = [[value] for value in extremes(schema.get("items", {}), "", item)]
        return [[], [item], [item] * 2, [item] * most, [item] * (most + 1), several(item, most), several(item, most + 1), None, {}, [[]], [
            None], 1] + inner + nested(sane)
    if kind == "object":
        inner = schema.get("additionalProperties") or {}
        found = [{}, {"": ""}, {"x" * 600: "x"}, {"a": None}, {"a": {"b": 1}}, None, [], 1] + [{"a": value} for value in extremes(inner, "", "x")]
        for name, part in schema.get("properties", {}).items():
            found += [{name: value} for value in extremes(part, "", "x")]
        return found + [{f"k{at}": "x" for at in range(10_001)}] + nested(sane)
    return NUMBERS + OTHERS + [
        "x" * (1 << 20), "x" * ((1 << 20) + 1), deep(60), deep(127), deep(200), [0] * 5000, {f"k{at}": at for at in range(5000)},
        {"a": 2**63}] + nested(sane)


def unique(values):
    return list({repr(value): value for value in values}.values())


def several(item, count):
    """As many that differ."""
    if isinstance(item, str):
        return [f"{item}{at}" for at in range(count)]
    if isinstance(item, dict):
        named = next((name for name in ("id", "key", "path") if name in item), None)
        return [item | {named: f"k{at}"} if named else item for at in range(count)]
    return [item] * count


def deep(levels):
    value = 1
    for _ in range(levels):
        value = [value]
    return value


def nested(sane):
    """The sane value with one of its leaves extreme."""
    if not isinstance(sane, (dict, list)):
        return []
    found = []
    for place in leaves(sane):
        for value in NUMBERS[:11] + OTHERS + ["x" * 1025, "$", "a..b"] + [Raw("1e308"), Raw("-0")]:
            found.append(put(sane, place, value))
    return found


def leaves(value, place=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None or not value:
        yield place
        return
    for name, part in inner:
        yield from leaves(part, place + (name,))


def put(value, place, leaf):
    if not place:
        return leaf
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[place[0]] = put(copy[place[0]], place[1:], leaf)
    return copy


def size(value):
    """About how many bytes it takes."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(name) + size(part) + 2 for name, part in value.items())
    return sum(map(size, value)) if isinstance(value, list) else 8


def breaks(value, schema, place="result"):
    """Where a value is not what its schema says, or None."""
    kind = schema.get("type")
    is_number = isinstance(value, Raw)
    if kind == "integer":
        if not is_number or not re.fullmatch(r"-?\d+", value):
            return f"{place} is no whole number: {value!r}"
        if not schema.get("minimum", -2**63) <= int(value) <= schema.get("maximum", 2**63):
            return f"{place} is out of its range: {value}"
    elif kind == "boolean":
        return None if value is True or value is False else f"{place} is neither true nor false"
    elif kind == "string":
        if not isinstance(value, str) or is_number or "enum" in schema and value not in schema["enum"]:
            return f"{place} is no such text: {value!r}"
        if len(value.encode()) > schema.get("x-maxBytes", 1 << 40):
            return f"{place} is too long: {len(value)}"
    elif kind == "array":
        if not isinstance(value, list):
            return f"{place} is no array"
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
