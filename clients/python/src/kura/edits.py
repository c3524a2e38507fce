"""What a function makes of a value that is edited: never by accident what it happens to return."""

from __future__ import annotations

from typing import Any, Callable

from .errors import NotJSONError
from .values import JSON, NULL, encoded


def edited(change: Callable[[JSON], JSON], value: JSON, is_stored: bool) -> JSON:
    """What is to be stored of `change(value)`. Raises TypeError, and nothing is stored, where that would lose the value.

    None is what a function returns that has no `return`: null is stored for NULL. Likewise of what was changed in place only
    itself is stored, or something of its kind: not what `pop` and `setdefault` return.
    """
    parts = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, list) else None
    before = b"" if parts is None else encoded(value, decimals=True)
    result = change(value)
    if result is NULL:
        return None
    if result is None and not (is_stored and value is None):
        raise TypeError(
            "edit: the function returned None, and nothing was stored: return the value that is to be stored, also when it was changed "
            "in place; to store null return kura.NULL"
        )
    if parts is not None and result is not value:
        is_part = isinstance(result, (dict, list)) and any(result is part for part in parts)
        if (is_part or _kind(result) is not _kind(value)) and _is_changed(value, before):
            raise TypeError(
                f"edit: the function changed the {_kind(value).__name__} in place and returned a {type(result).__name__}, and nothing was "
                "stored: return what is to be stored, whole; what is changed in place is returned itself"
            )
    return result


def _kind(value: JSON) -> Any:
    return dict if isinstance(value, dict) else list if isinstance(value, (list, tuple)) else type(value)


def _is_changed(value: JSON, before: bytes) -> bool:
    try:
        return encoded(value, decimals=True) != before
    except NotJSONError:
        return True
