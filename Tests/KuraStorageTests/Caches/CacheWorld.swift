import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// The caches without a server, over a directory of their own.
final class CacheWorld {
    private let directory = TemporaryDirectory()
    private let housekeeper = try! Housekeeper()
    let caches: Caches
    let models: ModelsStore
    let blobs: BlobsStore

    init() throws {
        let configuration = StorageConfiguration.tiny(directory.path)
        for path in [configuration.cacheDirectory, configuration.blobsDirectory, configuration.temporaryDirectory] {
            try FileSystem.makeDirectory(path)
        }
        caches = Caches(
            configuration, tables: [ModelsStore.tables, BlobsStore.tables], housekeeper: housekeeper, wake: {},
            report: { _ in })
        try caches.begin()
        models = ModelsStore(caches)
        blobs = BlobsStore(caches)
        try turn { self.models.isLoaded && self.blobs.isReady }
    }

    deinit {
        caches.stop()
        housekeeper.stop()
    }

    func turn() {
        caches.beginTurn()
        _ = caches.upkeep(monotonicNanoseconds())
    }

    /// A turn begins, and has no time left for what can be done later.
    func spend() {
        caches.beginTurn()
        while caches.hasTime() {}
    }

    /// Turns until it holds.
    /// - Returns: how many it took.
    @discardableResult
    func turn(until isDone: () -> Bool) throws -> Int {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        var number = 0
        while monotonicNanoseconds() < deadline {
            number += 1
            turn()
            if isDone() { return number }
            usleep(200)
        }
        Issue.record("it does not come to an end")
        return 0
    }

    /// The namespace of the model cache with that name.
    func namespace(_ name: String = "n") throws -> ModelNamespace {
        try with(name) { (name) throws(EngineError) in try models.makeNamespace(name) }
    }

    func has(_ name: String) -> Bool { with(name) { models.namespace($0) != nil } }

    /// Puts, turn after turn until there is room for it.
    /// - Returns: how many turns it took.
    @discardableResult
    func put(_ namespace: ModelNamespace, _ key: String, _ value: String = "1") throws -> Int {
        for turns in 0..<20_000 {
            let stored = try with("", key, value) { (_, key, value) throws(EngineError) in
                try models.put(namespace, key, value, ModelLifetime())
            }
            if stored == .stored { return turns }
            #expect(stored == .makingRoom)
            turn()
        }
        Issue.record("there is never room for it")
        return 0
    }

    func state(_ namespace: ModelNamespace, _ key: String) -> ModelState {
        with(key) { key in
            if case .entry(let view) = models.get(namespace, key, maxAge: nil) { view.state } else { .fresh }
        }
    }

    // MARK: Blobs

    /// - Returns: whether it is stored.
    func put(blob key: String, variant: String = "", _ text: String) throws -> Bool {
        let stored = try with("images", key, variant) { (namespace, key, variant) throws(EngineError) in
            try with(text) { (text) throws(EngineError) in
                try blobs.put(
                    BlobName(namespace: namespace, key: key, variant: variant), BlobContent(small: text), BlobPut())
            }
        }
        if case .stored = stored { return true }
        return false
    }

    func has(blob key: String, _ variant: String = "") -> Bool {
        with("images", key, variant) { namespace, key, variant in
            blobs.find(BlobName(namespace: namespace, key: key, variant: variant)) != nil
        }
    }

    func delete(blob key: String) -> Int {
        with("images", key) { namespace, key in blobs.delete(BlobName(namespace: namespace, key: key)) }
    }
}
