"""Scenes of request keys: what comes under a key that is known."""

from mischief import SECOND
from scenes.parts import line, pause, send

DAY = 86_400 * SECOND


def writes(dice, key):
    """A method, and parameters of two writes that differ."""
    return dice.choice([
        ("settings.put", [{"domain": "keyed", "key": "k", "value": value} for value in (key, f"{key} otherwise")]),
        ("settings.increment", [{"domain": "keyed", "key": "sum", "by": by} for by in (1, 2)]),
        ("documents.put", [{"collection": "keyed", "id": name, "value": {"of": key}} for name in ("i", "j")]),
        ("documents.putMany", [{"collection": "keyed", "documents": [{"id": "i", "value": value}]} for value in (key, [key])]),
        ("transaction.apply", [{"operations": [{"method": "settings.put", "params": {"domain": "keyed", "key": "t", "value": [key, n]}}]}
                               for n in (1, 2)])])


def new_key(generator):
    generator.key_count += 1
    return f"q{generator.key_count}"


def other_request(dice, generator):
    """Another write of the same method comes under a key that is known: it is refused, and the first one is told again."""
    key = new_key(generator)
    method, [first, other] = writes(dice, key)
    lines = [line(generator, method, **params, requestKey=key) for params in (first, other, first)]
    if dice.random() < 0.5:
        return [send(lines)]
    return [event for each in lines for event in (send([each]), pause(dice.choice([1, 100])))]


def leap(dice, generator):
    """The wall clock leaps, and a write comes again under its key: by the time that has passed it is known."""
    key = new_key(generator)
    again = [line(generator, "settings.increment", domain="keyed", key="sum", by=1, requestKey=key) for _ in range(2)]
    return [send(again[:1]), pause(100), {"do": "shift", "span": dice.choice([1, 2, 40]) * DAY + SECOND}, pause(dice.choice([1, 100])),
            send(again[1:])]
