import Glibc
import SQLite
import Testing

@testable import KuraStorage

@Suite struct DocumentWalkTests {
    private let directory = TemporaryDirectory()
    private let configuration: StorageConfiguration
    private let scope = Scope(id: 7, store: .documents, name: Array("c".utf8))

    init() throws {
        configuration = .tiny(directory.path)
        try FileSystem.makeDirectory(configuration.durableDirectory)
        let writer = try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 1024)
        try writer.execute(
            """
            INSERT INTO meta(name, value) VALUES('foldedRev', 42);
            INSERT INTO scopes(id, store, name) VALUES(7, 2, 'c');
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 200)
            INSERT INTO documents(row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body)
            SELECT (7 << 40) + x, 7, printf('id%03d', 200 - x), x, 1, 0, 0, x % 5 = 0, x FROM n;
            INSERT INTO documents VALUES((8 << 40) + 1, 8, 'other', 1, 1, 0, 0, 0, '1');
            INSERT INTO documents VALUES((6 << 40) + 1, 6, 'other', 1, 1, 0, 0, 0, '1');
            """)
    }

    private func ids(_ order: DocumentWalk.Order, after: String = "", stops: Int) throws -> [String] {
        let tables = try TableReader(configuration)
        var ids: [String] = []
        var room = stops
        let walk = DocumentWalk(scope, order: order, after: Array(after.utf8)) { document in
            guard room > 0 else { return false }
            room -= 1
            ids.append(document.id.text)
            return true
        }
        while !walk.isAtEnd {
            room = stops
            try walk.run(tables)
        }
        #expect(walk.rev == 42)
        return ids
    }

    private let kept = (1...200).filter { $0 % 5 != 0 }

    @Test(arguments: [1, 7, 1000]) func `a walk that is stopped goes on behind the last document`(stops: Int) throws {
        let byRow = kept.map { "id" + String(1000 + 200 - $0).dropFirst() }
        #expect(try ids(.row, stops: stops) == byRow)
        #expect(try ids(.id, stops: stops) == byRow.reversed())
        #expect(try ids(.id, after: "id150", stops: stops) == byRow.reversed().filter { $0 > "id150" })
    }

    @Test func `a walk over a collection that has been dropped ends, whatever rows are left`() throws {
        let writer = try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 1024)
        try writer.execute("DELETE FROM scopes")
        #expect(try ids(.id, stops: 1000).isEmpty)
    }

    @Test func `a walk whose reader is cancelled ends`() throws {
        let tables = try TableReader(configuration) { true }
        let walk = DocumentWalk(scope, order: .id, after: []) { _ in true }
        #expect(throws: QueryError.engine(.cancelled)) { try walk.run(tables) }
        #expect(!walk.isAtEnd)
    }

    @Test func `a query waits until the tables are as of what it must see`() throws {
        let answered = Semaphore()
        let pool = QueryPool(configuration) { answered.signal() }
        scope.lastRev = 50
        let late = DocumentWalk(scope, order: .id, after: []) { _ in true }
        scope.lastRev = 42
        let early = DocumentWalk(scope, order: .id, after: []) { _ in true }
        var waits = TicketWaits()
        waits.add(1, .folded, rev: late.foldedTo, late)
        waits.add(2, .folded, rev: early.foldedTo, early)
        func run(at rev: UInt64) -> [UInt64]? {
            let ready = waits.takeFolded(to: rev)
            guard !ready.isEmpty else { return nil }
            for query in ready { pool.submit(query) }
            answered.wait()
            return pool.takeDone()?.map(\.ticket)
        }
        #expect(run(at: 42) == [2] && waits.wantedRev == 50)
        #expect(run(at: 49) == nil && waits.wantedRev == 50)
        #expect(run(at: 51) == [1] && waits.wantedRev == 0 && waits.isEmpty)
        pool.stop()
    }
}
