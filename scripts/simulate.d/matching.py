"""Selectors of documents, by brute force: what the page on queries says, for the selectors that the generator makes."""

from values import ABSENT, Number, equal, order, whole
from patches import names

KINDS = {"null": 1, "number": 4, "string": 5, "array": 6, "object": 7}


class Unknown(Exception):
    """A selector that is not evaluated here."""


def at_path(document, path, identifier=None):
    """What stands at a path of a document; ABSENT when nothing does."""
    if path == "_id" and identifier is not None:
        return identifier
    value = document
    for name in names(path):
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isdigit() and (name == "0" or name[0] != "0") and int(name) < len(value):
            value = value[int(name)]
        else:
            return ABSENT
    return value


def is_operators(condition):
    return isinstance(condition, dict) and any(name.startswith("$") for name in condition)


def matches(selector, document, identifier=None, negated=False):
    """Whether a document matches; negations are moved down to the fields."""
    results = []
    for name, condition in selector.items():
        if name == "$and":
            results.append((any if negated else all)([matches(part, document, identifier, negated) for part in condition]))
        elif name == "$or":
            results.append((all if negated else any)([matches(part, document, identifier, negated) for part in condition]))
        elif name == "$nor":
            results.append((any if negated else all)([matches(part, document, identifier, not negated) for part in condition]))
        elif name == "$not":
            results.append(matches(condition, document, identifier, not negated))
        elif name.startswith("$"):
            raise Unknown(name)
        else:
            results.append(field(at_path(document, name.replace("\\$", "$"), identifier), condition, negated))
    return any(results) if negated else all(results)


def field(value, condition, negated):
    if not is_operators(condition):
        if isinstance(condition, dict) and condition:
            parts = [field(at_path(value, name) if value is not ABSENT else ABSENT, part, negated) for name, part in condition.items()]
            return any(parts) if negated else all(parts)
        condition = {"$eq": condition}
    results = []
    for name, operand in condition.items():
        if name == "$and":
            results.append((any if negated else all)([field(value, part, negated) for part in operand]))
        elif name == "$or":
            results.append((all if negated else any)([field(value, part, negated) for part in operand]))
        elif name == "$not":
            results.append(field(value, operand, not negated))
        elif name == "$exists":
            results.append((value is not ABSENT) == (operand is not negated))
        elif value is ABSENT:
            # Where nothing is, no condition holds, and no opposite of one.
            results.append(False)
        elif name.startswith("$"):
            results.append(holds(name, value, operand) != negated)
        else:
            results.append(field(at_path(value, name), operand, negated))
    return any(results) if negated else all(results)


def holds(name, value, operand):
    if name == "$eq":
        return equal(value, operand)
    if name == "$ne":
        return not equal(value, operand)
    if name == "$lt":
        return order(value) < order(operand)
    if name == "$lte":
        return order(value) <= order(operand)
    if name == "$gt":
        return order(value) > order(operand)
    if name == "$gte":
        return order(value) >= order(operand)
    if name in ("$in", "$nin"):
        parts = value if isinstance(value, list) else [value]
        found = any(equal(part, one) for part in parts for one in operand)
        return found == (name == "$in")
    if name == "$type":
        return isinstance(value, bool) if operand == "boolean" else order(value)[0] == KINDS[operand]
    if name == "$size":
        return isinstance(value, list) and len(value) == int(operand)
    if name == "$all":
        if not isinstance(value, list) or not operand:
            return False
        return all(any(equal(part, one) for part in value) for one in operand)
    if name == "$beginsWith":
        return isinstance(value, str) and not isinstance(value, Number) and value.startswith(operand)
    if name == "$mod":
        number = whole(value)
        divisor, remainder = int(operand[0]), int(operand[1])
        if number is None:
            return False
        return abs(number) % abs(divisor) * (-1 if number < 0 else 1) == remainder
    if name == "$elemMatch":
        return isinstance(value, list) and any(element(part, operand) for part in value)
    if name == "$allMatch":
        return isinstance(value, list) and bool(value) and all(element(part, operand) for part in value)
    raise Unknown(name)


def element(value, selector):
    if is_operators(selector) and not any(name in ("$and", "$or", "$nor", "$not") for name in selector):
        return field(value, selector, False)
    return matches(selector, value)


def projected(document, fields, identifier):
    """`fields` of a document, which is whole without them."""
    if fields is None:
        return document
    result = {}
    for path in fields:
        value = at_path(document, path, identifier)
        if value is ABSENT:
            continue
        inner = result
        *parents, last = names(path)
        for name in parents:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return result
