# Generated from ../aio/__init__.py by generator/: change it there.

"""The client for asyncio."""

from __future__ import annotations

from .cached import Cache, Cached
from .blobs import BlobNamespace, Blob, BlobInfo, Stored
from .client import Kura, Server, connect
from .documents import Collection, Put
from .secrets import Service, Secret
from .settings import Domain
from .transaction import Pipeline, Transaction
from .watch import LiveQuery, Watch

__all__ = [
    "BlobNamespace",
    "Cache",
    "Cached",
    "Collection",
    "Domain",
    "Kura",
    "LiveQuery",
    "Pipeline",
    "Service",
    "Transaction",
    "Watch",
    "Blob",
    "BlobInfo",
    "Put",
    "Secret",
    "Server",
    "Stored",
    "connect",
]
