"""The client that a process has when nobody makes one, and the decorator that uses it."""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from typing import Any, Awaitable, Callable, Optional, Protocol, TypeVar, Union, overload

from .aio.cached import AsyncCache, AsyncCached, check_cached
from .aio.client import AsyncKura
from .sync.cached import Cache, Cached
from .sync.client import Kura
from .threads import forked

Result = TypeVar("Result")
_lock = threading.Lock()
_client: Optional[Kura] = None
_async_clients: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncKura]" = weakref.WeakKeyDictionary()


def _forked() -> None:
    """In a child: somebody may have had the lock."""
    global _lock
    _lock = threading.Lock()


forked(_forked)


def default_client() -> Kura:
    """This process's client of the daemon at its usual place (KURA_SOCKET); it connects when it is first used."""
    global _client
    with _lock:
        if _client is None:
            _client = Kura()
        return _client


def _async_client() -> AsyncKura:
    loop = asyncio.get_running_loop()
    client = _async_clients.get(loop)
    if client is None:
        client = _async_clients[loop] = AsyncKura()
    return client


class _Decorator(Protocol):
    @overload
    def __call__(self, function: Callable[..., Awaitable[Result]]) -> AsyncCached[Result]: ...  # type: ignore
    @overload
    def __call__(self, function: Callable[..., Result]) -> Cached[Result]: ...


def cached(namespace: str, *, client: Union[None, Kura, AsyncKura] = None, **options: Any) -> _Decorator:
    """Decorates a function so that all processes of the host share its results.

    Of those that call it at once one fetches; the others get the stale value at once, or wait when there is none.
    Functions of `async def` are awaited as before. Arguments make the key; results are JSON.

        @kura.cached("weather", ttl_seconds=600)
        def weather(city):
            return requests.get(f"https://example.org/{city}").json()

    `ttl_seconds`: how long a result is fresh; for ever when left out. `stale_seconds`: how long it is shown after that while
    somebody fetches anew. `stale_if_error_seconds`: how long it is shown instead when fetching fails.
    `max_age_seconds`: what is older counts as stale for these calls; 0 fetches in any case.
    `wait_seconds`: how long a call waits for whoever fetches; then NoReplyError. Who fetches may take any time: its
    right to is renewed meanwhile, so what may hang should have a time limit of its own. When its process dies the next one
    fetches: at once, or with `lease_seconds` after so long at most; then it outlives a connection that is lost, too.
    `fail_seconds`: after a failure nobody tries for so long; whoever asks gets FetchFailedError. The function says so itself
    by raising RetryLater(seconds).
    `key`: makes the key of the arguments; else they do, as the function gets them: `f(1)` and `f(number=1)` are one.
    `tags`: words, or what makes them of the arguments, for `invalidate_all(tag=…)`.
    `encode`, `decode`: to JSON and back, for results that are none.
    `in_background`: who is to fetch gets the stale value at once as well, and fetches beside.
    `needs_server`: wait for a daemon that is away, and raise when none comes, rather than call the function at once without a cache.

    The decorated function has `invalidate(…)`, `invalidate_all(tag=None)` and `key(…)`.
    """

    check_cached(namespace, options)

    def blocking() -> Kura:
        return client if isinstance(client, Kura) else default_client()

    def awaited() -> AsyncKura:
        return client if isinstance(client, AsyncKura) else _async_client()

    def decorate(function: Callable[..., Any]) -> Any:
        # Also an object that is called with await, such as another decorator has made.
        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):
            if isinstance(client, Kura):
                raise TypeError("a function of `async def` needs an AsyncKura (kura.aio.connect) as its client")
            return AsyncCache(awaited, namespace, **options)(function)
        if isinstance(client, AsyncKura):
            raise TypeError("a function without `async` needs a Kura (kura.connect) as its client")
        return Cache(blocking, namespace, **options)(function)

    return decorate
