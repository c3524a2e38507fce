import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// What is much goes some in each turn, and is out of sight at once.
@Suite struct BoundedTurnsTests {
    private let world: CacheWorld
    private static let many = 6000

    init() throws { world = try CacheWorld() }

    private func fill(_ namespace: ModelNamespace, _ count: Int = many) throws {
        for number in 0..<count {
            try world.put(namespace, "k\(number)")
            if number % 500 == 0 { world.turn() }
        }
    }

    @Test func `a namespace that may have less than it has comes to that in several turns`() throws {
        let namespace = try world.namespace()
        try fill(namespace)
        world.turn()
        var wanted = namespace.configuration
        wanted.maxEntries = 3
        world.spend()
        world.models.configure(namespace, wanted)
        #expect(namespace.count > 3)
        try world.turn { namespace.count <= 3 }
    }

    @Test func `one large value has many small ones go in several turns`() throws {
        let namespace = try world.namespace()
        var wanted = namespace.configuration
        wanted.maxBytes = 2 << 20
        world.models.configure(namespace, wanted)
        try fill(namespace)
        world.turn()
        let value = "\"" + String(repeating: "v", count: 2_000_000) + "\""
        world.spend()
        #expect(try world.put(namespace, "large", value) > 0)
        #expect(namespace.bytes <= 2 << 20 && world.state(namespace, "large") == .fresh)
        #expect(namespace.count < 2000)
    }

    @Test func `what a namespace has moves with it in several turns`() throws {
        let namespace = try world.namespace()
        try fill(namespace)
        try world.turn { world.models.outbox.unsent.count == 0 && world.models.outbox.unwritten.isEmpty }
        for isPartition in [true, false] {
            var wanted = namespace.configuration
            wanted.isPartition = isPartition
            world.spend()
            world.models.configure(namespace, wanted)
            #expect(world.models.moves.count == 1 && world.models.outbox.unsent.count == 0)
            try world.turn {
                world.models.moves.isEmpty && world.models.outbox.unsent.count == 0
                    && world.models.outbox.unwritten.isEmpty
            }
            #expect(namespace.count == Self.many && world.state(namespace, "k7") == .fresh)
        }
    }

    @Test func `a scratch namespace is gone at once, and its entries by and by`() throws {
        let namespace = try world.namespace()
        var wanted = namespace.configuration
        wanted.isScratch = true
        world.models.configure(namespace, wanted)
        world.models.hold(namespace, by: 7)
        try fill(namespace)
        world.turn()
        world.spend()
        world.models.release(7)
        _ = world.models.releaseSome()
        #expect(!world.has("n") && namespace.count > 0)
        // Another one of the name is not the same.
        let next = try world.namespace()
        #expect(next !== namespace && world.state(next, "k7") == .miss)
        try world.turn { world.models.rows.count == 0 }
        #expect(world.models.bytes == 0 && world.models.namespaces.leaving.isEmpty)
        #expect(world.models.namespace(number: namespace.number) == nil)
    }

    @Test func `a purge of nearly all takes no time, and what it counts is swept`() throws {
        let namespace = try world.namespace()
        try fill(namespace)
        try world.turn { world.models.outbox.unsent.count == 0 && world.models.outbox.unwritten.isEmpty }
        let bytes = world.models.bytes
        world.spend()
        #expect(world.models.purge(bytes: bytes) == bytes)
        #expect(namespace.count == Self.many && world.state(namespace, "k7") == .miss)
        #expect(world.models.purge(bytes: bytes) == 0)
        try world.put(namespace, "new")
        try world.turn { namespace.count == 1 }
        #expect(world.state(namespace, "new") == .fresh && namespace.counts.evictions == Self.many)
        // Of a smaller part each is looked for.
        try fill(namespace)
        world.turn()
        world.spend()
        let wanted = world.models.bytes / 3
        var given = world.models.purge(bytes: wanted)
        #expect(given > 0 && given < wanted)
        while given < wanted {
            world.turn()
            given += world.models.purge(bytes: wanted - given)
        }
    }

    @Test func `prefixes of many lengths are as many as an entry can be held against`() throws {
        let namespace = try world.namespace()
        let keys = (1...100).map { String(repeating: "ü", count: $0) + "/" }
        let odd = "a" + keys[60]
        for key in keys + ["other", odd] { try world.put(namespace, key) }
        world.caches.changes.begin(.models)
        let before = world.caches.changes.rev
        for prefix in keys + [odd] {
            with(prefix) { world.models.invalidate(namespace, prefix: $0, .drop) }
            #expect(world.state(namespace, prefix) == .miss)
        }
        #expect(namespace.marks.prefixes.lengths.count == PrefixMarks.lengthLimit)
        // What is cut is told as it was cut, and never in the middle of a character.
        let told = try world.caches.changes.page(after: before, ChangeFilter(caches: .models)).changes
        #expect(told.allSatisfy { String(validating: $0.change.target.name, as: UTF8.self) != nil })
        #expect(told.contains { $0.change.target.name == Array(String(repeating: "ü", count: 32).utf8) })
        #expect(world.state(namespace, "other") == .fresh)
    }

    // MARK: Blobs

    @Test func `a blob's variants are gone with it at once, and go in several turns`() throws {
        #expect(try world.put(blob: "p", "parent"))
        for number in 0..<Self.many {
            _ = try world.put(blob: "p", variant: "v\(number)", "\(number % 50)")
            if number % 200 == 0 { world.turn() }
        }
        try world.turn { world.blobs.outbox.isEmpty && world.blobs.outbox.underWay == 0 }
        for way in ["replaced", "deleted"] {
            world.spend()
            if way == "replaced" {
                #expect(try world.put(blob: "p", "other"))
                #expect(world.has(blob: "p"))
            } else {
                #expect(world.delete(blob: "p") > 0)
                #expect(!world.has(blob: "p"))
            }
            #expect(world.blobs.index.count > 100)
            for number in [0, 1, Self.many / 2, Self.many - 1] { #expect(!world.has(blob: "p", "v\(number)")) }
            if way == "replaced" {
                // One of a name that is still on its way out.
                let name = "v\(Self.many / 2)"
                #expect(try world.put(blob: "p", variant: name, "new"))
                try world.turn { world.blobs.index.count == 2 }
                #expect(world.has(blob: "p", name))
                for number in 0..<Self.many { _ = try world.put(blob: "p", variant: "v\(number)", "\(number % 50)") }
            } else {
                try world.turn { world.blobs.index.count == 0 }
                #expect(world.blobs.partings.isEmpty)
            }
        }
    }

    @Test func `a table that is dropped is forgotten in several turns, and nothing is found meanwhile`() throws {
        for number in 0..<Self.many {
            _ = try world.put(blob: "p\(number)", "\(number % 50)")
            if number % 200 == 0 { world.turn() }
        }
        try world.turn { world.blobs.outbox.isEmpty && world.blobs.outbox.underWay == 0 }
        world.spend()
        world.blobs.filesDropped([BlobTable.file])
        #expect(world.blobs.index.count == Self.many && !world.has(blob: "p7") && !world.blobs.isReady)
        world.turn()
        #expect(world.blobs.index.count > 0)
        #expect(try world.turn { world.blobs.isReady } > 1)
        #expect(world.blobs.index.count == 0 && world.blobs.index.contentCount == 0)
        #expect(try world.put(blob: "new", "1"))
        #expect(world.has(blob: "new"))
    }

    @Test func `blobs of one damaged content go in several turns, and those who look bear it`() throws {
        for number in 0..<Self.many {
            _ = try world.put(blob: "p\(number)", "same")
            if number % 200 == 0 { world.turn() }
        }
        let digest = try #require(
            with("images", "p7") { world.blobs.find(BlobName(namespace: $0, key: $1))?.facts.digest })
        world.spend()
        world.blobs.noteDamaged(digest)
        #expect(world.blobs.index.count > 0)
        try world.turn { world.blobs.index.count == 0 }
        with("images") { #expect(world.blobs.summary($0)?.counts.damaged == Self.many) }
    }

    @Test func `looking for equal contents of thousands of names has an end`() throws {
        for number in 0..<3000 { _ = try world.put(blob: "p\(number)", "same") }
        let digest = try #require(
            with("images", "p7") { world.blobs.find(BlobName(namespace: $0, key: $1))?.facts.digest })
        var left = 2500
        with("images") { #expect(world.blobs.has(digest, in: $0, looks: &left)) }
        #expect(left > 2490)
        try with("elsewhere") { (name) throws(EngineError) in
            try world.blobs.configure(name, BlobNamespaceSettings(maxEntries: 1))
            for expected in [1500, 500, 0, 0] {
                #expect(!world.blobs.has(digest, in: name, looks: &left))
                #expect(abs(left - expected) < 20, "\(left)")
            }
        }
    }
}
