// Made by scripts/docs of the method table; changed by hand it is stale.

/// Parameters of `rpc.cancel`.
enum RpcCancel {
    static var id: JSONParameter { JSONParameter(0) }
}

/// Parameters of `session.hello`.
enum SessionHello {
    static var client: TextParameter { TextParameter(0) }
    static var version: TextParameter { TextParameter(1) }
    static var launch: FlagParameter { FlagParameter(2) }
    static var enable: JSONParameter { JSONParameter(3) }
    static var installation: TextParameter { TextParameter(4) }
    static var `protocol`: NumberParameter { NumberParameter(5) }
}

/// Parameters of `session.can`.
enum SessionCan {
    static var method: TextParameter { TextParameter(0) }
    static var params: JSONParameter { JSONParameter(1) }
}

/// Parameters of `storage.stats`.
enum StorageStats {
    static var histograms: FlagParameter { FlagParameter(0) }
}

/// Parameters of `storage.diskWrites`.
enum StorageDiskWrites {
    static var window: TextParameter { TextParameter(0) }
    static var by: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// Parameters of `storage.resolveReport`.
enum StorageResolveReport {
    static var id: NumberParameter { NumberParameter(0) }
}

/// Parameters of `storage.slow`.
enum StorageSlow {
    static var limit: NumberParameter { NumberParameter(0) }
}

/// Parameters of `storage.backup`.
enum StorageBackup {
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var recipients: JSONParameter { JSONParameter(2) }
    static var passphrase: TextParameter { TextParameter(3) }
    static var include: JSONParameter { JSONParameter(4) }
}

/// Parameters of `storage.bundle`.
enum StorageBundle {
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var include: JSONParameter { JSONParameter(2) }
}

/// Parameters of `backups.verify`.
enum BackupsVerify {
    static var name: TextParameter { TextParameter(0) }
    static var passphrase: TextParameter { TextParameter(1) }
}

/// Parameters of `backups.compare`.
enum BackupsCompare {
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var passphrase: TextParameter { TextParameter(2) }
    static var include: JSONParameter { JSONParameter(3) }
    static var examples: NumberParameter { NumberParameter(4) }
}

/// Parameters of `backups.prune`.
enum BackupsPrune {
    static var hourly: NumberParameter { NumberParameter(0) }
    static var daily: NumberParameter { NumberParameter(1) }
    static var weekly: NumberParameter { NumberParameter(2) }
    static var names: JSONParameter { JSONParameter(3) }
    static var dryRun: FlagParameter { FlagParameter(4) }
}

/// Parameters of `transaction.apply`.
enum TransactionApply {
    static var operations: JSONParameter { JSONParameter(0) }
    static var requestKey: TextParameter { TextParameter(1) }
}

/// Parameters of `settings.get`.
enum SettingsGet {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var `default`: JSONParameter { JSONParameter(2) }
    static var explain: FlagParameter { FlagParameter(3) }
}

/// Parameters of `settings.getMany`.
enum SettingsGetMany {
    static var domain: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var explain: FlagParameter { FlagParameter(2) }
}

/// Parameters of `settings.put`.
enum SettingsPut {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `settings.delete`.
enum SettingsDelete {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// Parameters of `settings.list`.
enum SettingsList {
    static var domain: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var layers: TextParameter { TextParameter(4) }
    static var explain: FlagParameter { FlagParameter(5) }
}

/// Parameters of `settings.putMany`.
enum SettingsPutMany {
    static var domain: TextParameter { TextParameter(0) }
    static var values: JSONParameter { JSONParameter(1) }
    static var delete: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `settings.increment`.
enum SettingsIncrement {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var by: NumberParameter { NumberParameter(2) }
    static var initial: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `settings.count`.
enum SettingsCount {
    static var domain: TextParameter { TextParameter(0) }
}

/// Parameters of `settings.register`.
enum SettingsRegister {
    static var domain: TextParameter { TextParameter(0) }
    static var defaults: JSONParameter { JSONParameter(1) }
    static var replace: FlagParameter { FlagParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// Parameters of `settings.override`.
enum SettingsOverride {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
}

/// Parameters of `settings.clearOverrides`.
enum SettingsClearOverrides {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
}

/// Parameters of `settings.configure`.
enum SettingsConfigure {
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

/// Parameters of `settings.describe`.
enum SettingsDescribe {
    static var domain: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
}

/// Parameters of `settings.export`.
enum SettingsExport {
    static var domains: JSONParameter { JSONParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// Parameters of `settings.import`.
enum SettingsImport {
    static var values: JSONParameter { JSONParameter(0) }
    static var mode: TextParameter { TextParameter(1) }
    static var dryRun: FlagParameter { FlagParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// Parameters of `secrets.put`.
enum SecretsPut {
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

/// Parameters of `secrets.get`.
enum SecretsGet {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var field: TextParameter { TextParameter(3) }
    static var sealTo: TextParameter { TextParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.getMany`.
enum SecretsGetMany {
    static var service: TextParameter { TextParameter(0) }
    static var accounts: JSONParameter { JSONParameter(1) }
    static var sealTo: TextParameter { TextParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
}

/// Parameters of `secrets.delete`.
enum SecretsDelete {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.list`.
enum SecretsList {
    static var service: TextParameter { TextParameter(0) }
    static var attributes: JSONParameter { JSONParameter(1) }
    static var accessGroup: TextParameter { TextParameter(2) }
    static var cursor: TextParameter { TextParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
}

/// Parameters of `secrets.versions`.
enum SecretsVersions {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var accessGroup: TextParameter { TextParameter(2) }
}

/// Parameters of `secrets.restoreVersion`.
enum SecretsRestoreVersion {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
    static var requestKey: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.destroyVersion`.
enum SecretsDestroyVersion {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.generate`.
enum SecretsGenerate {
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

/// Parameters of `secrets.rename`.
enum SecretsRename {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var newAccount: TextParameter { TextParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
    static var requestKey: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.setAttributes`.
enum SecretsSetAttributes {
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

/// Parameters of `secrets.configure`.
enum SecretsConfigure {
    static var service: TextParameter { TextParameter(0) }
    static var maxVersions: NumberParameter { NumberParameter(1) }
    static var installation: TextParameter { TextParameter(2) }
    static var auditReads: TextParameter { TextParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.describe`.
enum SecretsDescribe {
    static var service: TextParameter { TextParameter(0) }
}

/// Parameters of `secrets.clear`.
enum SecretsClear {
    static var service: TextParameter { TextParameter(0) }
    static var confirm: TextParameter { TextParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// Parameters of `secrets.verify`.
enum SecretsVerify {
    static var service: TextParameter { TextParameter(0) }
}

/// Parameters of `secrets.repair`.
enum SecretsRepair {
    static var confirm: TextParameter { TextParameter(0) }
    static var service: TextParameter { TextParameter(1) }
    static var otherHostKey: FlagParameter { FlagParameter(2) }
}

/// Parameters of `secrets.status`.
enum SecretsStatus {
    static var service: TextParameter { TextParameter(0) }
}

/// Parameters of `secrets.addSlot`.
enum SecretsAddSlot {
    static var kind: TextParameter { TextParameter(0) }
    static var newPassphrase: TextParameter { TextParameter(1) }
    static var label: TextParameter { TextParameter(2) }
}

/// Parameters of `secrets.removeSlot`.
enum SecretsRemoveSlot {
    static var slot: NumberParameter { NumberParameter(0) }
}

/// Parameters of `secrets.unlock`.
enum SecretsUnlock {
    static var passphrase: TextParameter { TextParameter(0) }
}

/// Parameters of `secrets.changePassphrase`.
enum SecretsChangePassphrase {
    static var passphrase: TextParameter { TextParameter(0) }
    static var newPassphrase: TextParameter { TextParameter(1) }
}

/// Parameters of `secrets.rotate`.
enum SecretsRotate {
    static var rootKey: FlagParameter { FlagParameter(0) }
    static var passphrase: TextParameter { TextParameter(1) }
    static var service: TextParameter { TextParameter(2) }
    static var waitMs: NumberParameter { NumberParameter(3) }
}

/// Parameters of `secrets.sign`.
enum SecretsSign {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var version: NumberParameter { NumberParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.verifySignature`.
enum SecretsVerifySignature {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var signature: TextParameter { TextParameter(2) }
    static var data: TextParameter { TextParameter(3) }
    static var dataBase64: TextParameter { TextParameter(4) }
    static var version: NumberParameter { NumberParameter(5) }
    static var accessGroup: TextParameter { TextParameter(6) }
}

/// Parameters of `secrets.publicKey`.
enum SecretsPublicKey {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
    static var accessGroup: TextParameter { TextParameter(3) }
}

/// Parameters of `secrets.hmac`.
enum SecretsHmac {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var version: NumberParameter { NumberParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.verifyHmac`.
enum SecretsVerifyHmac {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var code: TextParameter { TextParameter(2) }
    static var data: TextParameter { TextParameter(3) }
    static var dataBase64: TextParameter { TextParameter(4) }
    static var version: NumberParameter { NumberParameter(5) }
    static var accessGroup: TextParameter { TextParameter(6) }
}

/// Parameters of `secrets.encrypt`.
enum SecretsEncrypt {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var data: TextParameter { TextParameter(2) }
    static var dataBase64: TextParameter { TextParameter(3) }
    static var associatedData: TextParameter { TextParameter(4) }
    static var accessGroup: TextParameter { TextParameter(5) }
}

/// Parameters of `secrets.decrypt`.
enum SecretsDecrypt {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ciphertext: TextParameter { TextParameter(2) }
    static var associatedData: TextParameter { TextParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.rewrap`.
enum SecretsRewrap {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ciphertext: TextParameter { TextParameter(2) }
    static var associatedData: TextParameter { TextParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.issueToken`.
enum SecretsIssueToken {
    static var service: TextParameter { TextParameter(0) }
    static var account: TextParameter { TextParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var version: NumberParameter { NumberParameter(3) }
    static var accessGroup: TextParameter { TextParameter(4) }
}

/// Parameters of `secrets.redeemToken`.
enum SecretsRedeemToken {
    static var token: TextParameter { TextParameter(0) }
}

/// Parameters of `secrets.audit`.
enum SecretsAudit {
    static var service: TextParameter { TextParameter(0) }
    static var since: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
    static var cursor: TextParameter { TextParameter(3) }
}

/// Parameters of `secrets.auditVerify`.
enum SecretsAuditVerify {
    static var cursor: TextParameter { TextParameter(0) }
}

/// Parameters of `documents.put`.
enum DocumentsPut {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var value: JSONParameter { JSONParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `documents.get`.
enum DocumentsGet {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var `default`: JSONParameter { JSONParameter(2) }
    static var expand: JSONParameter { JSONParameter(3) }
}

/// Parameters of `documents.getMany`.
enum DocumentsGetMany {
    static var collection: TextParameter { TextParameter(0) }
    static var ids: JSONParameter { JSONParameter(1) }
    static var expand: JSONParameter { JSONParameter(2) }
}

/// Parameters of `documents.putMany`.
enum DocumentsPutMany {
    static var collection: TextParameter { TextParameter(0) }
    static var documents: JSONParameter { JSONParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// Parameters of `documents.delete`.
enum DocumentsDelete {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var ifRev: NumberParameter { NumberParameter(2) }
    static var requestKey: TextParameter { TextParameter(3) }
}

/// Parameters of `documents.deleteMany`.
enum DocumentsDeleteMany {
    static var collection: TextParameter { TextParameter(0) }
    static var ids: JSONParameter { JSONParameter(1) }
    static var `where`: JSONParameter { JSONParameter(2) }
    static var atomic: FlagParameter { FlagParameter(3) }
    static var dryRun: FlagParameter { FlagParameter(4) }
    static var allowScan: FlagParameter { FlagParameter(5) }
    static var timeoutMs: NumberParameter { NumberParameter(6) }
    static var requestKey: TextParameter { TextParameter(7) }
}

/// Parameters of `documents.patch`.
enum DocumentsPatch {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var mergePatch: JSONParameter { JSONParameter(2) }
    static var jsonPatch: JSONParameter { JSONParameter(3) }
    static var ifRev: NumberParameter { NumberParameter(4) }
    static var replace: FlagParameter { FlagParameter(5) }
    static var requestKey: TextParameter { TextParameter(6) }
}

/// Parameters of `documents.increment`.
enum DocumentsIncrement {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var by: JSONParameter { JSONParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `documents.restore`.
enum DocumentsRestore {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var requestKey: TextParameter { TextParameter(2) }
}

/// Parameters of `documents.attach`.
enum DocumentsAttach {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var contentType: TextParameter { TextParameter(3) }
    static var fd: FlagParameter { FlagParameter(4) }
    static var data: TextParameter { TextParameter(5) }
    static var ifRev: NumberParameter { NumberParameter(6) }
    static var requestKey: TextParameter { TextParameter(7) }
}

/// Parameters of `documents.attachment`.
enum DocumentsAttachment {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var `as`: TextParameter { TextParameter(3) }
}

/// Parameters of `documents.detach`.
enum DocumentsDetach {
    static var collection: TextParameter { TextParameter(0) }
    static var id: TextParameter { TextParameter(1) }
    static var name: TextParameter { TextParameter(2) }
    static var ifRev: NumberParameter { NumberParameter(3) }
    static var requestKey: TextParameter { TextParameter(4) }
}

/// Parameters of `documents.list`.
enum DocumentsList {
    static var collection: TextParameter { TextParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// Parameters of `documents.import`.
enum DocumentsImport {
    static var collection: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var idField: TextParameter { TextParameter(3) }
    static var format: TextParameter { TextParameter(4) }
    static var onError: TextParameter { TextParameter(5) }
    static var offset: NumberParameter { NumberParameter(6) }
    static var attachments: FlagParameter { FlagParameter(7) }
}

/// Parameters of `documents.export`.
enum DocumentsExport {
    static var collection: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
    static var path: TextParameter { TextParameter(2) }
    static var attachments: FlagParameter { FlagParameter(3) }
}

/// Parameters of `documents.configure`.
enum DocumentsConfigure {
    static var collection: TextParameter { TextParameter(0) }
    static var indexes: JSONParameter { JSONParameter(1) }
    static var schema: JSONParameter { JSONParameter(2) }
    static var schemaMode: TextParameter { TextParameter(3) }
    static var tombstoneDays: JSONParameter { JSONParameter(4) }
    static var retainDays: JSONParameter { JSONParameter(5) }
    static var durability: TextParameter { TextParameter(6) }
    static var flushSeconds: NumberParameter { NumberParameter(7) }
    static var references: JSONParameter { JSONParameter(8) }
    static var backup: FlagParameter { FlagParameter(9) }
    static var version: NumberParameter { NumberParameter(10) }
    static var migrations: JSONParameter { JSONParameter(11) }
    static var dryRun: FlagParameter { FlagParameter(12) }
    static var timeoutMs: NumberParameter { NumberParameter(13) }
    static var searchFields: JSONParameter { JSONParameter(14) }
    static var searchTokenizer: TextParameter { TextParameter(15) }
    static var ifRev: NumberParameter { NumberParameter(16) }
    static var requestKey: TextParameter { TextParameter(17) }
}

/// Parameters of `documents.describe`.
enum DocumentsDescribe {
    static var collection: TextParameter { TextParameter(0) }
    static var waitMs: NumberParameter { NumberParameter(1) }
    static var version: NumberParameter { NumberParameter(2) }
}

/// Parameters of `documents.drop`.
enum DocumentsDrop {
    static var collection: TextParameter { TextParameter(0) }
    static var requestKey: TextParameter { TextParameter(1) }
}

/// Parameters of `documents.purge`.
enum DocumentsPurge {
    static var collection: TextParameter { TextParameter(0) }
    static var olderThanDays: NumberParameter { NumberParameter(1) }
}

/// Parameters of `documents.find`.
enum DocumentsFind {
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var fields: JSONParameter { JSONParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
    static var cursor: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
    static var expand: JSONParameter { JSONParameter(8) }
}

/// Parameters of `documents.count`.
enum DocumentsCount {
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var allowScan: FlagParameter { FlagParameter(2) }
    static var timeoutMs: NumberParameter { NumberParameter(3) }
}

/// Parameters of `documents.distinct`.
enum DocumentsDistinct {
    static var collection: TextParameter { TextParameter(0) }
    static var field: TextParameter { TextParameter(1) }
    static var `where`: JSONParameter { JSONParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var cursor: TextParameter { TextParameter(4) }
    static var allowScan: FlagParameter { FlagParameter(5) }
    static var timeoutMs: NumberParameter { NumberParameter(6) }
}

/// Parameters of `documents.aggregate`.
enum DocumentsAggregate {
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var groupBy: JSONParameter { JSONParameter(2) }
    static var compute: JSONParameter { JSONParameter(3) }
    static var allowScan: FlagParameter { FlagParameter(4) }
    static var timeoutMs: NumberParameter { NumberParameter(5) }
}

/// Parameters of `documents.explain`.
enum DocumentsExplain {
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var fields: JSONParameter { JSONParameter(3) }
    static var limit: NumberParameter { NumberParameter(4) }
    static var cursor: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
}

/// Parameters of `documents.search`.
enum DocumentsSearch {
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

/// Parameters of `documents.watch`.
enum DocumentsWatch {
    static var collection: TextParameter { TextParameter(0) }
    static var `where`: JSONParameter { JSONParameter(1) }
    static var sort: JSONParameter { JSONParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
    static var afterRev: NumberParameter { NumberParameter(4) }
    static var epoch: TextParameter { TextParameter(5) }
    static var allowScan: FlagParameter { FlagParameter(6) }
    static var timeoutMs: NumberParameter { NumberParameter(7) }
}

/// Parameters of `documents.unwatch`.
enum DocumentsUnwatch {
    static var subscription: NumberParameter { NumberParameter(0) }
}

/// Parameters of `models.get`.
enum ModelsGet {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var maxAgeSeconds: NumberParameter { NumberParameter(2) }
    static var claim: FlagParameter { FlagParameter(3) }
    static var waitMs: NumberParameter { NumberParameter(4) }
    static var leaseSeconds: NumberParameter { NumberParameter(5) }
}

/// Parameters of `models.getMany`.
enum ModelsGetMany {
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var maxAgeSeconds: NumberParameter { NumberParameter(2) }
}

/// Parameters of `models.put`.
enum ModelsPut {
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

/// Parameters of `models.putMany`.
enum ModelsPutMany {
    static var namespace: TextParameter { TextParameter(0) }
    static var entries: JSONParameter { JSONParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var staleSeconds: NumberParameter { NumberParameter(3) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(4) }
    static var ifAbsent: FlagParameter { FlagParameter(5) }
}

/// Parameters of `models.touch`.
enum ModelsTouch {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var ttlSeconds: NumberParameter { NumberParameter(2) }
    static var staleSeconds: NumberParameter { NumberParameter(3) }
    static var staleIfErrorSeconds: NumberParameter { NumberParameter(4) }
    static var etag: TextParameter { TextParameter(5) }
    static var token: TextParameter { TextParameter(6) }
}

/// Parameters of `models.fail`.
enum ModelsFail {
    static var token: TextParameter { TextParameter(0) }
    static var retryAfterSeconds: NumberParameter { NumberParameter(1) }
}

/// Parameters of `models.renew`.
enum ModelsRenew {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var token: TextParameter { TextParameter(2) }
    static var leaseSeconds: NumberParameter { NumberParameter(3) }
}

/// Parameters of `models.delete`.
enum ModelsDelete {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var logical: FlagParameter { FlagParameter(2) }
}

/// Parameters of `models.deleteMany`.
enum ModelsDeleteMany {
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
    static var logical: FlagParameter { FlagParameter(2) }
}

/// Parameters of `models.invalidate`.
enum ModelsInvalidate {
    static var namespace: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var tag: TextParameter { TextParameter(2) }
    static var mode: TextParameter { TextParameter(3) }
}

/// Parameters of `models.list`.
enum ModelsList {
    static var namespace: TextParameter { TextParameter(0) }
    static var cursor: TextParameter { TextParameter(1) }
    static var limit: NumberParameter { NumberParameter(2) }
}

/// Parameters of `models.configure`.
enum ModelsConfigure {
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

/// Parameters of `models.describe`.
enum ModelsDescribe {
    static var namespace: TextParameter { TextParameter(0) }
}

/// Parameters of `blobs.get`.
enum BlobsGet {
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

/// Parameters of `blobs.put`.
enum BlobsPut {
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

/// Parameters of `blobs.renew`.
enum BlobsRenew {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var token: TextParameter { TextParameter(2) }
    static var leaseSeconds: NumberParameter { NumberParameter(3) }
    static var variant: TextParameter { TextParameter(4) }
}

/// Parameters of `blobs.stat`.
enum BlobsStat {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
}

/// Parameters of `blobs.statMany`.
enum BlobsStatMany {
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
}

/// Parameters of `blobs.touch`.
enum BlobsTouch {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
    static var ttlSeconds: NumberParameter { NumberParameter(3) }
}

/// Parameters of `blobs.delete`.
enum BlobsDelete {
    static var namespace: TextParameter { TextParameter(0) }
    static var key: TextParameter { TextParameter(1) }
    static var variant: TextParameter { TextParameter(2) }
}

/// Parameters of `blobs.deleteMany`.
enum BlobsDeleteMany {
    static var namespace: TextParameter { TextParameter(0) }
    static var keys: JSONParameter { JSONParameter(1) }
}

/// Parameters of `blobs.list`.
enum BlobsList {
    static var namespace: TextParameter { TextParameter(0) }
    static var prefix: TextParameter { TextParameter(1) }
    static var cursor: TextParameter { TextParameter(2) }
    static var limit: NumberParameter { NumberParameter(3) }
}

/// Parameters of `blobs.findMissing`.
enum BlobsFindMissing {
    static var namespace: TextParameter { TextParameter(0) }
    static var digests: JSONParameter { JSONParameter(1) }
}

/// Parameters of `blobs.describe`.
enum BlobsDescribe {
    static var namespace: TextParameter { TextParameter(0) }
}

/// Parameters of `blobs.configure`.
enum BlobsConfigure {
    static var namespace: TextParameter { TextParameter(0) }
    static var ttlSeconds: JSONParameter { JSONParameter(1) }
    static var maxBytes: JSONParameter { JSONParameter(2) }
    static var maxEntries: JSONParameter { JSONParameter(3) }
}

/// Parameters of `blobs.beginUpload`.
enum BlobsBeginUpload {
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

/// Parameters of `blobs.appendUpload`.
enum BlobsAppendUpload {
    static var upload: TextParameter { TextParameter(0) }
    static var offset: NumberParameter { NumberParameter(1) }
    static var data: TextParameter { TextParameter(2) }
}

/// Parameters of `blobs.commitUpload`.
enum BlobsCommitUpload {
    static var upload: TextParameter { TextParameter(0) }
    static var digest: TextParameter { TextParameter(1) }
}

/// Parameters of `blobs.abortUpload`.
enum BlobsAbortUpload {
    static var upload: TextParameter { TextParameter(0) }
}

/// Parameters of `changes.list`.
enum ChangesList {
    static var afterRev: NumberParameter { NumberParameter(0) }
    static var limit: NumberParameter { NumberParameter(1) }
    static var stores: JSONParameter { JSONParameter(2) }
    static var scope: TextParameter { TextParameter(3) }
    static var prefix: TextParameter { TextParameter(4) }
    static var values: FlagParameter { FlagParameter(5) }
    static var epoch: TextParameter { TextParameter(6) }
}

/// Parameters of `changes.watch`.
enum ChangesWatch {
    static var stores: JSONParameter { JSONParameter(0) }
    static var scope: TextParameter { TextParameter(1) }
    static var prefix: TextParameter { TextParameter(2) }
    static var values: FlagParameter { FlagParameter(3) }
    static var afterRev: NumberParameter { NumberParameter(4) }
    static var epoch: TextParameter { TextParameter(5) }
}

/// Parameters of `changes.unwatch`.
enum ChangesUnwatch {
    static var subscription: NumberParameter { NumberParameter(0) }
}

/// Parameters of `changes.wait`.
enum ChangesWait {
    static var afterRev: NumberParameter { NumberParameter(0) }
    static var timeoutMs: NumberParameter { NumberParameter(1) }
    static var stores: JSONParameter { JSONParameter(2) }
    static var scope: TextParameter { TextParameter(3) }
    static var prefix: TextParameter { TextParameter(4) }
    static var values: FlagParameter { FlagParameter(5) }
    static var epoch: TextParameter { TextParameter(6) }
}

/// Parameters that stand at the same place in all methods of `storage` that have them.
enum InStorage {
    static var name: TextParameter { TextParameter(0) }
    static var fd: FlagParameter { FlagParameter(1) }
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
