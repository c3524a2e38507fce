"""Makes a failing list of events shorter: delta debugging (Zeller and Hildebrandt, 2002) over its events."""

from typing import Callable


def shrink(events: list, fails: Callable[[list], str | None], kind: str, tries: int = 1000) -> list:
    """The shortest list found that still fails with this kind; `fails` runs a list and returns the failure's kind, or None.

    Events that begin the world (`start`) are kept as long as anything is behind them.
    """
    left = tries

    def still(candidate):
        nonlocal left
        left -= 1
        return fails(candidate) == kind

    # What comes after the failure is of no use; the half first, since most failures show early.
    parts = 2
    current = list(events)
    while len(current) > 1 and left > 0:
        size = max(1, len(current) // parts)
        reduced = False
        at = 0
        while at < len(current) and left > 0:
            candidate = current[:at] + current[at + size :]
            if candidate and still(candidate):
                current, reduced = candidate, True
                parts = max(parts - 1, 2)
            else:
                at += size
        if not reduced:
            if size == 1:
                break
            parts = min(len(current), parts * 2)
    return shrink_members(current, still, lambda: left > 0)


def shrink_members(events, still, goes_on):
    """Drops members of batches, and operations of transactions, one by one."""
    current = list(events)
    for at in range(len(current)):
        lines = current[at].get("lines")
        for line in range(len(lines or ())):
            lines = current[at]["lines"]
            if line < len(lines) and len(lines) > 1 and goes_on():
                candidate = [*current[:at], {**current[at], "lines": lines[:line] + lines[line + 1 :]}, *current[at + 1 :]]
                if still(candidate):
                    current = candidate
        for line in range(len(current[at].get("lines") or ())):
            current = shrink_operations(current, at, line, still, goes_on)
    return current


def shrink_operations(events, at, line, still, goes_on):
    current, member = events, 0
    while goes_on():
        asked = current[at]["lines"][line]
        if not isinstance(asked, dict) or not isinstance(asked.get("params"), dict):
            return current
        operations = asked["params"].get("operations")
        if not isinstance(operations, list) or len(operations) < 2 or member >= len(operations):
            return current
        fewer = {**asked, "params": {**asked["params"], "operations": operations[:member] + operations[member + 1 :]}}
        lines = current[at]["lines"]
        candidate = [*current[:at], {**current[at], "lines": [*lines[:line], fewer, *lines[line + 1 :]]}, *current[at + 1 :]]
        if still(candidate):
            current = candidate
        else:
            member += 1
    return current
