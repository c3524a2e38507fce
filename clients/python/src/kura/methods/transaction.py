# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Mapping, Optional, Sequence, TypedDict, cast

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
