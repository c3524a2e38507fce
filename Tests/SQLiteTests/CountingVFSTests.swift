@testable import SQLite
import Testing

extension SQLiteModule {
    @Suite struct CountingVFSTests {
        private let directory = TemporaryDirectory()

        private func counting(_ work: () throws -> Void) rethrows -> WriteCounts {
            let before = CountingVFS.snapshot()
            try work()
            return CountingVFS.snapshot() - before
        }

        @Test func `a commit is one write`() throws {
            try CountingScope.run(CountingScope()) {
                let segment = try Connection.segment(directory.log)
                try segment.execute("CREATE TABLE t(a, b); CREATE INDEX i ON t(a)")
                let insert = try segment.prepare("INSERT INTO t VALUES(?1, zeroblob(900))")
                for number in 1...50 {
                    let counts = try counting {
                        try insert.bind(1, Int64(number))
                        try insert.run()
                    }
                    let wal = counts[.log, .wal]
                    #expect(wal.writes == 1 && wal.syncs == 0)
                    #expect(wal.bytesWritten % 4120 == 0 && wal.bytesWritten >= 2 * 4120)
                    #expect(counts.total == wal, "only the WAL is touched")
                }
            }
        }

        @Test func `the first commit after opening an existing WAL is one write too`() throws {
            try CountingScope.run(CountingScope()) {
                try Connection.segment(directory.log).execute("CREATE TABLE t(a)")
                let segment = try Connection.segment(directory.log)
                _ = try segment.scalar("SELECT count(*) FROM t")
                let counts = try counting { try segment.execute("INSERT INTO t VALUES(1)") }
                #expect(counts[.log, .wal].writes == 1)
            }
        }

        @Test func `a large commit is written in blocks of up to 128 KiB`() throws {
            try CountingScope.run(CountingScope()) {
                let segment = try Connection.segment(directory.log)
                try segment.execute("CREATE TABLE t(a)")
                let counts = try counting { try segment.execute("INSERT INTO t VALUES(zeroblob(2000000))") }
                let wal = counts[.log, .wal]
                #expect(wal.bytesWritten > 2_000_000)
                // 31 frames of 4120 bytes fit.
                let blocks = (wal.bytesWritten + 4120 * 31 - 1) / (4120 * 31)
                #expect(wal.writes == blocks)
            }
        }

        @Test func `bytes counted are the sizes of the files`() throws {
            try CountingScope.run(CountingScope()) {
                let writer = try Connection.writer(directory.durable)
                let written = try counting {
                    try writer.execute("CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(500000))")
                }
                #expect(written[.durable, .wal].bytesWritten == size(directory.durable + "-wal"))
                #expect(written[.durable, .wal].creates == 1)
                let checkpoint = try counting { _ = try writer.checkpoint(.full) }
                #expect(checkpoint[.durable, .database].bytesWritten == size(directory.durable))
                #expect(checkpoint[.durable, .database].syncs == 1 && checkpoint[.durable, .wal].syncs == 1)
                let frames = size(directory.durable) / 4096
                // Page 1 is in the WAL twice, of both transactions; only its last frame is copied.
                #expect(checkpoint[.durable, .wal].bytesRead >= frames * 4096)
                #expect(checkpoint[.durable].bytesWritten == checkpoint.total.bytesWritten)
            }
        }

        @Test func `creates and deletes are counted by part`() throws {
            try CountingScope.run(CountingScope()) {
                let counts = try counting {
                    let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
                    try connection.execute("CREATE TABLE t(a); PRAGMA journal_mode=WAL; INSERT INTO t VALUES(1)")
                }
                #expect(counts[.durable, .database].creates == 1)
                #expect(counts[.durable, .journal].creates >= 1)
                #expect(counts[.durable, .journal].deletes == counts[.durable, .journal].creates)
                #expect(counts[.durable, .wal].creates == 1 && counts[.durable, .wal].deletes == 1)
            }
        }

        @Test func `what others write is added`() {
            CountingScope.run(CountingScope()) {
                let counts = counting {
                    CountingVFS.count(role: .cache, part: .wal, writes: 2, bytesWritten: 100, syncs: 1)
                }
                var expected = WriteCounts.Count()
                (expected.writes, expected.bytesWritten, expected.syncs) = (2, 100, 1)
                #expect(counts[.cache, .wal] == expected && counts.total == expected)
            }
        }

        @Test(arguments: [
            ("/data/log/1.sqlite", FileRole.log), ("/data/durable/kura.sqlite-wal", .durable),
            ("/data/cache/models.sqlite", .cache), ("/var/cache/kura/durable/kura.sqlite", .durable),
            ("/var/log/kura/cache/x", .cache), ("/data/log", .other), ("/data/logs/x", .other), ("log/x", .log),
        ])
        func `the last directory with a role's name decides`(_ path: String, _ role: FileRole) {
            #expect(FileRole(path: path) == role)
            #expect(FileRole(path: nil) == .other)
        }

        @Test func `a failed sync is an I/O error, a skipped one is not done`() throws {
            try CountingScope.run(CountingScope()) {
                let segment = try Connection.segment(directory.log, synchronous: "FULL")
                try segment.execute("CREATE TABLE t(a)")
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("vfs.sync@log:skip")
                #expect(try counting { try segment.execute("INSERT INTO t VALUES(1)") }[.log, .wal].syncs == 0)
                #expect(try counting { try segment.execute("INSERT INTO t VALUES(2)") }[.log, .wal].syncs == 1)
                try FaultPoints.arm("vfs.sync@log:fail")
                let error = #expect(throws: SQLiteError.self) { try segment.execute("INSERT INTO t VALUES(3)") }
                #expect(error?.isIOError == true && error?.isFull == false)
                #expect(error?.systemErrno == 5)
                try FaultPoints.arm("vfs.sync@log:full")
                let full = #expect(throws: SQLiteError.self) { try segment.execute("INSERT INTO t VALUES(4)") }
                #expect(full?.isIOError == true && full?.isFull == false, "the outcome of a sync is unknown")
            }
        }

        @Test func `an injected read failure is an I/O error`() throws {
            try CountingScope.run(CountingScope()) {
                try Connection.writer(directory.durable).execute("CREATE TABLE t(a)")
                let reader = try Connection(path: directory.durable, mode: .readOnly)
                defer { FaultPoints.disarm() }
                try FaultPoints.arm("vfs.read@durable:fail:1+")
                let error = #expect(throws: SQLiteError.self) { _ = try reader.scalar("SELECT count(*) FROM t") }
                #expect(error?.isIOError == true && error?.wouldBlock == false)
                FaultPoints.disarm()
                #expect(try reader.scalar("SELECT count(*) FROM t") == 0)
            }
        }
    }
}
