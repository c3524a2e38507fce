"""What is extreme, by a parameter's schema."""

from wire import Raw

MOMENTS = [
    "0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1677-09-21T00:12:43Z", "1677-09-21T00:12:44Z", "1969-12-31T23:59:59.999Z",
    "1970-01-01T00:00:00Z", "2038-01-19T03:14:08Z", "2106-02-07T06:28:16Z", "2262-04-11T23:47:16.854Z", "2262-04-11T23:47:17Z",
    "2554-07-21T23:34:34Z", "2610-12-31T23:59:59Z", "2611-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:60Z",
    "10000-01-01T00:00:00Z", "+275760-09-13T00:00:00Z", "-0001-01-01T00:00:00Z", "2030-06-30T23:59:60Z", "2030-02-30T00:00:00Z",
    "2000-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "2030-01-01T24:00:00Z", "2030-01-01T00:00:00+14:00",
    "2030-01-01T00:00:00-23:59", "9999-12-31T23:59:59-23:59", "0000-01-01T00:00:00+23:59", "2030-01-01T00:00:00.1Z",
    "2030-01-01T00:00:00.9999Z", "2030-01-01T00:00:00.123456789Z", "2030-01-01t00:00:00z", "2030-01-01", "99999999999999999999Z",
]
NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53 - 1, 2**53, 2**63 - 1, 2**63, -2**53, -2**63, -2**63 - 1, 2**64, *map(Raw, [
    "-0", "1.0", "0.5", "1e3", "1e308", "-1e308", "1e309", "1e-400", "5e-324", "1e99999999999999999999", "0.1234567890123456789",
    "9" * 400])]
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
        found = [sane, "", "a", "x" * longest, "x" * (longest + 1), "é" * (longest // 2), "😀" * (longest // 4 + 1), "a\u0000b",
                 "\n", "\u007f", "%n%s", "../../x", "/", Raw('"\\ud800"'), Raw('"\\u0061"'), None, 0]
        return found + (MOMENTS if "RFC 3339" in description else [])
    if kind == "boolean":
        return [True, False, None, 0, "true"]
    if kind == "array":
        most = schema.get("maxItems", 1000)
        item = sane[0] if sane else 0
        inner = [[value] for value in extremes(schema.get("items", {}), "", item)]
        found = [[], [item], [item] * 2, [item] * most, [item] * (most + 1), several(item, most), several(item, most + 1)]
        return found + [None, {}, [[]], [None], 1] + inner + nested(sane)
    if kind == "object":
        inner = schema.get("additionalProperties") or {}
        found = [{}, {"": ""}, {"x" * 600: "x"}, {"a": None}, {"a": {"b": 1}}, None, [], 1]
        found += [{"a": value} for value in extremes(inner, "", "x")]
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
    leaves = NUMBERS[:11] + OTHERS + ["x" * 1025, "$", "a..b", Raw("1e308"), Raw("-0")]
    return [copy for whole in replaced(sane) for copy in map(whole, leaves)]


def replaced(value):
    """For each leaf of a value, the function that makes a copy with another leaf there."""
    if not isinstance(value, (dict, list)) or not value:
        yield lambda leaf: leaf
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        for inner in replaced(part):
            def whole(leaf, name=name, inner=inner):
                copy = value.copy()
                copy[name] = inner(leaf)
                return copy
            yield whole


def size(value):
    """About how many bytes it takes."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(len(name) + size(part) + 2 for name, part in value.items())
    return sum(map(size, value)) if isinstance(value, list) else 8
