# Generated from proto-docs/openrpc.json by generator/: do not edit.

from __future__ import annotations

from typing import Dict, List, Literal, Optional, Sequence, TypedDict, cast

from ..caller import AsyncCaller, Caller, Descriptor
from ..stores import Store
from ..values import JSON, UNSET


class BlobsGetResultRange(TypedDict, total=False):
    # Bytes before it; 0 when absent.
    offset: int
    # Its bytes.
    length: int


class _BlobsGetResult(TypedDict):
    # Whether there is such a blob; the rest is left out when not.
    found: bool


class BlobsGetResult(_BlobsGetResult, total=False):
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str
    # With `orParent`: true when this is not the variant.
    isParent: bool
    # With `range`: what of it is in `data`; a descriptor stands at its beginning.
    range: BlobsGetResultRange
    # With `inline`: the content, or the part of it, as base64.
    data: str
    # With `path`: where it lies; it may be gone at any time.
    path: str
    # With `claim`: the caller is to make it, and puts it with this.
    token: str
    # With `as_="fd"`: a descriptor, open for reading, that is the caller's to close.
    fd: int


class BlobsGetRange(TypedDict, total=False):
    # Bytes before it; 0 when absent.
    offset: int
    # Its bytes.
    length: int


class _BlobsPutResult(TypedDict):
    # Whether it is stored; a cache may decline.
    stored: bool


class BlobsPutResult(_BlobsPutResult, total=False):
    # When it is not: there is one and `ifAbsent` was asked for; the parent is not there, or not what `variantOf`
    # says; it is larger than all may be; too much waits to be written; the disk is nearly full; the claim of its
    # `token` has ended.
    reason: Literal["present", "parentMissing", "parentChanged", "overBudget", "busy", "lowStorage", "late"]
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str


class BlobsRenewResult(TypedDict):
    # When it ends, unless it is renewed again.
    expiresAt: str


class _BlobsStatResult(TypedDict):
    # Whether there is such a blob; the rest is left out when not.
    found: bool


class BlobsStatResult(_BlobsStatResult, total=False):
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str


class _BlobsStatManyResultBlobs(TypedDict):
    # The blob's name.
    key: str


class BlobsStatManyResultBlobs(_BlobsStatManyResultBlobs, total=False):
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str


class BlobsStatManyResult(TypedDict):
    # Those that are there, in the order asked for.
    blobs: List[BlobsStatManyResultBlobs]
    # Keys of those that are not.
    missing: List[str]


class _BlobsTouchResult(TypedDict):
    # Whether there is such a blob; the rest is left out when not.
    found: bool


class BlobsTouchResult(_BlobsTouchResult, total=False):
    # When it goes by itself; it may go earlier.
    expiresAt: str


class BlobsDeleteResult(TypedDict):
    # Whether there was one.
    deleted: bool


class BlobsDeleteManyResult(TypedDict):
    # Blobs that were there, variants not counted.
    deleted: int


class _BlobsListResultBlobs(TypedDict):
    # The blob's name.
    key: str


class BlobsListResultBlobs(_BlobsListResultBlobs, total=False):
    # Which of the blobs derived from it; it goes with the blob.
    variant: str
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str


class _BlobsListResult(TypedDict):
    # The page; it ends early rather than grow over 1 MiB.
    blobs: List[BlobsListResultBlobs]


class BlobsListResult(_BlobsListResult, total=False):
    # Where the next page starts; absent at the end.
    cursor: str


class BlobsFindMissingResult(TypedDict):
    # Those that are not there, in the order asked for.
    missing: List[str]


class BlobsScopesResultScopes(TypedDict):
    # Its name.
    namespace: str
    # Its blobs, variants counted.
    count: int
    # Their bytes, equal contents counted each time.
    bytes: int


class BlobsScopesResult(TypedDict):
    # In the order of their names' bytes.
    scopes: List[BlobsScopesResultScopes]


class _BlobsDescribeResult(TypedDict):
    # What a blob lives when its `put` does not say.
    ttlSeconds: int
    # Its blobs, variants counted.
    count: int
    # Their bytes, equal contents counted each time.
    bytes: int
    # Reads that found a blob.
    hits: int
    # Reads that found none.
    misses: int
    # Blobs that were stored.
    stored: int
    # Blobs that were not.
    declined: int
    # Blobs that went for others.
    evicted: int
    # Blobs whose time was over.
    expired: int
    # Blobs whose content was found damaged or gone.
    damaged: int


class BlobsDescribeResult(_BlobsDescribeResult, total=False):
    # Most bytes of its blobs; left out when only the room's bound holds.
    maxBytes: int
    # Most blobs; left out for any number.
    maxEntries: int


class _BlobsConfigureResult(TypedDict):
    # As it is now.
    ttlSeconds: int


class BlobsConfigureResult(_BlobsConfigureResult, total=False):
    # As it is now.
    maxBytes: int
    # As it is now.
    maxEntries: int


class BlobsBeginUploadResult(TypedDict, total=False):
    # What names it in the requests that follow; whoever knows it may go on.
    upload: str
    # False when it is declined at once; left out otherwise.
    stored: bool
    # When it is not: there is one and `ifAbsent` was asked for; the parent is not there, or not what `variantOf`
    # says; it is larger than all may be; too much waits to be written; the disk is nearly full; the claim of its
    # `token` has ended.
    reason: Literal["present", "parentMissing", "parentChanged", "overBudget", "busy", "lowStorage", "late"]


class BlobsAppendUploadResult(TypedDict):
    # Bytes that have come, this piece counted.
    received: int


class _BlobsCommitUploadResult(TypedDict):
    # Whether it is stored; a cache may decline.
    stored: bool


class BlobsCommitUploadResult(_BlobsCommitUploadResult, total=False):
    # When it is not: there is one and `ifAbsent` was asked for; the parent is not there, or not what `variantOf`
    # says; it is larger than all may be; too much waits to be written; the disk is nearly full; the claim of its
    # `token` has ended.
    reason: Literal["present", "parentMissing", "parentChanged", "overBudget", "busy", "lowStorage", "late"]
    # Its bytes.
    bytes: int
    # BLAKE2b-256 of its content in hexadecimal.
    digest: str
    # Its media type, when it was given one.
    contentType: str
    # When it was stored.
    createdAt: str
    # When it goes by itself; it may go earlier.
    expiresAt: str


class BlobsAbortUploadResult(TypedDict):
    # Whether there was one.
    aborted: bool


class BlobsMethods(Store):
    """Contents that may be lost, by namespace and key: images, downloads, what was made of them."""

    _store, _word = "blobs", "namespace"

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    def get(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        or_parent: Optional[bool] = None,
        as_: Optional[Literal["inline", "fd", "path"]] = None,
        range: Optional[BlobsGetRange] = None,
        verify: Optional[bool] = None,
        claim: Optional[bool] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsGetResult:
        """Reads a blob: as base64, or as a descriptor open for reading, without a copy.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `or_parent`: When there is no such variant: the blob that it would be derived from.
        `as_`: `inline`: base64 in the reply, of at most 11 MiB. `fd`: a descriptor that nothing can be written
            through comes with the reply's first byte. `path`: the file's path, for the daemon's own user; a blob of
            at most 16 KiB has none and comes inline. `inline` when absent.
        `range`: Only a part: so many bytes from there on, or all from there on when the length is left out.
        `verify`: Hash all of it before anything of it is shown; damaged, it is not found.
        `claim`: When it is not there: the first who asks so gets a `token`, makes it, and puts it; the others get
            none.
        `lease_seconds`: With `claim`: how long nobody else gets a token; it outlives the connection. Without: half
            a minute, or as long as the connection. `blobs.renew` prolongs either.

        Raises OverloadedError, PathDeniedError, RangeNotSatisfiableError, ShuttingDownError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if or_parent is not None:
            sent["orParent"] = or_parent
        if as_ is not None:
            sent["as"] = as_
        if range is not None:
            sent["range"] = range
        if verify is not None:
            sent["verify"] = verify
        if claim is not None:
            sent["claim"] = claim
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = self._caller.call("blobs.get", sent, timeout, wants_descriptor=as_ == "fd")
        return cast(BlobsGetResult, result)

    def put(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        variant_of: Optional[str] = None,
        content_type: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        data: Optional[str] = None,
        digest: Optional[str] = None,
        if_absent: Optional[bool] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsPutResult:
        """Stores a blob, in the place of one of the same name; equal contents are stored once.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `variant_of`: With `variant`: the parent's digest that it was made from; it is stored only when the parent
            is still that.
        `content_type`: Its media type; kept and returned as it is.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: In its place: a file beneath one of the `importRoots`.
        `data`: In its place: the content as base64, of at most 11 MiB.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.
        `if_absent`: Store nothing when there is a blob of this name.
        `token`: From a `get` with `claim`, which ends with this put.

        Raises DescriptorMissingError, DigestMismatchError, NoSpaceError, OverloadedError, PathDeniedError,
            QuotaExceededError, ShuttingDownError, TokenInvalidError, TransferFailedError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if variant_of is not None:
            sent["variantOf"] = variant_of
        if content_type is not None:
            sent["contentType"] = content_type
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if data is not None:
            sent["data"] = data
        if digest is not None:
            sent["digest"] = digest
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if token is not None:
            sent["token"] = token
        result = self._caller.call("blobs.put", sent, timeout, descriptor=fd)
        return cast(BlobsPutResult, result)

    def renew(
        self,
        namespace: str,
        key: str,
        token: str,
        lease_seconds: int,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsRenewResult:
        """Has a token of a `get` with `claim` last longer: whoever is still making the blob says so, and nobody else
        begins.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `token`: From a `get` with `claim`.
        `lease_seconds`: How long it is good from now on, whatever was left; it ends with its connection if it did
            before.
        `variant`: Which of the blobs derived from it; it goes with the blob.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "token": token, "leaseSeconds": lease_seconds}
        if variant is not None:
            sent["variant"] = variant
        result = self._caller.call("blobs.renew", sent, timeout)
        return cast(BlobsRenewResult, result)

    def stat(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsStatResult:
        """Tells what a blob is without reading it.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        result = self._caller.call("blobs.stat", sent, timeout)
        return cast(BlobsStatResult, result)

    def stat_many(self, namespace: str, keys: Sequence[str], *, timeout: Optional[float] = None) -> BlobsStatManyResult:
        """Tells what several blobs of one namespace are.

        `namespace`: Which kind of blob.
        `keys`: Keys, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        result = self._caller.call("blobs.statMany", sent, timeout)
        return cast(BlobsStatManyResult, result)

    def touch(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsTouchResult:
        """Says how long a blob lives from now on; its content stays as it is.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        result = self._caller.call("blobs.touch", sent, timeout)
        return cast(BlobsTouchResult, result)

    def delete(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsDeleteResult:
        """Removes a blob with all its variants, or one variant.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        result = self._caller.call("blobs.delete", sent, timeout)
        return cast(BlobsDeleteResult, result)

    def delete_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        timeout: Optional[float] = None,
    ) -> BlobsDeleteManyResult:
        """Removes several blobs with all their variants.

        `namespace`: Which kind of blob.
        `keys`: Keys, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        result = self._caller.call("blobs.deleteMany", sent, timeout)
        return cast(BlobsDeleteManyResult, result)

    def list(
        self,
        namespace: str,
        *,
        prefix: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsListResult:
        """Lists a namespace's blobs in the order of their keys' bytes, each one's variants behind it.

        `namespace`: Which kind of blob.
        `prefix`: Only keys that begin so.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if prefix is not None:
            sent["prefix"] = prefix
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = self._caller.call("blobs.list", sent, timeout)
        return cast(BlobsListResult, result)

    def find_missing(
        self,
        namespace: str,
        digests: Sequence[str],
        *,
        timeout: Optional[float] = None,
    ) -> BlobsFindMissingResult:
        """Tells which contents no blob of a namespace has, so that only those need be sent.

        `namespace`: Which kind of blob.
        `digests`: BLAKE2b-256 in hexadecimal, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "digests": digests}
        result = self._caller.call("blobs.findMissing", sent, timeout)
        return cast(BlobsFindMissingResult, result)

    def scopes(self, *, timeout: Optional[float] = None) -> BlobsScopesResult:
        """Lists the namespaces of blobs."""
        sent: Dict[str, JSON] = {}
        result = self._caller.call("blobs.scopes", sent, timeout)
        return cast(BlobsScopesResult, result)

    def describe(self, namespace: str, *, timeout: Optional[float] = None) -> BlobsDescribeResult:
        """Tells what a namespace is configured to be, and what it has seen since the daemon started.

        `namespace`: Which kind of blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        result = self._caller.call("blobs.describe", sent, timeout)
        return cast(BlobsDescribeResult, result)

    def configure(
        self,
        namespace: str,
        *,
        ttl_seconds: JSON = UNSET,
        max_bytes: JSON = UNSET,
        max_entries: JSON = UNSET,
        timeout: Optional[float] = None,
    ) -> BlobsConfigureResult:
        """Says what a namespace is: how long its blobs live, and how much of them there may be. What is absent stays;
        null is as at first.

        `namespace`: Which kind of blob.
        `ttl_seconds`: What a blob lives when its `put` does not say. At first 604,800: 7 days.
        `max_bytes`: Most bytes of its blobs. Beyond them those go that were not read lately.
        `max_entries`: Most blobs, variants counted.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if ttl_seconds is not UNSET:
            sent["ttlSeconds"] = ttl_seconds
        if max_bytes is not UNSET:
            sent["maxBytes"] = max_bytes
        if max_entries is not UNSET:
            sent["maxEntries"] = max_entries
        result = self._caller.call("blobs.configure", sent, timeout)
        return cast(BlobsConfigureResult, result)

    def begin_upload(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        variant_of: Optional[str] = None,
        content_type: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        bytes: Optional[int] = None,
        digest: Optional[str] = None,
        if_absent: Optional[bool] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsBeginUploadResult:
        """Begins a blob that comes in pieces. Nothing of it is seen before it is committed.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `variant_of`: With `variant`: the parent's digest that it was made from; it is stored only when the parent
            is still that.
        `content_type`: Its media type; kept and returned as it is.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        `bytes`: How many it is going to have; more are refused.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.
        `if_absent`: Store nothing when there is a blob of this name.
        `lease_seconds`: It outlives its connection, so long after each piece. Without, it ends with the connection.

        Raises OverloadedError, QuotaExceededError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if variant_of is not None:
            sent["variantOf"] = variant_of
        if content_type is not None:
            sent["contentType"] = content_type
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if bytes is not None:
            sent["bytes"] = bytes
        if digest is not None:
            sent["digest"] = digest
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = self._caller.call("blobs.beginUpload", sent, timeout)
        return cast(BlobsBeginUploadResult, result)

    def append_upload(
        self,
        upload: str,
        offset: int,
        data: str,
        *,
        timeout: Optional[float] = None,
    ) -> BlobsAppendUploadResult:
        """Adds the next piece to an upload.

        `upload`: From `blobs.beginUpload`.
        `offset`: Where the piece belongs: how many bytes came before.
        `data`: The piece as base64, of at most 11 MiB.

        Raises NoSpaceError, OverloadedError, QuotaExceededError, ShuttingDownError, UploadNotFoundError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"upload": upload, "offset": offset, "data": data}
        result = self._caller.call("blobs.appendUpload", sent, timeout)
        return cast(BlobsAppendUploadResult, result)

    def commit_upload(
        self,
        upload: str,
        *,
        digest: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsCommitUploadResult:
        """Ends an upload: what has come becomes the blob. It ends the upload also when it is declined or refused for
        its digest.

        `upload`: From `blobs.beginUpload`.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.

        Raises DigestMismatchError, NoSpaceError, OverloadedError, QuotaExceededError, ShuttingDownError,
            UploadNotFoundError.
        """
        sent: Dict[str, JSON] = {"upload": upload}
        if digest is not None:
            sent["digest"] = digest
        result = self._caller.call("blobs.commitUpload", sent, timeout)
        return cast(BlobsCommitUploadResult, result)

    def abort_upload(self, upload: str, *, timeout: Optional[float] = None) -> BlobsAbortUploadResult:
        """Ends an upload, and forgets what has come.

        `upload`: From `blobs.beginUpload`.
        """
        sent: Dict[str, JSON] = {"upload": upload}
        result = self._caller.call("blobs.abortUpload", sent, timeout)
        return cast(BlobsAbortUploadResult, result)


class AsyncBlobsMethods(Store):
    """Contents that may be lost, by namespace and key: images, downloads, what was made of them."""

    _store, _word = "blobs", "namespace"

    def __init__(self, caller: AsyncCaller) -> None:
        self._caller = caller

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._caller!r}>"

    async def get(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        or_parent: Optional[bool] = None,
        as_: Optional[Literal["inline", "fd", "path"]] = None,
        range: Optional[BlobsGetRange] = None,
        verify: Optional[bool] = None,
        claim: Optional[bool] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsGetResult:
        """Reads a blob: as base64, or as a descriptor open for reading, without a copy.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `or_parent`: When there is no such variant: the blob that it would be derived from.
        `as_`: `inline`: base64 in the reply, of at most 11 MiB. `fd`: a descriptor that nothing can be written
            through comes with the reply's first byte. `path`: the file's path, for the daemon's own user; a blob of
            at most 16 KiB has none and comes inline. `inline` when absent.
        `range`: Only a part: so many bytes from there on, or all from there on when the length is left out.
        `verify`: Hash all of it before anything of it is shown; damaged, it is not found.
        `claim`: When it is not there: the first who asks so gets a `token`, makes it, and puts it; the others get
            none.
        `lease_seconds`: With `claim`: how long nobody else gets a token; it outlives the connection. Without: half
            a minute, or as long as the connection. `blobs.renew` prolongs either.

        Raises OverloadedError, PathDeniedError, RangeNotSatisfiableError, ShuttingDownError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if or_parent is not None:
            sent["orParent"] = or_parent
        if as_ is not None:
            sent["as"] = as_
        if range is not None:
            sent["range"] = range
        if verify is not None:
            sent["verify"] = verify
        if claim is not None:
            sent["claim"] = claim
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = await self._caller.call("blobs.get", sent, timeout, wants_descriptor=as_ == "fd")
        return cast(BlobsGetResult, result)

    async def put(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        variant_of: Optional[str] = None,
        content_type: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        fd: Optional[Descriptor] = None,
        path: Optional[str] = None,
        data: Optional[str] = None,
        digest: Optional[str] = None,
        if_absent: Optional[bool] = None,
        token: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsPutResult:
        """Stores a blob, in the place of one of the same name; equal contents are stored once.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `variant_of`: With `variant`: the parent's digest that it was made from; it is stored only when the parent
            is still that.
        `content_type`: Its media type; kept and returned as it is.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        `fd`: A file, or its descriptor: it goes along with the request.
        `path`: In its place: a file beneath one of the `importRoots`.
        `data`: In its place: the content as base64, of at most 11 MiB.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.
        `if_absent`: Store nothing when there is a blob of this name.
        `token`: From a `get` with `claim`, which ends with this put.

        Raises DescriptorMissingError, DigestMismatchError, NoSpaceError, OverloadedError, PathDeniedError,
            QuotaExceededError, ShuttingDownError, TokenInvalidError, TransferFailedError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if variant_of is not None:
            sent["variantOf"] = variant_of
        if content_type is not None:
            sent["contentType"] = content_type
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if fd is not None:
            sent["fd"] = True
        if path is not None:
            sent["path"] = path
        if data is not None:
            sent["data"] = data
        if digest is not None:
            sent["digest"] = digest
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if token is not None:
            sent["token"] = token
        result = await self._caller.call("blobs.put", sent, timeout, descriptor=fd)
        return cast(BlobsPutResult, result)

    async def renew(
        self,
        namespace: str,
        key: str,
        token: str,
        lease_seconds: int,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsRenewResult:
        """Has a token of a `get` with `claim` last longer: whoever is still making the blob says so, and nobody else
        begins.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `token`: From a `get` with `claim`.
        `lease_seconds`: How long it is good from now on, whatever was left; it ends with its connection if it did
            before.
        `variant`: Which of the blobs derived from it; it goes with the blob.

        Raises TokenInvalidError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key, "token": token, "leaseSeconds": lease_seconds}
        if variant is not None:
            sent["variant"] = variant
        result = await self._caller.call("blobs.renew", sent, timeout)
        return cast(BlobsRenewResult, result)

    async def stat(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsStatResult:
        """Tells what a blob is without reading it.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        result = await self._caller.call("blobs.stat", sent, timeout)
        return cast(BlobsStatResult, result)

    async def stat_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        timeout: Optional[float] = None,
    ) -> BlobsStatManyResult:
        """Tells what several blobs of one namespace are.

        `namespace`: Which kind of blob.
        `keys`: Keys, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        result = await self._caller.call("blobs.statMany", sent, timeout)
        return cast(BlobsStatManyResult, result)

    async def touch(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsTouchResult:
        """Says how long a blob lives from now on; its content stays as it is.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        result = await self._caller.call("blobs.touch", sent, timeout)
        return cast(BlobsTouchResult, result)

    async def delete(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsDeleteResult:
        """Removes a blob with all its variants, or one variant.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        result = await self._caller.call("blobs.delete", sent, timeout)
        return cast(BlobsDeleteResult, result)

    async def delete_many(
        self,
        namespace: str,
        keys: Sequence[str],
        *,
        timeout: Optional[float] = None,
    ) -> BlobsDeleteManyResult:
        """Removes several blobs with all their variants.

        `namespace`: Which kind of blob.
        `keys`: Keys, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "keys": keys}
        result = await self._caller.call("blobs.deleteMany", sent, timeout)
        return cast(BlobsDeleteManyResult, result)

    async def list(
        self,
        namespace: str,
        *,
        prefix: Optional[str] = None,
        cursor: Optional[str] = None,
        limit: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsListResult:
        """Lists a namespace's blobs in the order of their keys' bytes, each one's variants behind it.

        `namespace`: Which kind of blob.
        `prefix`: Only keys that begin so.
        `cursor`: A cursor of the previous page.
        `limit`: Most items to return; 100 when absent.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if prefix is not None:
            sent["prefix"] = prefix
        if cursor is not None:
            sent["cursor"] = cursor
        if limit is not None:
            sent["limit"] = limit
        result = await self._caller.call("blobs.list", sent, timeout)
        return cast(BlobsListResult, result)

    async def find_missing(
        self,
        namespace: str,
        digests: Sequence[str],
        *,
        timeout: Optional[float] = None,
    ) -> BlobsFindMissingResult:
        """Tells which contents no blob of a namespace has, so that only those need be sent.

        `namespace`: Which kind of blob.
        `digests`: BLAKE2b-256 in hexadecimal, at most 1,000.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "digests": digests}
        result = await self._caller.call("blobs.findMissing", sent, timeout)
        return cast(BlobsFindMissingResult, result)

    async def scopes(self, *, timeout: Optional[float] = None) -> BlobsScopesResult:
        """Lists the namespaces of blobs."""
        sent: Dict[str, JSON] = {}
        result = await self._caller.call("blobs.scopes", sent, timeout)
        return cast(BlobsScopesResult, result)

    async def describe(self, namespace: str, *, timeout: Optional[float] = None) -> BlobsDescribeResult:
        """Tells what a namespace is configured to be, and what it has seen since the daemon started.

        `namespace`: Which kind of blob.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        result = await self._caller.call("blobs.describe", sent, timeout)
        return cast(BlobsDescribeResult, result)

    async def configure(
        self,
        namespace: str,
        *,
        ttl_seconds: JSON = UNSET,
        max_bytes: JSON = UNSET,
        max_entries: JSON = UNSET,
        timeout: Optional[float] = None,
    ) -> BlobsConfigureResult:
        """Says what a namespace is: how long its blobs live, and how much of them there may be. What is absent stays;
        null is as at first.

        `namespace`: Which kind of blob.
        `ttl_seconds`: What a blob lives when its `put` does not say. At first 604,800: 7 days.
        `max_bytes`: Most bytes of its blobs. Beyond them those go that were not read lately.
        `max_entries`: Most blobs, variants counted.

        Raises QuotaExceededError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace}
        if ttl_seconds is not UNSET:
            sent["ttlSeconds"] = ttl_seconds
        if max_bytes is not UNSET:
            sent["maxBytes"] = max_bytes
        if max_entries is not UNSET:
            sent["maxEntries"] = max_entries
        result = await self._caller.call("blobs.configure", sent, timeout)
        return cast(BlobsConfigureResult, result)

    async def begin_upload(
        self,
        namespace: str,
        key: str,
        *,
        variant: Optional[str] = None,
        variant_of: Optional[str] = None,
        content_type: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        bytes: Optional[int] = None,
        digest: Optional[str] = None,
        if_absent: Optional[bool] = None,
        lease_seconds: Optional[int] = None,
        timeout: Optional[float] = None,
    ) -> BlobsBeginUploadResult:
        """Begins a blob that comes in pieces. Nothing of it is seen before it is committed.

        `namespace`: Which kind of blob.
        `key`: The blob's name.
        `variant`: Which of the blobs derived from it; it goes with the blob.
        `variant_of`: With `variant`: the parent's digest that it was made from; it is stored only when the parent
            is still that.
        `content_type`: Its media type; kept and returned as it is.
        `ttl_seconds`: How long it lives; as its namespace says when absent.
        `bytes`: How many it is going to have; more are refused.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.
        `if_absent`: Store nothing when there is a blob of this name.
        `lease_seconds`: It outlives its connection, so long after each piece. Without, it ends with the connection.

        Raises OverloadedError, QuotaExceededError, ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"namespace": namespace, "key": key}
        if variant is not None:
            sent["variant"] = variant
        if variant_of is not None:
            sent["variantOf"] = variant_of
        if content_type is not None:
            sent["contentType"] = content_type
        if ttl_seconds is not None:
            sent["ttlSeconds"] = ttl_seconds
        if bytes is not None:
            sent["bytes"] = bytes
        if digest is not None:
            sent["digest"] = digest
        if if_absent is not None:
            sent["ifAbsent"] = if_absent
        if lease_seconds is not None:
            sent["leaseSeconds"] = lease_seconds
        result = await self._caller.call("blobs.beginUpload", sent, timeout)
        return cast(BlobsBeginUploadResult, result)

    async def append_upload(
        self,
        upload: str,
        offset: int,
        data: str,
        *,
        timeout: Optional[float] = None,
    ) -> BlobsAppendUploadResult:
        """Adds the next piece to an upload.

        `upload`: From `blobs.beginUpload`.
        `offset`: Where the piece belongs: how many bytes came before.
        `data`: The piece as base64, of at most 11 MiB.

        Raises NoSpaceError, OverloadedError, QuotaExceededError, ShuttingDownError, UploadNotFoundError,
            ValueTooLargeError.
        """
        sent: Dict[str, JSON] = {"upload": upload, "offset": offset, "data": data}
        result = await self._caller.call("blobs.appendUpload", sent, timeout)
        return cast(BlobsAppendUploadResult, result)

    async def commit_upload(
        self,
        upload: str,
        *,
        digest: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> BlobsCommitUploadResult:
        """Ends an upload: what has come becomes the blob. It ends the upload also when it is declined or refused for
        its digest.

        `upload`: From `blobs.beginUpload`.
        `digest`: BLAKE2b-256 that the content has to have, in hexadecimal.

        Raises DigestMismatchError, NoSpaceError, OverloadedError, QuotaExceededError, ShuttingDownError,
            UploadNotFoundError.
        """
        sent: Dict[str, JSON] = {"upload": upload}
        if digest is not None:
            sent["digest"] = digest
        result = await self._caller.call("blobs.commitUpload", sent, timeout)
        return cast(BlobsCommitUploadResult, result)

    async def abort_upload(self, upload: str, *, timeout: Optional[float] = None) -> BlobsAbortUploadResult:
        """Ends an upload, and forgets what has come.

        `upload`: From `blobs.beginUpload`.
        """
        sent: Dict[str, JSON] = {"upload": upload}
        result = await self._caller.call("blobs.abortUpload", sent, timeout)
        return cast(BlobsAbortUploadResult, result)
