import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// How the model cache's values come to its file.
@Suite struct ModelWritingTests {
    /// A model cache without a server, over a directory of its own.
    private final class World {
        private let directory = TemporaryDirectory()
        private let housekeeper = try! Housekeeper()
        private(set) var caches: Caches
        private(set) var models: ModelsStore

        init() throws {
            let configuration = StorageConfiguration.tiny(directory.path)
            try FileSystem.makeDirectory(configuration.cacheDirectory)
            (caches, models) = try Self.open(configuration, housekeeper)
            try load()
        }

        deinit {
            caches.stop()
            housekeeper.stop()
        }

        private static func open(
            _ configuration: StorageConfiguration, _ housekeeper: Housekeeper
        ) throws -> (Caches, ModelsStore) {
            let caches = Caches(
                configuration, tables: [ModelsStore.tables], housekeeper: housekeeper, wake: {}, report: { _ in })
            try caches.begin()
            return (caches, ModelsStore(caches))
        }

        /// Ends it as a daemon does that drains, and opens it again.
        func reopen() throws {
            caches.stop()
            (caches, models) = try Self.open(.tiny(directory.path), housekeeper)
            try load()
        }

        func turn() {
            caches.beginTurn()
            _ = caches.upkeep(monotonicNanoseconds())
        }

        /// Turns until all that was put is in the file.
        func settle() throws {
            try turn(until: { models.outbox.unsent.count == 0 && models.outbox.unwritten.isEmpty })
        }

        private func load() throws { try turn(until: { models.isLoaded }) }

        private func turn(until isDone: () -> Bool) throws {
            let deadline = monotonicNanoseconds() + 60_000_000_000
            while monotonicNanoseconds() < deadline {
                turn()
                if isDone() { return }
                usleep(1000)
            }
            Issue.record("it does not come to an end")
        }

        func put(_ key: String, _ value: String) throws -> ModelStored {
            try with("n", key, value) { (name, key, value) throws(EngineError) in
                try models.put(models.makeNamespace(name), key, value, ModelLifetime())
            }
        }

        /// Whether there is such an entry, in memory or in the file.
        func has(_ key: String) -> Bool { row(key) != 0 }

        func row(_ key: String) -> UInt32 {
            with("n", key) { name, key in
                guard let namespace = models.namespace(name) else { return 0 }
                return models.rows.find(namespace.number, key)
            }
        }

        func touch(_ key: String) {
            with("n", key) { name, key in
                guard let namespace = models.namespace(name) else { return }
                #expect(models.touch(namespace, key, ModelLifetime(), etag: nil))
            }
        }
    }

    @Test func `a key that changes all the time is written now and then`() throws {
        let world = try World()
        let before = world.models.outbox.batch.number
        let began = monotonicNanoseconds()
        for round in 0..<200 {
            for change in 0..<50 { #expect(try world.put("k", "\(round * 50 + change)") == .stored) }
            world.turn()
            #expect(world.models.outbox.unsent.count <= 1)
        }
        try world.settle()
        // The namespace has one of its own.
        let batches = world.models.outbox.batch.number - before - 1
        let tenths = (monotonicNanoseconds() - began) / 100_000_000
        #expect(batches >= 1 && batches <= tenths + 1, "\(batches) batches in \(tenths) tenths of a second")
        try world.reopen()
        #expect(world.has("k"))
    }

    @Test func `what comes faster than it is written stays in memory, and what it replaced is gone`() throws {
        let world = try World()
        #expect(try world.put("k", "\"old\"") == .stored)
        #expect(try world.put("other", "1") == .stored)
        try world.settle()
        // As if a thousand megabytes waited.
        world.models.outbox.unsent.bytes += 1 << 30
        #expect(try world.put("k", "\"new\"") == .stored)
        #expect(try world.put("late", "1") == .stored)
        #expect(world.has("k") && world.has("late"))
        world.models.outbox.unsent.bytes -= 1 << 30
        try world.reopen()
        #expect(world.has("other"))
        #expect(!world.has("late"))
        #expect(!world.has("k"), "its old value would be shown")
    }

    @Test func `a row that goes before it is written is not written in the name of the next`() throws {
        let world = try World()
        for number in 0..<100 { #expect(try world.put("k\(number)", "\(number)") == .stored) }
        with("n") { name in
            let namespace = world.models.namespace(name)!
            for number in 0..<50 { with("k\(number)") { #expect(world.models.delete(namespace, $0)) } }
        }
        // They take the rows that are free now.
        for number in 100..<130 { #expect(try world.put("k\(number)", "\(number)") == .stored) }
        try world.settle()
        #expect(world.models.outbox.unsent.bytes == 0)
        try world.reopen()
        for number in 0..<130 { #expect(world.has("k\(number)") == (number >= 50), "k\(number)") }
    }

    @Test(arguments: [false, true]) func `a key that changes all the time holds up no other one's leaving`(isPut: Bool)
        throws
    {
        let world = try World()
        for number in 0..<20 { #expect(try world.put("k\(number)", "\(number)") == .stored) }
        var rounds = 0
        var wasSent = false
        repeat {
            if isPut, world.models.outbox.unsent.count == 0 {
                #expect(try world.put("k0", "\(rounds)") == .stored)
                world.models.sendAll()
            } else if !isPut {
                world.touch("k0")
            }
            world.turn()
            usleep(1000)
            rounds += 1
            if world.models.outbox.unwritten.contains(where: { $0.row == world.row("k1") }) { wasSent = true }
        } while rounds < 20_000 && !world.models.memory.mayDrop(world.row("k1"))
        #expect(wasSent && world.models.memory.mayDrop(world.row("k1")), "\(rounds) rounds")
    }
}
