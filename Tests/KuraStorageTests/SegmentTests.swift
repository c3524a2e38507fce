import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct SegmentTests {
    private let directory = TemporaryDirectory()

    private func path(_ number: Int) -> String { Segment.path(directory.path, number) }

    private func make(_ number: Int, capacity: Int = 1 << 18, recycled: String? = nil) throws -> Segment {
        try Segment(creating: number, in: directory.path, capacity: capacity, recycled: recycled)
    }

    private func open(_ number: Int) throws -> Segment { try Segment(opening: number, in: directory.path) }

    private func append(_ segment: Segment, _ revs: ClosedRange<UInt64>, bytes: Int = 100) throws {
        for rev in revs { try segment.append(settings: [rev], bytes: bytes) }
    }

    private func revs(_ segment: Segment, after rev: UInt64 = 0) throws -> [UInt64] {
        var found: [UInt64] = []
        try segment.rows(after: rev) { row in
            #expect(row.at == Int64(row.rev) * 10)
            found.append(row.rev)
        }
        return found
    }

    @Test func `a segment has its file's bytes in advance and keeps them while it is written`() throws {
        let segment = try make(7, capacity: 1 << 20)
        #expect(segment.path == directory.path + "/000007.log")
        #expect(FileSystem.size(segment.path) == 1 << 20)
        var rev: UInt64 = 0
        while !segment.isFull(for: 5100) {
            rev += 1
            try append(segment, rev...rev, bytes: 4990)
        }
        #expect(rev > 180)
        #expect(FileSystem.size(segment.path) == 1 << 20)
        #expect(segment.firstRev == 1 && segment.lastRev == rev && segment.used <= 1 << 20)
    }

    @Test func `rows are there when it is opened again, and more can follow`() throws {
        do { try append(try make(1), 1...20) }
        do {
            let again = try open(1)
            #expect(again.lastRev == 20 && again.firstRev == 1 && again.previousRev == 0)
            #expect(again.present == RevisionSet(1...20) && again.damages.isEmpty)
            #expect(try revs(again) == Array(1...20))
            #expect(try revs(again, after: 15) == Array(16...20))
            try append(again, 21...22, bytes: 20_000)
        }
        #expect(try revs(try open(1)) == Array(1...22))
    }

    @Test func `a long segment is read from wherever a reader goes on`() throws {
        let segment = try make(1)
        try append(segment, 1...300, bytes: 9000)
        for rev: UInt64 in [0, 1, 28, 29, 30, 150, 298, 299, 300] {
            #expect(try revs(segment, after: rev) == Array(rev + 1..<301))
            #expect(try revs(try open(1), after: rev) == Array(rev + 1..<301))
        }
    }

    @Test(arguments: [0, 3]) func `a file that is used again shows no row of its former life`(kept: UInt64) throws {
        let spare = directory.path + "/spare"
        do { try append(try make(1), 1...40) }
        #expect(rename(path(1), spare) == 0)
        do {
            let new = try make(2, recycled: spare)
            #expect(!FileSystem.exists(spare))
            #expect(try revs(new).isEmpty)
            if kept > 0 { try append(new, 101...100 + kept) }
        }
        let again = try open(2)
        #expect(try revs(again) == (kept > 0 ? Array(101...100 + kept) : []))
        #expect(again.damages.isEmpty)
    }

    @Test func `a file that is used again and too small grows to the capacity`() throws {
        let spare = directory.path + "/spare"
        do { _ = try make(1, capacity: 1 << 16) }
        #expect(rename(path(1), spare) == 0)
        _ = try make(2, recycled: spare)
        #expect(FileSystem.size(path(2)) == 1 << 18)
    }

    @Test func `trimming gives back what is not used, and no row`() throws {
        do {
            let segment = try make(2)
            try append(segment, 101...110)
            try segment.trim()
            #expect(FileSystem.size(path(2)) == segment.used)
        }
        #expect(try revs(try open(2)) == Array(101...110))
    }

    @Test func `cutting leaves the rows up to a revision`() throws {
        do { try append(try make(2), 1...10) }
        try open(2).cut(after: 7)
        let again = try open(2)
        #expect(try revs(again) == Array(1...7))
        #expect(again.used == FileSystem.size(path(2)))
    }

    @Test func `a row that was torn off is not shown, and is no damage`() throws {
        let end: Int
        do {
            let segment = try make(1)
            try append(segment, 1...5)
            end = segment.used
        }
        for cut in 1...200 {
            #expect(truncate(path(1), off_t(end - cut)) == 0)
            let again = try open(1)
            #expect(try revs(again) == Array(1...4) && again.damages.isEmpty)
        }
    }

    @Test func `a segment without rows has none, and one that was being made has not its name`() throws {
        #expect(try open(try make(3).number).lastRev == 0)
        #expect(try FileSystem.names(in: directory.path) == ["000003.log"])
        close(creat(path(4), 0o600))
        #expect(throws: StorageFault.self) { try open(4) }
    }

    @Test(
        arguments: [
            ("000012.log", 12), ("1234567.log", 1_234_567), ("x.log", nil), ("000012.new", nil), ("spare", nil),
            ("000001.log", 1), ("1099511627776.log", 1 << 40), ("1099511627777.log", nil), ("000000.log", nil),
            ("0.log", nil), ("-1.log", nil), ("-00001.log", nil), ("+00012.log", nil), ("12.log", nil), (".log", nil),
            ("0000012.log", nil), ("9223372036854775807.log", nil), ("9223372036854775808.log", nil),
        ] as [(String, Int?)])
    func `a segment's number is in its name`(name: String, number: Int?) {
        #expect(Segment.number(ofFile: name) == number)
        if let number { #expect(Segment.path("d", number) == "d/" + name) }
        #expect(LogFiles.number(ofFile: "000012.sqlite") == 12)
        #expect(LogFiles.number(ofFile: "000012.sqlite-wal") == nil && LogFiles.isOurs("000012.sqlite-wal"))
        for other in ["12.sqlite", "notes.new", "notes-wal", "1.sqlite-wal"] { #expect(!LogFiles.isOurs(other)) }
    }

    @Test func `no segment is made whose name would not be one`() throws {
        let fault = #expect(throws: StorageFault.self) { try make(1 << 40 + 1) }
        #expect(fault?.description.contains("1099511627776.log") == true)
        #expect(try FileSystem.names(in: directory.path).isEmpty)
    }

    @Test func `a head is believed only as it was written, at either of its places`() throws {
        let salt: UInt64
        do {
            try append(try make(1), 1...3)
            salt = try #require(try Segment.head(path(1))).salt
        }
        for place in [0, SegmentFormat.headCopy] {
            for byte in 0..<SegmentFormat.headLength {
                try TestDisk.flip(path(1), at: place + byte)
                #expect(try Segment.head(path(1))?.salt == salt)
                #expect(try revs(try open(1)) == [1, 2, 3])
                try TestDisk.flip(path(1), at: place + byte)
            }
        }
        for place in [0, SegmentFormat.headCopy] { try TestDisk.flip(path(1), at: place + 8) }
        #expect(try Segment.head(path(1)) == nil)
        #expect(throws: StorageFault.self) { try open(1) }
    }

    @Test func `a head says of which history its segment is, and either place does`() throws {
        let history = LogHistory(epoch: "0198c0de-0000-7000-8000-000000000001", parent: "another", began: 42)
        do { _ = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil, history: history) }
        #expect(try open(1).history == history)
        for place in [0, SegmentFormat.headCopy] {
            for byte in 0..<SegmentFormat.wholeHeadLength {
                try TestDisk.flip(path(1), at: place + byte)
                #expect(try Segment.head(path(1))?.history == history)
                try TestDisk.flip(path(1), at: place + byte)
            }
        }
        do { _ = try make(2) }
        #expect(try open(2).history == nil)
    }

    @Test func `a newer layout is refused as such`() throws {
        do { _ = try make(1) }
        var head = SegmentHead(number: 1, salt: 7, synced: 0)
        head.layout = SegmentFormat.layout + 1
        var bytes = ByteBuffer()
        head.append(to: &bytes)
        for place in [0, SegmentFormat.headCopy] { try TestDisk.write(path(1), Array(bytes.bytes), at: place) }
        #expect { try open(1) } throws: {
            guard case .refused(let why) = $0 as? StorageFault else { return false }
            return why.contains("log layout \(SegmentFormat.layout + 1)")
        }
        #expect(Formats.newestSegment(in: directory.path)?.version == Int(SegmentFormat.layout) + 1)
    }
}

/// Bytes of a file that are changed behind everybody's back.
enum TestDisk {
    static func read(_ path: String, _ range: Range<Int>) throws -> [UInt8] {
        let descriptor = try FileSystem.open(path, O_RDONLY)
        defer { close(descriptor) }
        var buffer = ByteBuffer()
        _ = try FileSystem.read(descriptor, atMost: range.count, at: range.lowerBound, into: &buffer, path: path)
        return Array(buffer.bytes)
    }

    static func write(_ path: String, _ bytes: [UInt8], at offset: Int) throws {
        let descriptor = try FileSystem.open(path, O_RDWR)
        defer { close(descriptor) }
        try bytes.withBytes { (bytes) throws(StorageFault) in
            try FileSystem.write(descriptor, bytes, at: offset, path: path)
        }
    }

    static func flip(_ path: String, at offset: Int, bit: Int = 0) throws {
        let byte = try read(path, offset..<offset + 1)[0]
        try write(path, [byte ^ 1 << bit], at: offset)
    }
}

extension Segment {
    /// Appends one row of settings, one a revision. Each was appended when everything before the row was synced.
    func append(settings revs: [UInt64], bytes: Int = 100, synced: UInt64? = nil) throws {
        var buffer = RecordBuffer()
        for rev in revs {
            with("s", "\(rev)", "\"" + String(repeating: "x", count: bytes) + "\"") { scope, key, value in
                buffer.append(
                    LogRecord(
                        store: .settings, isTombstone: false, rev: rev, scope: scope, key: key, writer: Bytes(),
                        value: value))
            }
        }
        try append(
            previous: revs[0] - 1, rev: revs[revs.count - 1], at: Int64(revs[revs.count - 1]) * 10,
            records: buffer.bytes, synced: synced ?? revs[0] - 1)
    }
}
