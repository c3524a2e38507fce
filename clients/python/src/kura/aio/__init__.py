"""The client for asyncio."""

from __future__ import annotations

from .cached import AsyncCache, AsyncCached
from .blobs import AsyncBlobNamespace, Blob, BlobInfo, Stored
from .client import AsyncKura, Server, connect
from .documents import AsyncCollection, Put
from .secrets import AsyncService, Secret
from .settings import AsyncDomain
from .transaction import AsyncPipeline, AsyncTransaction
from .watch import AsyncLiveQuery, AsyncWatch

__all__ = [
    "AsyncBlobNamespace",
    "AsyncCache",
    "AsyncCached",
    "AsyncCollection",
    "AsyncDomain",
    "AsyncKura",
    "AsyncLiveQuery",
    "AsyncPipeline",
    "AsyncService",
    "AsyncTransaction",
    "AsyncWatch",
    "Blob",
    "BlobInfo",
    "Put",
    "Secret",
    "Server",
    "Stored",
    "connect",
]
