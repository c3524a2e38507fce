import Glibc
@testable import SQLite
import Synchronization
import Testing

extension SQLiteModule {
    /// What is in the files when a commit returns, seen by a copy of them and by readers.
    @Suite struct WALTests {
        private let directory = TemporaryDirectory()

        @Test func `a WAL of zeros is an empty one, and is overwritten in place`() throws {
            let wal = directory.log + "-wal"
            do {
                let segment = try Connection.segment(directory.log)
                try segment.execute("CREATE TABLE t(a)")
                #expect(try segment.checkpoint(.truncate) == (0, 0))
            }
            #expect(size(wal) == 0)
            write([UInt8](repeating: 0, count: 1 << 20), to: wal)
            let segment = try Connection.segment(directory.log)
            #expect(try segment.checkpoint(.passive) == (0, 0))
            for number in 1...100 { try segment.execute("INSERT INTO t VALUES(\(number))") }
            #expect(size(wal) == 1 << 20)
            let crashed = try directory.crashed(directory.log)
            #expect(try crashed.scalar("SELECT count(*) FROM t") == 100)
            #expect(try crashed.isIntact)
        }

        @Test func `a WAL filled with zeros under an open connection is overwritten in place`() throws {
            let wal = directory.log + "-wal"
            let segment = try Connection.segment(directory.log)
            try segment.execute("CREATE TABLE t(a)")
            _ = try segment.checkpoint(.truncate)
            write([UInt8](repeating: 0, count: 1 << 20), to: wal)
            for number in 1...100 { try segment.execute("INSERT INTO t VALUES(\(number))") }
            #expect(size(wal) == 1 << 20)
            #expect(try directory.crashed(directory.log).scalar("SELECT count(*) FROM t") == 100)
        }

        @Test func `commits survive without a checkpoint`() throws {
            do {
                let segment = try Connection.segment(directory.log)
                try segment.execute("CREATE TABLE t(a); INSERT INTO t VALUES(41)")
            }
            #expect(size(directory.log) == 4096, "only what switching to WAL wrote")
            #expect(size(directory.log + "-wal") > 2 * 4096)
            let again = try Connection.segment(directory.log)
            #expect(try again.scalar("SELECT a FROM t") == 41)
        }

        /// Small caches spill, overwrite spilled frames and write checksums again; psow=0 pads to sectors. No savepoint
        /// is undone with spilling: that loses commits in SQLite 3.40.1 itself, as `setCacheSpill` says.
        @Test(arguments: ["1", "0"], [true, false])
        func `when a commit returns all of it is in the files`(psow: String, spills: Bool) throws {
            for synchronous in ["NORMAL", "FULL"] {
                try copiesEqual(psow: psow, synchronous: synchronous, spills: spills)
            }
        }

        private func copiesEqual(psow: String, synchronous: String, spills: Bool) throws {
            for end in ["", "-wal"] { unlink(directory.log + end) }
            let connection = try Connection(
                path: "file:\(directory.log)?psow=\(psow)", mode: .readWriteCreate, vfs: .counting, uri: true)
            try connection.configure(synchronous: synchronous, isExclusive: true)
            try connection.execute("PRAGMA cache_size=5")
            try connection.setCacheSpill(spills)
            try connection.execute("CREATE TABLE t(k INTEGER PRIMARY KEY, v, pad); CREATE INDEX i ON t(v)")
            var random = SystemRandomNumberGenerator()
            for round in 1...25 {
                try connection.execute("BEGIN")
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let from = Int.random(in: 1...400, using: &random)
                    try connection.execute(
                        """
                        SAVEPOINT s;
                        INSERT OR REPLACE INTO t SELECT value, \(round), randomblob(600) FROM generate(\(from));
                        UPDATE t SET pad = randomblob(500) WHERE k % 7 = 0;
                        """.replacingGenerate(from))
                    let undoes = !spills && Bool.random(using: &random)
                    try connection.execute(undoes ? "ROLLBACK TO s; RELEASE s" : "RELEASE s")
                }
                try connection.execute(round % 5 == 0 ? "ROLLBACK" : "COMMIT")
                if round % 11 == 0 { _ = try connection.checkpoint(.full) }
                let crashed = try directory.crashed(directory.log)
                #expect(try crashed.isIntact)
                let sum = "SELECT sum(k * v + length(pad)) FROM t"
                #expect(try crashed.scalar(sum) == connection.scalar(sum))
            }
        }

        @Test func `a commit that finds the disk full is dropped and the next one is good`() throws {
            try CountingScope.run(CountingScope()) {
                let segment = try Connection.segment(directory.log)
                try segment.execute("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES(1)")
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("vfs.write@log:full")
                let error = #expect(throws: SQLiteError.self) { try segment.execute("INSERT INTO t VALUES(2)") }
                #expect(error?.isFull == true && error?.code == 13)
                #expect(!segment.isInTransaction)
                #expect(try directory.crashed(directory.log).scalar("SELECT sum(a) FROM t") == 1)
                // A sync of the WAL writes what is kept back: nothing may be.
                _ = try segment.checkpoint(.passive)
                #expect(try directory.crashed(directory.log).scalar("SELECT sum(a) FROM t") == 1)
                try segment.execute("INSERT INTO t VALUES(4)")
                #expect(try segment.scalar("SELECT sum(a) FROM t") == 5)
                let crashed = try directory.crashed(directory.log)
                #expect(try crashed.scalar("SELECT sum(a) FROM t") == 5)
                #expect(try crashed.isIntact)
            }
        }

        /// The fault moves through every write of a transaction that spills, reads back what it spilled, and may go on
        /// after a statement that failed. Whatever then commits must be whole.
        @Test(arguments: ["full", "fail"])
        func `a fault at any write never leaves a hole in a later commit`(action: String) throws {
            try CountingScope.run(CountingScope()) {
                let segment = try Connection.segment(directory.log)
                try segment.execute(
                    "PRAGMA cache_size=5; CREATE TABLE t(k INTEGER PRIMARY KEY, v, pad); CREATE INDEX i ON t(v)")
                try segment.execute(
                    "INSERT INTO t SELECT value, 0, zeroblob(700) FROM generate(0)".replacingGenerate(0))
                defer { FaultPoints.disarm() }
                var failures = 0
                for hit in 1...40 {
                    try FaultPoints.arm("vfs.write@log:\(action):\(hit)")
                    try segment.execute("BEGIN")
                    let statements = [
                        "UPDATE t SET v = v + 1, pad = randomblob(700) WHERE k <= 40",
                        // Replacing needs a statement journal: SQLITE_FULL undoes the statement only.
                        "INSERT OR REPLACE INTO t SELECT k, v + 1, randomblob(650) FROM t WHERE k BETWEEN 20 AND 60",
                        "SELECT sum(length(pad)) FROM t",
                        "UPDATE OR ABORT t SET v = v + 1 WHERE pad IS NOT NULL",
                        "COMMIT",
                    ]
                    for statement in statements where segment.isInTransaction {
                        do throws(SQLiteError) { try segment.execute(statement) } catch {
                            failures += 1
                            #expect(error.isFull == (action == "full"))
                        }
                    }
                    FaultPoints.disarm()
                    if segment.isInTransaction { try segment.execute("ROLLBACK") }
                    let crashed = try directory.crashed(directory.log)
                    let sum = "SELECT sum(k * v + length(pad)) FROM t"
                    #expect(try crashed.isIntact, "hit \(hit)")
                    #expect(try crashed.scalar(sum) == segment.scalar(sum), "hit \(hit)")
                    #expect(try segment.isIntact, "hit \(hit)")
                    if size(directory.log + "-wal") > 8 << 20 { _ = try segment.checkpoint(.truncate) }
                }
                #expect(failures >= 3)
            }
        }

        @Test(arguments: [CountingVFS.Flavor.counting, .nonBlockingReads])
        func `a reader on another thread sees each commit at once and whole`(_ flavor: CountingVFS.Flavor) throws {
            let path = directory.durable
            try Connection.writer(path).execute(
                "CREATE TABLE a(n); CREATE TABLE b(n, pad); INSERT INTO a VALUES(0); INSERT INTO b VALUES(0, '')")
            let committed = Shared()
            let reads = Shared()
            // For two seconds, and longer where so little of it comes to pass.
            let (start, deadline) = (ContinuousClock.now, ContinuousClock.now + .seconds(2))
            @Sendable func goesOn() -> Bool {
                let isFew =
                    committed.number.load(ordering: .relaxed) <= 100 || reads.number.load(ordering: .relaxed) <= 100
                return ContinuousClock.now < deadline || isFew && ContinuousClock.now < start + .seconds(60)
            }
            // Threads of their own: those of tasks are held up by other tests.
            try onThreads(2) { index in
                if index == 0 {
                    let writer = try Connection(path: path, mode: .readWrite)
                    try writer.setBusyTimeout(milliseconds: 60_000)
                    try writer.configure(synchronous: "NORMAL", isExclusive: false)
                    var number = 0
                    while goesOn() {
                        number += 1
                        try writer.execute(
                            """
                            BEGIN;
                            UPDATE a SET n = n + 1;
                            UPDATE b SET n = n + 1, pad = zeroblob((n + 1) % 9 * 3000);
                            COMMIT
                            """
                        )
                        committed.number.store(number, ordering: .releasing)
                        if number % 50 == 0 { _ = try writer.checkpoint(.passive) }
                    }
                } else {
                    let reader = try Connection(path: path, mode: .readOnly, vfs: flavor)
                    // The writer may be recovering the WAL just now.
                    try reader.setBusyTimeout(milliseconds: 60_000)
                    let both = try reader.prepare("SELECT a.n, b.n, length(pad) FROM a, b")
                    while goesOn() {
                        let least = committed.number.load(ordering: .acquiring)
                        let isRow = try both.step()
                        let (left, right, length) = (both.int64(0), both.int64(1), both.int64(2))
                        both.reset()
                        guard isRow, left == right, length == left % 9 * 3000, left >= least else {
                            Issue.record("saw \(left), \(right), \(length) after \(least)")
                            break
                        }
                        reads.number.add(1, ordering: .relaxed)
                    }
                }
            }
            #expect(committed.number.load(ordering: .relaxed) > 100 && reads.number.load(ordering: .relaxed) > 100)
            #expect(try Connection.writer(path).isIntact)
        }
    }
}

private final class Shared: Sendable {
    let number = Atomic<Int>(0)
}

extension String {
    /// SQLite's library has no series of numbers: eighty of them from `first`.
    fileprivate func replacingGenerate(_ first: Int) -> String {
        let series = """
            (WITH RECURSIVE n(value) AS (SELECT \(first) UNION ALL SELECT value + 1 FROM n LIMIT 80)
            SELECT value FROM n)
            """
        return split(separator: "generate(\(first))", omittingEmptySubsequences: false).joined(separator: series)
    }
}
