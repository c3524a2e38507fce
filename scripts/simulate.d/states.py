"""What timelines are made of: states, writes and their parts, what was read, and what may follow what."""

from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

from patches import Impossible
from values import ABSENT, ANY, canonical, same

MOST_POSSIBLE = 48
NEVER = 1 << 62


class Possible(NamedTuple):
    value: Any
    rev: int | None           # None: not known; 0: absent
    ghost: Any = ABSENT       # what a tombstone keeps


@dataclass(eq=False)
class Part:
    """What a write does to one item: `act(value, ghost)` gives the new value, or raises Impossible."""

    item: tuple               # store, scope, key; no key: each item of the scope
    act: Callable
    if_rev: int | None = None
    rev: int | None = None    # of the item afterwards, as the reply tells
    touches: bool = False     # a new revision although the value is the same
    plain: Any = ANY          # the value that it puts, whatever was there
    may_spare: bool = False   # what was written while the request was under way may stay as it is


@dataclass(eq=False)
class Write:
    number: int
    label: str
    sent: int                 # ticks of the run
    parts: list = field(default_factory=list)
    answered: int | None = None
    rev: int | None = None
    answered_at: int | None = None   # the world's time
    durable: bool = True
    age: int = 0              # settlings that it has been loose
    is_late: bool = False     # its first reply was lost: what followed it may be known already


@dataclass(eq=False)
class Entry:
    rev: int
    possible: list
    known: int                # the tick at which somebody was told
    sent: int                 # and the one at which it was asked for
    durable: bool = True


class Read(NamedTuple):
    """An item as a reply showed it; `value` ABSENT: it is not there."""

    item: tuple
    value: Any
    rev: int
    sent: int
    answered: int
    number: int


BEGINNING = [Possible(ABSENT, 0)]
UNKNOWN = [Possible(ANY, None, ANY)]
# A secret without content, as it is read back: no write puts this, so only an unknown value may be it.
DESTROYED = {"destroyed": True}


def distinct(states):
    seen, result = set(), []
    for state in states:
        name = canonical(state.value), state.rev, canonical(state.ghost)
        if name not in seen:
            seen.add(name)
            result.append(state)
    return result if len(result) <= MOST_POSSIBLE else UNKNOWN


def outcomes(part, state, rev):
    """The states that a part may leave behind this one, when it is done at this revision (None: unknown)."""
    if part.if_rev is not None and state.rev is not None and state.rev != part.if_rev:
        return []
    try:
        new = part.act(state.value, state.ghost)
    except Impossible:
        return []
    if new is ABSENT:
        return [state] if state.value is ABSENT else [Possible(ABSENT, 0, state.value)]
    if new is ANY:
        return UNKNOWN
    changed = Possible(new, part.rev or rev)
    if state.value is ANY or part.touches or not same(new, state.value):
        return [changed]
    if part.rev is not None:
        return [state] if state.rev in (part.rev, None) else [changed]
    return [state, changed]


class Readback(NamedTuple):
    items: dict               # by item: value, rev
    scopes: set               # store and scope of all that was read
    rev: int
    tick: int


def same_states(some, others):
    return [(canonical(s.value), s.rev) for s in some] == [(canonical(s.value), s.rev) for s in others]


def behind(first, second):
    """Two parts of one write about the same item, of which at most one changes it."""
    def act(value, ghost):
        value = first.act(value, ghost)
        return second.act(value, ghost)
    return Part(first.item, act, first.if_rev, None, first.touches or second.touches, second.plain)


def finds(part, state):
    """Whether a write of which nothing came can have met this state."""
    if state.value is ANY:
        return True
    try:
        new = part.act(state.value, state.ghost)
    except Impossible:
        return False
    return same(new, state.value)


def show(states):
    return " or ".join(f"{str(state.value)[:80]!r} of {state.rev}" for state in states[:4]) or "nothing"
