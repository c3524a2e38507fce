import Glibc
import Testing

@testable import KuraStorage

@Suite struct SegmentTests {
    private let directory = TemporaryDirectory()

    private func append(_ segment: Segment, _ revs: ClosedRange<UInt64>, bytes: Int = 100) throws {
        for rev in revs {
            let text = "\(rev):" + String(repeating: "r", count: bytes)
            try with(text) { (records) throws in
                try segment.append(rev: rev, at: Int64(rev) * 10, records: records, synced: rev - 1)
            }
        }
    }

    private func revs(_ segment: Segment, after rev: UInt64 = 0) throws -> [UInt64] {
        var found: [UInt64] = []
        try segment.rows(after: rev) { rev, at, records in
            #expect(at == Int64(rev) * 10)
            #expect(records.text.hasPrefix("\(rev):"))
            found.append(rev)
        }
        return found
    }

    @Test func `a segment's file stays for as long as its rows could not be removed`() throws {
        let path: String
        do {
            let segment = try Segment(creating: 7, in: directory.path, capacity: 1 << 16, recycled: nil)
            try append(segment, 1...3)
            path = segment.path
        }
        Segment.removeFile(path)
        #expect(FileSystem.exists(path))
        try FileSystem.remove(path + "-wal")
        Segment.removeFile(path)
        #expect(!FileSystem.exists(path))
    }

    @Test func `a segment has its WAL's bytes in advance and keeps them while it is written`() throws {
        let segment = try Segment(creating: 7, in: directory.path, capacity: 1 << 20, recycled: nil)
        #expect(segment.path == directory.path + "/000007.sqlite")
        #expect(FileSystem.size(segment.path + "-wal") == 1 << 20)
        var rev: UInt64 = 0
        while !segment.isFull(for: 5000) {
            rev += 1
            try append(segment, rev...rev, bytes: 4990)
        }
        #expect(rev > 50)
        #expect(FileSystem.size(segment.path + "-wal") == 1 << 20)
        #expect(segment.firstRev == 1 && segment.lastRev == rev && segment.used <= 1 << 20)
    }

    @Test func `rows are there when it is opened again, and more can follow`() throws {
        do {
            let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 18, recycled: nil)
            try append(segment, 1...20)
        }
        do {
            let again = try Segment(opening: 1, in: directory.path)
            #expect(again.lastRev == 20)
            #expect(try revs(again) == Array(1...20))
            #expect(try revs(again, after: 15) == Array(16...20))
            try append(again, 21...22, bytes: 20_000)
        }
        #expect(try revs(try Segment(opening: 1, in: directory.path)) == Array(1...22))
    }

    @Test(arguments: [0, 3]) func `a recycled WAL shows no row of its former life`(kept: UInt64) throws {
        let spare = directory.path + "/spare-wal"
        do {
            let old = try Segment(creating: 1, in: directory.path, capacity: 1 << 18, recycled: nil)
            try append(old, 1...40)
        }
        #expect(rename(directory.path + "/000001.sqlite-wal", spare) == 0)
        do {
            let new = try Segment(creating: 2, in: directory.path, capacity: 1 << 18, recycled: spare)
            #expect(!FileSystem.exists(spare))
            #expect(try revs(new).isEmpty)
            if kept > 0 { try append(new, 101...100 + kept) }
        }
        let again = try Segment(opening: 2, in: directory.path)
        #expect(try revs(again) == (kept > 0 ? Array(101...100 + kept) : []))
    }

    @Test func `a recycled WAL that is too small grows to the capacity`() throws {
        let spare = directory.path + "/spare-wal"
        do { _ = try Segment(creating: 1, in: directory.path, capacity: 1 << 16, recycled: nil) }
        #expect(rename(directory.path + "/000001.sqlite-wal", spare) == 0)
        let segment = try Segment(creating: 2, in: directory.path, capacity: 1 << 18, recycled: spare)
        #expect(FileSystem.size(segment.path + "-wal") == 1 << 18)
    }

    @Test(arguments: [false, true]) func `trimming gives back what is not used, and no row`(isRecycled: Bool) throws {
        let spare = directory.path + "/spare-wal"
        if isRecycled {
            do { try append(try Segment(creating: 1, in: directory.path, capacity: 1 << 18, recycled: nil), 1...40) }
            #expect(rename(directory.path + "/000001.sqlite-wal", spare) == 0)
        }
        let used: Int
        do {
            let segment = try Segment(
                creating: 2, in: directory.path, capacity: 1 << 18, recycled: isRecycled ? spare : nil)
            try append(segment, 101...110)
            used = segment.used
        }
        try Segment.trim(2, in: directory.path)
        #expect(FileSystem.size(directory.path + "/000002.sqlite-wal") == used)
        do {
            let again = try Segment(opening: 2, in: directory.path)
            #expect(try revs(again) == Array(101...110))
            #expect(again.firstRev == 101)
            try append(again, 111...112)
        }
        #expect(try revs(try Segment(opening: 2, in: directory.path)) == Array(101...112))
        try Segment.empty(2, in: directory.path)
        #expect(try Segment(opening: 2, in: directory.path).lastRev == 0)
    }

    @Test func `trimming takes a commit that was cut short, and leaves a file that is no WAL`() throws {
        let wal = directory.path + "/000002.sqlite-wal"
        do { try append(try Segment(creating: 2, in: directory.path, capacity: 1 << 16, recycled: nil), 1...5) }
        let ends = try WALCommits(path: wal).ends
        #expect(ends.count == 5)
        #expect(truncate(wal, off_t(ends[4] - 100)) == 0)
        try Segment.trim(2, in: directory.path)
        #expect(FileSystem.size(wal) == ends[3])
        #expect(try revs(try Segment(opening: 2, in: directory.path)) == Array(1...4))
        let descriptor = open(wal, O_WRONLY | O_CLOEXEC)
        #expect(pwrite(descriptor, [0x5A], 1, 3) == 1)
        close(descriptor)
        try Segment.trim(2, in: directory.path)
        #expect(FileSystem.size(wal) == ends[3])
    }

    @Test func `trimming leaves nothing of a segment that was never written`() throws {
        do { _ = try Segment(creating: 3, in: directory.path, capacity: 1 << 18, recycled: nil) }
        try Segment.trim(3, in: directory.path)
        #expect(FileSystem.size(directory.path + "/000003.sqlite-wal") == 0)
        let segment = try Segment(opening: 3, in: directory.path)
        try append(segment, 1...3)
        #expect(try revs(segment) == [1, 2, 3])
    }

    @Test func `a commit that was torn is not shown, those before it are`() throws {
        do {
            let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 18, recycled: nil)
            try append(segment, 1...5)
        }
        // The last frame that was written loses a byte.
        let wal = directory.path + "/000001.sqlite-wal"
        let descriptor = open(wal, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: FileSystem.size(wal))
        #expect(pread(descriptor, &bytes, bytes.count, 0) == bytes.count)
        let last = try #require(bytes.lastIndex { $0 != 0 })
        #expect(pwrite(descriptor, [bytes[last] ^ 1], 1, off_t(last)) == 1)
        #expect(try revs(try Segment(opening: 1, in: directory.path)) == Array(1...4))
    }

    @Test(
        arguments: [
            ("000012.sqlite", 12), ("1234567.sqlite", 1_234_567), ("x.sqlite", nil), ("000012.sqlite-wal", nil),
            ("spare-wal", nil),
        ] as [(String, Int?)])
    func `a segment's number is in its name`(name: String, number: Int?) {
        #expect(Segment.number(ofFile: name) == number)
        if let number { #expect(Segment.path("d", number) == "d/" + name) }
    }
}
