"""A run as a list of events, which can be kept, replayed without the generator, and made shorter.

What a reply has minted (a revision, a cursor, a token) is recorded as a reference to it, so a list means the same in a run
where the daemon mints others.
"""

import json
from dataclasses import dataclass
from typing import Any

from values import Number, parse, text


class Damaged(Exception):
    """What is read is none of what it should be."""


@dataclass(frozen=True)
class Minted:
    """A value out of the reply to the request of this id; `plus` is added to a number. `value` is what it was at first."""

    value: Any
    request: str
    path: tuple
    plus: int = 0


def find(reply, path):
    for step in path:
        if isinstance(reply, dict):
            reply = reply.get(step)
        elif isinstance(reply, list) and isinstance(step, int) and step < len(reply):
            reply = reply[step]
        else:
            return None
    return reply


def resolve(tree, replies):
    """The tree with what it refers to, out of this run's replies; what they lack is as it was at first."""
    if isinstance(tree, Minted):
        value = find(replies.get(tree.request), tree.path)
        if value is None:
            value = tree.value
        if tree.plus:
            value = Number(int(value) + tree.plus) if str(value).lstrip("-").isdigit() else value
        return plain(value)
    if isinstance(tree, dict):
        return {name: resolve(part, replies) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [resolve(part, replies) for part in tree]
    return plain(tree)


def plain(value):
    """Numbers are Numbers everywhere behind the generator."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    return Number(repr(value))


def encode(tree):
    if isinstance(tree, Minted):
        return {"$minted": [encode(tree.value), tree.request, list(tree.path), tree.plus]}
    if isinstance(tree, bytes):
        return {"$zeros": len(tree)} if tree and not tree.strip(b"\0") else {"$bytes": tree.hex()}
    if isinstance(tree, dict):
        return {name: encode(part) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return [encode(part) for part in tree]
    return tree


def decode(tree):
    if isinstance(tree, dict):
        if tree.keys() == {"$minted"}:
            value, request, path, plus = tree["$minted"]
            return Minted(decode(value), request, tuple(map(decode, path)), int(plus))
        if tree.keys() == {"$bytes"}:
            return bytes.fromhex(tree["$bytes"])
        if tree.keys() == {"$zeros"}:
            return bytes(int(tree["$zeros"]))
        return {name: decode(part) for name, part in tree.items()}
    if isinstance(tree, list):
        return [decode(part) for part in tree]
    if isinstance(tree, Number):
        number = int(tree) if tree.lstrip("-").isdigit() else float(tree)
        # What is written otherwise stays as it is written.
        return number if repr(number) == tree else tree
    return tree


def save(events, path):
    with open(path, "w", encoding="ascii") as file:
        for event in events:
            file.write(text(encode(event)) + "\n")


def load(path):
    with open(path, encoding="ascii") as file:
        return [decode(parse(line)) for line in file if line.strip()]


def look(path, known):
    """Raises Damaged when it is no list of events that can be run. `known`: what events do."""
    try:
        head, *events = load(path) or [None]
        if head is None:
            raise ValueError("it is empty")
        if head["do"] != "world" or not {"seed", "temper"} <= head.keys():
            raise ValueError('it does not begin with "do":"world", a seed and its temper')
        if strange := next((event["do"] for event in events if event["do"] not in known), None):
            raise ValueError(f"there is no event {strange!r}")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        words = error if isinstance(error, ValueError) else "a line is no event"
        raise Damaged(f"{path} is neither a list of events that simulate has kept nor a recording of 'kura record': {words}") from error


def story(event, width=220):
    """One event for people."""
    words = json.dumps(json.loads(text(encode(event))), separators=(",", ":"))
    return words if len(words) <= width else words[: width - 1] + "…"
