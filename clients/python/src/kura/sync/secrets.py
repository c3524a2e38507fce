# Generated from ../aio/secrets.py by generator/: change it there.

"""Secrets: a service's accounts, whose values are never shown by accident."""

from __future__ import annotations

import base64
from typing import Any, Iterator, Dict, Mapping, Optional, Union

from ..caller import Caller
from ..errors import next_cursor
from ..methods.secrets import SecretsMethods
from ..stores import Scopes
from ..values import JSON

SecretValue = Union[str, bytes, Mapping[str, str]]


class Secret:
    """A secret as it was read. `reveal` has the value; nothing else shows it."""

    __slots__ = ("_value", "rev", "version")

    def __init__(self, value: SecretValue, rev: int, version: int) -> None:
        self._value = value
        self.rev = rev
        self.version = version

    def reveal(self) -> SecretValue:
        """Text, bytes, or texts by name: what was stored."""
        return self._value

    def text(self) -> str:
        """The value, where it is text. Raises TypeError."""
        if not isinstance(self._value, str):
            raise TypeError("this secret is no text: reveal() has what it is, or get it with field=")
        return self._value

    def __repr__(self) -> str:
        return f"<Secret version {self.version}, not shown>"

    def __reduce__(self) -> Any:
        raise TypeError("a secret is not pickled: read it where it is used")


class Secrets(Scopes, SecretsMethods):
    """All methods of secrets; `secrets["mail"]` is one service."""

    def __getitem__(self, service: str) -> Service:
        return Service(self._caller, service)


class Service:
    """The secrets of one service. While they are sealed everything here raises SealedError."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._methods = SecretsMethods(caller)
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def get(self, account: str, *, field: Optional[str] = None, version: Optional[int] = None) -> Optional[Secret]:
        """The secret, or one field of it; None when there is none."""
        result = self._methods.get(self.name, account, field=field, version=version)
        if result["rev"] == 0:
            return None
        value: SecretValue = result["secret"] if "secret" in result else base64.b64decode(result["secretBase64"])
        return Secret(value, result["rev"], result["version"])

    def put(
        self, account: str, secret: SecretValue, *, if_rev: Optional[int] = None, label: Optional[str] = None,
        attributes: Optional[Mapping[str, str]] = None,
    ) -> int:  # fmt: skip
        """Stores text, bytes, or texts by name, as a new version; returns the revision."""
        value: Dict[str, JSON] = {"secret": secret}
        if isinstance(secret, bytes):
            value = {"secret_base64": base64.b64encode(secret).decode()}
        return (self._methods.put(self.name, account, if_rev=if_rev, label=label, attributes=attributes, **value))["rev"]

    def delete(self, account: str, *, if_rev: Optional[int] = None) -> bool:
        """Removes it with all its versions; whether it was there."""
        return (self._methods.delete(self.name, account, if_rev=if_rev))["deleted"]

    def accounts(self) -> Iterator[str]:
        """The accounts, in an order of their own."""
        cursor: Optional[str] = None
        while True:
            page = self._methods.list(service=self.name, cursor=cursor)
            for item in page["items"]:
                yield item["account"]
            cursor = next_cursor(page, cursor)
            if cursor is None:
                return
