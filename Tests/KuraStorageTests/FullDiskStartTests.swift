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
        let housekeeper = try Housekeeper()
        defer { housekeeper.stop() }
        return try body(try Recovery.start(configuration, housekeeper: housekeeper) { _ in })
    }

    private func put(_ recovery: Recovery, _ value: String) throws {
        for key in keys {
            _ = try with("d", "\(key)", value) { (d, k, v) throws(EngineError) in
                try recovery.settings.put(d, k, v, ifRev: nil)
            }
            _ = try with("c", "\(key)", value) { (c, k, v) throws(DocumentsError) in
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
            let document = try with("c", "\(key)") { (c, k) throws(EngineError) in try recovery.documents.get(c, k) }
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
            try start { try expectAll($0, "1", rev: 2 * keys.count) }
            disk.release()
        }
    }

    @Test func `what a segment has in advance makes the start possible when the reserve is gone`() throws {
        try start { try put($0, "1") }
        _ = try Segment(creating: 7, in: log, capacity: configuration.log.segmentBytes, recycled: nil)
        disk.fill()
        try start { try expectAll($0, "1", rev: 2 * keys.count) }
    }

    @Test func `without any room the start is refused as full, and nothing is lost`() throws {
        let value = String(repeating: "v", count: 3000)
        try start { try put($0, value) }
        var refusals = 0
        for _ in 0..<3 {
            disk.fill()
            do { try start { try expectAll($0, value, rev: 2 * keys.count) } } catch let error as StorageFault {
                #expect(error.isFull, "\(error)")
                refusals += 1
            }
            // What an attempt has made in advance, and what it has made smaller, would do for the next.
            for number in try LogFiles.numbers(in: log) {
                let segment = try Segment(opening: number, in: log)
                if segment.lastRev == 0 { try Segment.remove(number, in: log) } else { try segment.trim() }
            }
        }
        #expect(refusals > 0)
        disk.release()
        try start { try expectAll($0, value, rev: 2 * keys.count) }
    }

    @Test(arguments: [0, 64]) func `a log of any length needs no room of its own`(kibibytes: Int) throws {
        for round in 1...4 {
            try start { try put($0, "\(round)") }
        }
        if kibibytes > 0 { try makeReserve(kibibytes << 10) }
        disk.fill()
        try start { recovery in try expectAll(recovery, "4", rev: 8 * keys.count) }
        disk.release()
        try start { try expectAll($0, "4", rev: 8 * keys.count) }
    }

    @Test func `the log of hot keys takes its room, and starts on a full disk go on`() throws {
        let value = String(repeating: "v", count: 400)
        try start { recovery in
            for round in 0..<8 { try put(recovery, "\(round)" + value) }
        }
        try makeReserve(500 << 10)
        disk.fill()
        try start { try expectAll($0, "7" + value, rev: 16 * keys.count) }
        disk.release()
        try start { recovery in
            try expectAll(recovery, "7" + value, rev: 16 * keys.count)
        }
    }

    @Test func `a row that found no room leaves nothing behind that could be taken for one`() throws {
        let segment = try Segment(creating: 1, in: log, capacity: Segment.leastCapacity, recycled: nil)
        try segment.append(settings: [1, 2])
        disk.fill()
        // Half of it has its room in advance.
        #expect { try segment.append(settings: Array(3...60), bytes: 300) } throws: {
            ($0 as? StorageFault)?.isFull == true
        }
        #expect(FileSystem.size(segment.path) == Segment.leastCapacity)
        let rest = try TestDisk.read(segment.path, segment.used..<Segment.leastCapacity)
        #expect(rest.allSatisfy { $0 == 0 })
        try segment.append(settings: [3])
        let again = try Segment(opening: 1, in: log)
        #expect(again.present == RevisionSet(1...3) && again.damages.isEmpty)
    }
}
