# Generated from proto-docs/openrpc.json by generator/: do not edit.

"""The protocol's methods, a module a store."""

from __future__ import annotations

from ..caller import AsyncCaller, Caller
from .backups import AsyncBackupsMethods, BackupsMethods
from .blobs import AsyncBlobsMethods, BlobsMethods
from .changes import AsyncChangesMethods, ChangesMethods
from .documents import AsyncDocumentsMethods, DocumentsMethods
from .fault import AsyncFaultMethods, FaultMethods
from .models import AsyncModelsMethods, ModelsMethods
from .rpc import AsyncRpcMethods, RpcMethods
from .secrets import AsyncSecretsMethods, SecretsMethods
from .session import AsyncSessionMethods, SessionMethods
from .settings import AsyncSettingsMethods, SettingsMethods
from .storage import AsyncStorageMethods, StorageMethods
from .transaction import AsyncTransactionMethods, TransactionMethods


class Methods:
    """Every method of the protocol, by its store."""

    def __init__(self, caller: Caller) -> None:
        self.rpc = RpcMethods(caller)
        self.session = SessionMethods(caller)
        self.storage = StorageMethods(caller)
        self.backups = BackupsMethods(caller)
        self.transaction = TransactionMethods(caller)
        self.settings = SettingsMethods(caller)
        self.secrets = SecretsMethods(caller)
        self.documents = DocumentsMethods(caller)
        self.models = ModelsMethods(caller)
        self.blobs = BlobsMethods(caller)
        self.changes = ChangesMethods(caller)
        self.fault = FaultMethods(caller)


class AsyncMethods:
    """Every method of the protocol, by its store."""

    def __init__(self, caller: AsyncCaller) -> None:
        self.rpc = AsyncRpcMethods(caller)
        self.session = AsyncSessionMethods(caller)
        self.storage = AsyncStorageMethods(caller)
        self.backups = AsyncBackupsMethods(caller)
        self.transaction = AsyncTransactionMethods(caller)
        self.settings = AsyncSettingsMethods(caller)
        self.secrets = AsyncSecretsMethods(caller)
        self.documents = AsyncDocumentsMethods(caller)
        self.models = AsyncModelsMethods(caller)
        self.blobs = AsyncBlobsMethods(caller)
        self.changes = AsyncChangesMethods(caller)
        self.fault = AsyncFaultMethods(caller)
