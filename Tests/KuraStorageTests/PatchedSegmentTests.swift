import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Values that lie in a segment as patches are given whole to whoever reads it, or are known to be lost.
@Suite struct PatchedSegmentTests {
    private let directory = TemporaryDirectory()
    private var path: String { Segment.path(directory.path, 1) }

    private static let newest: UInt64 = 40

    /// Documents of a few hundred bytes: each revision changes one of three.
    private static func value(_ rev: UInt64) -> [UInt8] {
        let names = "\"name\":\"document \(rev % 3)\",\"text\":\"\(String(repeating: "some text ", count: 30))\""
        return Array("{\(names),\"n\":\(rev * 1_000_003)}".utf8)
    }

    private static func key(_ rev: UInt64) -> String { "d\(rev % 3)" }

    /// One or two changes a row; each goes by the last one of its document.
    private func fill(_ segment: Segment) throws -> Int {
        var patches = RecordPatches()
        var last: [String: UInt64] = [:]
        var patched = 0
        for rev in stride(from: UInt64(1), through: Self.newest, by: 2) {
            let revs = [rev, rev + 1]
            var records = RecordBuffer()
            for rev in revs { records.append(document: Self.key(rev), Self.value(rev), rev: rev) }
            let logged = try patches.encode(records.bytes) { (number, _, take) throws(StorageFault) in
                guard let base = last[Self.key(revs[number])] else { return try take(nil) }
                return try Self.value(base).withBytes { (value) throws(StorageFault) in
                    patched += 1
                    return try take(RecordPatches.Base(rev: base, value: value))
                }
            }
            try segment.append(
                previous: rev - 1, rev: rev + 1, at: 0, records: logged ?? records.bytes, synced: 0)
            for rev in revs { last[Self.key(rev)] = rev }
        }
        return patched
    }

    private func make() throws -> Int {
        let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
        #expect(try fill(segment) == Int(Self.newest) - 3)
        return segment.used
    }

    /// Checks that whatever is there is what was written.
    /// - Returns: the revisions that are there.
    private func read(_ records: Bytes) throws -> [UInt64] {
        var revs: [UInt64] = []
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            #expect(!record.isPatch && record.key.text == Self.key(record.rev))
            #expect(record.value.elementsEqual(Self.value(record.rev)), "revision \(record.rev)")
            revs.append(record.rev)
        }
        return revs
    }

    @Test func `from wherever a segment is read, its values are whole`() throws {
        let used = try make()
        #expect(used - SegmentFormat.firstRow < 12_000, "as little as patches take")
        let segment = try Segment(opening: 1, in: directory.path)
        #expect(segment.damages.isEmpty && segment.present.missing(in: 1...Self.newest).isEmpty)
        for start in UInt64(0)..<Self.newest {
            let fresh = try Segment(opening: 1, in: directory.path)
            var revs: [UInt64] = []
            try fresh.rows(after: start) { (row) throws(StorageFault) in
                do { revs += try read(row.records) } catch { throw .damagedLog }
            }
            #expect(revs.filter { $0 > start } == Array(start + 1...Self.newest))
        }
    }

    @Test func `a copy of a segment is as short as it is, and has the same`() throws {
        let used = try make()
        let source = try Segment(opening: 1, in: directory.path)
        let target = try Segment(creating: 2, in: directory.path, capacity: 1 << 15, recycled: nil)
        var copy = SegmentCopy(into: target, in: directory.path)
        try source.rows(after: 0) { (row) throws(StorageFault) in try copy.append(row) }
        try copy.finish()
        #expect(target.used < used + 1000)
        var revs: [UInt64] = []
        try Segment(opening: 2, in: directory.path).rows(after: 0) { (row) throws(StorageFault) in
            do { revs += try read(row.records) } catch { throw .damagedLog }
        }
        #expect(revs == Array(1...Self.newest))
    }

    @Test func `a byte that is flipped loses its record and what goes by it, and gives nothing false`() throws {
        let end = try make()
        var mostLost = 0
        for offset in stride(from: SegmentFormat.firstRow, to: end, by: 17) {
            try TestDisk.flip(path, at: offset)
            let segment = try Segment(opening: 1, in: directory.path)
            let examination = try LogExamination([segment], above: 0, acknowledged: Self.newest)
            var present = segment.present
            for damage in examination.damages.values.joined() {
                for saved in damage.saved {
                    present.insert(saved.previous + 1...saved.rev)
                    try saved.records.withBytes { _ = try read($0) }
                }
            }
            try segment.rows(after: 0) { (row) throws(StorageFault) in
                do { _ = try read(row.records) } catch { throw .damagedLog }
            }
            #expect(examination.lost == present.missing(in: 1...Self.newest), "byte \(offset)")
            mostLost = max(mostLost, examination.lost.ranges.reduce(0) { $0 + $1.count })
            try TestDisk.flip(path, at: offset)
        }
        // All of one document, and none of the others.
        #expect(mostLost == 14)
    }

    @Test func `a base that is not there, or is another, makes nothing of what goes by it`() throws {
        for hasAnother in [false, true] {
            let segment = try Segment(creating: 1, in: directory.path, capacity: 1 << 15, recycled: nil)
            var records = RecordBuffer()
            if hasAnother {
                records.append(document: "d2", Self.value(3), rev: 2)
            } else {
                records.append(document: "d0", Self.value(2), rev: 2)
            }
            try segment.append(previous: 1, rev: 2, at: 0, records: records.bytes, synced: 0)
            records.truncate(to: 0)
            records.append(document: "d2", Self.value(8), rev: 8)
            var patches = RecordPatches()
            let logged = try patches.encode(records.bytes) { (_, _, take) throws(StorageFault) in
                try Self.value(2).withBytes { (value) throws(StorageFault) in try take(.init(rev: 2, value: value)) }
            }
            try segment.append(previous: 7, rev: 8, at: 0, records: try #require(logged), synced: 0)
            let opened = try Segment(opening: 1, in: directory.path)
            #expect(opened.damages.map(\.lost.count) == [1] && !opened.present.contains(8...8))
            try FileSystem.remove(path)
        }
    }
}

extension RecordBuffer {
    fileprivate mutating func append(document key: String, _ value: [UInt8], rev: UInt64) {
        Array("c".utf8).withBytes { scope in
            Array(key.utf8).withBytes { key in
                value.withBytes { value in
                    append(
                        LogRecord(
                            store: .documents, isTombstone: false, rev: rev, scope: scope, key: key, writer: Bytes(),
                            value: value))
                }
            }
        }
    }
}
