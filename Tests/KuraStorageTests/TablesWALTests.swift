import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

@Suite struct TablesWALTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/durable/t.sqlite" }

    private func open() throws -> (Connection, TablesWAL) {
        try FileSystem.makeDirectories(directory.path + "/durable")
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.execute(
            """
            PRAGMA journal_mode=WAL; CREATE TABLE scopes(id INTEGER PRIMARY KEY, store INTEGER NOT NULL);
            CREATE TABLE t(value BLOB NOT NULL);
            """)
        _ = try connection.checkpoint(.truncate)
        let wal = try TablesWAL(
            connection, tables: path, foldedRev: 1, pace: FoldPace(checkpointBytes: 1 << 20), .system)
        return (connection, wal)
    }

    private func write(_ connection: Connection, _ wal: TablesWAL, rev: UInt64, bytes: Int = 100) throws {
        try wal.counting { () throws(SQLiteError) in
            try connection.execute("INSERT INTO t(value) VALUES(zeroblob(\(bytes)))")
        }
        wal.noteFolded(to: rev)
    }

    @Test func `what a checkpoint covers whole is durable`() throws {
        let (connection, wal) = try open()
        #expect(!wal.hadBytesAtStart)
        #expect(wal.durableRev == 0)
        try write(connection, wal, rev: 7)
        #expect(wal.bytes > 100)
        #expect(wal.waitingBytes == wal.bytes)
        #expect(wal.foldedRev == 7)
        try wal.checkpoint()
        #expect(wal.durableRev == 7)
        #expect(wal.waitingBytes == 0)
    }

    @Test func `what somebody reads from before is not covered, and not durable`() throws {
        let (connection, wal) = try open()
        try write(connection, wal, rev: 7)
        let reader = try Connection(path: path, mode: .readOnly)
        try reader.execute("BEGIN; SELECT count(*) FROM t")
        try write(connection, wal, rev: 8)
        try wal.run(.passive)
        #expect(wal.durableRev == 0)
        #expect(wal.bytes > 0)
        #expect(throws: SQLiteError.self) { try wal.empty() }
        try reader.execute("COMMIT")
        try wal.empty()
        #expect(wal.durableRev == 8)
        #expect(FileSystem.size(wal.path) == 0)
    }

    @Test func `what fails leaves nothing to be checkpointed`() throws {
        let (connection, wal) = try open()
        #expect(throws: SQLiteError.self) {
            try wal.counting { () throws(SQLiteError) in
                try connection.execute("BEGIN; INSERT INTO t(value) VALUES(zeroblob(100))")
                defer { try? connection.execute("ROLLBACK") }
                try connection.execute("no statement")
            }
        }
        #expect(wal.bytes == 0)
    }

    @Test func `a checkpoint comes by itself when the WAL has grown as far as the pace says`() throws {
        let (connection, wal) = try open()
        try write(connection, wal, rev: 2)
        try wal.runIfDue()
        #expect(wal.tries == 0)
        wal.pace.set(checkpointBytes: 4096, isShort: true, isFull: false)
        try wal.runIfDue()
        // Where room is short the file is cut off as well.
        #expect(wal.tries == 2)
        #expect(wal.durableRev == 2)
        #expect(FileSystem.size(wal.path) == 0)
    }
}
