"""JSON values: what they are written as, and what is said of those that are none."""

from __future__ import annotations

import json
import re
import uuid
from decimal import Decimal
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

from .errors import NotJSONError, shortened

# What JSON text can say: None, bool, int, float, str, and lists and dicts (with str keys) of those.
JSON = Any


class _Unset:
    """Stands where None would mean JSON's null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


class _Null:
    """Stands where None would mean that somebody forgot to return something."""

    def __repr__(self) -> str:
        return "kura.NULL"


NULL: Any = _Null()

# A decimal on its way through JSON's writer, which knows none: text that no value has, as nobody is told this.
_MARK = f"\x7f{uuid.uuid4().hex}:"
_MARKED = re.compile(f'"{_MARK}([-+.0-9E]+)"')


def _marked(value: Any) -> str:
    if isinstance(value, Decimal) and value.is_finite():
        return f"{_MARK}{value}"
    raise TypeError


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_marked = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_marked).encode


def encoded(value: JSON, place: str = "value", decimals: bool = False) -> bytes:
    """Compact JSON text of a value, in UTF-8. `place` is what the value is called; empty for an object whose names do.

    With `decimals` a Decimal is a number, digit by digit. Raises NotJSONError, which names the place, for what JSON cannot
    say: bytes, dates, NaN, half a surrogate pair.
    """
    try:
        text = _encode_marked(value) if decimals else _encode(value)
        return (_MARKED.sub(r"\1", text) if _MARK in text else text).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJSONError(_fault(value, place, 0, decimals) or str(error)) from None


def _integer(text: str) -> Union[int, Decimal]:
    try:
        return int(text)
    except ValueError:
        # Python refuses to make an int of so many digits (sys.set_int_max_str_digits).
        return Decimal(text)


def _no_constant(text: str) -> JSON:
    # NaN and Infinity, which Python would read.
    raise ValueError(text)


Decode = Callable[[str], Tuple[JSON, int]]
_decode: Decode = json.JSONDecoder(parse_constant=_no_constant).raw_decode
_decode_decimals: Decode = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant).raw_decode
_decode_long: Decode = json.JSONDecoder(parse_int=_integer, parse_constant=_no_constant).raw_decode
_decode_long_decimals: Decode = json.JSONDecoder(parse_int=_integer, parse_float=Decimal, parse_constant=_no_constant).raw_decode


def decoded(text: str, decimals: bool = False) -> Tuple[JSON, int]:
    """The value that a text begins with, and where it ends. Whole numbers are exact: a Decimal where Python takes no int of so
    many digits. Others are floats; with `decimals` exact too. Raises ValueError."""
    try:
        return (_decode_decimals if decimals else _decode)(text)
    except ValueError:
        return (_decode_long_decimals if decimals else _decode_long)(text)


_INSTEAD = {
    "bytes": "store it as a blob (client.blobs), or as base64 text",
    "bytearray": "store it as a blob (client.blobs), or as base64 text",
    "memoryview": "store it as a blob (client.blobs), or as base64 text",
    "datetime": "store its .isoformat()",
    "date": "store its .isoformat()",
    "Decimal": "store it as text, or make the client with decimals=True",
    "set": "store a sorted list",
    "UUID": "store its str()",
    "_Null": "store None; kura.NULL is for what `edit` calls",
}


def _fault(value: Any, place: str, depth: int, decimals: bool) -> str:
    """Says where a value is no JSON, and what to store instead; empty when it is."""
    if depth > 126:
        return f"{shortened(place, 60)} is nested more than 126 levels deep, or contains itself"
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                return f"{place} has the key {key!r}: names in JSON are strings; write str(key)"
            found = (
                _fault(key, f"the name {key!r} in {place}", depth, decimals)
                or _fault(part, f"{place}[{key!r}]" if place else key, depth + 1, decimals)
            )
            if found:
                return found
        return ""
    if isinstance(value, (list, tuple)):
        for index, part in enumerate(value):
            found = _fault(part, f"{place}[{index}]", depth + 1, decimals)
            if found:
                return found
        return ""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return f"{place} has half of a surrogate pair: it is no text that UTF-8 can say"
        return ""
    if isinstance(value, float):
        is_finite = value == value and value not in (float("inf"), float("-inf"))
        return "" if is_finite else f"{place} is {value!r}, which JSON cannot say: store None, or text"
    if decimals and isinstance(value, Decimal):
        return "" if value.is_finite() else f"{place} is {value!r}, which JSON cannot say: store None, or text"
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, int):
        try:
            str(value)
        except ValueError:
            return f"{place} is a whole number of more digits than Python writes: store Decimal({place}), with decimals=True, or text"
        return ""
    name = type(value).__name__
    instead = _INSTEAD.get(name, "convert it to dicts, lists, strings and numbers first")
    return f"{place} is of type {name}, which JSON does not have: {instead}"


PLACES = ("domain", "key", "collection", "id", "service", "account", "namespace", "name")


def params_of(line: bytes) -> Dict[str, str]:
    """What a request is about: the names among its parameters."""
    params = json.loads(line, parse_int=_integer).get("params", {})
    return {name: params[name] for name in PLACES if isinstance(params.get(name), str)}


class _Repeated(Exception):
    pass


def repeated_name(text: bytes) -> Optional[str]:
    """A name that comes twice in an object of JSON text, as 1 and "1" do when a dict has both; None when there is none."""

    def once(pairs: List[Tuple[str, JSON]]) -> Dict[str, JSON]:
        names = set()
        for name, _ in pairs:
            if name in names:
                raise _Repeated(name)
            names.add(name)
        return dict(pairs)

    try:
        json.loads(text, object_pairs_hook=once, parse_int=_integer)
        return None
    except _Repeated as error:
        return str(error)
