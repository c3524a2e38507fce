import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Whatever is changed in a segment: each record is found whole, or known to be missing.
@Suite struct SegmentDamageTests {
    private let directory = TemporaryDirectory()
    private var path: String { Segment.path(directory.path, 1) }

    /// Rows of one and of several records, small ones and one of 3,000 bytes.
    private static let rows: [[UInt64]] = [[1], [2, 3, 4], [5], [6], [7, 8, 9, 10, 11], [12], [13, 14], [15]]
    private static let newest: UInt64 = 15

    private func fill() throws -> Int {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        for revs in Self.rows { try segment.append(settings: revs, bytes: revs == [6] ? 3000 : 60) }
        return segment.used
    }

    private func examine() throws -> (examination: LogExamination, present: RevisionSet) {
        let segment = try Segment(opening: 1, in: directory.path)
        let examination = try LogExamination([segment], above: 0, acknowledged: Self.newest)
        var present = segment.present
        for damage in examination.damages.values.joined() {
            for saved in damage.saved {
                present.insert(saved.previous + 1...saved.rev)
                // What is saved is what was written.
                try saved.records.withBytes { records in
                    var offset = 0
                    while let record = try LogRecord.next(in: records, at: &offset) {
                        #expect(record.key.text == "\(record.rev)")
                        #expect(record.value.count == (record.rev == 6 ? 3002 : 62))
                        #expect(record.value.dropFirst().dropLast().allSatisfy { $0 == UInt8(ascii: "x") })
                    }
                }
            }
        }
        return (examination, present)
    }

    /// Everything is there or lost, nothing both.
    private func judge(_ what: String) throws -> RevisionSet {
        let (examination, present) = try examine()
        #expect(examination.lost == present.missing(in: 1...Self.newest), "\(what)")
        #expect(examination.end == .max, "\(what)")
        return examination.lost
    }

    /// The search for the next frame steps over blank pages: a frame that lies right behind one must not be stepped over with it.
    @Test func `whatever stretch is blank, what lies behind it is found`() throws {
        // Where one row is blank, the next one lies as far behind as a step leads.
        let probe = try Segment(creating: 2, in: directory.path, capacity: 1 << 16, recycled: nil)
        let begin = probe.used
        try probe.append(settings: [1], bytes: 900)
        let bytes = 900 + 4104 - (probe.used - begin)
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 18, recycled: nil)
        var starts: [Int] = []
        for rev in UInt64(1)...40 {
            starts.append(segment.used)
            try segment.append(settings: [rev], bytes: bytes)
        }
        #expect(starts[1] - starts[0] == 4104)
        let whole = try #require(FileTree.contents(path))
        for first in [3, 7] {
            for last in first + 1..<36 {
                let blank = starts[first]..<starts[last]
                try TestDisk.write(path, [UInt8](repeating: 0, count: blank.count), at: blank.lowerBound)
                let present = try Segment(opening: 1, in: directory.path).present
                let lost = UInt64(first + 1)...UInt64(last)
                #expect(present.missing(in: 1...40).ranges == [lost], "\(blank.count) bytes from row \(first)")
                try TestDisk.write(path, Array(whole[blank]), at: blank.lowerBound)
            }
        }
    }

    @Test func `a bit that is flipped loses the record that it is in, if any`() throws {
        let end = try fill()
        var lostBySome = 0
        for offset in SegmentFormat.firstRow..<end {
            try TestDisk.flip(path, at: offset, bit: offset % 8)
            let lost = try judge("byte \(offset)")
            let count = lost.ranges.reduce(0) { $0 + $1.count }
            #expect(count <= 1, "byte \(offset): \(lost)")
            lostBySome += count
            try TestDisk.flip(path, at: offset, bit: offset % 8)
        }
        #expect(lostBySome > 1000)
        #expect(try judge("mended").isEmpty)
    }

    @Test(arguments: [1, 8, 100, 512, 2000]) func `a stretch of zeros loses what it touches`(length: Int) throws {
        let end = try fill()
        let whole = try TestDisk.read(path, 0..<1 << 15)
        var mostLost = 0
        for offset in stride(from: SegmentFormat.firstRow, to: end, by: 37) {
            try TestDisk.write(path, [UInt8](repeating: 0, count: min(length, end - offset)), at: offset)
            let lost = try judge("zeros at \(offset)")
            mostLost = max(mostLost, lost.ranges.reduce(0) { $0 + $1.count })
            // Two rows that the stretch does not touch are never lost: those at the ends.
            if offset > 5500 { #expect(!lost.contains(1...1), "zeros at \(offset)") }
            if offset + length < end - 200 { #expect(!lost.contains(15...15), "zeros at \(offset)") }
            try TestDisk.write(path, whole, at: 0)
        }
        #expect(mostLost > 0)
    }

    @Test func `a file that is cut keeps what is before the cut`() throws {
        let end = try fill()
        let whole = try TestDisk.read(path, 0..<1 << 15)
        for offset in stride(from: SegmentFormat.firstRow, through: end, by: 11) {
            try FileSystem.truncate(path, to: offset)
            let lost = try judge("cut at \(offset)")
            // One unbroken end.
            #expect(lost.ranges.count <= 1 && lost.ranges.allSatisfy { $0.upperBound == Self.newest })
            try TestDisk.write(path, whole, at: 0)
        }
    }

    @Test func `of a record whose value is damaged it is known where it was`() throws {
        _ = try fill()
        let bytes = try TestDisk.read(path, 0..<1 << 15)
        // Within the long value.
        let middle = try #require(
            (SegmentFormat.firstRow..<bytes.count - 500).first { at in bytes[at..<at + 500].allSatisfy { $0 == 0x78 } })
        try TestDisk.flip(path, at: middle + 200)
        let (examination, _) = try examine()
        #expect(examination.lost == RevisionSet(6...6))
        #expect(examination.lostRecords == [.init(rev: 6, store: .settings, scope: Array("s".utf8))])
        #expect(
            RecoveredNotice.missing(examination.lost, examination.lostRecords)
                == [.init(store: "settings", scope: "s", fromRev: 6, toRev: 6)])
    }

    @Test func `a transaction that has lost a record is not taken for whole`() throws {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        try segment.append(settings: [1])
        // Three records share a revision.
        let start = segment.used
        try segment.append(settings: [2, 2, 2])
        let end = segment.used
        try segment.append(settings: [3])
        for offset in start + SegmentFormat.frameLength..<end - SegmentFormat.frameLength - 8 {
            try TestDisk.flip(path, at: offset)
            let examination = try LogExamination(
                [try Segment(opening: 1, in: directory.path)], above: 0, acknowledged: 3)
            #expect(examination.lost == RevisionSet(2...2), "byte \(offset)")
            try TestDisk.flip(path, at: offset)
        }
    }

    @Test func `a value that looks like a row, or like a record, is none`() throws {
        do {
            let other = try Segment(creating: 2, in: directory.path, capacity: 1 << 15, recycled: nil)
            try other.append(settings: [7, 8, 9])
        }
        let row = try TestDisk.read(
            Segment.path(directory.path, 2), SegmentFormat.firstRow..<SegmentFormat.firstRow + 800)
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        try segment.append(settings: [1])
        var buffer = RecordBuffer()
        with("s", "k") { scope, key in
            row.withBytes { value in
                buffer.append(
                    LogRecord(
                        store: .settings, isTombstone: false, rev: 2, scope: scope, key: key, writer: Bytes(),
                        value: value))
            }
        }
        let start = segment.used
        try segment.append(previous: 1, rev: 2, at: 20, records: buffer.bytes, synced: 1)
        try segment.append(settings: [12], synced: 11)
        // The frame before the value is damaged, so that everything in it is looked through.
        try TestDisk.flip(path, at: start + 60)
        let again = try Segment(opening: 1, in: directory.path)
        #expect(again.present == RevisionSet(1...1, 12...12))
        #expect(again.damages.allSatisfy { $0.saved.isEmpty })
    }

    @Test func `rows behind others that no sync had covered are left out`() throws {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        for rev: UInt64 in 1...5 { try segment.append(settings: [rev], synced: 2) }
        let end = segment.used
        let length = (end - SegmentFormat.firstRow) / 5
        try TestDisk.write(
            path, [UInt8](repeating: 0, count: length), at: SegmentFormat.firstRow + 3 * length)
        for (acknowledged, lost, last) in [
            (0, RevisionSet(), 3), (3, RevisionSet(), 3), (4, RevisionSet(4...4), Int.max),
        ] as [(UInt64, RevisionSet, Int)] {
            let examination = try LogExamination(
                [try Segment(opening: 1, in: directory.path)], above: 0, acknowledged: acknowledged)
            #expect(examination.lost == lost)
            #expect(examination.end == (last == .max ? .max : UInt64(last)))
        }
    }

    @Test
    func `what is whole of the newest row is left out when others of that row are not, and no sync had covered it`()
        throws
    {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        for rev: UInt64 in 1...2 { try segment.append(settings: [rev]) }
        let start = segment.used
        try segment.append(settings: [3, 4], synced: 2)
        // The first sector of it: its front, and revision 3.
        try TestDisk.write(path, [UInt8](repeating: 0, count: SegmentFormat.frameLength + 40), at: start)
        for (acknowledged, lost, end) in [(2, RevisionSet(), 2), (4, RevisionSet(3...3), .max)]
            as [(UInt64, RevisionSet, UInt64)]
        {
            let opened = try Segment(opening: 1, in: directory.path)
            #expect(opened.damages.flatMap(\.saved).map(\.rev) == [4])
            let examination = try LogExamination([opened], above: 0, acknowledged: acknowledged)
            #expect(examination.lost == lost && examination.end == end, "\(acknowledged)")
        }
    }

    /// `bytes`: of the value. A row of one sector is written as a whole, a longer one may be torn.
    @Test(arguments: [(60, false), (60, true), (900, false), (900, true)])
    func `a damaged last row is lost, unless a power cut may have torn it before it was acknowledged`(
        bytes: Int, isComplete: Bool
    ) throws {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        try segment.append(settings: [1])
        // The last row begins early in a sector.
        while segment.used % 512 > 200 { try segment.append(settings: [segment.lastRev + 1]) }
        let last = segment.lastRev + 1
        let start = segment.used
        try segment.append(settings: [last], bytes: bytes, synced: last - 1)
        try TestDisk.flip(path, at: start + SegmentFormat.frameLength + 50)
        let examination = try LogExamination(
            [try Segment(opening: 1, in: directory.path)], above: 0, acknowledged: 0, isComplete: isComplete)
        let mayBeTorn = bytes == 900 && !isComplete
        #expect(examination.lost == (mayBeTorn ? RevisionSet() : RevisionSet(last...last)))
        #expect(examination.torn == (mayBeTorn ? last : 0))
    }

    @Test func `sets of revisions`() {
        var set = RevisionSet(5...7, 1...2)
        #expect(set.ranges == [1...2, 5...7])
        set.insert(3...3)
        #expect(set.ranges == [1...3, 5...7])
        set.insert(4...4)
        #expect(set.ranges == [1...7])
        set.insert(10...20)
        set.insert(6...12)
        #expect(set.ranges == [1...20])
        #expect(RevisionSet(3...4, 8...9).missing(in: 1...10).ranges == [1...2, 5...7, 10...10])
        #expect(RevisionSet(3...4, 8...9).missing(in: 4...8).ranges == [5...7])
        #expect(RevisionSet(1...9).missing(in: 4...8).isEmpty)
        var random = RevisionSet()
        var model: Set<UInt64> = []
        for _ in 0..<500 {
            let start = UInt64.random(in: 1...200)
            let range = start...start + UInt64.random(in: 0...6)
            random.insert(range)
            model.formUnion(range)
            #expect(Set(random.ranges.joined()) == model)
            #expect(zip(random.ranges, random.ranges.dropFirst()).allSatisfy { $0.upperBound + 1 < $1.lowerBound })
        }
    }
}
