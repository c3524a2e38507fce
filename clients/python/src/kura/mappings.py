"""A settings domain as a mapping. Only the blocking one: nothing can be awaited within `domain[key]`."""

from __future__ import annotations

from typing import Any, Dict, ItemsView, Iterator, KeysView, Mapping, MutableMapping, Optional, Tuple, TypeVar, ValuesView

from .values import JSON, UNSET


DomainType = TypeVar("DomainType", bound="DomainMapping")


class AsyncDomains:
    """With asyncio nothing is assigned."""


class Domains:
    """What `client.settings["app"] |= {…}` needs: Python assigns what came of it."""

    def __setitem__(self, domain: str, value: object) -> None:
        if not isinstance(value, DomainMapping) or getattr(value, "name", None) != domain:
            raise TypeError(f"a domain is not replaced by assigning: settings[{domain!r}].update(…) adds, .clear() removes")


class AsyncDomainMapping:
    """With asyncio a domain is no mapping: its methods are awaited."""


class DomainMapping(MutableMapping[str, JSON]):
    """What makes a mapping of `read`, `put`, `delete`, `all` and `update`."""

    def read(self, key: str) -> Any:
        raise NotImplementedError

    def put(self, key: str, value: JSON) -> int:
        raise NotImplementedError

    def delete(self, key: str) -> bool:
        raise NotImplementedError

    def all(self, prefix: Optional[str] = None) -> Dict[str, JSON]:
        raise NotImplementedError

    def put_many(self, values: Mapping[str, JSON], delete: Any = ()) -> int:
        raise NotImplementedError

    def __getitem__(self, key: str) -> JSON:
        found = self.read(key)
        if "value" not in found:
            raise KeyError(key)
        return found["value"]

    def __setitem__(self, key: str, value: JSON) -> None:
        self.put(key, value)

    def __delitem__(self, key: str) -> None:
        if not self.delete(key):
            raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and "value" in self.read(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self.all())

    # One reading of all, where the mapping's own would read each by itself.

    def keys(self) -> KeysView[str]:
        return self.all().keys()

    def values(self) -> ValuesView[JSON]:
        return self.all().values()

    def items(self) -> ItemsView[str, JSON]:
        return self.all().items()

    def update(self, other: Any = (), /, **values: JSON) -> None:
        """Stores all of them in one step."""
        self.put_many(dict(other, **values))

    def popitem(self) -> Tuple[str, JSON]:
        """Removes one that is stored, and returns it. Raises KeyError when there is none."""
        for key in self.all():
            value = self.pop(key, UNSET)
            if value is not UNSET:
                return key, value
        raise KeyError("the domain has nothing that is stored")

    def __or__(self, other: Mapping[str, JSON]) -> Dict[str, JSON]:
        return {**self.all(), **other} if isinstance(other, Mapping) else NotImplemented

    def __ror__(self, other: Mapping[str, JSON]) -> Dict[str, JSON]:
        return {**other, **self.all()} if isinstance(other, Mapping) else NotImplemented

    def __ior__(self: DomainType, other: Any) -> DomainType:  # type: ignore[misc]
        self.update(other)
        return self

    def clear(self) -> None:
        """Removes everything that is stored, in one step; defaults show again."""
        self.put_many({}, delete=list(self.all()))
