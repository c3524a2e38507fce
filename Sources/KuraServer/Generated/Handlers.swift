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

/// The handlers in the order of the method table.
let allHandlers: [(method: String, handler: Handler)] = [
    ("rpc.discover", RpcHandlers.discover),
    ("rpc.cancel", RpcHandlers.cancel),
    ("session.hello", SessionHandlers.hello),
    ("session.can", SessionHandlers.can),
    ("storage.ping", StorageHandlers.ping),
    ("storage.health", StorageHandlers.health),
    ("storage.status", StorageHandlers.status),
    ("storage.stats", StorageHandlers.stats),
    ("storage.sweep", StorageHandlers.sweep),
    ("storage.diskWrites", StorageHandlers.diskWrites),
    ("storage.resolveReport", StorageHandlers.resolveReport),
    ("storage.slow", StorageHandlers.slow),
    ("storage.quarantine", StorageHandlers.quarantine),
    ("storage.acknowledge", StorageHandlers.acknowledge),
    ("storage.check", StorageHandlers.check),
    ("storage.compact", StorageHandlers.compact),
    ("storage.backup", StorageHandlers.backup),
    ("storage.bundle", StorageHandlers.bundle),
    ("backups.list", BackupsHandlers.list),
    ("backups.verify", BackupsHandlers.verify),
    ("backups.compare", BackupsHandlers.compare),
    ("backups.prune", BackupsHandlers.prune),
    ("transaction.apply", TransactionHandlers.apply),
    ("settings.get", SettingsHandlers.get),
    ("settings.getMany", SettingsHandlers.getMany),
    ("settings.put", SettingsHandlers.put),
    ("settings.delete", SettingsHandlers.delete),
    ("settings.list", SettingsHandlers.list),
    ("settings.putMany", SettingsHandlers.putMany),
    ("settings.increment", SettingsHandlers.increment),
    ("settings.count", SettingsHandlers.count),
    ("settings.scopes", SettingsHandlers.scopes),
    ("settings.register", SettingsHandlers.register),
    ("settings.override", SettingsHandlers.override),
    ("settings.clearOverrides", SettingsHandlers.clearOverrides),
    ("settings.configure", SettingsHandlers.configure),
    ("settings.describe", SettingsHandlers.describe),
    ("settings.export", SettingsHandlers.export),
    ("settings.import", SettingsHandlers.import),
    ("secrets.put", SecretsHandlers.put),
    ("secrets.get", SecretsHandlers.get),
    ("secrets.getMany", SecretsHandlers.getMany),
    ("secrets.delete", SecretsHandlers.delete),
    ("secrets.list", SecretsHandlers.list),
    ("secrets.versions", SecretsHandlers.versions),
    ("secrets.restoreVersion", SecretsHandlers.restoreVersion),
    ("secrets.destroyVersion", SecretsHandlers.destroyVersion),
    ("secrets.generate", SecretsHandlers.generate),
    ("secrets.rename", SecretsHandlers.rename),
    ("secrets.setAttributes", SecretsHandlers.setAttributes),
    ("secrets.configure", SecretsHandlers.configure),
    ("secrets.describe", SecretsHandlers.describe),
    ("secrets.scopes", SecretsHandlers.scopes),
    ("secrets.clear", SecretsHandlers.clear),
    ("secrets.verify", SecretsHandlers.verify),
    ("secrets.repair", SecretsHandlers.repair),
    ("secrets.status", SecretsHandlers.status),
    ("secrets.slots", SecretsHandlers.slots),
    ("secrets.addSlot", SecretsHandlers.addSlot),
    ("secrets.removeSlot", SecretsHandlers.removeSlot),
    ("secrets.unlock", SecretsHandlers.unlock),
    ("secrets.lock", SecretsHandlers.lock),
    ("secrets.changePassphrase", SecretsHandlers.changePassphrase),
    ("secrets.rotate", SecretsHandlers.rotate),
    ("secrets.sign", SecretsHandlers.sign),
    ("secrets.verifySignature", SecretsHandlers.verifySignature),
    ("secrets.publicKey", SecretsHandlers.publicKey),
    ("secrets.hmac", SecretsHandlers.hmac),
    ("secrets.verifyHmac", SecretsHandlers.verifyHmac),
    ("secrets.encrypt", SecretsHandlers.encrypt),
    ("secrets.decrypt", SecretsHandlers.decrypt),
    ("secrets.rewrap", SecretsHandlers.rewrap),
    ("secrets.issueToken", SecretsHandlers.issueToken),
    ("secrets.redeemToken", SecretsHandlers.redeemToken),
    ("secrets.audit", SecretsHandlers.audit),
    ("secrets.auditVerify", SecretsHandlers.auditVerify),
    ("documents.put", DocumentsHandlers.put),
    ("documents.get", DocumentsHandlers.get),
    ("documents.getMany", DocumentsHandlers.getMany),
    ("documents.putMany", DocumentsHandlers.putMany),
    ("documents.delete", DocumentsHandlers.delete),
    ("documents.deleteMany", DocumentsHandlers.deleteMany),
    ("documents.patch", DocumentsHandlers.patch),
    ("documents.increment", DocumentsHandlers.increment),
    ("documents.restore", DocumentsHandlers.restore),
    ("documents.attach", DocumentsHandlers.attach),
    ("documents.attachment", DocumentsHandlers.attachment),
    ("documents.detach", DocumentsHandlers.detach),
    ("documents.list", DocumentsHandlers.list),
    ("documents.import", DocumentsHandlers.import),
    ("documents.export", DocumentsHandlers.export),
    ("documents.scopes", DocumentsHandlers.scopes),
    ("documents.configure", DocumentsHandlers.configure),
    ("documents.describe", DocumentsHandlers.describe),
    ("documents.drop", DocumentsHandlers.drop),
    ("documents.purge", DocumentsHandlers.purge),
    ("documents.find", DocumentsHandlers.find),
    ("documents.count", DocumentsHandlers.count),
    ("documents.distinct", DocumentsHandlers.distinct),
    ("documents.aggregate", DocumentsHandlers.aggregate),
    ("documents.explain", DocumentsHandlers.explain),
    ("documents.search", DocumentsHandlers.search),
    ("documents.watch", DocumentsHandlers.watch),
    ("documents.unwatch", DocumentsHandlers.unwatch),
    ("models.get", ModelsHandlers.get),
    ("models.getMany", ModelsHandlers.getMany),
    ("models.put", ModelsHandlers.put),
    ("models.putMany", ModelsHandlers.putMany),
    ("models.touch", ModelsHandlers.touch),
    ("models.fail", ModelsHandlers.fail),
    ("models.renew", ModelsHandlers.renew),
    ("models.delete", ModelsHandlers.delete),
    ("models.deleteMany", ModelsHandlers.deleteMany),
    ("models.invalidate", ModelsHandlers.invalidate),
    ("models.list", ModelsHandlers.list),
    ("models.configure", ModelsHandlers.configure),
    ("models.describe", ModelsHandlers.describe),
    ("models.scopes", ModelsHandlers.scopes),
    ("blobs.get", BlobsHandlers.get),
    ("blobs.put", BlobsHandlers.put),
    ("blobs.renew", BlobsHandlers.renew),
    ("blobs.stat", BlobsHandlers.stat),
    ("blobs.statMany", BlobsHandlers.statMany),
    ("blobs.touch", BlobsHandlers.touch),
    ("blobs.delete", BlobsHandlers.delete),
    ("blobs.deleteMany", BlobsHandlers.deleteMany),
    ("blobs.list", BlobsHandlers.list),
    ("blobs.findMissing", BlobsHandlers.findMissing),
    ("blobs.scopes", BlobsHandlers.scopes),
    ("blobs.describe", BlobsHandlers.describe),
    ("blobs.configure", BlobsHandlers.configure),
    ("blobs.beginUpload", BlobsHandlers.beginUpload),
    ("blobs.appendUpload", BlobsHandlers.appendUpload),
    ("blobs.commitUpload", BlobsHandlers.commitUpload),
    ("blobs.abortUpload", BlobsHandlers.abortUpload),
    ("changes.list", ChangesHandlers.list),
    ("changes.watch", ChangesHandlers.watch),
    ("changes.unwatch", ChangesHandlers.unwatch),
    ("changes.wait", ChangesHandlers.wait),
]
