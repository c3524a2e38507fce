import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// What a check says of closed segments, some of which go or are written anew while it looks.
@Suite struct LogLookTests {
    private let directory = TemporaryDirectory()
    private let retired = RetiredSegments()
    private let log: String

    init() throws {
        log = directory.path + "/log"
        try FileSystem.makeDirectory(log)
        for number in 1...4 { try make(number) }
    }

    /// Ten revisions a segment.
    private func revs(_ number: Int) -> ClosedRange<UInt64> { UInt64(number * 10 - 9)...UInt64(number * 10) }

    private func make(_ number: Int, in directory: String? = nil) throws {
        let segment = try Segment(creating: number, in: directory ?? log, capacity: 1 << 16, recycled: nil)
        for rev in revs(number) {
            var buffer = RecordBuffer()
            with("s", "k", String(repeating: "x", count: 100)) { scope, key, value in
                buffer.append(
                    LogRecord(
                        store: .settings, isTombstone: false, rev: rev, scope: scope, key: key,
                        writer: Bytes(start: nil, count: 0), value: value))
            }
            try segment.append(previous: rev - 1, rev: rev, at: 0, records: buffer.bytes, synced: 0)
        }
    }

    private func path(_ number: Int) -> String { Segment.path(log, number) }

    private static func zero(_ path: String) throws(StorageFault) {
        let file = try FileSystem.open(path, O_RDWR)
        defer { close(file) }
        try [UInt8](repeating: 0, count: 8192).withBytes { (bytes) throws(StorageFault) in
            try FileSystem.write(file, bytes, at: 0, path: path)
        }
    }

    /// `opened`: called when a segment has been opened and read through once.
    private func look(_ opened: @escaping (_ number: Int) throws(StorageFault) -> Void = { _ in }) throws -> LogLook {
        let closed = (1...4).map {
            Log.Closed(number: $0, firstRev: revs($0).lowerBound, lastRev: revs($0).upperBound, bytes: 1 << 16)
        }
        let open: LogLook.Open = { (number, directory) throws(StorageFault) in
            let segment = try LogFiles.open(number, in: directory)
            try opened(number)
            return segment
        }
        var look = LogLook(closed, activeAfter: 40, retired: retired, in: log, lost: RevisionSet(), open: open)
        try look.run { _ in }
        return look
    }

    @Test func `whole segments have no problems`() throws {
        let look = try look()
        #expect(look.problems.isEmpty && look.segments == 4 && look.changes == 40)
    }

    @Test func `segments that retention lets go while they are looked at leave no gap`() throws {
        // The first has been opened when they go.
        let (retired, paths) = (retired, (1...3).map(path))
        let look = try look { (opened) throws(StorageFault) in
            guard opened == 1 else { return }
            for number in 1...3 { retired.note(number) }
            for path in paths { try FileSystem.remove(path) }
        }
        #expect(look.problems.isEmpty, "\(look.problems)")
        #expect(look.segments == 2 && look.changes == 20)
    }

    @Test func `a segment whose file is used again while it is read is passed over`() throws {
        let (retired, second, spare) = (retired, path(2), log + "/spare")
        let look = try look { (opened) throws(StorageFault) in
            guard opened == 2 else { return }
            retired.note(2)
            try FileSystem.rename(second, spare)
            try Self.zero(spare)
        }
        #expect(look.problems.isEmpty && look.segments == 3, "\(look.problems)")
    }

    @Test func `a segment that is written anew while it is read is looked at again`() throws {
        let (second, fresh, leftover) = (path(2), directory.path + "/fresh", directory.path + "/leftover")
        try FileSystem.makeDirectory(fresh)
        try make(2, in: fresh)
        let looks = Guarded(0)
        let look = try look { (opened) throws(StorageFault) in
            guard opened == 2 else { return }
            let isFirst = looks.withLock { looks in
                looks += 1
                return looks == 1
            }
            guard isFirst else { return }
            // The new file has the name, and the old one, which is being read, is overwritten.
            _ = try FileSystem.link(second, leftover)
            try FileSystem.rename(Segment.path(fresh, 2), second)
            try Self.zero(leftover)
        }
        #expect(look.problems.isEmpty && look.segments == 4, "\(look.problems)")
        #expect(looks.withLock { $0 } == 2)
    }

    @Test func `a segment that is gone, and nobody has let go, is told`() throws {
        retired.note(1)
        unlink(path(3))
        let look = try look()
        #expect(look.problems == [LogLook.Problem(place: "log/000003.log", text: "it is gone")])
    }

    @Test func `revisions that are in no segment are told`() throws {
        // A file of another segment's rows in the place of the third.
        unlink(path(3))
        let segment = try Segment(creating: 3, in: log, capacity: 1 << 16, recycled: nil)
        var buffer = RecordBuffer()
        with("s", "k", "v") { scope, key, value in
            buffer.append(
                LogRecord(
                    store: .settings, isTombstone: false, rev: 30, scope: scope, key: key,
                    writer: Bytes(start: nil, count: 0), value: value))
        }
        try segment.append(previous: 20, rev: 30, at: 0, records: buffer.bytes, synced: 0)
        let look = try look()
        #expect(look.problems == [LogLook.Problem(place: "log/000003.log", text: "revision 30 follows 20")])
    }

    @Test func `a segment that is damaged, and stays what it is, is told`() throws {
        try Self.zero(path(2))
        let look = try look()
        #expect(look.problems.first?.place == "log/000002.log", "\(look.problems)")
        // Retention says nothing about what lies behind it.
        retired.note(1)
        #expect(try self.look().problems.isEmpty == false)
        retired.note(2)
        #expect(try self.look().problems.isEmpty)
    }
}
