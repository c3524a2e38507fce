import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Giving free pages of a database file back.
@Suite struct FreePagesTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/some.sqlite" }

    private func open(autoVacuum: String = "INCREMENTAL") throws -> Connection {
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=\(autoVacuum); PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;
            CREATE TABLE t(n INTEGER PRIMARY KEY, text TEXT);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
            INSERT INTO t SELECT i, printf('%d %s', i, hex(zeroblob(900))) FROM n;
            DELETE FROM t WHERE n % 10 > 0;
            """)
        return connection
    }

    @Test func `pages are given back in pieces, down to what may stay, and rows stay as they are`() throws {
        let connection = try open()
        let pages = try FreePages(connection)
        let first = try pages.count()
        #expect(first.free > 1000 && first.free < first.all)
        var pieces = 0
        var given = 0
        while true {
            try connection.execute("BEGIN IMMEDIATE")
            // No time: a piece is one step.
            let (count, isThrough) = try pages.giveBack(until: Clock.system.deadline(after: 0), keeping: 100)
            try connection.execute("COMMIT")
            pieces += 1
            given += count
            if isThrough { break }
            #expect(count == 16)
        }
        let last = try pages.count()
        #expect(pieces > 10 && given == first.free - last.free && last.free <= 100 && last.free > 100 - 16)
        // Pages that say where others belong to go along.
        #expect(last.all <= first.all - given && last.all > first.all - given - 10)
        _ = try connection.checkpoint(.truncate)
        #expect(FileSystem.size(path) == last.all * FreePages.pageSize)
        #expect(
            try connection.scalar("SELECT count(*) FROM t WHERE text = printf('%d %s', n, hex(zeroblob(900)))") == 400)
        #expect(try connection.scalar("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'") == 1)
    }

    @Test func `a file that was not made for it gives nothing, and that comes to an end`() throws {
        let connection = try open(autoVacuum: "NONE")
        let pages = try FreePages(connection)
        let free = try pages.count().free
        #expect(free > 1000)
        try connection.execute("BEGIN IMMEDIATE")
        let (given, isThrough) = try pages.giveBack(until: Clock.system.deadline(after: .max), keeping: 0)
        try connection.execute("COMMIT")
        #expect(given == 0 && isThrough)
        #expect(try pages.count().free == free)
    }

    @Test func `what may stay grows with what is used`() {
        #expect(FreePages.Count(free: 500, all: 1000).spare(atLeast: 1024) == 1024)
        #expect(FreePages.Count(free: 5000, all: 165_000).spare(atLeast: 1024) == 10_000)
    }
}
