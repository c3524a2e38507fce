"""A settings domain as a mapping; with asyncio as much of one as can be awaited."""

from __future__ import annotations

from typing import (
    Any,
    AsyncIterator,
    Dict,
    ItemsView,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    NoReturn,
    Optional,
    Tuple,
    TypeVar,
    ValuesView,
)

from .stores import AsyncScopes, Scopes
from .values import JSON, UNSET

# What `pop` returns where nothing is stored.
_NOTHING: Any = object()
DomainType = TypeVar("DomainType", bound="DomainMapping")


class AsyncDomains(AsyncScopes):
    """With asyncio nothing is assigned."""

    def __setitem__(self, domain: str, value: object) -> NoReturn:
        raise TypeError(f"a domain is not replaced by assigning: await settings[{domain!r}].update(…) adds, .clear() removes")


class Domains(Scopes):
    """What `client.settings["app"] |= {…}` needs: Python assigns what came of it."""

    def __setitem__(self, domain: str, value: object) -> None:
        if not isinstance(value, DomainMapping) or getattr(value, "name", None) != domain:
            raise TypeError(f"a domain is not replaced by assigning: settings[{domain!r}].update(…) adds, .clear() removes")


class AsyncDomainMapping:
    """What can be awaited of a mapping: `await domain["theme"]`, `await domain.items()`, `async for key in domain`. The rest, which
    Python cannot wait for, is a TypeError that says what to write."""

    async def read(self, key: str) -> Any:
        raise NotImplementedError

    async def all(self, prefix: Optional[str] = None) -> Dict[str, JSON]:
        raise NotImplementedError

    async def put_many(self, values: Mapping[str, JSON], delete: Any = ()) -> int:
        raise NotImplementedError

    async def pop(self, key: str, default: JSON = UNSET) -> JSON:
        raise NotImplementedError

    async def __getitem__(self, key: str) -> JSON:
        found = await self.read(key)
        if "value" not in found:
            raise KeyError(key)
        return found["value"]

    async def __aiter__(self) -> AsyncIterator[str]:
        for key in await self.all():
            yield key

    async def keys(self) -> KeysView[str]:
        return (await self.all()).keys()

    async def values(self) -> ValuesView[JSON]:
        return (await self.all()).values()

    async def items(self) -> ItemsView[str, JSON]:
        return (await self.all()).items()

    async def update(self, other: Any = (), /, **values: JSON) -> None:
        """Stores all of them in one step."""
        await self.put_many(dict(other, **values))

    async def popitem(self) -> Tuple[str, JSON]:
        """Removes one that is stored, and returns it. Raises KeyError when there is none."""
        for key in await self.all():
            value = await self.pop(key, _NOTHING)
            if value is not _NOTHING:
                return key, value
        raise KeyError("the domain has nothing that is stored")

    async def clear(self) -> None:
        """Removes everything that is stored, in one step; defaults show again."""
        await self.put_many({}, delete=list(await self.all()))

    def __setitem__(self, key: str, value: JSON) -> NoReturn:
        raise TypeError(f"an assignment cannot be awaited: write `await domain.put({key!r}, …)`")

    def __delitem__(self, key: str) -> NoReturn:
        raise TypeError(f"`del` cannot be awaited: write `await domain.delete({key!r})`")

    def __contains__(self, key: object) -> NoReturn:
        raise TypeError(f"`in` cannot be awaited: write `{key!r} in await domain.all()`, or `await domain.get({key!r})`")

    def __iter__(self) -> NoReturn:
        raise TypeError("with asyncio write `async for key in domain`, or `await domain.all()` for all of it as a dict")

    def __len__(self) -> int:
        raise TypeError("len() and truth cannot be awaited: write `len(await domain.all())`")

    def __or__(self, other: Any) -> NoReturn:
        raise TypeError("`|` cannot be awaited: write `await domain.update(…)`, or `{**await domain.all(), …}`")

    __ror__ = __ior__ = __or__


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
            value = self.pop(key, _NOTHING)
            if value is not _NOTHING:
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
