import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ReplacedRowsTests {
    private let directory = TemporaryDirectory()
    private var configuration: StorageConfiguration { .tiny(directory.path) }

    private func replay(_ store: Store, _ key: String, rev: UInt64, isTombstone: Bool, _ storage: IndexHarness) throws {
        let reader = try DocumentReader(path: configuration.tablesPath, mayWait: true)
        let replay = store.parts.makeReplay(storage.ledger, reader)
        try with("c", key) { (scope, key) throws(StorageFault) in
            try replay.replay(
                LogRecord(
                    store: store, isTombstone: isTombstone, rev: rev, scope: scope, key: key, writer: Bytes(),
                    value: Bytes()),
                at: 1)
        }
    }

    // When the change before it is lost, or its row is. The next change would get the revision a second time.
    @Test(arguments: Store.allCases)
    func `the revision of a deletion that finds nothing is given out`(store: Store) throws {
        let storage = try IndexHarness(configuration)
        let rev = storage.ledger.rev + 1
        try replay(store, "gone", rev: rev, isTombstone: true, storage)
        #expect(storage.ledger.rev == rev)
        #expect(storage.ledger.committedRev == rev)
        #expect(!storage.ledger.hasUnfolded)
    }

    @Test func `a change takes the place of what only the tables have`() throws {
        do {
            let storage = try IndexHarness(configuration)
            try storage.put("a", "{\"n\":1}")
            try storage.fold()
        }
        let storage = try IndexHarness(configuration)
        let before = try #require(with("c") { storage.ledger.scopes.find(.documents, $0) })
        #expect(before.count == 1)
        try replay(.documents, "a", rev: storage.ledger.rev + 1, isTombstone: true, storage)
        let item = try #require(with("a") { storage.ledger.find(before, $0) })
        #expect(item.isTombstone)
        #expect(item.pointee.version == 2)
        #expect(before.count == 0)
    }
}
