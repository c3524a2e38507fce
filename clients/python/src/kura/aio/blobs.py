"""Blobs: contents by descriptor."""

from __future__ import annotations

from typing import Any, AsyncIterator, Awaitable, Callable, Dict, Mapping, NamedTuple, Optional

from ..caller import AsyncCaller
from ..descriptors import BytesLike, Contents
from ..errors import ProtocolError, next_cursor
from ..methods.blobs import AsyncBlobsMethods
from ..stores import AsyncScopes
from ..values import JSON
from ..wire import Progress
from .contents import Source, pass_on


class AsyncBlobs(AsyncScopes, AsyncBlobsMethods):
    """All methods of blobs; `blobs["thumbnails"]` is one namespace."""

    def __getitem__(self, namespace: str) -> AsyncBlobNamespace:
        return AsyncBlobNamespace(self._caller, namespace)


class Stored(NamedTuple):
    """What became of a put: a cache may decline, and `reason` says why."""

    is_stored: bool
    reason: Optional[str]
    digest: Optional[str]
    size: Optional[int]


class BlobInfo(NamedTuple):
    """What a blob is, without its content."""

    key: str
    variant: Optional[str]
    size: int
    digest: str
    content_type: Optional[str]
    created_at: str
    expires_at: str


class Blob(Contents):
    """A blob's content with what is known of it."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        length = result["range"].get("length") if "range" in result else None
        super().__init__(result["fd"], length)
        promised = result.get("bytes") if "range" not in result else length
        if len(self) != promised:
            found = len(self)
            self.close()
            raise ProtocolError(f"a content of {found} bytes came, and the reply says {promised!r}: is this Kura's socket?")
        self.digest: str = result["digest"]
        self.content_type: Optional[str] = result.get("contentType")
        self.created_at: str = result["createdAt"]
        self.expires_at: str = result["expiresAt"]
        # With `or_parent`: this is the blob itself, for want of the variant.
        self.is_parent: bool = result.get("isParent", False)


class AsyncBlobNamespace:
    """The blobs of one namespace. They may be lost: what must not be is an attachment of a document."""

    def __init__(self, caller: AsyncCaller, name: str) -> None:
        self._methods = AsyncBlobsMethods(caller)
        self.name = name

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    async def get(
        self,
        key: str,
        variant: Optional[str] = None,
        *,
        or_parent: Optional[bool] = None,
        offset: Optional[int] = None,
        length: Optional[int] = None,
        verify: Optional[bool] = None,
    ) -> Optional[Blob]:
        """A blob as mapped memory, which nothing was copied for; None when it is not there."""
        part: Dict[str, int] = {}
        if offset is not None:
            part["offset"] = offset
        if length is not None:
            part["length"] = length
        result = await self._methods.get(
            self.name, key, variant=variant, or_parent=or_parent, as_="fd", range=part or None, verify=verify  # type: ignore[arg-type]
        )
        return Blob(result) if result["found"] else None

    async def put(
        self,
        key: str,
        data: Source,
        *,
        variant: Optional[str] = None,
        variant_of: Optional[str] = None,
        content_type: Optional[str] = None,
        ttl_seconds: Optional[int] = None,
        if_absent: Optional[bool] = None,
        token: Optional[str] = None,
        progress: Optional[Progress] = None,
    ) -> Stored:
        """Stores bytes; a file, whole, which is passed by its descriptor and copied by the kernel; or what can be read or
        iterated over for bytes, of any length: an HTTP response, a pipe, gzip.open(…), a generator.

        `progress(done, total)` is called as it is read; total is None until it is known.
        `variant_of`: the digest of the blob that the variant was made from; it is declined when that is another one by now.
        """
        options: Dict[str, Any] = {
            "variant": variant,
            "variant_of": variant_of,
            "content_type": content_type,
            "ttl_seconds": ttl_seconds,
            "if_absent": if_absent,
            "token": token,
        }

        async def call(**contents: Any) -> Stored:
            return _stored(await self._methods.put(self.name, key, **contents, **options))

        return await pass_on(data, call, progress)

    async def get_or_make(
        self, key: str, make: Callable[[], Awaitable[BytesLike]], *, content_type: Optional[str] = None, ttl_seconds: Optional[int] = None
    ) -> BytesLike:
        """The blob's bytes; when it is not there, what `make` returns, which is stored.

        Who is first makes it; others who come meanwhile make it as well, and do not store it.
        """
        result = await self._methods.get(self.name, key, as_="fd", claim=True)
        if result["found"]:
            return Blob(result).view
        data = await make()
        token = result.get("token")
        if token is not None:
            await self.put(key, data, content_type=content_type, ttl_seconds=ttl_seconds, token=token)
        return data

    async def stat(self, key: str, variant: Optional[str] = None) -> Optional[BlobInfo]:
        result = await self._methods.stat(self.name, key, variant=variant)
        return _info({"key": key, "variant": variant, **result}) if result["found"] else None

    async def delete(self, key: str, variant: Optional[str] = None) -> bool:
        """Removes a blob with its variants, or one variant; whether there was one."""
        return (await self._methods.delete(self.name, key, variant=variant))["deleted"]

    async def touch(self, key: str, ttl_seconds: Optional[int] = None) -> bool:
        """Has it live for so long from now on; whether it is there."""
        return (await self._methods.touch(self.name, key, ttl_seconds=ttl_seconds))["found"]

    async def each(self, prefix: Optional[str] = None) -> AsyncIterator[BlobInfo]:
        """All blobs, each one's variants behind it, in the order of their keys' bytes."""
        cursor: Optional[str] = None
        while True:
            page = await self._methods.list(self.name, prefix=prefix, cursor=cursor, limit=1000)
            for part in page["blobs"]:
                yield _info(part)
            cursor = next_cursor(page, cursor)
            if cursor is None:
                return


def _info(part: Mapping[str, JSON]) -> BlobInfo:
    return BlobInfo(
        part["key"], part.get("variant"), part["bytes"], part["digest"], part.get("contentType"), part["createdAt"], part["expiresAt"]
    )


def _stored(result: Mapping[str, Any]) -> Stored:
    return Stored(result["stored"], result.get("reason"), result.get("digest"), result.get("bytes"))
