import SQLite
import Testing

@testable import KuraStorage

/// Values that newer ones have taken the place of before they were folded.
@Suite struct SupersededValuesTests {
    private let directory = TemporaryDirectory()
    private let configuration: StorageConfiguration
    private let storage: IndexHarness
    private static let length = 20_000

    init() throws {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.fold.overlayBytes = 1 << 20
        self.configuration = configuration
        storage = try IndexHarness(configuration)
    }

    private func value(_ number: Int) -> String {
        "{\"n\":\(number),\"long\":\"\(String(repeating: "x", count: Self.length))\"}"
    }

    private func put(_ numbers: ClosedRange<Int>) throws {
        for number in numbers {
            try storage.put("d", value(number))
            try storage.put("other \(number)", "1")
            try storage.commit()
        }
    }

    private func folded() throws -> [String] {
        try storage.query("SELECT body FROM documents WHERE id = 'd'") { $0.text(0) }
    }

    private func read(_ storage: IndexHarness) throws -> String? {
        try with("c", "d") { (collection, id) throws(EngineError) in
            try storage.documents.get(collection, id).item?.value.text
        }
    }

    @Test func `a value leaves memory when the one in its place is on the disk, and not before`() throws {
        try put(1...5)
        let all = storage.ledger.overlay.bytes
        let last = try #require(storage.ledger.overlay.queue.last { $0.key.count == 1 }).pointee.rev
        storage.ledger.overlay.hollow(synced: SyncedRev(last - 1))
        #expect(all - storage.ledger.overlay.bytes > 3 * Self.length)
        #expect(storage.ledger.overlay.bytes > 2 * Self.length)
        storage.ledger.overlay.hollow(synced: SyncedRev(last))
        #expect(storage.ledger.overlay.bytes < 2 * Self.length && storage.ledger.overlay.items == 10)
        #expect(try read(storage) == value(5))
        try storage.fold()
        #expect(try folded() == [value(5)])
        #expect(storage.ledger.overlay.bytes == 0 && storage.ledger.overlay.items == 0)
        #expect(try storage.query("SELECT count FROM scopes WHERE name = 'c'") { $0.int64(0) } == [6])
    }

    @Test
    func `a slice that is folded in parts has the newest value at its end, and a kill between them loses nothing`()
        throws
    {
        try put(1...4)
        storage.ledger.overlay.hollow(synced: SyncedRev(storage.ledger.committedRev))
        let whole = try #require(storage.ledger.cutSlice(syncedRev: SyncedRev(storage.ledger.committedRev), log: nil))
        for _ in 0..<3 {
            let part = try #require(whole.cut(bytes: 1))
            #expect(try storage.submit(part) == nil)
        }
        #expect(try folded() == [])
        storage.stop()
        let next = try IndexHarness(configuration)
        #expect(try read(next) == value(4))
        try next.fold()
        #expect(try next.query("SELECT body FROM documents WHERE id = 'd'") { $0.text(0) } == [value(4)])
        #expect(try next.query("SELECT count FROM scopes WHERE name = 'c'") { $0.int64(0) } == [5])
        #expect(
            try next.query("SELECT bytes FROM scopes WHERE name = 'c'") { $0.int64(0) } == [
                Int64(value(4).utf8.count + 4)
            ])
    }

    @Test func `a start keeps the newest of what the log has, and no more`() throws {
        try put(1...20)
        storage.stop()
        let next = try IndexHarness(configuration)
        #expect(next.ledger.overlay.bytes < 2 * Self.length && next.ledger.overlay.items == 40)
        #expect(try read(next) == value(20))
    }

    @Test func `a value that is deleted, brought back and replaced before a fold is as it was last`() throws {
        try put(1...2)
        try storage.delete("d")
        try storage.commit()
        try put(3...3)
        try storage.delete("d")
        try storage.commit()
        storage.ledger.overlay.hollow(synced: SyncedRev(storage.ledger.committedRev))
        try storage.fold()
        #expect(
            try storage.query("SELECT isDeleted, body FROM documents WHERE id = 'd'") { "\($0.int64(0)) \($0.text(1))" }
                == ["1 \(value(3))"])
    }
}
