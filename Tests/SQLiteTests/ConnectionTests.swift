import Glibc
@testable import SQLite
import Synchronization
import Testing

extension SQLiteModule {
    @Suite struct ConnectionTests {
        private let directory = TemporaryDirectory()

        private func failure(_ work: () throws -> Void) -> SQLiteError? {
            do { try work() } catch { return error as? SQLiteError }
            return nil
        }

        @Test func `errors are typed, and equal when their codes are`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            try connection.execute("CREATE TABLE t(a UNIQUE, b CHECK(b > 0)); INSERT INTO t VALUES(1, 1)")
            let unique = try #require(failure { try connection.execute("INSERT INTO t VALUES(1, 1)") })
            let check = try #require(failure { try connection.execute("INSERT INTO t VALUES(2, 0)") })
            #expect(unique.isConstraint && check.isConstraint)
            #expect(unique == check && unique.extendedCode != check.extendedCode)
            let syntax = try #require(failure { try connection.execute("SELEC 1") })
            #expect(syntax != unique && !syntax.isConstraint)
            #expect(syntax.message.contains("SELEC"))

            let missing = try #require(
                failure { _ = try Connection(path: directory.path + "/none/x", mode: .readWrite) })
            #expect(missing.code == 14 && missing.systemErrno == ENOENT)
            write(Array("This is not a database, whatever its name says. It is text.".utf8), to: directory.log)
            let text = try Connection(path: directory.log, mode: .readWrite)
            #expect(failure { _ = try text.scalar("SELECT count(*) FROM sqlite_schema") }?.isCorrupt == true)
        }

        @Test func `a message never holds a value`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            let statement = try connection.prepare("SELECT json_extract('{}', ?1)")
            try statement.bind(1, text: "hunter2")
            let error = try #require(failure { _ = try statement.step() })
            #expect(error.code == 1 && !error.description.contains("hunter2"))
        }

        @Test func `another connection's write lock is busy`() throws {
            let one = try Connection.writer(directory.durable)
            let other = try Connection(path: directory.durable, mode: .readWrite)
            try one.execute("BEGIN IMMEDIATE")
            #expect(one.isInTransaction && !other.isInTransaction)
            #expect(failure { try other.execute("BEGIN IMMEDIATE") }?.isBusy == true)
            try one.execute("ROLLBACK")
            try other.execute("BEGIN IMMEDIATE")
        }

        @Test func `a read-only connection does not write`() throws {
            try Connection.writer(directory.durable).execute("CREATE TABLE t(a)")
            let reader = try Connection(path: directory.durable, mode: .readOnly)
            #expect(failure { try reader.execute("INSERT INTO t VALUES(1)") }?.code == 8)
        }

        @Test(arguments: ["", "-wal", "-shm"])
        func `a connection that is to write fails where only reading is possible, and one that only reads does not`(
            end: String
        ) throws {
            let writer = try Connection.writer(directory.durable)
            try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
            // Of its own: what a process has open of a file all its connections share.
            let copy = directory.path + "/copy/t.sqlite"
            for end in ["", "-wal", "-shm"] {
                write(try #require(contents(directory.durable + end)), to: copy + end)
                #expect(chmod(copy + end, 0o666) == 0)
            }
            for path in [directory.path, directory.path + "/copy"] { #expect(chmod(path, 0o777) == 0) }
            #expect(chmod(copy + end, 0o444) == 0)
            // Of this thread alone, so that rights hold for it also where the test is run by root (setfsuid(2)).
            typealias UserChange = @convention(c) (uid_t) -> Int32
            let changeUser = unsafeBitCast(try #require(dlsym(nil, "setfsuid")), to: UserChange.self)
            if geteuid() == 0 { _ = changeUser(65534) }
            defer { if geteuid() == 0 { _ = changeUser(0) } }
            var connection: Connection?
            let error = try #require(
                failure {
                    if connection == nil { connection = try Connection(path: copy, mode: .readWrite) }
                    _ = try connection?.scalar("SELECT a FROM t")
                })
            // The other errno is that of SQLite's fchown(2), which root's process tries.
            #expect(error.code == 14 && [EACCES, EPERM].contains(error.systemErrno), "\(error)")
            let reader = try Connection(path: copy, mode: .readOnly)
            #expect(try reader.scalar("SELECT a FROM t") == 1)
            reader.close()
            // What kept it from writing is gone, and it goes on.
            if geteuid() == 0 { _ = changeUser(0) }
            #expect(chmod(copy + end, 0o666) == 0)
            if connection == nil { connection = try Connection(path: copy, mode: .readWrite) }
            try connection?.execute("INSERT INTO t VALUES(2)")
            #expect(try connection?.scalar("SELECT count(*) FROM t") == 2)
        }

        @Test func `an immutable file is read as it lies there, and nothing is made beside it`() throws {
            let path = directory.path + "/copy/a b%3F?c#ä.sqlite"
            let writer = try Connection.writer(path)
            try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(7); PRAGMA wal_checkpoint(TRUNCATE)")
            writer.close()
            for end in ["-wal", "-shm"] { unlink(path + end) }
            let reader = try Connection(immutable: path)
            #expect(try reader.scalar("SELECT a FROM t") == 7)
            #expect(failure { try reader.execute("INSERT INTO t VALUES(1)") } != nil)
            for end in ["-wal", "-shm"] { #expect(access(path + end, F_OK) != 0) }
            #expect(failure { _ = try Connection(immutable: directory.path + "/none/x") } != nil)
        }

        @Test func `SQL cannot reach the schema's own table`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            try connection.execute("CREATE TABLE t(a); PRAGMA writable_schema=ON")
            #expect(failure { try connection.execute("DELETE FROM sqlite_schema") } != nil)
        }

        @Test func `prepare takes exactly one statement`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            #expect(failure { _ = try connection.prepare("SELECT 1; SELECT 2") }?.code == 21)
            #expect(failure { _ = try connection.prepare("  -- nothing") }?.code == 21)
            #expect(failure { _ = try connection.prepare("SELECT 1; -- and no more\n ; ") } == nil)
            #expect(try connection.scalar("SELECT 3;") == 3)
            #expect(try connection.scalar("SELECT NULL") == nil)
            #expect(try connection.scalar("SELECT 1 WHERE 0") == nil)
        }

        @Test func `a closed connection says so and closes again`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            connection.close()
            connection.close()
            #expect(failure { try connection.execute("SELECT 1") }?.code == 21)
            #expect(connection.changes == 0 && !connection.isInTransaction)
        }

        @Test func `interrupt from another thread ends a statement`() throws {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            // Safety: only `interrupt` is called elsewhere, and the connection is open until that has ended.
            nonisolated(unsafe) let shared = connection
            let code = Atomic<Int>(0)
            let isOver = Atomic<Bool>(false)
            let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
            // Threads of their own: those of tasks may all be held up, this one by the statement.
            try onThreads(2) { index in
                if index == 0 {
                    defer { isOver.store(true, ordering: .releasing) }
                    do { _ = try shared.scalar(endless) } catch {
                        code.store(Int((error as? SQLiteError)?.code ?? 0), ordering: .relaxed)
                    }
                } else {
                    while !isOver.load(ordering: .acquiring) {
                        shared.interrupt()
                        usleep(1000)
                    }
                }
            }
            let found = code.load(ordering: .relaxed)
            #expect(found == 9)
        }

        @Test(arguments: [true, false])
        func `a WAL that persists is there after the last connection closed`(_ persists: Bool) throws {
            do {
                let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
                try connection.execute("PRAGMA journal_mode=WAL; CREATE TABLE t(a)")
                try connection.setPersistWAL(persists)
            }
            #expect((size(directory.durable + "-wal") >= 0) == persists)
        }

        @Test func `a checkpoint says how many frames it copied`() throws {
            let connection = try Connection.writer(directory.durable)
            try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES(1)")
            let (inLog, done) = try connection.checkpoint(.passive)
            #expect(inLog >= 3 && done == inLog)
            try connection.execute("INSERT INTO t VALUES(2)")
            #expect(try connection.checkpoint(.truncate) == (0, 0))
            #expect(size(directory.durable + "-wal") == 0)
            connection.releaseMemory()
        }
    }
}
