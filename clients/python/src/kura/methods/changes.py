# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller
from ..values import JSON


class _ChangesListResultChanges(TypedDict):
    # Where the item is.
    store: Literal["settings", "secrets", "documents"]
    # Revision of this change; those of one transaction share it.
    rev: int


class ChangesListResultChanges(_ChangesListResultChanges, total=False):
    # Its domain, service or collection; left out when `sealed`.
    scope: str
    # Its key, account or id; left out when all of it was dropped, or `sealed`.
    key: str
    # True when the item was deleted; left out otherwise.
    deleted: bool
    # True when the collection was dropped with all that was in it; what has its name later is another. Left out
    # otherwise.
    dropped: bool
    # True for secrets whose names cannot be opened now: that some have changed, the newest at `rev`, is all that
    # can be told.
    sealed: bool
    # With `values`: what was written; left out when deleted, and for secrets.
    value: JSON
    # With `members`: the top-level members in which a document differs from what it was before `afterRev`, in no
    # order. Left out where all may differ: in new and deleted documents, in those that are no objects, and where
    # many differ.
    members: List[str]
    # What the writer called itself in `session.hello`, `client` or `client/version`; left out otherwise.
    client: str


class ChangesListResultLost(TypedDict):
    # The first revision of a lost change.
    fromRev: int
    # No change up to this revision is left; the next `afterRev` for a client that reads no further.
    toRev: int


class _ChangesListResult(TypedDict):
    # One object an item, in the order of revisions.
    changes: List[ChangesListResultChanges]
    # Everything up to here is covered: the next `afterRev`.
    rev: int
    # There is more to ask for at once; it may be so even when `changes` is empty.
    hasMore: bool


class ChangesListResult(_ChangesListResult, total=False):
    # Changes that were acknowledged with `durable: false` and are gone, `afterRev` among them: what was read with
    # such a revision is to be read again. Left out otherwise.
    lost: ChangesListResultLost


class ChangesWatchResult(TypedDict):
    # Names the subscription on this connection.
    subscription: int
    # What follows this revision will be notified.
    rev: int
    # Names the history that revisions belong to (UUID).
    epoch: str


class ChangesUnwatchResult(TypedDict):
    # Whether there was such a subscription.
    ended: bool


class _ChangesWaitResultChanges(TypedDict):
    # Where the item is.
    store: Literal["settings", "secrets", "documents"]
    # Revision of this change; those of one transaction share it.
    rev: int


class ChangesWaitResultChanges(_ChangesWaitResultChanges, total=False):
    # Its domain, service or collection; left out when `sealed`.
    scope: str
    # Its key, account or id; left out when all of it was dropped, or `sealed`.
    key: str
    # True when the item was deleted; left out otherwise.
    deleted: bool
    # True when the collection was dropped with all that was in it; what has its name later is another. Left out
    # otherwise.
    dropped: bool
    # True for secrets whose names cannot be opened now: that some have changed, the newest at `rev`, is all that
    # can be told.
    sealed: bool
    # With `values`: what was written; left out when deleted, and for secrets.
    value: JSON
    # With `members`: the top-level members in which a document differs from what it was before `afterRev`, in no
    # order. Left out where all may differ: in new and deleted documents, in those that are no objects, and where
    # many differ.
    members: List[str]
    # What the writer called itself in `session.hello`, `client` or `client/version`; left out otherwise.
    client: str


class ChangesWaitResultLost(TypedDict):
    # The first revision of a lost change.
    fromRev: int
    # No change up to this revision is left; the next `afterRev` for a client that reads no further.
    toRev: int


class _ChangesWaitResult(TypedDict):
    # One object an item, in the order of revisions.
    changes: List[ChangesWaitResultChanges]
    # Everything up to here is covered: the next `afterRev`.
    rev: int
    # There is more to ask for at once; it may be so even when `changes` is empty.
    hasMore: bool


class ChangesWaitResult(_ChangesWaitResult, total=False):
    # Changes that were acknowledged with `durable: false` and are gone, `afterRev` among them: what was read with
    # such a revision is to be read again. Left out otherwise.
    lost: ChangesWaitResultLost


class ChangesMethods:
    """What has changed, in the order of revisions."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def list(
        self,
        after_rev: int,
        *,
        limit: Optional[int] = None,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesListResult:
        """Lists what has changed since a revision: each item's newest state, in the order of revisions.

        `after_rev`: What follows this revision is asked for; 0 for everything that is kept.
        `limit`: Most changes to return, about; 1000 when absent.
        `stores`: Only changes in these stores; all when absent.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CompactedError, EpochChangedError, OverloadedError.
        """
        sent: Dict[str, JSON] = {"afterRev": after_rev}
        if limit is not None:
            sent["limit"] = limit
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if epoch is not None:
            sent["epoch"] = epoch
        result = self._caller.call("changes.list", sent, timeout)
        return cast(ChangesListResult, result)

    def watch(
        self,
        *,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents", "models", "blobs", "storage"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        after_rev: Optional[int] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesWatchResult:
        """Subscribes to changes: notifications `changes.changed` follow, each once its changes are durable;
        `changes.lost` and `changes.overflow` say what cannot be told.

        `stores`: Only changes in these; in settings, secrets and documents when absent. `models`, `blobs` and
            `storage` are watched apart from those.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `after_rev`: Begin after this revision; at the newest when absent. That of a cache needs its `epoch`.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CompactedError, EpochChangedError, OverloadedError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {}
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if after_rev is not None:
            sent["afterRev"] = after_rev
        if epoch is not None:
            sent["epoch"] = epoch
        result = self._caller.call("changes.watch", sent, timeout)
        return cast(ChangesWatchResult, result)

    def unwatch(self, subscription: int, *, timeout: Optional[float] = None) -> ChangesUnwatchResult:
        """Ends a subscription; ending one that is not there changes nothing.

        `subscription`: As `changes.watch` returned it.
        """
        sent: Dict[str, JSON] = {"subscription": subscription}
        result = self._caller.call("changes.unwatch", sent, timeout)
        return cast(ChangesUnwatchResult, result)

    def wait(
        self,
        after_rev: int,
        *,
        timeout_ms: Optional[int] = None,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesWaitResult:
        """Answers as soon as something has changed since a revision, or with nothing when the time is over.

        `after_rev`: What follows this revision is asked for; 0 for everything that is kept.
        `timeout_ms`: Longest to wait, in milliseconds; 30000 when absent.
        `stores`: Only changes in these stores; all when absent.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CancelledError, CompactedError, EpochChangedError, OverloadedError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {"afterRev": after_rev}
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if epoch is not None:
            sent["epoch"] = epoch
        result = self._caller.call("changes.wait", sent, timeout)
        return cast(ChangesWaitResult, result)


class AsyncChangesMethods:
    """What has changed, in the order of revisions."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def list(
        self,
        after_rev: int,
        *,
        limit: Optional[int] = None,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesListResult:
        """Lists what has changed since a revision: each item's newest state, in the order of revisions.

        `after_rev`: What follows this revision is asked for; 0 for everything that is kept.
        `limit`: Most changes to return, about; 1000 when absent.
        `stores`: Only changes in these stores; all when absent.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CompactedError, EpochChangedError, OverloadedError.
        """
        sent: Dict[str, JSON] = {"afterRev": after_rev}
        if limit is not None:
            sent["limit"] = limit
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if epoch is not None:
            sent["epoch"] = epoch
        result = await self._caller.call("changes.list", sent, timeout)
        return cast(ChangesListResult, result)

    async def watch(
        self,
        *,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents", "models", "blobs", "storage"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        after_rev: Optional[int] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesWatchResult:
        """Subscribes to changes: notifications `changes.changed` follow, each once its changes are durable;
        `changes.lost` and `changes.overflow` say what cannot be told.

        `stores`: Only changes in these; in settings, secrets and documents when absent. `models`, `blobs` and
            `storage` are watched apart from those.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `after_rev`: Begin after this revision; at the newest when absent. That of a cache needs its `epoch`.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CompactedError, EpochChangedError, OverloadedError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {}
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if after_rev is not None:
            sent["afterRev"] = after_rev
        if epoch is not None:
            sent["epoch"] = epoch
        result = await self._caller.call("changes.watch", sent, timeout)
        return cast(ChangesWatchResult, result)

    async def unwatch(self, subscription: int, *, timeout: Optional[float] = None) -> ChangesUnwatchResult:
        """Ends a subscription; ending one that is not there changes nothing.

        `subscription`: As `changes.watch` returned it.
        """
        sent: Dict[str, JSON] = {"subscription": subscription}
        result = await self._caller.call("changes.unwatch", sent, timeout)
        return cast(ChangesUnwatchResult, result)

    async def wait(
        self,
        after_rev: int,
        *,
        timeout_ms: Optional[int] = None,
        stores: Optional[Sequence[Literal["settings", "secrets", "documents"]]] = None,
        scope: Optional[str] = None,
        prefix: Optional[str] = None,
        values: Optional[bool] = None,
        members: Optional[bool] = None,
        epoch: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ChangesWaitResult:
        """Answers as soon as something has changed since a revision, or with nothing when the time is over.

        `after_rev`: What follows this revision is asked for; 0 for everything that is kept.
        `timeout_ms`: Longest to wait, in milliseconds; 30000 when absent.
        `stores`: Only changes in these stores; all when absent.
        `scope`: Only changes in the domain, service or collection of this name.
        `prefix`: Only items whose key, account or id begins so.
        `values`: Return the values too.
        `members`: Return the names of the members in which documents differ.
        `epoch`: The history that the revision comes from; another one is refused.

        Raises CancelledError, CompactedError, EpochChangedError, OverloadedError, TooManySubscriptionsError.
        """
        sent: Dict[str, JSON] = {"afterRev": after_rev}
        if timeout_ms is not None:
            sent["timeoutMs"] = timeout_ms
        if stores is not None:
            sent["stores"] = stores
        if scope is not None:
            sent["scope"] = scope
        if prefix is not None:
            sent["prefix"] = prefix
        if values is not None:
            sent["values"] = values
        if members is not None:
            sent["members"] = members
        if epoch is not None:
            sent["epoch"] = epoch
        result = await self._caller.call("changes.wait", sent, timeout)
        return cast(ChangesWaitResult, result)
