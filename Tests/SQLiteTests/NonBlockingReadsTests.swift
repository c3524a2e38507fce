import Glibc
@testable import SQLite
import Testing

extension SQLiteModule {
    @Suite struct NonBlockingReadsTests {
        private let directory = TemporaryDirectory()

        private func filled() throws {
            let writer = try Connection.writer(directory.durable)
            try writer.execute(
                """
                CREATE TABLE t(k INTEGER PRIMARY KEY, v);
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000)
                INSERT INTO t SELECT i, zeroblob(3000) FROM n
                """)
            _ = try writer.checkpoint(.full)
            try writer.execute("UPDATE t SET v = zeroblob(5) WHERE k = 1000")
        }

        private let sum = "SELECT sum(k) + sum(length(v)) FROM t"

        @Test func `cached pages of database and WAL give the right rows`() throws {
            try filled()
            let reader = try Connection(path: directory.durable, mode: .readOnly, vfs: .nonBlockingReads)
            #expect(try reader.scalar(sum) == 500_500 + 999 * 3000 + 5)
        }

        @Test func `a page that is not cached would block, and is there for a connection that waits`() throws {
            try filled()
            // A fast device may answer before the kernel looks whether it has to wait, so once is not enough.
            var refusal: SQLiteError?
            for attempt in 1...50 where refusal == nil {
                guard evict(directory.durable), evict(directory.durable + "-wal") else {
                    try Test.cancel("this file system keeps pages cached after POSIX_FADV_DONTNEED: nothing was tested")
                }
                let key = attempt * 379 % 999 + 1
                let read = "SELECT length(v) FROM t WHERE k = \(key)"
                let reader = try Connection(path: directory.durable, mode: .readOnly, vfs: .nonBlockingReads)
                do { _ = try reader.scalar(read) } catch { refusal = error }
                let waiting = try Connection(path: directory.durable, mode: .readOnly)
                #expect(try waiting.scalar(read) == 3000)
                #expect(try eventually { try reader.scalar(read) } == 3000, "the connection is as good as before")
            }
            let error = try #require(refusal)
            #expect(error.wouldBlock && error.isIOError && error.systemErrno == EAGAIN)
        }

        @Test func `closing a reader leaves the writer's lock alone`() throws {
            try filled()
            let writer = try Connection.segment(directory.durable)
            // The exclusive lock is taken with the first access.
            try writer.execute("BEGIN IMMEDIATE; COMMIT")
            do {
                let reader = try Connection(path: directory.durable, mode: .readOnly, vfs: .nonBlockingReads)
                let error = #expect(throws: SQLiteError.self) { _ = try reader.scalar(sum) }
                #expect(error?.isBusy == true)
            }
            // POSIX locks do not show within the process that holds them: /proc/locks does.
            var status = stat()
            stat(directory.durable, &status)
            var isHeld = false
            // It is read piece by piece, and what stands between two pieces is missed when others let go of theirs meanwhile.
            for _ in 0..<1000 where !isHeld {
                let locks = try #require(text("/proc/locks"))
                isHeld = locks.split(separator: "\n").contains {
                    $0.contains("POSIX") && $0.contains(":\(status.st_ino) ")
                }
            }
            #expect(isHeld)
        }

        @Test func `what is kept of files beneath a directory is closed when they are let go of`() throws {
            try filled()
            // Others open files meanwhile, and none of these.
            func kept() -> Int {
                (0..<4096).filter { number in
                    var status = stat()
                    var file = stat()
                    return fstat(Int32(number), &status) == 0 && stat(directory.durable, &file) == 0
                        && (status.st_dev, status.st_ino) == (file.st_dev, file.st_ino)
                }.count
            }
            do {
                let reader = try Connection(path: directory.durable, mode: .readOnly, vfs: .nonBlockingReads)
                #expect(try reader.scalar(sum) == 500_500 + 999 * 3000 + 5)
            }
            #expect(kept() == 1)
            CountingVFS.letGo(beneath: directory.path + "/durab")
            #expect(kept() == 1, "a directory's name is not the beginning of another's")
            CountingVFS.letGo(beneath: directory.path)
            #expect(kept() == 0)
        }

        @Test func `a replaced database file is read anew`() throws {
            try filled()
            for value in [7, 8] {
                for end in ["", "-wal", "-shm"] { unlink(directory.durable + end) }
                try Connection.writer(directory.durable).execute("CREATE TABLE u(a); INSERT INTO u VALUES(\(value))")
                let reader = try Connection(path: directory.durable, mode: .readOnly, vfs: .nonBlockingReads)
                #expect(try reader.scalar("SELECT a FROM u") == Int64(value))
            }
        }

        @Test func `a read beyond the end says how many bytes there were`() {
            let path = directory.durable
            write([1, 2, 3], to: path)
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { bytes in
                #expect(NonBlockingReads.read(descriptor, bytes, at: 1) == .short(2))
                #expect(bytes[0] == 2 && bytes[1] == 3)
                #expect(NonBlockingReads.read(descriptor, bytes, at: 9) == .short(0))
            }
            #expect(
                withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) {
                    NonBlockingReads.read(-1, $0, at: 0)
                } == .failed(errno: EBADF))
        }

        /// Asks again, for a minute, while the answer would block: what the kernel reads ahead is on its way.
        private func eventually(_ read: () throws -> Int64?) throws -> Int64? {
            for _ in 1..<6000 {
                do { return try read() } catch let error as SQLiteError where error.wouldBlock { usleep(10_000) }
            }
            return try read()
        }

        /// Drops the file's pages from the page cache; false when they stay.
        private func evict(_ path: String) -> Bool {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(descriptor) }
            guard fsync(descriptor) == 0, posix_fadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED) == 0 else {
                return false
            }
            let count = size(path)
            guard let map = mmap(nil, count, PROT_READ, MAP_SHARED, descriptor, 0), map != MAP_FAILED else {
                return false
            }
            defer { munmap(map, count) }
            var resident = [UInt8](repeating: 1, count: (count + 4095) / 4096)
            return mincore(map, count, &resident) == 0 && resident.allSatisfy { $0 & 1 == 0 }
        }

        private func text(_ path: String) -> String? {
            let descriptor = open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return nil }
            defer { close(descriptor) }
            // One read brings a page of what the kernel makes up as it goes.
            var text: [UInt8] = []
            var page = [UInt8](repeating: 0, count: 64 << 10)
            while true {
                let count = page.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
                guard count >= 0 else { return nil }
                if count == 0 { return String(decoding: text, as: UTF8.self) }
                text += page[..<count]
            }
        }
    }
}
