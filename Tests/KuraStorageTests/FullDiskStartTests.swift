import Glibc
import SQLite
import Testing

@testable import KuraStorage

/// A file system of a few MiB that can be filled to its last byte. Only root can mount one.
final class SmallDisk {
    private let directory = TemporaryDirectory()
    var data: String { directory.path + "/data" }
    private var filler: String { directory.path + "/filler" }

    static let isAvailable: Bool = {
        let directory = TemporaryDirectory()
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=1m") == 0 else { return false }
        return umount2(directory.path, Int32(MNT_DETACH)) == 0
    }()

    init(mebibytes: Int) throws {
        guard mount("tmpfs", directory.path, "tmpfs", 0, "size=\(mebibytes)m,mode=0700") == 0 else {
            throw FileSystem.fail("mount", directory.path)
        }
        for name in ["", "/log", "/durable"] { try FileSystem.makeDirectory(data + name) }
    }

    deinit {
        umount2(directory.path, Int32(MNT_DETACH))
    }

    func fill() {
        let descriptor = Glibc.open(filler, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 1, count: 4096)
        while write(descriptor, bytes, bytes.count) > 0 {}
    }

    func release() { unlink(filler) }
}

@Suite(.enabled(if: SmallDisk.isAvailable)) struct FullDiskStartTests {
    private let disk: SmallDisk
    private let keys = 0..<150

    init() throws {
        disk = try SmallDisk(mebibytes: 8)
    }

    private var configuration: StorageConfiguration { .tiny(disk.data) }
    private var log: String { configuration.logDirectory }

    private func start<R>(_ body: (Recovery) throws -> R) throws -> R {
        let housekeeper = Housekeeper()
        defer { housekeeper.stop() }
        return try body(try Recovery.start(configuration, housekeeper: housekeeper) { _ in })
    }

    private func put(_ recovery: Recovery, _ value: String) throws {
        for key in keys {
            _ = try with("d", "\(key)", value) { (d, k, v) throws(StoreError) in
                try recovery.settings.put(d, k, v, ifRev: nil)
            }
            _ = try with("c", "\(key)", value) { (c, k, v) throws(StoreError) in
                try recovery.documents.put(c, k, v, isNewID: false, ifRev: nil)
            }
            guard case .committed = recovery.ledger.commit(to: recovery.log, syncedRev: 0) else {
                Issue.record("not committed")
                return
            }
        }
    }

    /// Everything is there, once, by way of memory or of the tables.
    private func expectAll(_ recovery: Recovery, _ value: String, rev: Int) throws {
        #expect(recovery.ledger.rev == UInt64(rev))
        #expect(recovery.settings.count == keys.count)
        #expect(with("c") { recovery.documents.count($0).count } == keys.count)
        for key in keys {
            #expect(with("d", "\(key)") { recovery.settings.get($0, $1).item?.value.text } == value)
            let document = try with("c", "\(key)") { (c, k) throws(StoreError) in try recovery.documents.get(c, k) }
            #expect(document.item?.value.text == value)
        }
    }

    private func makeReserve(_ bytes: Int) throws {
        let descriptor = try FileSystem.open(configuration.reservePath, O_RDWR | O_CREAT)
        defer { close(descriptor) }
        #expect(posix_fallocate(descriptor, 0, off_t(bytes)) == 0)
    }

    @Test func `the reserve makes the start possible, again and again`() throws {
        try start { try put($0, "1") }
        for _ in 0..<3 {
            try makeReserve(configuration.reserveBytes)
            disk.fill()
            try start { recovery in
                #expect(recovery.wasDiskFull)
                try expectAll(recovery, "1", rev: 2 * keys.count)
            }
            disk.release()
        }
    }

    @Test func `what a segment has in advance makes the start possible when the reserve is gone`() throws {
        try start { try put($0, "1") }
        _ = try Segment(creating: 7, in: log, capacity: configuration.segmentBytes, recycled: nil)
        disk.fill()
        try start { try expectAll($0, "1", rev: 2 * keys.count) }
    }

    @Test func `without any room the start is refused as full, and nothing is lost`() throws {
        let value = String(repeating: "v", count: 3000)
        try start { try put($0, value) }
        var refusals = 0
        for _ in 0..<3 {
            // What an attempt has made room for is gone at the next; what it has made smaller may fit then.
            disk.fill()
            do { try start { try expectAll($0, value, rev: 2 * keys.count) } } catch let error as StorageFault {
                #expect(error.isFull, "\(error)")
                refusals += 1
            }
        }
        #expect(refusals > 0)
        disk.release()
        try start { try expectAll($0, value, rev: 2 * keys.count) }
    }

    @Test func `a log that is larger than the room is copied a segment at a time`() throws {
        // Each run leaves a segment of its own, of small commits.
        for round in 1...4 {
            try start { try put($0, "\(round)") }
        }
        let before = try FileSystem.names(in: log).compactMap(Segment.number(ofFile:)).sorted()
        try makeReserve(200 << 10)
        disk.fill()
        try start { recovery in
            #expect(recovery.wasDiskFull)
            try expectAll(recovery, "4", rev: 8 * keys.count)
        }
        let after = try FileSystem.names(in: log).compactMap(Segment.number(ofFile:)).sorted()
        #expect(after.count < before.count)
        disk.release()
        try start { try expectAll($0, "4", rev: 8 * keys.count) }
    }

    @Test func `a large segment of small commits gives up its end to make room for its copy`() throws {
        for round in 1...2 {
            try start { try put($0, "\(round)") }
        }
        // About 1.5 MiB of commits, 60 KiB of rows; the room is less than either.
        try makeReserve(64 << 10)
        disk.fill()
        try start { try expectAll($0, "2", rev: 4 * keys.count) }
        disk.release()
        try start { try expectAll($0, "2", rev: 4 * keys.count) }
    }

    @Test(arguments: [48, 56, 64, 80, 96]) func `commits of many sizes are compacted in what room there is`(
        kibibytes: Int
    ) throws {
        let value = String(repeating: "v", count: 1500)
        try start { try put($0, value) }
        try makeReserve(kibibytes << 10)
        disk.fill()
        try start { try expectAll($0, value, rev: 2 * keys.count) }
    }

    @Test func `a compaction moves every row, and a WAL that was cut shows the rows before the cut`() throws {
        try start { try put($0, "1") }
        let wal = Segment.path(log, 1) + "-wal"
        let ends = try WALCommits(path: wal).ends
        #expect(ends.count == keys.count)
        var revs: [UInt64] = []
        try Segment(opening: 1, in: log).rows(after: 0) { (rev, _, _) throws(StorageFault) in revs.append(rev) }
        #expect(revs.count == keys.count)
        do {
            let target = try Segment(creating: 2, in: log, capacity: 1 << 16, recycled: nil)
            var compaction = LogCompaction(into: target, in: log)
            #expect(try compaction.move(1, above: 0))
        }
        #expect(!FileSystem.exists(wal))
        var moved: [UInt64] = []
        try Segment(opening: 2, in: log).rows(after: 0) { (rev, _, _) throws(StorageFault) in moved.append(rev) }
        #expect(moved == revs)
        // Several rows to a commit now: such a segment cannot be cut, and stays.
        do {
            let target = try Segment(creating: 3, in: log, capacity: 1 << 16, recycled: nil)
            var compaction = LogCompaction(into: target, in: log)
            #expect(try !compaction.move(2, above: 0))
        }
        try start { try expectAll($0, "1", rev: 2 * keys.count) }
    }

    @Test(arguments: [1, 75, 149]) func `a WAL cut behind a commit shows the rows until then`(kept: Int) throws {
        try start { try put($0, "1") }
        let wal = Segment.path(log, 1) + "-wal"
        let ends = try WALCommits(path: wal).ends
        #expect(truncate(wal, off_t(ends[kept - 1])) == 0)
        #expect(try Segment(opening: 1, in: log).lastRev == UInt64(2 * kept))
    }

    @Test func `the log is folded where there is room for that only`() throws {
        let value = String(repeating: "v", count: 400)
        // The same keys over and over: as a copy 1,200 KiB, in the tables 150.
        try start { recovery in
            for round in 0..<8 { try put(recovery, "\(round)" + value) }
        }
        // A copy has many rows to a commit, and cannot be compacted further.
        try start { _ in }
        try Segment.remove(1, in: log)
        try makeReserve(500 << 10)
        disk.fill()
        try start { try expectAll($0, "7" + value, rev: 16 * keys.count) }
        disk.release()
        try start { recovery in
            #expect(recovery.replayedChanges == 0)
            try expectAll(recovery, "7" + value, rev: 16 * keys.count)
        }
    }
}
