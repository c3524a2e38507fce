import Glibc
package import KuraBytes

/// A row of a segment as its readers see it.
package struct SegmentRow {
    /// The revision before the row's first.
    var previous: UInt64
    /// The row's last revision.
    package var rev: UInt64
    /// When it was committed, milliseconds since 1970.
    var at: Int64
    /// Everything up to this revision was on the disk when the row was appended.
    var synced: UInt64
    /// As `LogRecord.next` steps through them; good until the walk goes on.
    package var records: Bytes
}

/// A stretch of a segment that is not what was written there, though whole rows lie behind it, or its row's back frame.
package struct SegmentDamage {
    /// Transactions that are whole although they lie in the stretch: their revisions follow one another.
    struct Saved {
        var previous: UInt64
        var rev: UInt64
        var records: [UInt8]
    }
    /// A record whose value is damaged, and whose names are not.
    struct Lost: Equatable {
        var rev: UInt64
        var store: Store
        var scope: [UInt8]
    }

    package var bytes: Range<Int>
    var at: Int64
    /// The row's last revision, if both frames of the row are whole; else 0.
    var rev: UInt64 = 0
    var saved: [Saved] = []
    var lost: [Lost] = []

    /// The damage reaches over several sectors, each of which a disk writes as a whole: a power cut may have torn it.
    var mayBeTorn: Bool { bytes.lowerBound / Self.sector != (bytes.upperBound - 1) / Self.sector }
    private static let sector = 512
}

/// Steps through a segment's rows, one after the other, and over what is damaged.
///
/// At a place where no whole row begins it looks for the next frame. When there is none, the rows have ended: what a power cut has
/// torn off is no damage.
struct SegmentWalk: ~Copyable {
    enum Step {
        case row(SegmentRow)
        case damage(SegmentDamage)
        /// Nothing that was ever whole lies at `offset` or behind it.
        case end(offset: Int)
    }

    private let descriptor: Int32
    private let path: String
    private let salt: UInt64
    private let size: Int
    /// Where the next step begins.
    private(set) var offset: Int
    /// Of the last row.
    private var lastRev: UInt64
    private var lastAt: Int64 = 0
    private var window = ByteBuffer()
    private var windowStart = 0
    private var records = ByteBuffer()
    private var whole = ByteBuffer()
    /// Nil: patches are given as they lie there.
    private let values: PatchedValues?

    private static let windowBytes = 256 << 10
    private static let blankBytes = 4 << 10

    /// `offset`: where a row begins, behind one whose last revision is `lastRev`.
    init(
        _ descriptor: Int32, path: String, salt: UInt64, size: Int, from offset: Int, lastRev: UInt64 = 0,
        values: PatchedValues? = nil
    ) {
        self.values = values
        (self.descriptor, self.path, self.salt, self.size) = (descriptor, path, salt, size)
        (self.offset, self.lastRev) = (offset, lastRev)
    }

    mutating func next() throws(StorageFault) -> Step {
        guard let frame = try frame(at: offset, .front) else { return try skipDamage() }
        let length = frame.rowLength
        guard length <= size - offset, try load(offset, length) else { return try skipDamage(frame) }
        let start = offset - windowStart
        guard RowFrame(window.bytes, at: start + length - SegmentFormat.frameLength, .back, salt: salt) == frame,
            let hasPatches = takeRecords(frame, at: start + SegmentFormat.frameLength)
        else { return try skipDamage(frame) }
        if hasPatches, let values {
            whole.removeAll()
            // A value whose base is damaged is as good as damaged itself.
            guard try values.append(records.bytes, to: &whole) else { return try skipDamage(frame) }
            swap(&records, &whole)
        }
        offset += length
        (lastRev, lastAt) = (frame.rev, frame.at)
        return .row(
            SegmentRow(
                previous: frame.previous, rev: frame.rev, at: frame.at, synced: frame.synced, records: records.bytes))
    }

    /// Checks a row's records and takes them over without their check words.
    /// - Returns: whether there are patches among them; nil when they are not what was written.
    private mutating func takeRecords(_ frame: RowFrame, at start: Int) -> Bool? {
        var hasPatches = false
        records.removeAll()
        let row = window.bytes(start..<start + frame.recordBytes)
        var position = 0
        var count: UInt32 = 0
        while position < row.count {
            guard let found = SealedRecord(row, at: position, salt: salt), found.isWhole else { return nil }
            hasPatches = hasPatches || found.bounds.flags & SegmentFormat.patched != 0
            let body = position + SegmentFormat.checkLength
            records.append(row.extracting(body..<body + found.bounds.length))
            position = body + found.bounds.length
            count += 1
        }
        return count == frame.records ? hasPatches : nil
    }

    // MARK: Reading

    /// Has `count` bytes at `offset` in the window; false when the file has fewer.
    private mutating func load(_ offset: Int, _ count: Int) throws(StorageFault) -> Bool {
        if offset >= windowStart, offset + count <= windowStart + window.count { return true }
        guard offset + count <= size else { return false }
        let wanted = min(max(count, Self.windowBytes), size - offset)
        if window.capacity > 8 << 20, wanted <= Self.windowBytes { window = ByteBuffer() }
        window.removeAll()
        windowStart = offset
        while window.count < wanted {
            let read = try FileSystem.read(
                descriptor, atMost: wanted - window.count, at: offset + window.count, into: &window, path: path)
            if read == 0 { break }
        }
        return window.count >= count
    }

    private mutating func frame(at offset: Int, _ end: RowFrame.End) throws(StorageFault) -> RowFrame? {
        guard try load(offset, SegmentFormat.frameLength) else { return nil }
        return RowFrame(window.bytes, at: offset - windowStart, end, salt: salt)
    }

    // MARK: Damage

    /// The next frame at `start` or behind it; nil when there is none.
    private mutating func find(
        from start: Int, _ ends: [RowFrame.End]
    ) throws(StorageFault) -> (offset: Int, frame: RowFrame, end: RowFrame.End)? {
        var place = start
        // No frame begins in a hole, and nobody reads the terabyte that one may have.
        while let data = FileSystem.data(descriptor, from: place), try load(data, SegmentFormat.frameLength) {
            place = data
            let bytes = window.bytes
            var position = place - windowStart
            while position + SegmentFormat.frameLength <= bytes.count {
                // What the file has in advance is zeros, mostly megabytes of them.
                if bytes.isZero(position + 8, count: Self.blankBytes) {
                    position += Self.blankBytes
                    continue
                }
                if bytes.littleEndian(position + 8, UInt64.self) == salt {
                    for end in ends {
                        guard let frame = RowFrame(bytes, at: position, end, salt: salt) else { continue }
                        return (windowStart + position, frame, end)
                    }
                }
                position += 8
            }
            place = windowStart + position
        }
        return nil
    }

    /// No whole row begins here.
    /// `front`: the frame that stands here all the same.
    private mutating func skipDamage(_ front: RowFrame? = nil) throws(StorageFault) -> Step {
        let start = offset
        if let front {
            let back = start + front.rowLength - SegmentFormat.frameLength
            if front.rowLength <= size - start, try frame(at: back, .back) == front {
                return try damage(start..<start + front.rowLength, front, isFramed: true)
            }
            guard let next = try find(from: start + 8, [.front]) else { return .end(offset: start) }
            return try damage(start..<next.offset, front, before: next.frame)
        }
        guard let next = try find(from: start, [.front, .back]) else { return .end(offset: start) }
        switch next.end {
        case .front: return try damage(start..<next.offset, nil, before: next.frame)
        case .back: return try damage(start..<next.offset + SegmentFormat.frameLength, next.frame)
        }
    }

    private mutating func damage(
        _ range: Range<Int>, _ frame: RowFrame?, before next: RowFrame? = nil, isFramed: Bool = false
    ) throws(StorageFault) -> Step {
        let limit = max(frame?.rev ?? 0, next?.previous ?? 0)
        var damage = SegmentDamage(bytes: range, at: frame?.at ?? lastAt)
        if isFramed, let frame { damage.rev = frame.rev }
        try salvage(&damage, upTo: limit)
        // The one kind of change behind which revisions are missing rightly.
        if let frame, frame.records == 1, damage.saved.count == 1, damage.saved[0].rev == frame.rev {
            damage.saved[0].previous = frame.previous
        }
        offset = range.upperBound
        lastRev = max(lastRev, frame?.rev ?? 0)
        return .damage(damage)
    }

    /// What is whole behind the end of the rows: for whoever knows that changes up to `rev` have been there.
    mutating func salvageTail(upTo rev: UInt64) throws(StorageFault) -> SegmentDamage {
        var damage = SegmentDamage(bytes: offset..<size, at: lastAt)
        try salvage(&damage, upTo: rev)
        return damage
    }

    /// Looks for records byte by byte. None reaches over a hole: nothing in one is zeros for as long.
    private mutating func salvage(_ damage: inout SegmentDamage, upTo limit: UInt64) throws(StorageFault) {
        var found = RecordSalvage(after: lastRev, upTo: limit, salt: salt)
        var place = damage.bytes.lowerBound
        while let start = FileSystem.data(descriptor, from: place), start < damage.bytes.upperBound {
            place = min(FileSystem.endOfData(descriptor, from: start), damage.bytes.upperBound)
            guard try load(start, place - start) else { break }
            try found.look(through: window.bytes(start - windowStart..<place - windowStart), at: start, values)
        }
        damage.saved = found.joined
        damage.lost = found.lost
    }
}

/// A record with its check words.
struct SealedRecord {
    let bounds: RecordBounds
    let isWhole: Bool

    /// Nil when no record begins there whose names are what was written.
    init?(_ bytes: Bytes, at offset: Int, salt: UInt64) {
        let body = offset + SegmentFormat.checkLength
        guard body <= bytes.count, let bounds = RecordBounds(plausible: bytes, at: body) else { return nil }
        let names = SegmentFormat.sum(
            bytes.extracting(body..<body + bounds.namesEnd), from: SegmentFormat.seed(salt))
        guard names == bytes.littleEndian(offset, UInt32.self) else { return nil }
        let whole = SegmentFormat.sum(bytes.extracting(body + bounds.namesEnd..<body + bounds.length), from: names)
        self.bounds = bounds
        isWhole = whole == bytes.littleEndian(offset + 4, UInt32.self)
    }
}

/// Finds the records of a damaged stretch, and puts those together again that were one transaction.
private struct RecordSalvage {
    private let after: UInt64
    private let limit: UInt64
    private let salt: UInt64
    private var saved: [SegmentDamage.Saved] = []
    private(set) var lost: [SegmentDamage.Lost] = []
    /// The transaction that is being put together, and where its next record begins.
    private var open: (rev: UInt64, records: [UInt8], next: Int)?

    init(after: UInt64, upTo limit: UInt64, salt: UInt64) {
        (self.after, self.limit, self.salt) = (after, limit, salt)
    }

    /// `start`: where the bytes lie in the file.
    /// `values`: puts patches together; nil leaves them as they are.
    mutating func look(through bytes: Bytes, at start: Int, _ values: PatchedValues?) throws(StorageFault) {
        var position = 0
        while position + SegmentFormat.checkLength + LogRecord.headLength <= bytes.count {
            guard let found = SealedRecord(bytes, at: position, salt: salt), found.bounds.rev > after,
                found.bounds.rev <= limit, Store(rawValue: found.bounds.store) != nil
            else {
                position += 1
                continue
            }
            let body = position + SegmentFormat.checkLength
            let end = body + found.bounds.length
            let raw = bytes.extracting(body..<end)
            var whole = ByteBuffer()
            if found.isWhole, let values, try values.append(raw, to: &whole) {
                take(found.bounds, true, whole.bytes, at: start + position, start + end)
            } else {
                take(found.bounds, found.isWhole && values == nil, raw, at: start + position, start + end)
            }
            position = found.isWhole ? end : body + found.bounds.namesEnd
        }
    }

    private mutating func take(_ bounds: RecordBounds, _ isWhole: Bool, _ bytes: Bytes, at position: Int, _ end: Int) {
        guard isWhole else {
            open = nil
            var offset = 0
            if let record = try? LogRecord.next(in: bytes, at: &offset) {
                lost.append(.init(rev: bounds.rev, store: record.store, scope: Array(record.scope)))
            }
            return
        }
        if bounds.flags & SegmentFormat.firstOfRevision != 0 {
            open = (bounds.rev, Array(bytes), end)
        } else if let begun = open, begun.rev == bounds.rev, begun.next == position {
            open?.records += Array(bytes)
            open?.next = end
        } else {
            open = nil
        }
        guard let whole = open, bounds.flags & SegmentFormat.lastOfRevision != 0 else { return }
        open = nil
        saved.append(.init(previous: whole.rev - 1, rev: whole.rev, records: whole.records))
    }

    /// What was saved, in the order of the revisions: sectors may have changed places.
    var joined: [SegmentDamage.Saved] {
        var joined: [SegmentDamage.Saved] = []
        for one in saved.sorted(by: { $0.rev < $1.rev }) {
            guard let last = joined.last, last.rev + 1 >= one.rev else {
                joined.append(one)
                continue
            }
            guard last.rev + 1 == one.rev else { continue }
            joined[joined.count - 1].rev = one.rev
            joined[joined.count - 1].records += one.records
        }
        return joined
    }
}
