"""A client of Kura, the storage service of one host.

    import kura

    client = kura.connect()
    client.settings["app"]["theme"] = "dark"
    for note in client.documents["notes"].find({"done": False}, sort=["due"]):
        print(note.id, note.value)

`kura.aio` has the same for asyncio. Standard library only; Python 3.9 or newer.
"""

from __future__ import annotations

from . import aio
from .descriptors import Contents
from .errors import (
    ClosedError,
    FetchFailedError,
    KuraError,
    NoReplyError,
    NotJSONError,
    ProtocolError,
    RetryLater,
    ServerError,
    ServerGoneError,
    VersionMismatchError,
)
from .events import Change, Document, Event, Found, Index, Resync, change_of
from .limits import within
from .methods.kinds import *  # noqa: F403
from .methods.kinds import __all__ as _kinds
from .shared import cached, default_client
from .sync import (
    Blob,
    BlobInfo,
    BlobNamespace,
    Cached,
    Collection,
    Domain,
    Kura,
    LiveQuery,
    Pipeline,
    Put,
    Secret,
    Server,
    Service,
    Stored,
    Transaction,
    Watch,
    connect,
)
from .values import JSON, NULL

__version__ = "0.1.0"

__all__ = [
    "JSON",
    "Blob",
    "BlobInfo",
    "BlobNamespace",
    "Cached",
    "Change",
    "ClosedError",
    "Collection",
    "Contents",
    "Document",
    "Domain",
    "Event",
    "FetchFailedError",
    "Found",
    "Index",
    "Kura",
    "KuraError",
    "LiveQuery",
    "NULL",
    "NoReplyError",
    "NotJSONError",
    "Pipeline",
    "ProtocolError",
    "Put",
    "Resync",
    "RetryLater",
    "Secret",
    "Server",
    "ServerError",
    "ServerGoneError",
    "Service",
    "Stored",
    "Transaction",
    "VersionMismatchError",
    "Watch",
    "aio",
    "cached",
    "change_of",
    "connect",
    "default_client",
    "within",
]
__all__ += _kinds
