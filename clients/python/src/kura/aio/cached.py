"""Functions whose results all processes of the host share: one fetches, the others take what is there, or wait."""

from __future__ import annotations

import difflib
import functools
import hashlib
import inspect
import time
import types
from typing import TYPE_CHECKING, Any, Awaitable, Callable, Dict, Generic, Optional, Sequence, TypeVar, Union, cast

from ..caller import Descriptor
from ..errors import FetchFailedError, KuraError, NoReplyError, NotJSONError, RetryLater, ServerGoneError
from ..later import AsyncLater
from ..methods.kinds import OutcomeUnknownError, OverloadedError, ShuttingDownError
from ..methods.models import AsyncModelsMethods, ModelsGetResult
from ..tasks import mark, spawn
from ..values import JSON, decoded, encoded

if TYPE_CHECKING:
    from .client import AsyncKura

Result = TypeVar("Result")
KEY_BYTES = 512
# How long one request waits for whoever fetches; then it asks again, and wins when that one is gone.
ROUND_SECONDS = 25.0
# What the daemon gives who asks for no lease.
LEASE_SECONDS = 30


def key_of(arguments: Sequence[Any], named: Dict[str, Any]) -> str:
    """The key of a call: its arguments as JSON; their hash when that is too long for a key."""
    only = arguments[0] if len(arguments) == 1 and not named else None
    if isinstance(only, str) and only and only[0] not in "=#":
        text = only
    else:
        try:
            text = "=" + encoded(list(arguments), "arguments", True).decode()
            if named:
                text += encoded(dict(sorted(named.items())), "", True).decode()
        except NotJSONError as error:
            raise NotJSONError(f"{error}; or tell what makes a key of the arguments (key=…), of `self` too") from None
    if len(text.encode()) <= KEY_BYTES and text.isprintable():
        return text
    return "#" + hashlib.blake2b(text.encode(), digest_size=32).hexdigest()


def _same(value: Any) -> Any:
    return value


class AsyncImpatient:
    """Calls, and does not wait for a daemon that is away."""

    def __init__(self, client: AsyncKura) -> None:
        self._client = client

    async def call(
        self,
        method: str,
        params: Dict[str, JSON],
        timeout: Optional[float] = None,
        *,
        descriptor: Optional[Descriptor] = None,
        wants_descriptor: bool = False,
    ) -> JSON:
        return await self._client.call(
            method, params, timeout, descriptor=descriptor, wants_descriptor=wants_descriptor, patience=0.0
        )


class AsyncCache:
    """The decorator. See `kura.cached` for the options."""

    def __init__(
        self,
        client: Callable[[], AsyncKura],
        namespace: str,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        max_age_seconds: Optional[int] = None,
        wait_seconds: float = 60.0,
        lease_seconds: Optional[int] = None,
        fail_seconds: int = 0,
        key: Optional[Callable[..., str]] = None,
        tags: Union[None, Sequence[str], Callable[..., Sequence[str]]] = None,
        encode: Callable[[Any], JSON] = _same,
        decode: Callable[[JSON], Any] = _same,
        in_background: bool = False,
        needs_server: bool = False,
    ) -> None:
        self.client = client
        self.namespace = namespace
        self.times: Dict[str, Any] = {"ttl_seconds": ttl_seconds, "stale_seconds": stale_seconds, "stale_if_error_seconds": stale_if_error_seconds}
        self.max_age_seconds = max_age_seconds
        self.wait_seconds = wait_seconds
        self.lease_seconds = lease_seconds
        self.fail_seconds = fail_seconds
        self.key = key
        self.tags = tags
        self.encode = encode
        self.decode = decode
        self.in_background = in_background
        self.needs_server = needs_server

    def models(self) -> AsyncModelsMethods:
        """Where results are looked for and brought. Who can do without a daemon does not wait for one."""
        client = self.client()
        return client.models if self.needs_server else AsyncModelsMethods(AsyncImpatient(client))

    def __call__(self, function: Callable[..., Awaitable[Result]]) -> AsyncCached[Result]:
        return AsyncCached(self, function)


def check_cached(namespace: Any, options: Dict[str, Any]) -> None:
    """Says what is wrong where it is written. Raises TypeError."""
    if not isinstance(namespace, str):
        raise TypeError('the cache needs a name: write @kura.cached("namespace")')
    known = [name for name, about in inspect.signature(AsyncCache).parameters.items() if about.kind is about.KEYWORD_ONLY]
    for name in options:
        if name not in known:
            near = [word for word in known if word.startswith(f"{name}_")] or difflib.get_close_matches(name, known, 1)
            meant = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            raise TypeError(f"kura.cached has no option {name}: {meant}")


class AsyncCached(Generic[Result]):
    """A function with a cache around it. Calling it is as calling the function."""

    def __init__(self, cache: AsyncCache, function: Callable[..., Awaitable[Result]]) -> None:
        self._cache = cache
        self._function = function
        functools.update_wrapper(self, function)
        mark(self)
        try:
            # What is called, not what that is a wrapper of.
            self._signature: Optional[inspect.Signature] = inspect.signature(function, follow_wrapped=False)
        except (TypeError, ValueError):
            # Some that are written in C tell nothing.
            self._signature = None

    def __get__(self, instance: Any, owner: Optional[type] = None) -> Any:
        # As a method: `self` is its first argument, of which key= has to make a part of the key, or nothing.
        return self if instance is None else types.MethodType(self, instance)

    def __reduce__(self) -> str:
        # By its name, as functions are.
        return str(getattr(self._function, "__qualname__"))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self._function, '__qualname__', self._function)} in {self._cache.namespace!r}>"

    def key(self, *arguments: Any, **named: Any) -> str:
        """What a call's result is called in the cache. Calls that are equal to the function have one: `f("a")`, `f(city="a")`."""
        if self._cache.key is not None:
            return self._cache.key(*arguments, **named)
        if self._signature is None:
            return key_of(arguments, named)
        bound = self._signature.bind(*arguments, **named)
        bound.apply_defaults()
        return key_of(bound.args, bound.kwargs)

    async def invalidate(self, *arguments: Any, **named: Any) -> None:
        """Forgets the result of this call: the next one fetches."""
        await self._cache.client().models.delete(self._cache.namespace, self.key(*arguments, **named))

    async def invalidate_all(self, tag: Optional[str] = None) -> None:
        """Has all results, or those with a tag, fetched anew; until they are they count as stale."""
        await self._cache.client().models.invalidate(self._cache.namespace, tag=tag)

    async def __call__(self, *arguments: Any, **named: Any) -> Result:
        key = self.key(*arguments, **named)
        deadline = time.monotonic() + self._cache.wait_seconds
        while True:
            try:
                found = await self._ask(key, deadline)
            except (ServerGoneError, ShuttingDownError, OverloadedError):
                if self._cache.needs_server:
                    raise
                # A cache that is away must not take the application along.
                return await self._function(*arguments, **named)
            token = found.get("token")
            if token is not None and found["state"] == "stale" and self._cache.in_background:
                spawn(self._refresh, token, key, arguments, named)
                return self._decoded(found["value"])
            if token is not None:
                return await self._fetch(token, key, found, arguments, named)
            if "value" in found:
                return self._decoded(found["value"])
            if "retryAfterMs" in found:
                seconds = found["retryAfterMs"] / 1000
                raise FetchFailedError(
                    f"{self._cache.namespace} {key!r} is not in the cache, and its source asks to be left alone for {seconds:g} s more",
                    seconds,
                )
            if time.monotonic() >= deadline:
                raise NoReplyError(
                    f"{self._cache.namespace} {key!r}: somebody else has been fetching it for {self._cache.wait_seconds:g} s; "
                    "raise wait_seconds when fetching takes so long"
                )

    async def _ask(self, key: str, deadline: float) -> ModelsGetResult:
        left = max(0.0, min(ROUND_SECONDS, deadline - time.monotonic()))
        return await self._cache.models().get(
            self._cache.namespace,
            key,
            max_age_seconds=self._cache.max_age_seconds,
            claim=True,
            wait_ms=int(left * 1000),
            lease_seconds=self._cache.lease_seconds,
        )

    async def _fetch(
        self, token: str, key: str, found: Optional[ModelsGetResult], arguments: Sequence[Any], named: Dict[str, Any]
    ) -> Result:
        """The winner's part: fetches, and brings it or says that it failed."""
        cache = self._cache
        # As long as it takes nobody else fetches. Most are done before there is anything to renew.
        renewing = AsyncLater(self._renewal_seconds, functools.partial(self._renew, token, key))
        try:
            try:
                value = await self._function(*arguments, **named)
            finally:
                renewing.cancel()
            # What everybody else will get of it.
            decimals = cache.client().decimals
            text = encoded(cache.encode(value), decimals=decimals)
        except NotJSONError:
            await self._fail(token, 0)
            raise
        except Exception as error:
            seconds = error.seconds if isinstance(error, RetryLater) else cache.fail_seconds
            await self._fail(token, seconds)
            if found is not None and "value" in found and cache.times["stale_if_error_seconds"]:
                return self._decoded(found["value"])
            raise
        except BaseException:
            # Interrupted: the next one may try at once.
            await self._fail(token, 0)
            raise
        stored, _ = decoded(text.decode(), decimals)
        tags = cache.tags(*arguments, **named) if callable(cache.tags) else cache.tags
        try:
            await cache.models().put(
                cache.namespace, key, stored, token=token, tags=tags, **cache.times
            )
        except KuraError:
            # It has been fetched, and that is what was asked for.
            if cache.needs_server:
                raise
        return self._decoded(stored)

    async def _refresh(self, token: str, key: str, arguments: Sequence[Any], named: Dict[str, Any]) -> None:
        await self._fetch(token, key, None, arguments, named)

    @property
    def _renewal_seconds(self) -> float:
        """So often that two renewals may fail before the right to fetch is lost."""
        return (self._cache.lease_seconds or LEASE_SECONDS) / 3

    async def _renew(self, token: str, key: str, later: AsyncLater) -> None:
        """Has the right to fetch last until the fetch is over. Nobody is told of one that is lost: who fetches does so all the same."""
        cache = self._cache
        is_over = False
        while not is_over:
            try:
                # Whoever fetches may wait for a daemon that is away; this has until the next time.
                models = AsyncModelsMethods(AsyncImpatient(cache.client()))
                await models.renew(
                    cache.namespace, key, token, cache.lease_seconds or LEASE_SECONDS, timeout=self._renewal_seconds
                )
            except (ServerGoneError, NoReplyError, OutcomeUnknownError, OverloadedError, ShuttingDownError):
                pass
            except KuraError:
                # It is lost, or the daemon knows no renewing.
                return
            is_over = await later.wait(self._renewal_seconds)

    async def _fail(self, token: str, seconds: float) -> None:
        try:
            await self._cache.models().fail(token, retry_after_seconds=max(0, round(seconds)) or None)
        except KuraError:
            # The claim ends by itself.
            pass

    def _decoded(self, value: JSON) -> Result:
        return cast(Result, self._cache.decode(value))


