import Glibc
import Testing

@testable import SQLite

extension SQLiteModule {
    /// What the disk changes in a WAL behind SQLite's back.
    @Suite struct FrameSumsTests {
        private let directory = TemporaryDirectory()

        /// Three rows of a page each in the WAL. Returns what wrote them.
        private func fill() throws -> Connection {
            let writer = try Connection.writer(directory.durable)
            try writer.execute(
                "CREATE TABLE t(a); INSERT INTO t VALUES(zeroblob(3000)), (zeroblob(3000)), (zeroblob(3000))")
            return writer
        }

        private func flip(at offset: Int) throws {
            let descriptor = open(directory.durable + "-wal", O_RDWR)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            var byte: UInt8 = 0
            #expect(pread(descriptor, &byte, 1, off_t(offset)) == 1)
            byte ^= 0xFF
            #expect(pwrite(descriptor, &byte, 1, off_t(offset)) == 1)
        }

        private var frames: Int {
            var information = stat()
            return stat(directory.durable + "-wal", &information) == 0 ? (Int(information.st_size) - 32) / 4120 : 0
        }

        @Test func `a page of the WAL that the disk has changed is read by nobody, and checkpointed by nobody`() throws
        {
            let writer = try fill()
            let frames = frames
            try #require(frames >= 4)
            // The last frames are the newest of their pages.
            for frame in frames - 3..<frames {
                try flip(at: 32 + frame * 4120 + 24 + 2000)
                let reader = try Connection(path: directory.durable, mode: .readOnly)
                let error = #expect(throws: SQLiteError.self) {
                    _ = try reader.scalar("SELECT sum(length(hex(a))) FROM t")
                }
                #expect(error?.isDamageOfFile == true && error?.isCorrupt == false)
                #expect(throws: SQLiteError.self) { _ = try writer.checkpoint(.full) }
                try flip(at: 32 + frame * 4120 + 24 + 2000)
            }
            let reader = try Connection(path: directory.durable, mode: .readOnly)
            #expect(try reader.scalar("SELECT sum(length(a)) FROM t") == 9000)
            #expect(try writer.checkpoint(.full).checkpointedFrames > 0)
        }

        @Test func `what an opening has looked at is known, too, and a WAL that begins anew is believed`() throws {
            do {
                let writer = try fill()
                writer.close()
            }
            let writer = try Connection.writer(directory.durable)
            #expect(try writer.scalar("SELECT count(*) FROM t") == 3)
            let last = frames - 1
            try flip(at: 32 + last * 4120 + 24 + 2000)
            let reader = try Connection(path: directory.durable, mode: .readOnly)
            #expect(throws: SQLiteError.self) { _ = try reader.scalar("SELECT sum(length(hex(a))) FROM t") }
            try flip(at: 32 + last * 4120 + 24 + 2000)
            _ = try writer.checkpoint(.truncate)
            for _ in 0..<20 {
                try writer.execute("UPDATE t SET a = randomblob(3000)")
                #expect(try reader.scalar("SELECT sum(length(a)) FROM t") == 9000)
                if frames > 12 { _ = try writer.checkpoint(.restart) }
            }
        }
    }
}
