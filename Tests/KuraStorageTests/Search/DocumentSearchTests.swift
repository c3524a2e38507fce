import KuraBytes
import KuraJSON
import Synchronization
import Testing

@testable import KuraStorage

@Suite struct DocumentSearchTests {
    private let directory = TemporaryDirectory()

    /// Runs a search of `c`.
    /// - Returns: the ids that were found, and how many snapshots it took.
    private func find(_ query: String, _ storage: IndexHarness, limit: Int) throws -> (ids: [String], snapshots: Int) {
        let snapshots = Atomic<Int>(0)
        let tables = try TableReader(storage.configuration) {
            snapshots.add(1, ordering: .relaxed)
            return false
        }
        let search = try with("c") { (c) throws(QueryError) in
            try storage.documents.search(
                c, for: try! SearchExpression(query, .unicode61), try! Selector(StoredValue(Bytes("{}"))),
                limit: limit, after: nil, snippetWords: 0, control: QueryControl(milliseconds: 60_000, .system))
        }
        var ids: [String] = []
        try search.run(tables) { found in
            ids.append(found.document.id.text)
            return .taken
        }
        return (ids, snapshots.load(ordering: .relaxed))
    }

    @Test func `a search for a prefix that most documents match ends, however short its snapshots are`() throws {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.snapshotMilliseconds = 0
        let storage = try IndexHarness(configuration)
        try storage.configure(searchFields: "[\"t\"]")
        // Each has a word of its own: before the first one is told, all of them are gathered.
        for id in 0..<6000 { try storage.put("d\(id)", "{\"t\":\"word\(id) word\(id)x word\(id)y\"}") }
        try storage.settle()
        let one = try find("word77", storage, limit: 10)
        #expect(one.ids == ["d77"])
        let (ids, snapshots) = try find("word*", storage, limit: 6000)
        #expect(ids.count == 6000 && Set(ids).count == 6000)
        // Reading them takes one for each here, finding them some: 32 documents each would be 188.
        #expect(snapshots < 6000 + 120, "\(snapshots - 6000)")
    }
}
