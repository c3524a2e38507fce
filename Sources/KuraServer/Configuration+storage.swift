import KuraProtocol
import KuraStorage

/// What a configuration says to the storage.
extension Configuration {
    /// Where the keys of the secrets come from, as far as the configuration says it.
    var keySources: KeySourcesConfiguration {
        var keys = KeySourcesConfiguration()
        keys.keyFile = secretsKeyFile
        keys.goesWithout = goesWithoutSecrets
        keys.memory = { (HostMemory.limit(), HostMemory.free()) }
        return keys
    }

    /// A storage's own configuration, for data in `directory`.
    func storage(at directory: String, _ keys: KeySourcesConfiguration) -> StorageConfiguration {
        var storage = StorageConfiguration(dataDirectory: directory, profile: profile)
        storage.keys = keys
        storage.clock = clock
        if let auditBytes { storage.auditBytes = auditBytes }
        if let modelBytes { storage.caches.modelBytes = modelBytes }
        if let modelMemoryBytes { storage.caches.modelMemoryBytes = modelMemoryBytes }
        if let blobBytes { storage.caches.blobBytes = blobBytes }
        if let blobMemoryBytes { storage.caches.blobMemoryBytes = blobMemoryBytes }
        storage.caches.minFreeBytes = minFreeBytes
        if let retainBytes { storage.log.retentionBytes = retainBytes }
        if let retainSeconds { storage.log.retentionSeconds = retainSeconds }
        // For tests: where others have the processors the time would be over before the last table.
        let look = SocketPath.environment("KURA_LOOK_MS").flatMap { Int($0) }
        if let look { storage.boot.lookMilliseconds = look }
        storage.seedBundle = seedBundle
        if let bootAttempts { storage.boot.attempts = bootAttempts }
        return storage
    }
}
