import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite struct UniqueIndexTests {
    private let directory = TemporaryDirectory()
    private var configuration: StorageConfiguration { .tiny(directory.path) }
    private static let byMail = "[{\"name\":\"byMail\",\"fields\":[\"mail\"],\"unique\":true}]"

    private func mail(_ text: String) -> String { "{\"mail\":\"\(text)\"}" }

    /// The id that a put is refused for; nil when it is not.
    private func conflict(_ storage: IndexHarness, _ id: String, _ value: String) throws -> String? {
        do { try storage.put(id, value) } catch DocumentsError.uniqueViolation(let violation) {
            #expect(violation.index == Array("byMail".utf8))
            return violation.id.withBytes { $0.text }
        }
        return nil
    }

    @Test func `a change that was staged before the index was known, and folded after it was built, makes it fail`()
        throws
    {
        let storage = try IndexHarness(configuration)
        try storage.put("a", mail("x"))
        try storage.fold()
        try storage.configure(Self.byMail)
        try storage.commit()
        let slice = try #require(storage.ledger.cutSlice(syncedRev: SyncedRev(storage.ledger.committedRev), log: nil))
        #expect(try conflict(storage, "b", mail("x")) == nil)
        #expect(try storage.submit(slice) == nil)
        // Everything that was there when it was configured is in it.
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while try storage.query("SELECT state FROM indexes", { $0.int64(0) }) != [2] {
            try #require(monotonicNanoseconds() < deadline)
        }
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.failed])
        #expect(storage.indexes().first?.conflict?.second == Array("b".utf8))
        // Nobody is held to it any more.
        #expect(try conflict(storage, "c", mail("x")) == nil)
    }

    @Test(arguments: [false, true]) func `a key that another document has is refused, wherever that one is`(
        isFolded: Bool
    ) throws {
        let storage = try IndexHarness(configuration)
        try storage.configure(Self.byMail)
        try storage.settle()
        try storage.put("a", mail("x"))
        if isFolded { try storage.settle() }
        #expect(try conflict(storage, "b", mail("x")) == "a")
        #expect(try conflict(storage, "a", "{\"mail\":\"x\",\"more\":1}") == nil)
        #expect(try conflict(storage, "b", mail("y")) == nil)
        #expect(try conflict(storage, "b", "{\"mail\":\"\\u0078\"}") == "a")
        // What is given up is free at once, and taken again.
        try storage.put("a", mail("z"))
        #expect(try conflict(storage, "b", mail("x")) == nil)
        try storage.delete("a")
        #expect(try conflict(storage, "c", mail("z")) == nil)
        #expect(try conflict(storage, "a", mail("y")) == nil)
        #expect(try conflict(storage, "a", mail("z")) == "c")
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.ready])
        #expect(try storage.difference() == nil)
        #expect(storage.ledger.part(CollectionLedger.self).claims.isEmpty)
    }

    @Test func `a document that lacks a field is not held to it, null is a value`() throws {
        let storage = try IndexHarness(configuration)
        try storage.configure("[{\"name\":\"byMail\",\"fields\":[\"mail\",\"host\"],\"unique\":true}]")
        #expect(try conflict(storage, "a", mail("x")) == nil)
        #expect(try conflict(storage, "b", mail("x")) == nil)
        #expect(try conflict(storage, "c", "{\"mail\":1,\"host\":null}") == nil)
        try storage.settle()
        #expect(try conflict(storage, "d", "{\"mail\":1.0,\"host\":null}") == "c")
        #expect(storage.indexes().map(\.state) == [.ready])
        #expect(try storage.difference() == nil)
    }

    @Test func `what is taken back holds nothing`() throws {
        let storage = try IndexHarness(configuration)
        try storage.configure(Self.byMail)
        try storage.put("a", mail("x"))
        let mark = storage.ledger.begin()
        try storage.put("a", mail("y"))
        try storage.put("b", mail("x"))
        storage.ledger.abandon(mark)
        #expect(try conflict(storage, "b", mail("y")) == nil)
        #expect(try conflict(storage, "c", mail("x")) == "a")
        try storage.settle()
        #expect(try storage.difference() == nil)
    }

    @Test func `keys that are only in the log are held after a start`() throws {
        do {
            let storage = try IndexHarness(configuration)
            try storage.configure(Self.byMail)
            try storage.put("old", mail("w"))
            try storage.settle()
            try storage.put("a", mail("x"))
            try storage.put("old", mail("v"))
            try storage.commit()
        }
        let storage = try IndexHarness(configuration)
        #expect(!storage.ledger.part(CollectionLedger.self).claims.isEmpty)
        #expect(try conflict(storage, "b", mail("x")) == "a")
        #expect(try conflict(storage, "b", mail("v")) == "old")
        #expect(try conflict(storage, "b", mail("w")) == nil)
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.ready])
        #expect(try storage.difference() == nil)
    }

    @Test func `duplicates that were there first fail the build, and it is built anew when it is asked for`() throws {
        let storage = try IndexHarness(configuration)
        for id in 0..<300 { try storage.put("d\(id)", mail("m\(id % 299)")) }
        try storage.fold()
        try storage.configure(Self.byMail)
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.failed])
        let conflict = try #require(storage.indexes().first?.conflict)
        #expect(Set([conflict.first, conflict.second]) == [Array("d0".utf8), Array("d299".utf8)])
        // It holds nobody up any more.
        try storage.put("d300", mail("m5"))
        try storage.delete("d300")
        try storage.delete("d299")
        let again = IndexDefinition.text(of: storage.indexes().map(\.definition.again))
        try storage.configure(again.withBytes { $0.text })
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.ready])
        #expect(storage.indexes().map(\.entries) == [299])
        #expect(try storage.difference() == nil)
    }

    @Test func `a duplicate that slipped in while the index was built fails it before it is ready`() throws {
        let storage = try IndexHarness(configuration)
        for id in 0..<3000 { try storage.put("d\(id)", mail("m\(id)")) }
        try storage.fold()
        try storage.configure(Self.byMail)
        try storage.fold()
        // Nobody can know yet that d2999 has it, unless the build was that quick.
        let known = try conflict(storage, "late", mail("m2999"))
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [known == nil ? .failed : .ready])
        #expect(try storage.difference() == nil)
    }
}
