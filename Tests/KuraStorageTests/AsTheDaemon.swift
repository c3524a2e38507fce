import KuraBytes

@testable import KuraStorage

// Whoever changes something says whose the change is. Tests that are about something else change things as the daemon itself does; they
// say nothing, and this says it for them. In the product nothing can be left out.

extension Ledger {
    func begin() -> Mark { begin(by: .daemon) }

    func transaction<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) -> UInt64? {
        try transaction(by: .daemon, body)
    }
}

extension SettingsStore {
    func put(_ domain: Bytes, _ key: Bytes, _ value: Bytes, ifRev: Precondition) throws(EngineError) -> WriteResult {
        try put(domain, key, value, ifRev: ifRev, by: .daemon)
    }

    func delete(_ domain: Bytes, _ key: Bytes, ifRev: Precondition) throws(EngineError) -> WriteResult {
        try delete(domain, key, ifRev: ifRev, by: .daemon)
    }

    func putMany(
        _ domain: Bytes, ifRev: Precondition, _ body: (inout Batch) throws(EngineError) -> Void
    ) throws(EngineError) -> WriteResult {
        try putMany(domain, ifRev: ifRev, by: .daemon, body)
    }

    func increment(
        _ domain: Bytes, _ key: Bytes, by step: Int64, initial: Int64
    ) throws(SettingsError) -> (value: Int64, result: WriteResult) {
        try increment(domain, key, by: step, initial: initial, author: .daemon)
    }
}

extension DocumentsStore {
    func put(
        _ collection: Bytes, _ id: Bytes, _ value: Bytes, isNewID: Bool, ifRev: Precondition
    ) throws(DocumentsError) -> WriteResult {
        try put(collection, id, value, isNewID: isNewID, ifRev: ifRev, by: .daemon)
    }

    func putMany(
        _ collection: Bytes, _ body: (Batch) throws(DocumentsError) -> Void
    ) throws(DocumentsError) -> WriteResult {
        try putMany(collection, by: .daemon, body)
    }

    func delete(_ collection: Bytes, _ id: Bytes, ifRev: Precondition) throws(DocumentsError) -> WriteResult {
        try delete(collection, id, ifRev: ifRev, by: .daemon)
    }
}

extension ConfigurationStore {
    func put(_ room: Store, _ name: Bytes, _ key: StaticString, _ value: Bytes) throws(EngineError) -> WriteResult {
        try put(room, name, key, value, by: .daemon)
    }

    func setDurability(_ room: Store, _ name: Bytes, flushSeconds: Int?) throws(EngineError) {
        try setDurability(room, name, flushSeconds: flushSeconds, by: .daemon)
    }
}

extension SecretsStore {
    func put(_ name: SecretName, _ secret: NewSecret, ifRev: Precondition) throws(SecretsError) -> (
        result: WriteResult, version: UInt32
    ) {
        try put(name, secret, ifRev: ifRev, by: .daemon)
    }
}

extension RequestKeys {
    func record(_ user: UInt32, _ key: Bytes, _ value: Bytes) throws(EngineError) {
        try record(user, key, value, by: .daemon)
    }
}

extension ModelsStore {
    func put(
        _ namespace: ModelNamespace, _ key: Bytes, _ value: Bytes, _ lifetime: ModelLifetime
    ) throws(EngineError) -> ModelStored {
        try put(namespace, key, value, lifetime, by: .daemon)
    }
}

extension BlobsStore {
    func put(_ name: BlobName, _ content: BlobContent, _ put: BlobPut) throws(EngineError) -> BlobStored {
        try self.put(name, content, put, by: .daemon)
    }

    func delete(_ name: BlobName) -> Int { delete(name, by: .daemon) }
}
