# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

import builtins
from typing import Dict, Type

from ..errors import ServerError


class ParseError(ServerError):
    """The line is not one JSON text, or not I-JSON: invalid UTF-8, a lone surrogate, a repeated name, nesting over the
    limit. `data.reason` and `data.offset` (bytes) say where.
    """

    kind = "parseError"
    code = -32700
    is_retryable = False
    remedy = (
        'Send one compact UTF-8 JSON object or batch array a line. '
    )


class InvalidRequestError(ServerError):
    """Valid JSON, but not a JSON-RPC 2.0 request: wrong or missing `jsonrpc`, a method that is no string, an id that
    is no string, number or null, params that are no object or array, unknown members, `[]`.
    """

    kind = "invalidRequest"
    code = -32600
    is_retryable = False
    remedy = (
        'Send `{"jsonrpc":"2.0","id":…,"method":…,"params":{…}}`. '
    )


class MethodNotFoundError(ServerError):
    """No method has that name.
    """

    kind = "methodNotFound"
    code = -32601
    is_retryable = False
    remedy = (
        'Ask `rpc.discover` for the list. '
    )


class InvalidParamsError(ServerError):
    """A parameter is unknown, missing, given twice, of the wrong type or outside its limits; `data.parameter` names
    it, `data.hint` says what is expected. `data.index` is the position in a list, `data.operation` that in a
    transaction.
    """

    kind = "invalidParams"
    code = -32602
    is_retryable = False
    remedy = (
        "Compare with the method's table; nothing was changed. "
    )


class InternalError(ServerError):
    """A fault of the daemon's own, or of the disk under a read; the log has a line on it.
    """

    kind = "internalError"
    code = -32603
    is_retryable = False
    remedy = (
        "Look at the daemon's log and report it. "
    )


class LineTooLongError(ServerError):
    """A request line is longer than `data.limit` bytes. It was skipped to its end; its id is known when it stands
    before the long part.
    """

    kind = "lineTooLong"
    code = -32001
    is_retryable = False
    remedy = (
        'Split the request; `session.hello` tells the limits. '
    )


class BatchTooLargeError(ServerError):
    """A batch has more than `data.limit` members; none was begun.
    """

    kind = "batchTooLarge"
    code = -32002
    is_retryable = False
    remedy = (
        'Send smaller batches. '
    )


class ConflictError(ServerError):
    """`ifRev` is not the item's revision; `data.currentRev` is (0: the item is absent). Nothing was written.
    """

    kind = "conflict"
    code = -32003
    is_retryable = False
    remedy = (
        'Read the item again, apply the change to what is there, write with its `rev`. '
    )


class ValueTooLargeError(ServerError):
    """A value's JSON text is longer than `data.limit` bytes.
    """

    kind = "valueTooLarge"
    code = -32004
    is_retryable = False
    remedy = (
        'Store less under one key. '
    )


class QuotaExceededError(ServerError):
    """The store as a whole would grow over `data.limit` bytes, or what the connection's role or user may fill over
    `data.limit` bytes or items, as `data.hint` says. Nothing else is touched.
    """

    kind = "quotaExceeded"
    code = -32005
    is_retryable = False
    remedy = (
        'Delete what is not needed; settings are for small values, documents and blobs for large ones. '
    )


class TypeMismatchError(ServerError):
    """`increment` met a stored value that is no integer; in a document something that is no number, or that can have
    no parts: `data.path` is the place. A secret is no key, or one of another algorithm than is asked for, or would
    become one: what is a key stays one for the same.
    """

    kind = "typeMismatch"
    code = -32006
    is_retryable = False
    remedy = (
        'Put a number first; `secrets.list` shows what a secret is. '
    )


class OutOfRangeError(ServerError):
    """`increment` would leave the range of safe integers, ±(2^53 − 1); in a document the sum, without its point,
    would, or would have more than 15 digits behind it.
    """

    kind = "outOfRange"
    code = -32007
    is_retryable = False
    remedy = (
        'Use a smaller step. '
    )


class RequestKeyReusedError(ServerError):
    """`requestKey` has been used within a day for another write: by another method, or with other parameters. Nothing
    was written.
    """

    kind = "requestKeyReused"
    code = -32016
    is_retryable = False
    remedy = (
        'Make a new key for each write, and repeat it only when the same write is sent again. '
    )


class LockedError(ServerError):
    """The host's administrator has fixed this setting: `data.layer` is `locked`, `data.reason` says why. Nothing was
    written.
    """

    kind = "locked"
    code = -32020
    is_retryable = False
    remedy = (
        "Use the value that is there; only the host's file of locks can change it. "
    )


class SchemaViolationError(ServerError):
    """A value breaks the schema of its domain or collection, which is enforced: `data.path` is the place in the value
    (a JSON pointer, empty for the whole), `data.reason` what the schema asks for there. For a deletion it is what a
    document would be that loses its reference: `data.collection` and `data.ids` name it. Nothing was written.
    """

    kind = "schemaViolation"
    code = -32021
    is_retryable = False
    remedy = (
        'Write a value that fits; `settings.describe` and `documents.describe` show the schema. '
    )


class UniqueViolationError(ServerError):
    """Another document has the same values in the fields of a unique index: `data.indexName` names the index,
    `data.id` the document, for whoever may read there. Nothing was written.
    """

    kind = "uniqueViolation"
    code = -32023
    is_retryable = False
    remedy = (
        'Write other values, or change that document first; `documents.describe` shows the indexes. '
    )


class ForbiddenError(ServerError):
    """The connection's role has not been granted this: `data.grant` is what is missing, by store, scope (left out: any
    would do), access group of secrets (left out: none) and verbs. It says nothing of whether the thing exists. Of a
    deletion in slices that loses its right meanwhile `data.deleted` documents were deleted. With id null: this user
    has no role on this socket, and the connection ends.
    """

    kind = "forbidden"
    code = -32022
    is_retryable = False
    remedy = (
        "`session.hello` shows the role and its grants; the daemon's administrator gives them. "
    )


class NoSpaceError(ServerError):
    """The disk is full: this change was not stored, and nobody else's was touched. Reads and deletions go on. With
    `data.hint`, it is too much for one transaction, and less at once may do; `data.limit` items may be removed.
    """

    kind = "noSpace"
    code = -32008
    is_retryable = True
    remedy = (
        'Free space, by deletions for example, and send it again: `storage.status` says how much is missing '
        'and what takes it (`space`). '
    )


class OutcomeUnknownError(ServerError):
    """The disk failed to sync: whether this change survives is not known. The daemon stops after saying so.
    """

    kind = "outcomeUnknown"
    code = -32009
    is_retryable = False
    remedy = (
        'Reconnect when it runs again, read the item and its `rev`, then decide. '
    )


class OverloadedError(ServerError):
    """A bound on connections or memory is reached.
    """

    kind = "overloaded"
    code = -32010
    is_retryable = True
    remedy = (
        'Try again after a pause; close idle connections. '
    )


class ShuttingDownError(ServerError):
    """The daemon is draining: this request was not begun.
    """

    kind = "shuttingDown"
    code = -32011
    is_retryable = True
    remedy = (
        'Reconnect and send it again. '
    )


class ReplyTooLargeError(ServerError):
    """The reply would be longer than `data.limit` bytes.
    """

    kind = "replyTooLarge"
    code = -32012
    is_retryable = False
    remedy = (
        'Ask for fewer items at once. '
    )


class CompactedError(ServerError):
    """The changes that follow `afterRev` are no longer all kept, or those that tell what there was at `atRev` or
    before `rev`; from `data.oldestRev` on they are.
    """

    kind = "compacted"
    code = -32013
    is_retryable = False
    remedy = (
        'Read the items themselves, then go on with the `rev` of what was read. '
    )


class EpochChangedError(ServerError):
    """`epoch` is not this daemon's: a restore or a quarantine has begun another history.
    """

    kind = "epochChanged"
    code = -32014
    is_retryable = False
    remedy = (
        'Forget the revisions, read the items anew, and remember the epoch of `session.hello`. '
    )


class TooManySubscriptionsError(ServerError):
    """The connection, or all of them together, have `data.limit` subscriptions and waits under way.
    """

    kind = "tooManySubscriptions"
    code = -32015
    is_retryable = False
    remedy = (
        'End some with `changes.unwatch`; one subscription can cover many items. '
    )


class LiveQueryTooLargeError(ServerError):
    """A live query would keep more than `data.limit` documents or bytes, as `data.hint` says: when it begins, or when
    so many have come to match.
    """

    kind = "liveQueryTooLarge"
    code = -32019
    is_retryable = False
    remedy = (
        'Narrow its `where`, or give it a `limit`: then it keeps the first few documents alone. '
    )


class IndexNeededError(ServerError):
    """A query would have to look at every document of a collection with more than `data.limit`: no index fits it, and
    `allowScan` does not say that it may. `data.reason` names the fields that an index should have. Or a collection
    is searched that has no `searchFields`.
    """

    kind = "indexNeeded"
    code = -32024
    is_retryable = False
    remedy = (
        'Configure that index, or send `allowScan: true` when it may take long. '
    )


class TimeoutError(ServerError, builtins.TimeoutError):
    """A query took longer than its `timeoutMs`, `data.limit` milliseconds. Nothing was changed, but for what
    `data.deleted` counts.
    """

    kind = "timeout"
    code = -32017
    is_retryable = True
    remedy = (
        'Narrow it, give it an index, or more time. '
    )


class CancelledError(ServerError):
    """`rpc.cancel` has ended this query, transfer or wait.
    """

    kind = "cancelled"
    code = -32018
    is_retryable = False
    remedy = (
        'Nothing, when it was meant. '
    )


class DescriptorMissingError(ServerError):
    """A request with `fd: true` found no descriptor: none came with its line or before it, they were taken by earlier
    requests, more than `data.limit` waited, or the kernel cut them off.
    """

    kind = "descriptorMissing"
    code = -32030
    is_retryable = False
    remedy = (
        "Pass one descriptor a request (SCM_RIGHTS), in the same sendmsg as the request's first byte. "
    )


class PathDeniedError(ServerError):
    """The daemon opens no such path for this client: only for its own user, beneath one of its configured
    `importRoots`, past no symbolic link, and never inside its data directory.
    """

    kind = "pathDenied"
    code = -32031
    is_retryable = False
    remedy = (
        'Open the file yourself and pass its descriptor (`fd: true`). '
    )


class BadRecordError(ServerError):
    """An import with `onError: "fail"` met a record that cannot be stored; `data.line` and `data.offset` (bytes) say
    where it begins, `data.hint` what is wrong. What came before it is stored.
    """

    kind = "badRecord"
    code = -32032
    is_retryable = False
    remedy = (
        'Correct it and go on from `data.offset`, or import with `onError: "skip"`. '
    )


class TransferFailedError(ServerError):
    """The descriptor could not be read or written to its end; `data.hint` says why. An import has stored what came
    before `data.offset`.
    """

    kind = "transferFailed"
    code = -32033
    is_retryable = False
    remedy = (
        'Look at the other end, then go on from `data.offset`, or begin anew. '
    )


class NotFoundError(ServerError, KeyError):
    """What would be changed, brought back or read in parts is not there. Reading a document that is absent is no
    error.
    """

    kind = "notFound"
    code = -32050
    is_retryable = False
    remedy = (
        '`list` and `scopes` show what is there, and `put` makes it; `documents.restore` brings a document '
        'back while its tombstone is kept. '
    )


class PatchFailedError(ServerError):
    """A patch does not fit the document: `data.index` is the operation, `data.path` the place (a JSON pointer),
    `data.reason` what is wrong there. Nothing was written.
    """

    kind = "patchFailed"
    code = -32051
    is_retryable = False
    remedy = (
        'Read the document, and patch what is there. '
    )


class ReferencedError(ServerError):
    """Others refer to a document that was to be deleted (`data.id`), and their collection is configured with
    `onDelete: "deny"`. For whoever may read there, `data.collection` and `data.field` say which, `data.ids` who (10
    at most), `data.count` how many (1,000: or more). Nothing was deleted; of a deletion in slices `data.deleted`
    documents were.
    """

    kind = "referenced"
    code = -32040
    is_retryable = False
    remedy = (
        'Delete or change those first. '
    )


class TooManyDocumentsError(ServerError):
    """What would be deleted, changed or undone in one transaction is more than `data.limit` documents or 64 MiB of
    values. Nothing was; of a deletion in slices `data.deleted` documents were.
    """

    kind = "tooManyDocuments"
    code = -32041
    is_retryable = False
    remedy = (
        'Delete without `atomic`, so that it goes in slices; delete those first who refer to what is deleted. '
    )


class SchemaTooNewError(ServerError):
    """The collection's documents are of `data.storedVersion`, and the client knows them up to `data.declaredVersion`
    only: it declared that with `documents.configure` or `documents.describe`, in this request or earlier on this
    connection. Nothing was written.
    """

    kind = "schemaTooNew"
    code = -32052
    is_retryable = False
    remedy = (
        'Update the application: another one, which is newer, has migrated the collection. '
    )


class IndexBuildingError(ServerError):
    """A collection is searched whose search index does not have all documents yet; `data.reason` says how far it is.
    """

    kind = "indexBuilding"
    code = -32026
    is_retryable = True
    remedy = (
        'Try again later; `documents.describe` with `waitMs` waits until it is ready. '
    )


class SealedError(ServerError):
    """The secrets are sealed: no key is at hand that opens them, or they were locked. All else works. Nothing was
    looked up.
    """

    kind = "sealed"
    code = -32060
    is_retryable = True
    remedy = (
        'Have somebody unlock them (`secrets.unlock`), then send it again; `secrets.status` shows the state. '
    )


class IntegrityError(ServerError):
    """What is on the disk is not what was written there: damaged, taken from another place, or an older state;
    `data.hint` says what. Nothing of it is shown; what goes out by descriptor its reader holds against its digest.
    What lies elsewhere is still served.
    """

    kind = "integrity"
    code = -32061
    is_retryable = False
    remedy = (
        '`kura doctor` names the command that brings it back: from the newest snapshot and the log. Look at '
        'the disk, and for who changed the data directory. '
    )


class WrongKeyError(ServerError):
    """The passphrase opens no slot; without one: the keys that the daemon can read by itself open none.
    """

    kind = "wrongKey"
    code = -32062
    is_retryable = False
    remedy = (
        'Say the right passphrase; `secrets.slots` shows which slots there are. '
    )


class InstallationMismatchError(ServerError):
    """The service's secrets are those of another installation of the application than this connection has named in
    `session.hello`: it was installed anew while they stayed. Nothing of them is shown, and nothing was changed.
    """

    kind = "installationMismatch"
    code = -32067
    is_retryable = False
    remedy = (
        'Ask the user: `secrets.clear` with that installation as `confirm` (`secrets.describe` tells it) '
        'empties the service, `secrets.configure` takes the secrets over. '
    )


class ProtocolMismatchError(ServerError):
    """The client says in `session.hello` that it speaks another version of this protocol than the daemon:
    `data.protocol` is the daemon's. Nothing else of that request was done, and the connection goes on.
    """

    kind = "protocolMismatch"
    code = -32053
    is_retryable = False
    remedy = (
        "Update whichever is the older one. A client that knows the daemon's version too says that one "
        'instead. '
    )


class ForgedError(ServerError):
    """A ciphertext is none, has changed, or was sealed by another key, for another `associatedData`, or under another
    name of the key. Nothing of what is inside is shown.
    """

    kind = "forged"
    code = -32065
    is_retryable = False
    remedy = (
        'Send the ciphertext as it came, with what it was sealed for. '
    )


class TokenUnusableError(ServerError):
    """A token for a secret leads to nothing; `data.reason` says why. `spent`: somebody has used it. `own`: it is for
    another connection than the one that asked for it. `unknown`: there is none, or it has expired, or the secrets
    were locked or the daemon started since.
    """

    kind = "tokenUnusable"
    code = -32066
    is_retryable = False
    remedy = (
        'Have another one made; when it was `spent` and not by you, take the secret for stolen. '
    )


class TokenInvalidError(ServerError):
    """A win token is not one that counts here; `data.reason` says why. `unknown`: this daemon has not given it since
    it started. `ofAnotherKey`: it was given for another one. `spent`: its holder has used it, or it is long past.
    `lost`: it cannot be renewed, since its time was over, or somebody else brought a value. Nothing was changed. To
    put with such a token is no error: what comes is stored as stale, and a blob is declined.
    """

    kind = "tokenInvalid"
    code = -32070
    is_retryable = False
    remedy = (
        'Get the value again, with `claim`; put what you have without a token if it is to count as fresh. '
    )


class DigestMismatchError(ServerError):
    """The content that came does not have the digest that the request states. Nothing was stored.
    """

    kind = "digestMismatch"
    code = -32074
    is_retryable = False
    remedy = (
        'Compute BLAKE2b-256 of the content once more, or send it once more. '
    )


class RangeNotSatisfiableError(ServerError):
    """`range` begins or ends behind the content's end, which is at `data.limit` bytes.
    """

    kind = "rangeNotSatisfiable"
    code = -32075
    is_retryable = False
    remedy = (
        'Ask `blobs.stat` how long it is; without `length` the range goes to the end. '
    )


class UploadNotFoundError(ServerError):
    """There is no such upload: it was committed or aborted, its connection or its lease has ended, or the daemon has
    started anew.
    """

    kind = "uploadNotFound"
    code = -32076
    is_retryable = False
    remedy = (
        'Begin another one; with `leaseSeconds` it outlives its connection. '
    )


class NotSupportedError(ServerError):
    """This daemon does not do that as it was started, or nobody can undo that; `data.hint` says why. Nothing was
    changed.
    """

    kind = "notSupported"
    code = -32080
    is_retryable = False
    remedy = (
        'Start a daemon for it: faults are for ephemeral ones (`kurad --ephemeral`). '
    )


KINDS: Dict[str, Type[ServerError]] = {
    "parseError": ParseError,
    "invalidRequest": InvalidRequestError,
    "methodNotFound": MethodNotFoundError,
    "invalidParams": InvalidParamsError,
    "internalError": InternalError,
    "lineTooLong": LineTooLongError,
    "batchTooLarge": BatchTooLargeError,
    "conflict": ConflictError,
    "valueTooLarge": ValueTooLargeError,
    "quotaExceeded": QuotaExceededError,
    "typeMismatch": TypeMismatchError,
    "outOfRange": OutOfRangeError,
    "requestKeyReused": RequestKeyReusedError,
    "locked": LockedError,
    "schemaViolation": SchemaViolationError,
    "uniqueViolation": UniqueViolationError,
    "forbidden": ForbiddenError,
    "noSpace": NoSpaceError,
    "outcomeUnknown": OutcomeUnknownError,
    "overloaded": OverloadedError,
    "shuttingDown": ShuttingDownError,
    "replyTooLarge": ReplyTooLargeError,
    "compacted": CompactedError,
    "epochChanged": EpochChangedError,
    "tooManySubscriptions": TooManySubscriptionsError,
    "liveQueryTooLarge": LiveQueryTooLargeError,
    "indexNeeded": IndexNeededError,
    "timeout": TimeoutError,
    "cancelled": CancelledError,
    "descriptorMissing": DescriptorMissingError,
    "pathDenied": PathDeniedError,
    "badRecord": BadRecordError,
    "transferFailed": TransferFailedError,
    "notFound": NotFoundError,
    "patchFailed": PatchFailedError,
    "referenced": ReferencedError,
    "tooManyDocuments": TooManyDocumentsError,
    "schemaTooNew": SchemaTooNewError,
    "indexBuilding": IndexBuildingError,
    "sealed": SealedError,
    "integrity": IntegrityError,
    "wrongKey": WrongKeyError,
    "installationMismatch": InstallationMismatchError,
    "protocolMismatch": ProtocolMismatchError,
    "forged": ForgedError,
    "tokenUnusable": TokenUnusableError,
    "tokenInvalid": TokenInvalidError,
    "digestMismatch": DigestMismatchError,
    "rangeNotSatisfiable": RangeNotSatisfiableError,
    "uploadNotFound": UploadNotFoundError,
    "notSupported": NotSupportedError,
}

__all__ = [
    "ParseError",
    "InvalidRequestError",
    "MethodNotFoundError",
    "InvalidParamsError",
    "InternalError",
    "LineTooLongError",
    "BatchTooLargeError",
    "ConflictError",
    "ValueTooLargeError",
    "QuotaExceededError",
    "TypeMismatchError",
    "OutOfRangeError",
    "RequestKeyReusedError",
    "LockedError",
    "SchemaViolationError",
    "UniqueViolationError",
    "ForbiddenError",
    "NoSpaceError",
    "OutcomeUnknownError",
    "OverloadedError",
    "ShuttingDownError",
    "ReplyTooLargeError",
    "CompactedError",
    "EpochChangedError",
    "TooManySubscriptionsError",
    "LiveQueryTooLargeError",
    "IndexNeededError",
    "TimeoutError",
    "CancelledError",
    "DescriptorMissingError",
    "PathDeniedError",
    "BadRecordError",
    "TransferFailedError",
    "NotFoundError",
    "PatchFailedError",
    "ReferencedError",
    "TooManyDocumentsError",
    "SchemaTooNewError",
    "IndexBuildingError",
    "SealedError",
    "IntegrityError",
    "WrongKeyError",
    "InstallationMismatchError",
    "ProtocolMismatchError",
    "ForgedError",
    "TokenUnusableError",
    "TokenInvalidError",
    "DigestMismatchError",
    "RangeNotSatisfiableError",
    "UploadNotFoundError",
    "NotSupportedError",
]
