// Made by scripts/docs of the method table; changed by hand it is stale.

/// Answers `rpc.*`: each method is answered by the function of its name.
enum RpcHandlers {}

/// Answers `session.*`: each method is answered by the function of its name.
enum SessionHandlers {}

/// Answers `storage.*`: each method is answered by the function of its name.
enum StorageHandlers {}

/// Answers `backups.*`: each method is answered by the function of its name.
enum BackupsHandlers {}

/// Answers `transaction.*`: each method is answered by the function of its name.
enum TransactionHandlers {}

/// Answers `settings.*`: each method is answered by the function of its name.
enum SettingsHandlers {}

/// Answers `secrets.*`: each method is answered by the function of its name.
enum SecretsHandlers {}

/// Answers `documents.*`: each method is answered by the function of its name.
enum DocumentsHandlers {}

/// Answers `models.*`: each method is answered by the function of its name.
enum ModelsHandlers {}

/// Answers `blobs.*`: each method is answered by the function of its name.
enum BlobsHandlers {}

/// Answers `changes.*`: each method is answered by the function of its name.
enum ChangesHandlers {}

/// Answers `fault.*`: each method is answered by the function of its name.
enum FaultHandlers {}

/// The handlers in the order of the method table.
let allHandlers: [MethodHandler] = [
    MethodHandler("rpc.discover", RpcHandlers.discover),
    MethodHandler("rpc.cancel", RpcHandlers.cancel),
    MethodHandler("session.hello", SessionHandlers.hello),
    MethodHandler("session.can", SessionHandlers.can),
    MethodHandler("storage.ping", StorageHandlers.ping),
    MethodHandler("storage.health", StorageHandlers.health),
    MethodHandler("storage.status", StorageHandlers.status),
    MethodHandler("storage.stats", StorageHandlers.stats),
    MethodHandler("storage.sweep", StorageHandlers.sweep),
    MethodHandler("storage.diskWrites", StorageHandlers.diskWrites),
    MethodHandler("storage.resolveReport", StorageHandlers.resolveReport),
    MethodHandler("storage.slow", StorageHandlers.slow),
    MethodHandler("storage.record", StorageHandlers.record),
    MethodHandler("storage.quarantine", StorageHandlers.quarantine),
    MethodHandler("storage.acknowledge", StorageHandlers.acknowledge),
    MethodHandler("storage.check", StorageHandlers.check),
    MethodHandler("storage.compact", StorageHandlers.compact),
    MethodHandler("storage.backup", StorageHandlers.backup),
    MethodHandler("storage.bundle", StorageHandlers.bundle),
    MethodHandler("backups.list", BackupsHandlers.list),
    MethodHandler("backups.verify", BackupsHandlers.verify),
    MethodHandler("backups.compare", BackupsHandlers.compare),
    MethodHandler("backups.prune", BackupsHandlers.prune),
    MethodHandler("transaction.apply", TransactionHandlers.apply),
    MethodHandler("transaction.undo", TransactionHandlers.undo),
    MethodHandler("settings.get", SettingsHandlers.get),
    MethodHandler("settings.getMany", SettingsHandlers.getMany),
    MethodHandler("settings.put", SettingsHandlers.put),
    MethodHandler("settings.delete", SettingsHandlers.delete),
    MethodHandler("settings.list", SettingsHandlers.list),
    MethodHandler("settings.putMany", SettingsHandlers.putMany),
    MethodHandler("settings.increment", SettingsHandlers.increment),
    MethodHandler("settings.count", SettingsHandlers.count),
    MethodHandler("settings.scopes", SettingsHandlers.scopes),
    MethodHandler("settings.register", SettingsHandlers.register),
    MethodHandler("settings.override", SettingsHandlers.override),
    MethodHandler("settings.clearOverrides", SettingsHandlers.clearOverrides),
    MethodHandler("settings.configure", SettingsHandlers.configure),
    MethodHandler("settings.describe", SettingsHandlers.describe),
    MethodHandler("settings.export", SettingsHandlers.export),
    MethodHandler("settings.import", SettingsHandlers.import),
    MethodHandler("secrets.put", SecretsHandlers.put),
    MethodHandler("secrets.get", SecretsHandlers.get),
    MethodHandler("secrets.getMany", SecretsHandlers.getMany),
    MethodHandler("secrets.delete", SecretsHandlers.delete),
    MethodHandler("secrets.list", SecretsHandlers.list),
    MethodHandler("secrets.versions", SecretsHandlers.versions),
    MethodHandler("secrets.restoreVersion", SecretsHandlers.restoreVersion),
    MethodHandler("secrets.destroyVersion", SecretsHandlers.destroyVersion),
    MethodHandler("secrets.generate", SecretsHandlers.generate),
    MethodHandler("secrets.rename", SecretsHandlers.rename),
    MethodHandler("secrets.setAttributes", SecretsHandlers.setAttributes),
    MethodHandler("secrets.configure", SecretsHandlers.configure),
    MethodHandler("secrets.describe", SecretsHandlers.describe),
    MethodHandler("secrets.scopes", SecretsHandlers.scopes),
    MethodHandler("secrets.clear", SecretsHandlers.clear),
    MethodHandler("secrets.verify", SecretsHandlers.verify),
    MethodHandler("secrets.repair", SecretsHandlers.repair),
    MethodHandler("secrets.status", SecretsHandlers.status),
    MethodHandler("secrets.slots", SecretsHandlers.slots),
    MethodHandler("secrets.addSlot", SecretsHandlers.addSlot),
    MethodHandler("secrets.removeSlot", SecretsHandlers.removeSlot),
    MethodHandler("secrets.unlock", SecretsHandlers.unlock),
    MethodHandler("secrets.lock", SecretsHandlers.lock),
    MethodHandler("secrets.changePassphrase", SecretsHandlers.changePassphrase),
    MethodHandler("secrets.rotate", SecretsHandlers.rotate),
    MethodHandler("secrets.sign", SecretsHandlers.sign),
    MethodHandler("secrets.verifySignature", SecretsHandlers.verifySignature),
    MethodHandler("secrets.publicKey", SecretsHandlers.publicKey),
    MethodHandler("secrets.hmac", SecretsHandlers.hmac),
    MethodHandler("secrets.verifyHmac", SecretsHandlers.verifyHmac),
    MethodHandler("secrets.encrypt", SecretsHandlers.encrypt),
    MethodHandler("secrets.decrypt", SecretsHandlers.decrypt),
    MethodHandler("secrets.rewrap", SecretsHandlers.rewrap),
    MethodHandler("secrets.issueToken", SecretsHandlers.issueToken),
    MethodHandler("secrets.redeemToken", SecretsHandlers.redeemToken),
    MethodHandler("secrets.audit", SecretsHandlers.audit),
    MethodHandler("secrets.auditVerify", SecretsHandlers.auditVerify),
    MethodHandler("documents.put", DocumentsHandlers.put),
    MethodHandler("documents.get", DocumentsHandlers.get),
    MethodHandler("documents.getMany", DocumentsHandlers.getMany),
    MethodHandler("documents.history", DocumentsHandlers.history),
    MethodHandler("documents.putMany", DocumentsHandlers.putMany),
    MethodHandler("documents.delete", DocumentsHandlers.delete),
    MethodHandler("documents.deleteMany", DocumentsHandlers.deleteMany),
    MethodHandler("documents.patch", DocumentsHandlers.patch),
    MethodHandler("documents.increment", DocumentsHandlers.increment),
    MethodHandler("documents.restore", DocumentsHandlers.restore),
    MethodHandler("documents.attach", DocumentsHandlers.attach),
    MethodHandler("documents.attachment", DocumentsHandlers.attachment),
    MethodHandler("documents.detach", DocumentsHandlers.detach),
    MethodHandler("documents.list", DocumentsHandlers.list),
    MethodHandler("documents.import", DocumentsHandlers.import),
    MethodHandler("documents.export", DocumentsHandlers.export),
    MethodHandler("documents.scopes", DocumentsHandlers.scopes),
    MethodHandler("documents.configure", DocumentsHandlers.configure),
    MethodHandler("documents.describe", DocumentsHandlers.describe),
    MethodHandler("documents.drop", DocumentsHandlers.drop),
    MethodHandler("documents.purge", DocumentsHandlers.purge),
    MethodHandler("documents.find", DocumentsHandlers.find),
    MethodHandler("documents.count", DocumentsHandlers.count),
    MethodHandler("documents.distinct", DocumentsHandlers.distinct),
    MethodHandler("documents.aggregate", DocumentsHandlers.aggregate),
    MethodHandler("documents.explain", DocumentsHandlers.explain),
    MethodHandler("documents.search", DocumentsHandlers.search),
    MethodHandler("documents.watch", DocumentsHandlers.watch),
    MethodHandler("documents.unwatch", DocumentsHandlers.unwatch),
    MethodHandler("models.get", ModelsHandlers.get),
    MethodHandler("models.getMany", ModelsHandlers.getMany),
    MethodHandler("models.put", ModelsHandlers.put),
    MethodHandler("models.putMany", ModelsHandlers.putMany),
    MethodHandler("models.touch", ModelsHandlers.touch),
    MethodHandler("models.fail", ModelsHandlers.fail),
    MethodHandler("models.renew", ModelsHandlers.renew),
    MethodHandler("models.delete", ModelsHandlers.delete),
    MethodHandler("models.deleteMany", ModelsHandlers.deleteMany),
    MethodHandler("models.invalidate", ModelsHandlers.invalidate),
    MethodHandler("models.list", ModelsHandlers.list),
    MethodHandler("models.configure", ModelsHandlers.configure),
    MethodHandler("models.describe", ModelsHandlers.describe),
    MethodHandler("models.scopes", ModelsHandlers.scopes),
    MethodHandler("blobs.get", BlobsHandlers.get),
    MethodHandler("blobs.put", BlobsHandlers.put),
    MethodHandler("blobs.renew", BlobsHandlers.renew),
    MethodHandler("blobs.stat", BlobsHandlers.stat),
    MethodHandler("blobs.statMany", BlobsHandlers.statMany),
    MethodHandler("blobs.touch", BlobsHandlers.touch),
    MethodHandler("blobs.delete", BlobsHandlers.delete),
    MethodHandler("blobs.deleteMany", BlobsHandlers.deleteMany),
    MethodHandler("blobs.list", BlobsHandlers.list),
    MethodHandler("blobs.findMissing", BlobsHandlers.findMissing),
    MethodHandler("blobs.scopes", BlobsHandlers.scopes),
    MethodHandler("blobs.describe", BlobsHandlers.describe),
    MethodHandler("blobs.configure", BlobsHandlers.configure),
    MethodHandler("blobs.beginUpload", BlobsHandlers.beginUpload),
    MethodHandler("blobs.appendUpload", BlobsHandlers.appendUpload),
    MethodHandler("blobs.commitUpload", BlobsHandlers.commitUpload),
    MethodHandler("blobs.abortUpload", BlobsHandlers.abortUpload),
    MethodHandler("changes.list", ChangesHandlers.list),
    MethodHandler("changes.watch", ChangesHandlers.watch),
    MethodHandler("changes.unwatch", ChangesHandlers.unwatch),
    MethodHandler("changes.wait", ChangesHandlers.wait),
    MethodHandler("fault.inject", FaultHandlers.inject),
    MethodHandler("fault.list", FaultHandlers.list),
    MethodHandler("fault.clear", FaultHandlers.clear),
]
