# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Mapping, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller, Descriptor
from ..values import JSON


class _TransactionApplyResult(TypedDict):
    # What each operation answers, in their order.
    results: List[Dict[str, JSON]]
    # Revision of all changes; the newest one there is when nothing was changed.
    rev: int


class TransactionApplyResult(_TransactionApplyResult, total=False):
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class _TransactionApplyOperations(TypedDict):
    # A write, such as `settings.put`.
    method: str


class TransactionApplyOperations(_TransactionApplyOperations, total=False):
    # Its parameters; `ifRev` included.
    params: Mapping[str, JSON]


class TransactionUndoResultItems(TypedDict):
    # Where the item is.
    store: Literal["settings", "documents"]
    # Its domain or collection.
    scope: str
    # Its key or id.
    key: str
    # `deleted`: the revision had created it; `replaced`: it has its value of before; `restored`: the revision had
    # deleted it.
    done: Literal["deleted", "replaced", "restored"]


class _TransactionUndoResult(TypedDict):
    # Settings and documents that are as they were.
    undone: int
    # Each of them, what was changed last first.
    items: List[TransactionUndoResultItems]
    # When the revision was written.
    changedAt: str
    # Revision of this change; the newest one there is when nothing was changed.
    rev: int


class TransactionUndoResult(_TransactionUndoResult, total=False):
    # What its writer called itself; left out when it did not.
    client: str
    # true: nothing was changed.
    dryRun: bool
    # False when the change is acknowledged before it is durable; left out otherwise.
    durable: bool


class TransactionMethods:
    """Changes of several items and rooms: all or nothing."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def apply(
        self,
        operations: Sequence[TransactionApplyOperations],
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> TransactionApplyResult:
        """Makes several changes, in all durable stores: all or nothing, one revision.

        `operations`: Carried out in this order. An item can be changed once.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, ConflictError, DescriptorMissingError, IndexNeededError, InstallationMismatchError,
            IntegrityError, LockedError, NoSpaceError, NotFoundError, OutOfRangeError, OutcomeUnknownError,
            OverloadedError, PatchFailedError, QuotaExceededError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, SealedError, ShuttingDownError, TimeoutError,
            TooManyDocumentsError, TransferFailedError, TypeMismatchError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"operations": operations}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("transaction.apply", sent, timeout)
        return cast(TransactionApplyResult, result)

    def undo(
        self,
        rev: int,
        *,
        dry_run: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> TransactionUndoResult:
        """Brings back what a revision changed, as it was before: all of it or nothing, one revision.

        `rev`: The revision to undo. Nothing that it changed may have been changed since, and all of it must be
            readable.
        `dry_run`: true: tell what would be done, and what it would be refused for; do nothing.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CompactedError, ConflictError, LockedError, NoSpaceError, NotFoundError, NotSupportedError,
            OutcomeUnknownError, OverloadedError, QuotaExceededError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, TooManyDocumentsError, UniqueViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"rev": rev}
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if request_key is not None:
            sent["requestKey"] = request_key
        result = self._caller.call("transaction.undo", sent, timeout)
        return cast(TransactionUndoResult, result)


class AsyncTransactionMethods:
    """Changes of several items and rooms: all or nothing."""

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def apply(
        self,
        operations: Sequence[TransactionApplyOperations],
        *,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> TransactionApplyResult:
        """Makes several changes, in all durable stores: all or nothing, one revision.

        `operations`: Carried out in this order. An item can be changed once.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CancelledError, ConflictError, DescriptorMissingError, IndexNeededError, InstallationMismatchError,
            IntegrityError, LockedError, NoSpaceError, NotFoundError, OutOfRangeError, OutcomeUnknownError,
            OverloadedError, PatchFailedError, QuotaExceededError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, SealedError, ShuttingDownError, TimeoutError,
            TooManyDocumentsError, TransferFailedError, TypeMismatchError, UniqueViolationError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"operations": operations}
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("transaction.apply", sent, timeout)
        return cast(TransactionApplyResult, result)

    async def undo(
        self,
        rev: int,
        *,
        dry_run: Optional[bool] = None,
        request_key: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> TransactionUndoResult:
        """Brings back what a revision changed, as it was before: all of it or nothing, one revision.

        `rev`: The revision to undo. Nothing that it changed may have been changed since, and all of it must be
            readable.
        `dry_run`: true: tell what would be done, and what it would be refused for; do nothing.
        `request_key`: Names this write: sent again within a day, it is answered with the first result and not done
            twice.

        Raises CompactedError, ConflictError, LockedError, NoSpaceError, NotFoundError, NotSupportedError,
            OutcomeUnknownError, OverloadedError, QuotaExceededError, ReferencedError, RequestKeyReusedError,
            SchemaTooNewError, SchemaViolationError, TooManyDocumentsError, UniqueViolationError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"rev": rev}
        if dry_run is not None:
            sent["dryRun"] = dry_run
        if request_key is not None:
            sent["requestKey"] = request_key
        result = await self._caller.call("transaction.undo", sent, timeout)
        return cast(TransactionUndoResult, result)
