"""JSON as the daemon keeps it: numbers as they are written, and when two values are the same."""

import json
from decimal import Decimal
from functools import lru_cache

# A number as it is written; a value as it is sent: compact, ASCII.
from wire import Raw as Number, text  # noqa: F401


class Anything:
    """A value that the model does not know; it equals every other."""

    def __repr__(self):
        return "ANY"


class Nothing:
    """No value: the item is absent."""

    def __repr__(self):
        return "ABSENT"


ANY = Anything()
ABSENT = Nothing()


def counted(number, word):
    """For people."""
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def parse(data):
    return json.loads(data, parse_int=Number, parse_float=Number)


def canonical(value):
    """Equal for values that are the same but for the order of their members."""
    if value is ABSENT or value is ANY:
        return repr(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(name) + ":" + canonical(value[name]) for name in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    return text(value)


def same(one, other):
    return one is ANY or other is ANY or canonical(one) == canonical(other)


@lru_cache(maxsize=4096)
def _decimal(spelling):
    return Decimal(spelling)


def decimal(number):
    """The exact value of a number; None when it is none."""
    if isinstance(number, bool):
        return None
    if isinstance(number, (Number, int)):
        return _decimal(str(number))
    return _decimal(repr(number)) if isinstance(number, float) else None


def whole(number):
    """A whole number as int; None when it is none."""
    if isinstance(number, bool) or not isinstance(number, (Number, int)):
        return None
    spelling = str(number)
    return int(spelling) if spelling.lstrip("-").isdigit() else None


def kind(value):
    """The place of a value's kind in the one order of all values (0 is kept for nothing)."""
    if value is None:
        return 1
    if isinstance(value, bool):
        return 3 if value else 2
    if isinstance(value, (Number, int, float)):
        return 4
    if isinstance(value, str):
        return 5
    return 6 if isinstance(value, (list, tuple)) else 7


def order(value):
    """A key for `sorted`: nothing, null, false, true, numbers, strings, arrays, objects."""
    if value is ABSENT:
        return (0,)
    rank = kind(value)
    if rank == 4:
        return (4, decimal(value))
    if rank == 5:
        return (5, [ord(letter) for letter in value])
    if rank == 6:
        return (6, [order(part) for part in value])
    if rank == 7:
        return (7, [([ord(letter) for letter in name], order(value[name])) for name in sorted(value)])
    return (rank,)


def equal(one, other):
    """Equal in queries: 1 and 1.0 are."""
    return order(one) == order(other)
