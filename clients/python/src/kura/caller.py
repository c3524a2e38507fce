"""What the methods need to be called: somebody who sends, or collects what is to be sent."""

from __future__ import annotations

from typing import Any, Dict, Optional, Protocol, Union

from .values import JSON


class HasFileno(Protocol):
    """A file, a socket: what has a descriptor."""

    def fileno(self) -> int: ...


class Readable(Protocol):
    """A stream: what is read from it is bytes, or is to be awaited for them."""

    def read(self, size: int, /) -> Any: ...


Descriptor = Union[int, HasFileno]


class Caller(Protocol):
    """Carries out a call, and returns its result."""

    def call(
        self,
        method: str,
        params: Dict[str, JSON],
        timeout: Optional[float] = None,
        *,
        descriptor: Optional[Descriptor] = None,
        wants_descriptor: bool = False,
    ) -> JSON: ...


class AsyncCaller(Protocol):
    """The same, to be awaited."""

    async def call(
        self,
        method: str,
        params: Dict[str, JSON],
        timeout: Optional[float] = None,
        *,
        descriptor: Optional[Descriptor] = None,
        wants_descriptor: bool = False,
    ) -> JSON: ...
