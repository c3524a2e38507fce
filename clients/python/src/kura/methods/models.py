# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..stores import Store
from ..values import JSON


class _ModelsGetResult(TypedDict):
    # How it stands.
    state: Literal["fresh", "stale", "miss"]
    # Milliseconds since it was stored or touched; 0 on a miss.
    ageMs: int


class ModelsGetResult(_ModelsGetResult, total=False):
    # The value; left out on a miss.
    value: JSON
    # As it was put with it.
    etag: str
    # As they were put with it.
    tags: List[str]
    # You have won: fetch it, and bring it or say that it failed.
    token: str
    # Nobody is to fetch it for so long, whoever tried last has said: `models.fail`.
    retryAfterMs: int


class _ModelsGetManyResultEntries(TypedDict):
    # Its key.
    key: str
    # How it stands.
    state: Literal["fresh", "stale", "miss"]
    # Milliseconds since it was stored or touched; 0 on a miss.
    ageMs: int


class ModelsGetManyResultEntries(_ModelsGetManyResultEntries, total=False):
    # The value; left out on a miss.
    value: JSON
    # As it was put with it.
    etag: str
    # As they were put with it.
    tags: List[str]


class ModelsGetManyResult(TypedDict):
    # Those that are there, in the order of `keys`.
    entries: List[ModelsGetManyResultEntries]
    # Those that are not.
    missing: List[str]


class _ModelsPutResult(TypedDict):
    # Whether it is cached now.
    stored: bool


class ModelsPutResult(_ModelsPutResult, total=False):
    # true: it is cached as stale, since `token` was lost or what it stands for was invalidated meanwhile.
    stale: bool
    # Why it is not cached.
    reason: Literal["exists", "notWanted", "overBudget", "lowStorage"]


class ModelsPutManyResultDeclined(TypedDict):
    # Its key.
    key: str
    # Why it is not cached.
    reason: Literal["exists", "overBudget", "lowStorage", "quotaExceeded"]


class ModelsPutManyResult(TypedDict):
    # How many are cached now.
    stored: int
    # The others, in the order of `entries`.
    declined: List[ModelsPutManyResultDeclined]


class _ModelsPutManyEntries(TypedDict):
    # Which one.
    key: str
    # The value, at most 8 MiB as JSON text.
    value: JSON


class ModelsPutManyEntries(_ModelsPutManyEntries, total=False):
    # What its source calls this version of it.
    etag: str
    # Words by which it can be invalidated together with others.
    tags: Sequence[str]


class _ModelsTouchResult(TypedDict):
    # Whether there was such an entry.
    touched: bool


class ModelsTouchResult(_ModelsTouchResult, total=False):
    # true: it stays stale, as with `models.put`.
    stale: bool


class ModelsFailResult(TypedDict):
    # Whether the token was still the one that counts.
    ended: bool


class _ModelsRenewResult(TypedDict):
    # When it ends, unless it is renewed again.
    expiresAt: str


class ModelsRenewResult(_ModelsRenewResult, total=False):
    # true: what it stands for was deleted or invalidated meanwhile, and what is put with it is cached as stale.
    stale: bool


class ModelsDeleteResult(TypedDict):
    # Whether there was one.
    deleted: bool


class ModelsDeleteManyResult(TypedDict):
    # How many there were.
    deleted: int


class ModelsInvalidateResult(TypedDict):
    # Whether there is such a namespace.
    invalidated: bool


class ModelsListResultEntries(TypedDict):
    # Its key.
    key: str
    # How it stands.
    state: Literal["fresh", "stale"]
    # Milliseconds since it was stored or touched.
    ageMs: int
    # Bytes of its value.
    bytes: int


class _ModelsListResult(TypedDict):
    # The page.
    entries: List[ModelsListResultEntries]


class ModelsListResult(_ModelsListResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class _ModelsConfigureResult(TypedDict):
    # How long they are shown as stale after that.
    staleSeconds: int
    # How long when fetching them fails.
    staleIfErrorSeconds: int
    # Most bytes.
    maxBytes: int
    # Whether it lies in a file of its own.
    partition: bool
    # Whether it survives the daemon.
    persist: bool
    # Whether it ends with the connections that hold it.
    scratch: bool


class ModelsConfigureResult(_ModelsConfigureResult, total=False):
    # How long entries are fresh; left out: for ever.
    ttlSeconds: int
    # Most entries; left out: no bound.
    maxEntries: int


class _ModelsDescribeResult(TypedDict):
    # How long they are shown as stale after that.
    staleSeconds: int
    # How long when fetching them fails.
    staleIfErrorSeconds: int
    # Most bytes.
    maxBytes: int
    # Whether it lies in a file of its own.
    partition: bool
    # Whether it survives the daemon.
    persist: bool
    # Whether it ends with the connections that hold it.
    scratch: bool
    # Entries.
    count: int
    # Bytes that they count as.
    bytes: int
    # Times that an entry was found fresh since the start.
    hits: int
    # Times that one was found stale.
    stale: int
    # Times that none was found.
    misses: int
    # Entries that were stored.
    puts: int
    # Entries that had to go for want of room.
    evictions: int
    # Those of them that were new and asked for less often than who would have had to go instead.
    rejections: int
    # Entries that were swept.
    expired: int


class ModelsDescribeResult(_ModelsDescribeResult, total=False):
    # How long entries are fresh; left out: for ever.
    ttlSeconds: int
    # Most entries; left out: no bound.
    maxEntries: int


class ModelsScopesResultScopes(TypedDict):
    # Name.
    namespace: str
    # Entries in it.
    count: int
    # Bytes that they count as.
    bytes: int


class ModelsScopesResult(TypedDict):
    # One object a namespace, in the order of names.
    scopes: List[ModelsScopesResultScopes]


class ModelsMethods(Store):
    """Values fetched from elsewhere, by namespace and key: they may be lost, and many share them."""

    _store, _word = "models", "namespace"

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def get(
        self,
        namespace: str,
        key: str,
        *,
        max_age_seconds: Optional[int] = None,
        claim: Optional[bool] = None,
        wait_ms: Optional[int] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsGetResult:
        """Reads a cached value, and may claim the right to fetch it anew.

        `namespace`: Which kind of value.
        `key`: Which one.
        `max_age_seconds`: Older than this counts as stale; 0: always fetch.
        `claim`: true: the first that finds it stale or missing wins a token and fetches; the others are not told
            to.
        `wait_ms`: With `claim`, when it is missing and somebody else fetches it: wait for that, so long at most.
        `lease_seconds`: How long a token that is won is good, connection or not. Without it: while the connection
            lasts, 30 seconds at most. `models.renew` prolongs either.

        Raises CancelledError, OverloadedError, QuotaExceededError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if max_age_seconds is not None:
            sent["maxAgeSeconds"] = max_age_seconds
        if claim is not None:
            sent["claim"] = claim
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = self._caller.call("models.get", sent, timeout)
        return cast(ModelsGetResult, result)

    def get_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        max_age_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsGetManyResult:
        """Reads several cached values.

        `namespace`: Which kind of value.
        `keys`: Which.
        `max_age_seconds`: Older than this counts as stale.

        Raises OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        if max_age_seconds is not None:
            sent["maxAgeSeconds"] = max_age_seconds
        result = self._caller.call("models.getMany", sent, timeout)
        return cast(ModelsGetManyResult, result)

    def put(
        self,
        namespace: str,
        key: str,
        value: JSON,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        etag: Optional[str] = None,
        tags: Optional[Sequence[str]] = None,
        token: Optional[str] = None,
        if_absent: Optional[bool] = None,
        store: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsPutResult:
        """Caches a value, and gives it to whoever waits for it.

        `namespace`: Which kind of value.
        `key`: Which one.
        `value`: The value, at most 8 MiB as JSON text.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `etag`: What its source calls this version of it.
        `tags`: Words by which it can be invalidated together with others.
        `token`: The token that was won with `models.get`.
        `if_absent`: true: not when there is one already, fresh or stale.
        `store`: false: only give it to those that wait; cache nothing. true when absent.

        Raises QuotaExceededError, TokenInvalidError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "value": value}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if etag is not None:
            sent["etag"] = etag
        if tags is not None:
            sent["tags"] = tags
        if token is not None:
            sent["token"] = token
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if store is not None:
            sent["store"] = store
        result = self._caller.call("models.put", sent, timeout)
        return cast(ModelsPutResult, result)

    def put_many(
        self,
        namespace: str,
        entries: Sequence[ModelsPutManyEntries],
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        if_absent: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsPutManyResult:
        """Caches several values, each by itself, and gives them to whoever waits for them.

        `namespace`: Which kind of value.
        `entries`: At most 1,000; no key twice.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `if_absent`: true: not those that are there already, fresh or stale.

        Raises QuotaExceededError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "entries": entries}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        result = self._caller.call("models.putMany", sent, timeout)
        return cast(ModelsPutManyResult, result)

    def touch(
        self,
        namespace: str,
        key: str,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        etag: Optional[str] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ModelsTouchResult:
        """Makes a cached value fresh again without writing it: what was fetched has not changed.

        `namespace`: Which kind of value.
        `key`: Which one.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `etag`: Only when this is the entry's: the version that was confirmed.
        `token`: The token that was won with `models.get`.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if etag is not None:
            sent["etag"] = etag
        if token is not None:
            sent["token"] = token
        result = self._caller.call("models.touch", sent, timeout)
        return cast(ModelsTouchResult, result)

    def fail(
        self,
        token: str,
        *,
        retry_after_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsFailResult:
        """Tells that the winner of a token could not fetch: the next that waits wins.

        `token`: The token that was won with `models.get`.
        `retry_after_seconds`: Nobody is to try again for so long: no token is given, and those that wait are told
            so. 0 when absent.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"token": token}
        if retry_after_seconds is not None:
            sent["retryAfterSeconds"] = retry_after_seconds
        result = self._caller.call("models.fail", sent, timeout)
        return cast(ModelsFailResult, result)

    def renew(
        self,
        namespace: str,
        key: str,
        token: str,
        lease_seconds: int,
        *,
        timeout: Optional[float] = None,
    ) -> ModelsRenewResult:
        """Has a token that was won last longer: whoever is still fetching says so, and nobody else begins.

        `namespace`: Which kind of value.
        `key`: Which one.
        `token`: The token that was won with `models.get`.
        `lease_seconds`: How long it is good from now on, whatever was left; it ends with its connection if it did
            before.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "token": token, "leaseSeconds": lease_seconds}
        result = self._caller.call("models.renew", sent, timeout)
        return cast(ModelsRenewResult, result)

    def delete(
        self,
        namespace: str,
        key: str,
        *,
        logical: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsDeleteResult:
        """Removes a cached value.

        `namespace`: Which kind of value.
        `key`: Which one.
        `logical`: true: it is ignored from now on, and removed by a sweep; the next is at the daemon's start.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if logical is not None:
            sent["logical"] = logical
        result = self._caller.call("models.delete", sent, timeout)
        return cast(ModelsDeleteResult, result)

    def delete_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        logical: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsDeleteManyResult:
        """Removes several cached values.

        `namespace`: Which kind of value.
        `keys`: Which.
        `logical`: true: they are ignored from now on, and removed by a sweep.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        if logical is not None:
            sent["logical"] = logical
        result = self._caller.call("models.deleteMany", sent, timeout)
        return cast(ModelsDeleteManyResult, result)

    def invalidate(
        self,
        namespace: str,
        *,
        prefix: Optional[str] = None,
        tag: Optional[str] = None,
        mode: Optional[Literal["stale", "drop"]] = None,
        timeout: Optional[float] = None,
    ) -> ModelsInvalidateResult:
        """Makes all of a namespace, of a tag or of a prefix stale, or drops it, at once however much it is.

        `namespace`: Which kind of value.
        `prefix`: Only keys that begin so.
        `tag`: Only entries with this tag; this or `prefix`.
        `mode`: `stale`, also when absent: it is shown as stale until it is fetched anew; `drop`: it is gone.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if prefix is not None:
            sent["prefix"] = prefix
        if tag is not None:
            sent["tag"] = tag
        if mode is not None:
            sent["mode"] = mode
        result = self._caller.call("models.invalidate", sent, timeout)
        return cast(ModelsInvalidateResult, result)

    def list(
        self,
        namespace: str,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsListResult:
        """Lists a namespace's entries without their values, in no particular order.

        `namespace`: Which kind of value.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("models.list", sent, timeout)
        return cast(ModelsListResult, result)

    def configure(
        self,
        namespace: str,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        max_entries: Optional[int] = None,
        max_bytes: Optional[int] = None,
        partition: Optional[bool] = None,
        persist: Optional[bool] = None,
        scratch: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsConfigureResult:
        """Sets what a namespace's entries are at first, and how much it may hold.

        `namespace`: Which kind of value.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `max_entries`: Most entries.
        `max_bytes`: Most bytes, keys and 144 for each entry included.
        `partition`: true: it lies in a file of its own; 64 namespaces at most do.
        `persist`: false: it is kept in memory only, and gone with the daemon.
        `scratch`: true: it is kept in memory for as long as a connection that said so is there, then it is gone.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if max_entries is not None:
            sent["maxEntries"] = max_entries
        if max_bytes is not None:
            sent["maxBytes"] = max_bytes
        if partition is not None:
            sent["partition"] = partition
        if persist is not None:
            sent["persist"] = persist
        if scratch is not None:
            sent["scratch"] = scratch
        result = self._caller.call("models.configure", sent, timeout)
        return cast(ModelsConfigureResult, result)

    def describe(self, namespace: str, *, timeout: Optional[float] = None) -> ModelsDescribeResult:
        """Tells what a namespace is and holds.

        `namespace`: Which kind of value.

        Raises NotFoundError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        result = self._caller.call("models.describe", sent, timeout)
        return cast(ModelsDescribeResult, result)

    def scopes(self, *, timeout: Optional[float] = None) -> ModelsScopesResult:
        """Lists the namespaces with their sizes."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("models.scopes", sent, timeout)
        return cast(ModelsScopesResult, result)


class AsyncModelsMethods(Store):
    """Values fetched from elsewhere, by namespace and key: they may be lost, and many share them."""

    _store, _word = "models", "namespace"

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def get(
        self,
        namespace: str,
        key: str,
        *,
        max_age_seconds: Optional[int] = None,
        claim: Optional[bool] = None,
        wait_ms: Optional[int] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsGetResult:
        """Reads a cached value, and may claim the right to fetch it anew.

        `namespace`: Which kind of value.
        `key`: Which one.
        `max_age_seconds`: Older than this counts as stale; 0: always fetch.
        `claim`: true: the first that finds it stale or missing wins a token and fetches; the others are not told
            to.
        `wait_ms`: With `claim`, when it is missing and somebody else fetches it: wait for that, so long at most.
        `lease_seconds`: How long a token that is won is good, connection or not. Without it: while the connection
            lasts, 30 seconds at most. `models.renew` prolongs either.

        Raises CancelledError, OverloadedError, QuotaExceededError, ShuttingDownError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if max_age_seconds is not None:
            sent["maxAgeSeconds"] = max_age_seconds
        if claim is not None:
            sent["claim"] = claim
        if wait_ms is not None:
            sent["waitMs"] = wait_ms
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = await self._caller.call("models.get", sent, timeout)
        return cast(ModelsGetResult, result)

    async def get_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        max_age_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsGetManyResult:
        """Reads several cached values.

        `namespace`: Which kind of value.
        `keys`: Which.
        `max_age_seconds`: Older than this counts as stale.

        Raises OverloadedError, ReplyTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        if max_age_seconds is not None:
            sent["maxAgeSeconds"] = max_age_seconds
        result = await self._caller.call("models.getMany", sent, timeout)
        return cast(ModelsGetManyResult, result)

    async def put(
        self,
        namespace: str,
        key: str,
        value: JSON,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        etag: Optional[str] = None,
        tags: Optional[Sequence[str]] = None,
        token: Optional[str] = None,
        if_absent: Optional[bool] = None,
        store: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsPutResult:
        """Caches a value, and gives it to whoever waits for it.

        `namespace`: Which kind of value.
        `key`: Which one.
        `value`: The value, at most 8 MiB as JSON text.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `etag`: What its source calls this version of it.
        `tags`: Words by which it can be invalidated together with others.
        `token`: The token that was won with `models.get`.
        `if_absent`: true: not when there is one already, fresh or stale.
        `store`: false: only give it to those that wait; cache nothing. true when absent.

        Raises QuotaExceededError, TokenInvalidError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "value": value}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if etag is not None:
            sent["etag"] = etag
        if tags is not None:
            sent["tags"] = tags
        if token is not None:
            sent["token"] = token
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if store is not None:
            sent["store"] = store
        result = await self._caller.call("models.put", sent, timeout)
        return cast(ModelsPutResult, result)

    async def put_many(
        self,
        namespace: str,
        entries: Sequence[ModelsPutManyEntries],
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        if_absent: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsPutManyResult:
        """Caches several values, each by itself, and gives them to whoever waits for them.

        `namespace`: Which kind of value.
        `entries`: At most 1,000; no key twice.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `if_absent`: true: not those that are there already, fresh or stale.

        Raises QuotaExceededError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "entries": entries}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        result = await self._caller.call("models.putMany", sent, timeout)
        return cast(ModelsPutManyResult, result)

    async def touch(
        self,
        namespace: str,
        key: str,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        etag: Optional[str] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ModelsTouchResult:
        """Makes a cached value fresh again without writing it: what was fetched has not changed.

        `namespace`: Which kind of value.
        `key`: Which one.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `etag`: Only when this is the entry's: the version that was confirmed.
        `token`: The token that was won with `models.get`.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if etag is not None:
            sent["etag"] = etag
        if token is not None:
            sent["token"] = token
        result = await self._caller.call("models.touch", sent, timeout)
        return cast(ModelsTouchResult, result)

    async def fail(
        self,
        token: str,
        *,
        retry_after_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsFailResult:
        """Tells that the winner of a token could not fetch: the next that waits wins.

        `token`: The token that was won with `models.get`.
        `retry_after_seconds`: Nobody is to try again for so long: no token is given, and those that wait are told
            so. 0 when absent.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"token": token}
        if retry_after_seconds is not None:
            sent["retryAfterSeconds"] = retry_after_seconds
        result = await self._caller.call("models.fail", sent, timeout)
        return cast(ModelsFailResult, result)

    async def renew(
        self,
        namespace: str,
        key: str,
        token: str,
        lease_seconds: int,
        *,
        timeout: Optional[float] = None,
    ) -> ModelsRenewResult:
        """Has a token that was won last longer: whoever is still fetching says so, and nobody else begins.

        `namespace`: Which kind of value.
        `key`: Which one.
        `token`: The token that was won with `models.get`.
        `lease_seconds`: How long it is good from now on, whatever was left; it ends with its connection if it did
            before.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "token": token, "leaseSeconds": lease_seconds}
        result = await self._caller.call("models.renew", sent, timeout)
        return cast(ModelsRenewResult, result)

    async def delete(
        self,
        namespace: str,
        key: str,
        *,
        logical: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsDeleteResult:
        """Removes a cached value.

        `namespace`: Which kind of value.
        `key`: Which one.
        `logical`: true: it is ignored from now on, and removed by a sweep; the next is at the daemon's start.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if logical is not None:
            sent["logical"] = logical
        result = await self._caller.call("models.delete", sent, timeout)
        return cast(ModelsDeleteResult, result)

    async def delete_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        logical: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsDeleteManyResult:
        """Removes several cached values.

        `namespace`: Which kind of value.
        `keys`: Which.
        `logical`: true: they are ignored from now on, and removed by a sweep.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        if logical is not None:
            sent["logical"] = logical
        result = await self._caller.call("models.deleteMany", sent, timeout)
        return cast(ModelsDeleteManyResult, result)

    async def invalidate(
        self,
        namespace: str,
        *,
        prefix: Optional[str] = None,
        tag: Optional[str] = None,
        mode: Optional[Literal["stale", "drop"]] = None,
        timeout: Optional[float] = None,
    ) -> ModelsInvalidateResult:
        """Makes all of a namespace, of a tag or of a prefix stale, or drops it, at once however much it is.

        `namespace`: Which kind of value.
        `prefix`: Only keys that begin so.
        `tag`: Only entries with this tag; this or `prefix`.
        `mode`: `stale`, also when absent: it is shown as stale until it is fetched anew; `drop`: it is gone.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if prefix is not None:
            sent["prefix"] = prefix
        if tag is not None:
            sent["tag"] = tag
        if mode is not None:
            sent["mode"] = mode
        result = await self._caller.call("models.invalidate", sent, timeout)
        return cast(ModelsInvalidateResult, result)

    async def list(
        self,
        namespace: str,
        *,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> ModelsListResult:
        """Lists a namespace's entries without their values, in no particular order.

        `namespace`: Which kind of value.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("models.list", sent, timeout)
        return cast(ModelsListResult, result)

    async def configure(
        self,
        namespace: str,
        *,
        ttl_seconds: Optional[int] = None,
        stale_seconds: Optional[int] = None,
        stale_if_error_seconds: Optional[int] = None,
        max_entries: Optional[int] = None,
        max_bytes: Optional[int] = None,
        partition: Optional[bool] = None,
        persist: Optional[bool] = None,
        scratch: Optional[bool] = None,
        timeout: Optional[float] = None,
    ) -> ModelsConfigureResult:
        """Sets what a namespace's entries are at first, and how much it may hold.

        `namespace`: Which kind of value.
        `ttl_seconds`: How long it is fresh; for ever when neither this nor the namespace says.
        `stale_seconds`: How long it is shown as stale after that; 7 days when nobody says.
        `stale_if_error_seconds`: How long it is shown as stale instead when fetching it fails.
        `max_entries`: Most entries.
        `max_bytes`: Most bytes, keys and 144 for each entry included.
        `partition`: true: it lies in a file of its own; 64 namespaces at most do.
        `persist`: false: it is kept in memory only, and gone with the daemon.
        `scratch`: true: it is kept in memory for as long as a connection that said so is there, then it is gone.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if stale_seconds is not None:
            sent["staleSeconds"] = stale_seconds
        if stale_if_error_seconds is not None:
            sent["staleIfErrorSeconds"] = stale_if_error_seconds
        if max_entries is not None:
            sent["maxEntries"] = max_entries
        if max_bytes is not None:
            sent["maxBytes"] = max_bytes
        if partition is not None:
            sent["partition"] = partition
        if persist is not None:
            sent["persist"] = persist
        if scratch is not None:
            sent["scratch"] = scratch
        result = await self._caller.call("models.configure", sent, timeout)
        return cast(ModelsConfigureResult, result)

    async def describe(self, namespace: str, *, timeout: Optional[float] = None) -> ModelsDescribeResult:
        """Tells what a namespace is and holds.

        `namespace`: Which kind of value.

        Raises NotFoundError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        result = await self._caller.call("models.describe", sent, timeout)
        return cast(ModelsDescribeResult, result)

    async def scopes(self, *, timeout: Optional[float] = None) -> ModelsScopesResult:
        """Lists the namespaces with their sizes."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("models.scopes", sent, timeout)
        return cast(ModelsScopesResult, result)
