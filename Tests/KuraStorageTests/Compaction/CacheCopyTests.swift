import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// Writing a cache's file anew at a start.
@Suite struct CacheCopyTests {
    private let directory = TemporaryDirectory()
    private let layout = CacheFile.Layout(
        version: 7, unsealed: 6, sql: "CREATE TABLE t(n INTEGER PRIMARY KEY, text TEXT);")
    private var path: String { directory.path + "/cache/models.sqlite" }
    private var scratch: String { directory.path + "/tmp" }

    init() throws {
        try FileSystem.makeDirectory(directory.path + "/cache")
        try FileSystem.makeDirectory(scratch)
    }

    private func rule(minFree: Int = 0) -> CacheCopy.Rule {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.compactionBytes = 1 << 20
        let space = FreeSpace(directory: directory.path, minimum: minFree)
        return CacheCopy.Rule(configuration, space: space) { Issue.record("\($0)") }
    }

    private func open() throws -> CacheFile {
        try CacheFile.openForWriting(path, layout, isDoubtful: false, .tiny(directory.path))
    }

    /// Rows of two kilobytes, of which one in so many stays. The file is closed as it is, with a WAL, when it is left.
    private func fill(_ rows: Int = 2000, keeping part: Int) throws {
        let file = try open()
        try file.connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO t SELECT i, printf('%d %s', i, hex(zeroblob(900))) FROM n;
            DELETE FROM t WHERE n % \(part) > 0;
            """)
        file.close()
    }

    private func expectRows(_ count: Int64) throws {
        let file = try open()
        defer { file.close() }
        #expect(!file.isNew)
        let found = try file.connection.scalar(
            "SELECT count(*) FROM t WHERE text = printf('%d %s', n, hex(zeroblob(900)))")
        #expect(found == count)
        #expect(try file.connection.scalar("PRAGMA auto_vacuum") == 2)
        #expect(try file.connection.scalar("PRAGMA page_size") == 4096)
    }

    @Test func `a file that is mostly free is replaced by a copy that is not`() throws {
        try fill(keeping: 50)
        let before = FileSystem.size(path)
        // What an earlier attempt has left is in nobody's way.
        let leftover = try FileSystem.open(scratch + "/compact-models.sqlite", O_WRONLY | O_CREAT)
        try Array("half a copy".utf8).withBytes { try FileSystem.write(leftover, $0, at: 0, path: scratch) }
        close(leftover)
        #expect(CacheCopy.run(path, layout, rule()))
        #expect(before > 3 << 20 && FileSystem.size(path) < before / 20)
        #expect(try FileSystem.names(in: scratch) == [])
        try expectRows(40)
        // There is nothing left to do.
        #expect(!CacheCopy.run(path, layout, rule()))
    }

    @Test func `each page of a copy has a seal, also of a file that has none`() throws {
        let earlier = try Connection(path: path, mode: .readWriteCreate)
        try earlier.execute(
            """
            PRAGMA page_size=4096; PRAGMA auto_vacuum=INCREMENTAL; \(layout.sql)
            PRAGMA application_id=\(CacheFile.applicationID); PRAGMA user_version=6;
            """)
        earlier.close()
        for _ in 0..<2 {
            try fill(keeping: 50)
            #expect(CacheCopy.run(path, layout, rule()))
            let bytes = try #require(try FileSystem.contents(path, atMost: 1 << 20))
            for number in 1...bytes.count / 4096 {
                let page = Array(bytes[(number - 1) * 4096..<number * 4096])
                #expect(page.withBytes { PageSeal.holds($0, number: number) }, "page \(number)")
            }
            try expectRows(40)
            let file = try open()
            #expect(try file.connection.scalar("PRAGMA user_version") == 7)
            try file.connection.execute("DELETE FROM t")
            file.close()
        }
    }

    @Test func `what lies in the WAL alone is in the copy, and no WAL lies beside it`() throws {
        try fill(keeping: 50)
        // As a kill leaves it.
        let file = try open()
        try file.connection.execute(
            "PRAGMA wal_autocheckpoint=0; INSERT INTO t SELECT 100000, printf('%d %s', 100000, hex(zeroblob(900)));")
        let copy = directory.path + "/killed"
        for end in ["", "-wal"] { try FileSystem.copy(path + end, to: copy + end) }
        file.close()
        CacheFile.remove(path)
        for end in ["", "-wal"] { try FileSystem.rename(copy + end, path + end) }
        #expect(FileSystem.size(path + "-wal") > 0)
        #expect(CacheCopy.run(path, layout, rule()))
        #expect(!FileSystem.exists(path + "-wal"))
        try expectRows(41)
    }

    @Test func `a file that is small, full, nobody's, or without room is left as it is`() throws {
        try fill(100, keeping: 50)
        #expect(!CacheCopy.run(path, layout, rule()))
        CacheFile.remove(path)
        try fill(keeping: 1)
        #expect(!CacheCopy.run(path, layout, rule()))
        CacheFile.remove(path)
        try fill(keeping: 50)
        #expect(!CacheCopy.run(path, layout, rule(minFree: 1 << 60)))
        #expect(!CacheCopy.run(path, CacheFile.Layout(version: 8, sql: ""), rule()))
        var most = rule()
        most.mostBytes = 4096
        #expect(!CacheCopy.run(path, layout, most))
        #expect(FileSystem.size(path) > 3 << 20)
        try expectRows(40)
    }

    @Test func `a copy that would leave little room is not made`() throws {
        try fill(keeping: 50)
        // Space is not low, and would be with a few bytes less: the disk is full but for these.
        let free = FreeSpace(directory: directory.path, minimum: 0).free
        let minimum = free / 10 * 9
        let space = FreeSpace(directory: directory.path, minimum: minimum)
        try #require(!space.isLow && space.free < space.ample)
        #expect(!CacheCopy.run(path, layout, rule(minFree: minimum)))
        #expect(FileSystem.size(path) > 3 << 20)
        #expect(CacheCopy.run(path, layout, rule(minFree: free / 2)))
    }

    @Test func `a file that somebody reads stays, and so does what it has`() throws {
        try fill(keeping: 50)
        let file = try open()
        try file.connection.execute("INSERT INTO t VALUES(100000, printf('%d %s', 100000, hex(zeroblob(900))))")
        let reader = try Connection(path: path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t;")
        try file.connection.execute("UPDATE t SET text = text WHERE n = 100000")
        var reports = 0
        var silent = rule()
        let lines = Guarded<Int>(0)
        silent.report = { _ in lines.withLock { $0 += 1 } }
        #expect(!CacheCopy.run(path, layout, silent))
        reports = lines.withLock { $0 }
        #expect(reports == 1)
        reader.close()
        file.close()
        try expectRows(41)
    }
}
