import KuraBytes
import KuraJSON
import SQLite
import Testing

@testable import KuraStorage

@Suite struct TableKeeperTests {
    private let directory = TemporaryDirectory()
    private var configuration: StorageConfiguration { .tiny(directory.path) }
    private static let byAge = "[{\"name\":\"byAge\",\"fields\":[\"age\",\"name\"]}]"

    private func fill(_ storage: IndexHarness, _ ids: Range<Int>) throws {
        for id in ids { try storage.put("d\(id)", "{\"age\":\(id * 7 % 50),\"name\":\"n\(id)\"}") }
    }

    @Test func `an index over documents that were there has each of them, and those that come and go`() throws {
        let storage = try IndexHarness(configuration)
        try fill(storage, 0..<500)
        try storage.fold()
        try storage.configure(Self.byAge)
        #expect(storage.indexes().first?.state == .building)
        try storage.settle()
        #expect(storage.indexes().map(\.state) == [.ready])
        #expect(storage.indexes().first?.entries == 500)
        #expect(try storage.difference() == nil)
        for id in 0..<200 { try storage.delete("d\(id)") }
        for id in 150..<300 { try storage.put("d\(id)", "{\"age\":null}") }
        try fill(storage, 500..<600)
        try storage.put("d400", "{\"age\":1,\"name\":\"other\"}")
        try storage.put("d400", "{\"age\":2,\"name\":\"other\"}")
        try storage.fold()
        #expect(try storage.difference() == nil)
        #expect(try storage.query("SELECT count(*) FROM index_1") { $0.int64(0) } == [450])
    }

    @Test func `a change in the very slice that brings the index is in it, before and after`() throws {
        let storage = try IndexHarness(configuration)
        try fill(storage, 0..<10)
        try storage.configure(Self.byAge)
        try fill(storage, 5..<20)
        try storage.delete("d3")
        try storage.settle()
        #expect(try storage.difference() == nil)
        #expect(storage.indexes().first?.entries == 19)
    }

    @Test func `an index whose definition goes loses its table, and one that is defined otherwise gets another`() throws
    {
        let storage = try IndexHarness(configuration)
        try fill(storage, 0..<300)
        try storage.configure(Self.byAge)
        try storage.settle()
        try storage.configure("[{\"name\":\"byAge\",\"fields\":[\"age\"]},{\"name\":\"byName\",\"fields\":[\"name\"]}]")
        try storage.settle()
        #expect(storage.indexes().map(\.number) == [2, 3])
        #expect(try storage.difference() == nil)
        #expect(try storage.query("SELECT name FROM sqlite_schema WHERE name = 'index_1'") { $0.text(0) }.isEmpty)
        try storage.configure("[]")
        try storage.settle()
        #expect(
            try storage.query("SELECT name FROM sqlite_schema WHERE name LIKE 'index%'") { $0.text(0) } == ["indexes"])
        try storage.configure(Self.byAge)
        try storage.settle()
        // Numbers are never used again: a query that was planned with one finds another's entries under none.
        #expect(storage.indexes().map(\.number) == [4])
    }

    @Test func `a query whose index goes before it is run is told so`() throws {
        let storage = try IndexHarness(configuration)
        try fill(storage, 0..<50)
        try storage.configure(Self.byAge)
        try storage.settle()
        let selector = try with("{\"age\":7}") { (text) throws(SelectorError) in try Selector(StoredValue(text)) }
        func query() throws -> DocumentQuery {
            let query = try with("c") { (c) throws(QueryError) in
                try storage.documents.query(
                    c, QueryShape(selector: selector), control: QueryControl(milliseconds: 5000, .system),
                    allowsScan: true)
            }
            return try #require(query)
        }
        let tables = try TableReader(configuration)
        var found = 0
        let (first, second) = (try query(), try query())
        try first.run(tables) { _ in
            found += 1
            return .taken
        }
        #expect(found == 1)
        try storage.configure("[]")
        try storage.fold()
        #expect(throws: QueryError.indexGone) { try second.run(tables) { _ in .taken } }
        try storage.settle()
    }

    @Test func `a query whose collection is dropped before it is run is told so, though its rows are still there`()
        throws
    {
        let storage = try IndexHarness(configuration)
        try fill(storage, 0..<50)
        try storage.settle()
        let query = try #require(
            try with("c") { (c) throws(QueryError) in
                try storage.documents.query(
                    c, QueryShape(selector: .everything), control: QueryControl(milliseconds: 5000, .system),
                    allowsScan: true)
            })
        let scope = try #require(with("c") { storage.ledger.scopes.find(.documents, $0) })
        _ = try storage.ledger.transaction { () throws(EngineError) in try storage.ledger.stageDrop(scope) }
        try storage.fold()
        let tables = try TableReader(configuration)
        #expect(throws: QueryError.indexGone) { try query.run(tables) { _ in .taken } }
    }

    @Test func `indexes of two collections have nothing to do with each other`() throws {
        let storage = try IndexHarness(configuration)
        try storage.configure(Self.byAge, in: "a")
        try storage.configure(Self.byAge, in: "b")
        try storage.put("1", "{\"age\":1}", in: "a")
        for id in 0..<3 { try storage.put("\(id)", "{\"age\":2}", in: "b") }
        try storage.settle()
        #expect(storage.indexes(of: "a").map(\.entries) == [1])
        #expect(storage.indexes(of: "b").map(\.entries) == [3])
        #expect(try storage.difference() == nil)
    }

    @Test func `an index of a collection that has had no document yet is its own after a start`() throws {
        do {
            let storage = try IndexHarness(configuration)
            try storage.configure(Self.byAge, in: "empty")
            try storage.fold()
            #expect(
                try storage.query(
                    "SELECT collection FROM indexes WHERE collection IN (SELECT id FROM scopes WHERE store = 2)"
                ) {
                    $0.int64(0)
                }.count == 1)
        }
        do {
            let storage = try IndexHarness(configuration)
            try storage.put("x", "{\"age\":1}", in: "other")
            try storage.put("x", "{\"age\":1}", in: "empty")
            try storage.settle()
            #expect(storage.indexes(of: "empty").map(\.entries) == [1])
            #expect(try storage.difference() == nil)
        }
    }

    @Test func `a transaction that is taken back takes its indexes back`() throws {
        let storage = try IndexHarness(configuration)
        try storage.configure(Self.byAge)
        let mark = storage.ledger.begin()
        try storage.configure("[{\"name\":\"other\",\"fields\":[\"x\"]}]")
        #expect(storage.indexes().map(\.definition.name) == [Array("other".utf8)])
        storage.ledger.abandon(mark)
        #expect(storage.indexes().map(\.definition.name) == [Array("byAge".utf8)])
        try storage.settle()
        #expect(try storage.query("SELECT name FROM indexes") { $0.text(0) } == ["byAge"])
    }

    @Test func `a version 1 file is migrated and keeps all that it has`() throws {
        do {
            let storage = try IndexHarness(configuration)
            try fill(storage, 0..<20)
            try storage.delete("d4")
            try storage.fold()
        }
        let before = try dump()
        do {
            let connection = try Connection(path: configuration.tablesPath, mode: .readWrite)
            try connection.execute(
                "DROP TABLE history; DROP TABLE histories; DROP TABLE lost; DROP TABLE searches; DROP TABLE contents; DROP TABLE indexes; DROP TABLE drops; DROP INDEX documents_tombstones; PRAGMA user_version=1;"
            )
            _ = try connection.checkpoint(.truncate)
        }
        #expect(try dump() == before)
        let storage = try IndexHarness(configuration)
        #expect(try storage.query("PRAGMA user_version") { $0.int64(0) } == [6])
        #expect(try dump() == before)
        try storage.configure(Self.byAge)
        try storage.settle()
        #expect(storage.indexes().map(\.entries) == [19])
        #expect(try storage.difference() == nil)
    }

    private func dump() throws -> [String] {
        let connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
        var rows: [String] = []
        for sql in [
            "SELECT row || '|' || id || rev || version || createdAt || updatedAt || isDeleted || body FROM documents",
            "SELECT name || value FROM meta", "SELECT id || name || count || bytes || lastRev || nextRow FROM scopes",
        ] {
            let select = try connection.prepare(sql)
            while try select.step() { rows.append(select.text(0)) }
        }
        return rows
    }
}
