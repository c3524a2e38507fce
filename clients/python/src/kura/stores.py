"""What the stores of a client are besides their methods: names of scopes that are iterated over, and hints for the rest."""

from __future__ import annotations

from typing import Any, AsyncIterator, Dict, Iterator, List, NoReturn, cast


def _names(word: str, told: Dict[str, Any]) -> List[str]:
    return [part[word] for part in told["scopes"]]


class Store:
    """The methods of a store whose items are in scopes. By itself it has no `[]`."""

    # Its name, and what a scope of it is called.
    _store, _word = "", ""

    def __getitem__(self, scope: str) -> Any:
        raise TypeError(f"{self._store}[{scope!r}] is not for use here: the {self._word} is the first argument, as in .{self._store}.put({scope!r}, …)")

    # Python would ask [0], [1], … instead.

    def __iter__(self) -> Iterator[str]:
        raise TypeError(f"{self._store} is not iterated over here: .{self._store}.scopes() tells what there is")

    def __contains__(self, scope: object) -> bool:
        raise TypeError(f"{self._store} has no `in` here: .{self._store}.scopes() tells what there is")


class Scopes:
    """`for name in client.documents` and `name in client.documents`: those that there are, as `scopes()` tells."""

    def __iter__(self) -> Iterator[str]:
        store = cast(Any, self)
        return iter(_names(store._word, store.scopes()))

    def __contains__(self, scope: object) -> bool:
        return scope in list(self)


class AsyncScopes:
    """`async for name in client.documents`: those that there are, as `scopes()` tells."""

    async def __aiter__(self) -> AsyncIterator[str]:
        store = cast(Any, self)
        for name in _names(store._word, await store.scopes()):
            yield name

    def __iter__(self) -> NoReturn:
        raise TypeError("with asyncio write `async for name in …`, or await .scopes()")

    def __contains__(self, scope: object) -> NoReturn:
        raise TypeError("with asyncio write `name in [name async for name in …]`, or await .scopes()")
