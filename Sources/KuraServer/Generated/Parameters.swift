// Made by scripts/docs of the method table; changed by hand it is stale.

/// `rpc.cancel` and its parameters.
enum RpcCancel {
    static var methodIndex: Int { 1 }
    static var id: JSONParameter { JSONParameter(0) }
}

/// `session.hello` and its parameters.
enum SessionHello {
    static var methodIndex: Int { 2 }
    static var client: TextParameter { TextParameter(0) }
    static var version: TextParameter { TextParameter(1) }
    static var launch: FlagParameter { FlagParameter(2) }
    static var enable: JSONParameter { JSONParameter(3) }
    static var installation: TextParameter { TextParameter(4) }
    static var `protocol`: NumberParameter { NumberParameter(5) }
}

/// `session.can` and its parameters.
enum SessionCan {
    static var methodIndex: Int { 3 }
    static var method: TextParameter { TextParameter(0) }
    static var params: JSONParameter { JSONParameter(1) }
}

/// `storage.stats` and its parameters.
enum StorageStats {
    static var methodIndex: Int { 7 }
    static var histograms: FlagParameter { FlagParameter(0) }
}

/// `storage.diskWrites` and its parameters.
enum StorageDiskWrites {
    static var methodIndex: Int { 9 }
    static var window: TextParameter { TextParameter(0) }
    static var by: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// `storage.resolveReport` and its parameters.
enum StorageResolveReport {
    static var methodIndex: Int { 10 }
    static var id: NumberParameter { NumberParameter(0) }
}

/// `storage.slow` and its parameters.
enum StorageSlow {
    static var methodIndex: Int { 11 }
    static var limit: NumberParameter { NumberParameter(0) }
}

/// `storage.record` and its parameters.
enum StorageRecord {
    static var methodIndex: Int { 12 }
    static var fd: FlagParameter { FlagParameter(0) }
    static var seconds: NumberParameter { NumberParameter(1) }
}

/// `storage.backup` and its parameters.
enum StorageBackup {
    static var methodIndex: Int { 17 }
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var recipients: JSONParameter { JSONParameter(2) }
    static var passphrase: TextParameter { TextParameter(3) }
    static var include: JSONParameter { JSONParameter(4) }
}

/// `storage.bundle` and its parameters.
enum StorageBundle {
    static var methodIndex: Int { 18 }
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var include: JSONParameter { JSONParameter(2) }
}

/// `backups.verify` and its parameters.
enum BackupsVerify {
    static var methodIndex: Int { 20 }
    static var name: TextParameter { TextParameter(0) }
    static var passphrase: TextParameter { TextParameter(1) }
}

/// `backups.compare` and its parameters.
enum BackupsCompare {
    static var methodIndex: Int { 21 }
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var passphrase: TextParameter { TextParameter(2) }
    static var include: JSONParameter { JSONParameter(3) }
    static var examples: NumberParameter { NumberParameter(4) }
}

/// `backups.prune` and its parameters.
enum BackupsPrune {
    static var methodIndex: Int { 22 }
    static var hourly: NumberParameter { NumberParameter(0) }
    static var daily: NumberParameter { NumberParameter(1) }
    static var weekly: NumberParameter { NumberParameter(2) }
    static var names: JSONParameter { JSONParameter(3) }
    static var dryRun: FlagParameter { FlagParameter(4) }
}

/// `transaction.apply` and its parameters.
enum TransactionApply {
    static var methodIndex: Int { 23 }
    static var operations: JSONParameter { JSONParameter(0) }
    static var requestKey: TextParameter { TextParameter(1) }
}

/// `transaction.undo` and its parameters.
enum TransactionUndo {
    static var methodIndex: Int { 24 }
    static var rev: NumberParameter { NumberParameter(0) }
    static var dryRun: FlagParameter { FlagParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// `settings.get` and its parameters.
enum SettingsGet {
    static var methodIndex: Int { 25 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var `default`: JSONParameter { JSONParameter(2) }
    static var explain: FlagParameter { FlagParameter(3) }
}

/// `settings.getMany` and its parameters.
enum SettingsGetMany {
    static var methodIndex: Int { 26 }
    static var domain: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var explain: FlagParameter { FlagParameter(2) }
}

/// `settings.put` and its parameters.
enum SettingsPut {
    static var methodIndex: Int { 27 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `settings.delete` and its parameters.
enum SettingsDelete {
    static var methodIndex: Int { 28 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// `settings.list` and its parameters.
enum SettingsList {
    static var methodIndex: Int { 29 }
    static var domain: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var layers: TextParameter { TextParameter(4) }
    static var explain: FlagParameter { FlagParameter(5) }
}

/// `settings.putMany` and its parameters.
enum SettingsPutMany {
    static var methodIndex: Int { 30 }
    static var domain: TextParameter { TextParameter(0) }
    static var values: JSONParameter { JSONParameter(1) }
    static var delete: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `settings.increment` and its parameters.
enum SettingsIncrement {
    static var methodIndex: Int { 31 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var by: NumberParameter { NumberParameter(2) }
    static var initial: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `settings.count` and its parameters.
enum SettingsCount {
    static var methodIndex: Int { 32 }
    static var domain: TextParameter { TextParameter(0) }
}

/// `settings.register` and its parameters.
enum SettingsRegister {
    static var methodIndex: Int { 34 }
    static var domain: TextParameter { TextParameter(0) }
    static var defaults: JSONParameter { JSONParameter(1) }
    static var replace: FlagParameter { FlagParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// `settings.override` and its parameters.
enum SettingsOverride {
    static var methodIndex: Int { 35 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
}

/// `settings.clearOverrides` and its parameters.
enum SettingsClearOverrides {
    static var methodIndex: Int { 36 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
}

/// `settings.configure` and its parameters.
enum SettingsConfigure {
    static var methodIndex: Int { 37 }
    static var domain: TextParameter { TextParameter(0) }
    static var schema: JSONParameter { JSONParameter(1) }
    static var mode: TextParameter { TextParameter(2) }
    static var backup: FlagParameter { FlagParameter(3) }
    static var durability: TextParameter { TextParameter(4) }
    static var flushSeconds: NumberParameter { NumberParameter(5) }
    static var force: FlagParameter { FlagParameter(6) }
    static var dryRun: FlagParameter { FlagParameter(7) }
    static var ifRev: NumberParameter { NumberParameter(8) }
    static var requestKey: TextParameter { TextParameter(9) }
}

/// `settings.describe` and its parameters.
enum SettingsDescribe {
    static var methodIndex: Int { 38 }
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
}

/// `settings.export` and its parameters.
enum SettingsExport {
    static var methodIndex: Int { 39 }
    static var domains: JSONParameter { JSONParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// `settings.import` and its parameters.
enum SettingsImport {
    static var methodIndex: Int { 40 }
    static var values: JSONParameter { JSONParameter(0) }
    static var mode: TextParameter { TextParameter(1) }
    static var dryRun: FlagParameter { FlagParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// `secrets.put` and its parameters.
enum SecretsPut {
    static var methodIndex: Int { 41 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var secret: JSONParameter { JSONParameter(2) }
    static var secretBase64: TextParameter { TextParameter(3) }
    static var secretSealed: TextParameter { TextParameter(4) }
    static var label: TextParameter { TextParameter(5) }
    static var attributes: JSONParameter { JSONParameter(6) }
    static var accessibility: TextParameter { TextParameter(7) }
    static var deviceOnly: FlagParameter { FlagParameter(8) }
    static var accessGroup: TextParameter { TextParameter(9) }
    static var backup: FlagParameter { FlagParameter(10) }
    static var expiresAt: TextParameter { TextParameter(11) }
    static var maxVersions: NumberParameter { NumberParameter(12) }
    static var ifRev: NumberParameter { NumberParameter(13) }
    static var algorithm: TextParameter { TextParameter(14) }
    static var requestKey: TextParameter { TextParameter(15) }
}

/// `secrets.get` and its parameters.
enum SecretsGet {
    static var methodIndex: Int { 42 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var field: TextParameter { TextParameter(3) }
    static var sealTo: TextParameter { TextParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// `secrets.getMany` and its parameters.
enum SecretsGetMany {
    static var methodIndex: Int { 43 }
    static var service: TextParameter { TextParameter(0) }
    static var accounts: JSONParameter { JSONParameter(1) }
    static var sealTo: TextParameter { TextParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
}

/// `secrets.delete` and its parameters.
enum SecretsDelete {
    static var methodIndex: Int { 44 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `secrets.list` and its parameters.
enum SecretsList {
    static var methodIndex: Int { 45 }
    static var service: TextParameter { TextParameter(0) }
    static var attributes: JSONParameter { JSONParameter(1) }
    static var accessGroup: TextParameter { TextParameter(2) }
    static var cursor: TextParameter { TextParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
}

/// `secrets.versions` and its parameters.
enum SecretsVersions {
    static var methodIndex: Int { 46 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var accessGroup: TextParameter { TextParameter(2) }
}

/// `secrets.restoreVersion` and its parameters.
enum SecretsRestoreVersion {
    static var methodIndex: Int { 47 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
    static var requestKey: TextParameter { TextParameter(5) }
}

/// `secrets.destroyVersion` and its parameters.
enum SecretsDestroyVersion {
    static var methodIndex: Int { 48 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// `secrets.generate` and its parameters.
enum SecretsGenerate {
    static var methodIndex: Int { 49 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var kind: TextParameter { TextParameter(2) }
    static var length: NumberParameter { NumberParameter(3) }
    static var alphabet: TextParameter { TextParameter(4) }
    static var returnSecret: FlagParameter { FlagParameter(5) }
    static var label: TextParameter { TextParameter(6) }
    static var attributes: JSONParameter { JSONParameter(7) }
    static var accessibility: TextParameter { TextParameter(8) }
    static var deviceOnly: FlagParameter { FlagParameter(9) }
    static var accessGroup: TextParameter { TextParameter(10) }
    static var backup: FlagParameter { FlagParameter(11) }
    static var expiresAt: TextParameter { TextParameter(12) }
    static var maxVersions: NumberParameter { NumberParameter(13) }
    static var ifRev: NumberParameter { NumberParameter(14) }
    static var algorithm: TextParameter { TextParameter(15) }
    static var requestKey: TextParameter { TextParameter(16) }
}

/// `secrets.rename` and its parameters.
enum SecretsRename {
    static var methodIndex: Int { 50 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var newAccount: TextParameter { TextParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
    static var requestKey: TextParameter { TextParameter(5) }
}

/// `secrets.setAttributes` and its parameters.
enum SecretsSetAttributes {
    static var methodIndex: Int { 51 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var label: TextParameter { TextParameter(2) }
    static var attributes: JSONParameter { JSONParameter(3) }
    static var accessibility: TextParameter { TextParameter(4) }
    static var backup: FlagParameter { FlagParameter(5) }
    static var expiresAt: TextParameter { TextParameter(6) }
    static var maxVersions: NumberParameter { NumberParameter(7) }
    static var ifRev: NumberParameter { NumberParameter(8) }
    static var accessGroup: TextParameter { TextParameter(9) }
    static var requestKey: TextParameter { TextParameter(10) }
}

/// `secrets.configure` and its parameters.
enum SecretsConfigure {
    static var methodIndex: Int { 52 }
    static var service: TextParameter { TextParameter(0) }
    static var maxVersions: NumberParameter { NumberParameter(1) }
    static var installation: TextParameter { TextParameter(2) }
    static var auditReads: TextParameter { TextParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `secrets.describe` and its parameters.
enum SecretsDescribe {
    static var methodIndex: Int { 53 }
    static var service: TextParameter { TextParameter(0) }
}

/// `secrets.clear` and its parameters.
enum SecretsClear {
    static var methodIndex: Int { 55 }
    static var service: TextParameter { TextParameter(0) }
    static var confirm: TextParameter { TextParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// `secrets.verify` and its parameters.
enum SecretsVerify {
    static var methodIndex: Int { 56 }
    static var service: TextParameter { TextParameter(0) }
}

/// `secrets.repair` and its parameters.
enum SecretsRepair {
    static var methodIndex: Int { 57 }
    static var confirm: TextParameter { TextParameter(0) }
    static var service: TextParameter { TextParameter(1) }
    static var otherHostKey: FlagParameter { FlagParameter(2) }
}

/// `secrets.status` and its parameters.
enum SecretsStatus {
    static var methodIndex: Int { 58 }
    static var service: TextParameter { TextParameter(0) }
}

/// `secrets.addSlot` and its parameters.
enum SecretsAddSlot {
    static var methodIndex: Int { 60 }
    static var kind: TextParameter { TextParameter(0) }
    static var newPassphrase: TextParameter { TextParameter(1) }
    static var label: TextParameter { TextParameter(2) }
}

/// `secrets.removeSlot` and its parameters.
enum SecretsRemoveSlot {
    static var methodIndex: Int { 61 }
    static var slot: NumberParameter { NumberParameter(0) }
}

/// `secrets.unlock` and its parameters.
enum SecretsUnlock {
    static var methodIndex: Int { 62 }
    static var passphrase: TextParameter { TextParameter(0) }
}

/// `secrets.changePassphrase` and its parameters.
enum SecretsChangePassphrase {
    static var methodIndex: Int { 64 }
    static var passphrase: TextParameter { TextParameter(0) }
    static var newPassphrase: TextParameter { TextParameter(1) }
}

/// `secrets.rotate` and its parameters.
enum SecretsRotate {
    static var methodIndex: Int { 65 }
    static var rootKey: FlagParameter { FlagParameter(0) }
    static var passphrase: TextParameter { TextParameter(1) }
    static var service: TextParameter { TextParameter(2) }
    static var waitMs: NumberParameter { NumberParameter(3) }
}

/// `secrets.sign` and its parameters.
enum SecretsSign {
    static var methodIndex: Int { 66 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var version: NumberParameter { NumberParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// `secrets.verifySignature` and its parameters.
enum SecretsVerifySignature {
    static var methodIndex: Int { 67 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var signature: TextParameter { TextParameter(2) }
    static var data: TextParameter { TextParameter(3) }
    static var dataBase64: TextParameter { TextParameter(4) }
    static var version: NumberParameter { NumberParameter(5) }
    static var accessGroup: TextParameter { TextParameter(6) }
}

/// `secrets.publicKey` and its parameters.
enum SecretsPublicKey {
    static var methodIndex: Int { 68 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
}

/// `secrets.hmac` and its parameters.
enum SecretsHmac {
    static var methodIndex: Int { 69 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var version: NumberParameter { NumberParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// `secrets.verifyHmac` and its parameters.
enum SecretsVerifyHmac {
    static var methodIndex: Int { 70 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var code: TextParameter { TextParameter(2) }
    static var data: TextParameter { TextParameter(3) }
    static var dataBase64: TextParameter { TextParameter(4) }
    static var version: NumberParameter { NumberParameter(5) }
    static var accessGroup: TextParameter { TextParameter(6) }
}

/// `secrets.encrypt` and its parameters.
enum SecretsEncrypt {
    static var methodIndex: Int { 71 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var associatedData: TextParameter { TextParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// `secrets.decrypt` and its parameters.
enum SecretsDecrypt {
    static var methodIndex: Int { 72 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ciphertext: TextParameter { TextParameter(2) }
    static var associatedData: TextParameter { TextParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// `secrets.rewrap` and its parameters.
enum SecretsRewrap {
    static var methodIndex: Int { 73 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ciphertext: TextParameter { TextParameter(2) }
    static var associatedData: TextParameter { TextParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// `secrets.issueToken` and its parameters.
enum SecretsIssueToken {
    static var methodIndex: Int { 74 }
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var version: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// `secrets.redeemToken` and its parameters.
enum SecretsRedeemToken {
    static var methodIndex: Int { 75 }
    static var token: TextParameter { TextParameter(0) }
}

/// `secrets.audit` and its parameters.
enum SecretsAudit {
    static var methodIndex: Int { 76 }
    static var service: TextParameter { TextParameter(0) }
    static var since: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
    static var cursor: TextParameter { TextParameter(3) }
}

/// `secrets.auditVerify` and its parameters.
enum SecretsAuditVerify {
    static var methodIndex: Int { 77 }
    static var cursor: TextParameter { TextParameter(0) }
}

/// `documents.put` and its parameters.
enum DocumentsPut {
    static var methodIndex: Int { 78 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `documents.get` and its parameters.
enum DocumentsGet {
    static var methodIndex: Int { 79 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var `default`: JSONParameter { JSONParameter(2) }
    static var expand: JSONParameter { JSONParameter(3) }
    static var atRev: NumberParameter { NumberParameter(4) }
}

/// `documents.getMany` and its parameters.
enum DocumentsGetMany {
    static var methodIndex: Int { 80 }
    static var collection: TextParameter { TextParameter(0) }
    static var ids: JSONParameter { JSONParameter(1) }
    static var expand: JSONParameter { JSONParameter(2) }
}

/// `documents.history` and its parameters.
enum DocumentsHistory {
    static var methodIndex: Int { 81 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
    static var beforeRev: NumberParameter { NumberParameter(3) }
    static var values: FlagParameter { FlagParameter(4) }
}

/// `documents.putMany` and its parameters.
enum DocumentsPutMany {
    static var methodIndex: Int { 82 }
    static var collection: TextParameter { TextParameter(0) }
    static var documents: JSONParameter { JSONParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// `documents.delete` and its parameters.
enum DocumentsDelete {
    static var methodIndex: Int { 83 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// `documents.deleteMany` and its parameters.
enum DocumentsDeleteMany {
    static var methodIndex: Int { 84 }
    static var collection: TextParameter { TextParameter(0) }
    static var ids: JSONParameter { JSONParameter(1) }
    static var `where`: JSONParameter { JSONParameter(2) }
    static var atomic: FlagParameter { FlagParameter(3) }
    static var dryRun: FlagParameter { FlagParameter(4) }
    static var allowScan: FlagParameter { FlagParameter(5) }
    static var timeoutMs: NumberParameter { NumberParameter(6) }
    static var requestKey: TextParameter { TextParameter(7) }
}

/// `documents.patch` and its parameters.
enum DocumentsPatch {
    static var methodIndex: Int { 85 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var mergePatch: JSONParameter { JSONParameter(2) }
    static var jsonPatch: JSONParameter { JSONParameter(3) }
    static var ifRev: NumberParameter { NumberParameter(4) }
    static var replace: FlagParameter { FlagParameter(5) }
    static var requestKey: TextParameter { TextParameter(6) }
}

/// `documents.increment` and its parameters.
enum DocumentsIncrement {
    static var methodIndex: Int { 86 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var by: JSONParameter { JSONParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `documents.restore` and its parameters.
enum DocumentsRestore {
    static var methodIndex: Int { 87 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// `documents.attach` and its parameters.
enum DocumentsAttach {
    static var methodIndex: Int { 88 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var contentType: TextParameter { TextParameter(3) }
    static var fd: FlagParameter { FlagParameter(4) }
    static var data: TextParameter { TextParameter(5) }
    static var ifRev: NumberParameter { NumberParameter(6) }
    static var requestKey: TextParameter { TextParameter(7) }
}

/// `documents.attachment` and its parameters.
enum DocumentsAttachment {
    static var methodIndex: Int { 89 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var `as`: TextParameter { TextParameter(3) }
}

/// `documents.detach` and its parameters.
enum DocumentsDetach {
    static var methodIndex: Int { 90 }
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// `documents.list` and its parameters.
enum DocumentsList {
    static var methodIndex: Int { 91 }
    static var collection: TextParameter { TextParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// `documents.import` and its parameters.
enum DocumentsImport {
    static var methodIndex: Int { 92 }
    static var collection: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var idField: TextParameter { TextParameter(3) }
    static var format: TextParameter { TextParameter(4) }
    static var onError: TextParameter { TextParameter(5) }
    static var offset: NumberParameter { NumberParameter(6) }
    static var attachments: FlagParameter { FlagParameter(7) }
}

/// `documents.export` and its parameters.
enum DocumentsExport {
    static var methodIndex: Int { 93 }
    static var collection: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var attachments: FlagParameter { FlagParameter(3) }
}

/// `documents.configure` and its parameters.
enum DocumentsConfigure {
    static var methodIndex: Int { 95 }
    static var collection: TextParameter { TextParameter(0) }
    static var indexes: JSONParameter { JSONParameter(1) }
    static var schema: JSONParameter { JSONParameter(2) }
    static var schemaMode: TextParameter { TextParameter(3) }
    static var tombstoneDays: JSONParameter { JSONParameter(4) }
    static var retainDays: JSONParameter { JSONParameter(5) }
    static var history: JSONParameter { JSONParameter(6) }
    static var durability: TextParameter { TextParameter(7) }
    static var flushSeconds: NumberParameter { NumberParameter(8) }
    static var references: JSONParameter { JSONParameter(9) }
    static var backup: FlagParameter { FlagParameter(10) }
    static var version: NumberParameter { NumberParameter(11) }
    static var migrations: JSONParameter { JSONParameter(12) }
    static var dryRun: FlagParameter { FlagParameter(13) }
    static var timeoutMs: NumberParameter { NumberParameter(14) }
    static var searchFields: JSONParameter { JSONParameter(15) }
    static var searchTokenizer: TextParameter { TextParameter(16) }
    static var ifRev: NumberParameter { NumberParameter(17) }
    static var requestKey: TextParameter { TextParameter(18) }
}

/// `documents.describe` and its parameters.
enum DocumentsDescribe {
    static var methodIndex: Int { 96 }
    static var collection: TextParameter { TextParameter(0) }
    static var waitMs: NumberParameter { NumberParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
}

/// `documents.drop` and its parameters.
enum DocumentsDrop {
    static var methodIndex: Int { 97 }
    static var collection: TextParameter { TextParameter(0) }
    static var requestKey: TextParameter { TextParameter(1) }
}

/// `documents.purge` and its parameters.
enum DocumentsPurge {
    static var methodIndex: Int { 98 }
    static var collection: TextParameter { TextParameter(0) }
    static var olderThanDays: NumberParameter { NumberParameter(1) }
}

/// `documents.find` and its parameters.
enum DocumentsFind {
    static var methodIndex: Int { 99 }
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var fields: JSONParameter { JSONParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
    static var cursor: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
    static var expand: JSONParameter { JSONParameter(8) }
    static var atRev: NumberParameter { NumberParameter(9) }
}

/// `documents.count` and its parameters.
enum DocumentsCount {
    static var methodIndex: Int { 100 }
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var allowScan: FlagParameter { FlagParameter(2) }
    static var timeoutMs: NumberParameter { NumberParameter(3) }
}

/// `documents.distinct` and its parameters.
enum DocumentsDistinct {
    static var methodIndex: Int { 101 }
    static var collection: TextParameter { TextParameter(0) }
    static var field: TextParameter { TextParameter(1) }
    static var `where`: JSONParameter { JSONParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var cursor: TextParameter { TextParameter(4) }
    static var allowScan: FlagParameter { FlagParameter(5) }
    static var timeoutMs: NumberParameter { NumberParameter(6) }
}

/// `documents.aggregate` and its parameters.
enum DocumentsAggregate {
    static var methodIndex: Int { 102 }
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var groupBy: JSONParameter { JSONParameter(2) }
    static var compute: JSONParameter { JSONParameter(3) }
    static var allowScan: FlagParameter { FlagParameter(4) }
    static var timeoutMs: NumberParameter { NumberParameter(5) }
}

/// `documents.explain` and its parameters.
enum DocumentsExplain {
    static var methodIndex: Int { 103 }
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var fields: JSONParameter { JSONParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
    static var cursor: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
}

/// `documents.search` and its parameters.
enum DocumentsSearch {
    static var methodIndex: Int { 104 }
    static var collection: TextParameter { TextParameter(0) }
    static var query: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
    static var `where`: JSONParameter { JSONParameter(3) }
    static var fields: JSONParameter { JSONParameter(4) }
    static var cursor: TextParameter { TextParameter(5) }
    static var snippetWords: NumberParameter { NumberParameter(6) }
    static var markStart: TextParameter { TextParameter(7) }
    static var markEnd: TextParameter { TextParameter(8) }
    static var timeoutMs: NumberParameter { NumberParameter(9) }
}

/// `documents.watch` and its parameters.
enum DocumentsWatch {
    static var methodIndex: Int { 105 }
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var afterRev: NumberParameter { NumberParameter(4) }
    static var epoch: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
}

/// `documents.unwatch` and its parameters.
enum DocumentsUnwatch {
    static var methodIndex: Int { 106 }
    static var subscription: NumberParameter { NumberParameter(0) }
}

/// `models.get` and its parameters.
enum ModelsGet {
    static var methodIndex: Int { 107 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var maxAgeSeconds: NumberParameter { NumberParameter(2) }
    static var claim: FlagParameter { FlagParameter(3) }
    static var waitMs: NumberParameter { NumberParameter(4) }
    static var leaseSeconds: NumberParameter { NumberParameter(5) }
}

/// `models.getMany` and its parameters.
enum ModelsGetMany {
    static var methodIndex: Int { 108 }
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var maxAgeSeconds: NumberParameter { NumberParameter(2) }
}

/// `models.put` and its parameters.
enum ModelsPut {
    static var methodIndex: Int { 109 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
    static var ttlSeconds: NumberParameter { NumberParameter(3) }
    static var staleSeconds: NumberParameter { NumberParameter(4) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(5) }
    static var etag: TextParameter { TextParameter(6) }
    static var tags: JSONParameter { JSONParameter(7) }
    static var token: TextParameter { TextParameter(8) }
    static var ifAbsent: FlagParameter { FlagParameter(9) }
    static var store: FlagParameter { FlagParameter(10) }
}

/// `models.putMany` and its parameters.
enum ModelsPutMany {
    static var methodIndex: Int { 110 }
    static var namespace: TextParameter { TextParameter(0) }
    static var entries: JSONParameter { JSONParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var staleSeconds: NumberParameter { NumberParameter(3) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(4) }
    static var ifAbsent: FlagParameter { FlagParameter(5) }
}

/// `models.touch` and its parameters.
enum ModelsTouch {
    static var methodIndex: Int { 111 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var staleSeconds: NumberParameter { NumberParameter(3) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(4) }
    static var etag: TextParameter { TextParameter(5) }
    static var token: TextParameter { TextParameter(6) }
}

/// `models.fail` and its parameters.
enum ModelsFail {
    static var methodIndex: Int { 112 }
    static var token: TextParameter { TextParameter(0) }
    static var retryAfterSeconds: NumberParameter { NumberParameter(1) }
}

/// `models.renew` and its parameters.
enum ModelsRenew {
    static var methodIndex: Int { 113 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var token: TextParameter { TextParameter(2) }
    static var leaseSeconds: NumberParameter { NumberParameter(3) }
}

/// `models.delete` and its parameters.
enum ModelsDelete {
    static var methodIndex: Int { 114 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var logical: FlagParameter { FlagParameter(2) }
}

/// `models.deleteMany` and its parameters.
enum ModelsDeleteMany {
    static var methodIndex: Int { 115 }
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var logical: FlagParameter { FlagParameter(2) }
}

/// `models.invalidate` and its parameters.
enum ModelsInvalidate {
    static var methodIndex: Int { 116 }
    static var namespace: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var tag: TextParameter { TextParameter(2) }
    static var mode: TextParameter { TextParameter(3) }
}

/// `models.list` and its parameters.
enum ModelsList {
    static var methodIndex: Int { 117 }
    static var namespace: TextParameter { TextParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// `models.configure` and its parameters.
enum ModelsConfigure {
    static var methodIndex: Int { 118 }
    static var namespace: TextParameter { TextParameter(0) }
    static var ttlSeconds: NumberParameter { NumberParameter(1) }
    static var staleSeconds: NumberParameter { NumberParameter(2) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(3) }
    static var maxEntries: NumberParameter { NumberParameter(4) }
    static var maxBytes: NumberParameter { NumberParameter(5) }
    static var partition: FlagParameter { FlagParameter(6) }
    static var persist: FlagParameter { FlagParameter(7) }
    static var scratch: FlagParameter { FlagParameter(8) }
}

/// `models.describe` and its parameters.
enum ModelsDescribe {
    static var methodIndex: Int { 119 }
    static var namespace: TextParameter { TextParameter(0) }
}

/// `blobs.get` and its parameters.
enum BlobsGet {
    static var methodIndex: Int { 121 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
    static var orParent: FlagParameter { FlagParameter(3) }
    static var `as`: TextParameter { TextParameter(4) }
    static var range: JSONParameter { JSONParameter(5) }
    static var verify: FlagParameter { FlagParameter(6) }
    static var claim: FlagParameter { FlagParameter(7) }
    static var leaseSeconds: NumberParameter { NumberParameter(8) }
}

/// `blobs.put` and its parameters.
enum BlobsPut {
    static var methodIndex: Int { 122 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
    static var variantOf: TextParameter { TextParameter(3) }
    static var contentType: TextParameter { TextParameter(4) }
    static var ttlSeconds: NumberParameter { NumberParameter(5) }
    static var fd: FlagParameter { FlagParameter(6) }
    static var path: TextParameter { TextParameter(7) }
    static var data: TextParameter { TextParameter(8) }
    static var digest: TextParameter { TextParameter(9) }
    static var ifAbsent: FlagParameter { FlagParameter(10) }
    static var token: TextParameter { TextParameter(11) }
}

/// `blobs.renew` and its parameters.
enum BlobsRenew {
    static var methodIndex: Int { 123 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var token: TextParameter { TextParameter(2) }
    static var leaseSeconds: NumberParameter { NumberParameter(3) }
    static var variant: TextParameter { TextParameter(4) }
}

/// `blobs.stat` and its parameters.
enum BlobsStat {
    static var methodIndex: Int { 124 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
}

/// `blobs.statMany` and its parameters.
enum BlobsStatMany {
    static var methodIndex: Int { 125 }
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
}

/// `blobs.touch` and its parameters.
enum BlobsTouch {
    static var methodIndex: Int { 126 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
    static var ttlSeconds: NumberParameter { NumberParameter(3) }
}

/// `blobs.delete` and its parameters.
enum BlobsDelete {
    static var methodIndex: Int { 127 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
}

/// `blobs.deleteMany` and its parameters.
enum BlobsDeleteMany {
    static var methodIndex: Int { 128 }
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
}

/// `blobs.list` and its parameters.
enum BlobsList {
    static var methodIndex: Int { 129 }
    static var namespace: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
}

/// `blobs.findMissing` and its parameters.
enum BlobsFindMissing {
    static var methodIndex: Int { 130 }
    static var namespace: TextParameter { TextParameter(0) }
    static var digests: JSONParameter { JSONParameter(1) }
}

/// `blobs.describe` and its parameters.
enum BlobsDescribe {
    static var methodIndex: Int { 132 }
    static var namespace: TextParameter { TextParameter(0) }
}

/// `blobs.configure` and its parameters.
enum BlobsConfigure {
    static var methodIndex: Int { 133 }
    static var namespace: TextParameter { TextParameter(0) }
    static var ttlSeconds: JSONParameter { JSONParameter(1) }
    static var maxBytes: JSONParameter { JSONParameter(2) }
    static var maxEntries: JSONParameter { JSONParameter(3) }
}

/// `blobs.beginUpload` and its parameters.
enum BlobsBeginUpload {
    static var methodIndex: Int { 134 }
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
    static var variantOf: TextParameter { TextParameter(3) }
    static var contentType: TextParameter { TextParameter(4) }
    static var ttlSeconds: NumberParameter { NumberParameter(5) }
    static var bytes: NumberParameter { NumberParameter(6) }
    static var digest: TextParameter { TextParameter(7) }
    static var ifAbsent: FlagParameter { FlagParameter(8) }
    static var leaseSeconds: NumberParameter { NumberParameter(9) }
}

/// `blobs.appendUpload` and its parameters.
enum BlobsAppendUpload {
    static var methodIndex: Int { 135 }
    static var upload: TextParameter { TextParameter(0) }
    static var offset: NumberParameter { NumberParameter(1) }
    static var data: TextParameter { TextParameter(2) }
}

/// `blobs.commitUpload` and its parameters.
enum BlobsCommitUpload {
    static var methodIndex: Int { 136 }
    static var upload: TextParameter { TextParameter(0) }
    static var digest: TextParameter { TextParameter(1) }
}

/// `blobs.abortUpload` and its parameters.
enum BlobsAbortUpload {
    static var methodIndex: Int { 137 }
    static var upload: TextParameter { TextParameter(0) }
}

/// `changes.list` and its parameters.
enum ChangesList {
    static var methodIndex: Int { 138 }
    static var afterRev: NumberParameter { NumberParameter(0) }
    static var limit: NumberParameter { NumberParameter(1) }
    static var stores: JSONParameter { JSONParameter(2) }
    static var scope: TextParameter { TextParameter(3) }
    static var prefix: TextParameter { TextParameter(4) }
    static var values: FlagParameter { FlagParameter(5) }
    static var members: FlagParameter { FlagParameter(6) }
    static var epoch: TextParameter { TextParameter(7) }
}

/// `changes.watch` and its parameters.
enum ChangesWatch {
    static var methodIndex: Int { 139 }
    static var stores: JSONParameter { JSONParameter(0) }
    static var scope: TextParameter { TextParameter(1) }
    static var prefix: TextParameter { TextParameter(2) }
    static var values: FlagParameter { FlagParameter(3) }
    static var members: FlagParameter { FlagParameter(4) }
    static var afterRev: NumberParameter { NumberParameter(5) }
    static var epoch: TextParameter { TextParameter(6) }
}

/// `changes.unwatch` and its parameters.
enum ChangesUnwatch {
    static var methodIndex: Int { 140 }
    static var subscription: NumberParameter { NumberParameter(0) }
}

/// `changes.wait` and its parameters.
enum ChangesWait {
    static var methodIndex: Int { 141 }
    static var afterRev: NumberParameter { NumberParameter(0) }
    static var timeoutMs: NumberParameter { NumberParameter(1) }
    static var stores: JSONParameter { JSONParameter(2) }
    static var scope: TextParameter { TextParameter(3) }
    static var prefix: TextParameter { TextParameter(4) }
    static var values: FlagParameter { FlagParameter(5) }
    static var members: FlagParameter { FlagParameter(6) }
    static var epoch: TextParameter { TextParameter(7) }
}

/// `fault.inject` and its parameters.
enum FaultInject {
    static var methodIndex: Int { 142 }
    static var kind: TextParameter { TextParameter(0) }
    static var method: TextParameter { TextParameter(1) }
    static var count: NumberParameter { NumberParameter(2) }
    static var millis: NumberParameter { NumberParameter(3) }
}

/// `fault.clear` and its parameters.
enum FaultClear {
    static var methodIndex: Int { 144 }
    static var id: NumberParameter { NumberParameter(0) }
}

/// Parameters that stand at the same place in all methods of `storage` that have them.
enum InStorage {
    static var name: TextParameter { TextParameter(0) }
}

/// Parameters that stand at the same place in all methods of `backups` that have them.
enum InBackups {
    static var name: TextParameter { TextParameter(0) }
}

/// Parameters that stand at the same place in all methods of `settings` that have them.
enum InSettings {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
}

/// Parameters that stand at the same place in all methods of `secrets` that have them.
enum InSecrets {
    static var account: TextParameter { TextParameter(1) }
    static var newPassphrase: TextParameter { TextParameter(1) }
    static var ciphertext: TextParameter { TextParameter(2) }
}

/// Parameters that stand at the same place in all methods of `documents` that have them.
enum InDocuments {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var ids: JSONParameter { JSONParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var name: TextParameter { TextParameter(2) }
    static var sort: JSONParameter { JSONParameter(2) }
}

/// Parameters that stand at the same place in all methods of `models` that have them.
enum InModels {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var maxAgeSeconds: NumberParameter { NumberParameter(2) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var logical: FlagParameter { FlagParameter(2) }
}

/// Parameters that stand at the same place in all methods of `blobs` that have them.
enum InBlobs {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variantOf: TextParameter { TextParameter(3) }
    static var contentType: TextParameter { TextParameter(4) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var upload: TextParameter { TextParameter(0) }
}
