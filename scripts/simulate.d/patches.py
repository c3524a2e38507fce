"""What patches and increments make of a value: RFC 7396, RFC 6902, and the daemon's own sums."""

from decimal import Decimal

from values import Number, decimal, equal, text

SAFE = 2**53 - 1


class Impossible(Exception):
    """The change cannot succeed on this value."""


def merge(target, patch):
    """RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, part in patch.items():
        if part is None:
            result.pop(name, None)
        else:
            result[name] = merge(result.get(name), part)
    return result


def steps(pointer):
    if pointer == "":
        return []
    if not pointer.startswith("/"):
        raise Impossible("no pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer[1:].split("/")]


def position(array, step, may_be_end=False):
    if step == "-" and may_be_end:
        return len(array)
    if not step.isdigit() or (step[0] == "0" and step != "0"):
        raise Impossible("no position")
    if int(step) >= len(array) + may_be_end:
        raise Impossible("beyond the array")
    return int(step)


def look(value, path):
    for step in path:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list):
            value = value[position(value, step)]
        else:
            raise Impossible("nothing there")
    return value


def changed(value, path, change):
    """A copy of the value in which `change(container, step)` has changed the copy of what holds the end of the path."""
    step, *rest = path
    if isinstance(value, dict):
        copy = dict(value)
        if rest:
            if step not in copy:
                raise Impossible("nothing there")
            copy[step] = changed(copy[step], rest, change)
            return copy
    elif isinstance(value, list):
        copy = list(value)
        if rest:
            at = position(copy, step)
            copy[at] = changed(copy[at], rest, change)
            return copy
    else:
        raise Impossible("no container")
    change(copy, step)
    return copy


def _add(new):
    def change(container, step):
        if isinstance(container, dict):
            container[step] = new
        else:
            container.insert(position(container, step, True), new)
    return change


def _remove(container, step):
    if isinstance(container, dict):
        if step not in container:
            raise Impossible("nothing there")
        del container[step]
    else:
        del container[position(container, step)]


def _replace(new):
    def change(container, step):
        if isinstance(container, dict):
            if step not in container:
                raise Impossible("nothing there")
            container[step] = new
        else:
            container[position(container, step)] = new
    return change


def add(value, path, new):
    return changed(value, path, _add(new)) if path else new


def operate(value, operation):
    """One operation of RFC 6902."""
    kind, path = operation["op"], steps(operation["path"])
    if kind == "test":
        if not equal(look(value, path), operation["value"]):
            raise Impossible("another value")
        return value
    if kind == "add":
        return add(value, path, operation["value"])
    if kind == "replace":
        return changed(value, path, _replace(operation["value"])) if path else operation["value"]
    if kind == "remove":
        if not path:
            raise Impossible("the whole")
        return changed(value, path, _remove)
    source = steps(operation["from"])
    part = look(value, source)
    if kind == "copy":
        return add(value, path, part)
    if kind != "move" or (path[: len(source)] == source and path != source):
        raise Impossible("no such operation")
    if path == source:
        return value
    return add(changed(value, source, _remove), path, part)


def patched(value, operations):
    for operation in operations:
        value = operate(value, operation)
    return value


def names(path):
    """A path of queries: names with dots between them."""
    parts, part, at = [], "", 0
    while at < len(path):
        letter = path[at]
        if letter == "\\" and at + 1 < len(path):
            part += path[at + 1]
            at += 1
        elif letter == ".":
            parts.append(part)
            part = ""
        else:
            part += letter
        at += 1
    return [*parts, part]


def added(value, path, by):
    """`documents.increment`: the value with the sum in it, and the sum."""
    sums = []

    def descend(inner, rest):
        if not rest:
            if inner is None or isinstance(inner, bool) or decimal(inner) is None:
                raise Impossible("no number")
            sums.append(total(inner, by))
            return sums[0]
        step, *more = rest
        if isinstance(inner, dict):
            copy = dict(inner)
            if step in copy:
                copy[step] = descend(copy[step], more)
            else:
                new = total(Number("0"), by)
                sums.append(new)
                for name in reversed(more):
                    new = {name: new}
                copy[step] = new
            return copy
        if isinstance(inner, list):
            copy = list(inner)
            at = position(copy, step)
            copy[at] = descend(copy[at], more)
            return copy
        raise Impossible("no parts")

    return descend(value, names(path)), sums[0]


def total(one, other):
    """The sum, with as many digits behind the point as the longer one has."""
    return Number(format(decimal(one) + decimal(other), "f"))


def integer_sum(value, by):
    if isinstance(value, bool) or not isinstance(value, Number) or not str(value).lstrip("-").isdigit():
        raise Impossible("no integer")
    result = int(value) + by
    if abs(result) > SAFE:
        raise Impossible("out of range")
    return Number(result)


def within_digits(number):
    sign, digits, exponent = Decimal(str(number)).as_tuple()
    return int("".join(map(str, digits)) or "0") <= SAFE and -exponent <= 15


__all__ = ["Impossible", "added", "integer_sum", "merge", "names", "patched", "text"]
