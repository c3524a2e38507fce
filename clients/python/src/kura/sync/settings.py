# Generated from ../aio/settings.py by generator/: change it there.

"""Settings: a domain as a mapping."""

from __future__ import annotations

from copy import deepcopy
from typing import Callable, Dict, Mapping, Optional, Sequence

from ..caller import Caller
from ..edits import edited
from ..errors import next_cursor
from ..mappings import DomainMapping, Domains
from ..methods.kinds import ConflictError
from ..methods.settings import SettingsMethods, SettingsGetResult
from ..values import JSON, UNSET


class Settings(Domains, SettingsMethods):
    """All methods of settings; `settings["app"]` is one domain."""

    def __getitem__(self, domain: str) -> Domain:
        return Domain(self._caller, domain)


class Domain(DomainMapping):
    """The settings of one domain, each a JSON value of at most 1 MiB."""

    def __init__(self, caller: Caller, name: str) -> None:
        self._methods = SettingsMethods(caller)
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def read(self, key: str) -> SettingsGetResult:
        """The setting with its `rev`; without a `value` when no layer has one."""
        return self._methods.get(self.name, key)

    def get(self, key: str, default: JSON = None) -> JSON:
        """The value that shows, or else the default."""
        return (self._methods.get(self.name, key)).get("value", default)

    def put(self, key: str, value: JSON, if_rev: Optional[int] = None) -> int:
        """Stores a value, and returns its revision. With `if_rev` only over that revision (0: only when there is none)."""
        return (self._methods.put(self.name, key, value, if_rev=if_rev))["rev"]

    def delete(self, key: str, if_rev: Optional[int] = None) -> bool:
        """Whether there was something to remove."""
        return (self._methods.delete(self.name, key, if_rev=if_rev))["deleted"]

    def put_many(self, values: Mapping[str, JSON], delete: Sequence[str] = (), if_rev: Optional[int] = None) -> int:
        """Stores and removes several in one step: all or none. Returns the domain's revision."""
        result = self._methods.put_many(self.name, values, delete=list(delete) or None, if_rev=if_rev)
        return result["rev"]

    def all(self, prefix: Optional[str] = None) -> Dict[str, JSON]:
        """All values that show, in the order of their keys' bytes; those whose keys begin with `prefix`."""
        found: Dict[str, JSON] = {}
        cursor: Optional[str] = None
        while True:
            page = self._methods.list(self.name, prefix=prefix, cursor=cursor)
            found.update(page["values"])
            cursor = next_cursor(page, cursor)
            if cursor is None:
                return found

    def increment(self, key: str, by: int = 1, initial: Optional[int] = None) -> int:
        """Adds in one step, so that counters of many processes lose nothing; returns the sum."""
        return (self._methods.increment(self.name, key, by=by, initial=initial))["value"]

    def edit(self, key: str, change: Callable[[JSON], JSON], default: JSON = None) -> JSON:
        """Stores what `change` returns for the value, anew when somebody else was faster; returns what was stored.

        `change` may be called several times, and gets the default when there is no value. It has to return what is to be stored,
        also when it changes that in place: nothing is stored, and it is a TypeError, when it returns None (kura.NULL stores
        null), or has changed the value in place and returns something of another kind.
        """
        while True:
            found = self._methods.get(self.name, key)
            is_stored = "value" in found
            value = edited(change, found["value"] if is_stored else deepcopy(default), is_stored)
            try:
                self._methods.put(self.name, key, value, if_rev=found["rev"])
                return value
            except ConflictError:
                continue

    def setdefault(self, key: str, default: JSON = None) -> JSON:
        """The value that shows; when there is none the default, which is stored then."""
        found = self._methods.get(self.name, key)
        if "value" in found:
            return found["value"]
        try:
            self._methods.put(self.name, key, default, if_rev=0)
            return default
        except ConflictError:
            return self.get(key, default)

    def pop(self, key: str, default: JSON = UNSET) -> JSON:
        """Removes what is stored, and returns it: of several who pop at once one gets it. Where nothing is stored the default, or
        a KeyError."""
        while True:
            found = self._methods.get(self.name, key)
            if found["rev"] == 0 or "value" not in found:
                if default is UNSET:
                    raise KeyError(key)
                return default
            try:
                if (self._methods.delete(self.name, key, if_rev=found["rev"]))["deleted"]:
                    return found["value"]
            except ConflictError:
                pass

    def register(self, defaults: Mapping[str, JSON]) -> None:
        """Values that show where nothing is stored, for all who read the domain: say so at each start."""
        self._methods.register(self.name, defaults)

    def override(self, key: str, value: JSON) -> None:
        """Shows this client another value, and nobody else, until it is closed; nothing is stored."""
        self._methods.override(self.name, key, value)

    def clear_overrides(self, key: Optional[str] = None) -> None:
        self._methods.clear_overrides(domain=self.name, key=key)


