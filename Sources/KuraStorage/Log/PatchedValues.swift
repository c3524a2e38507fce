import KuraBytes

/// Applies a segment's patches to their bases: the only place that turns patched records into whole ones.
///
/// It caches each item's last value, so that a reader that moves forward applies each patch once. It belongs to the segment's reader.
final class PatchedValues {
    private final class Value {
        var rev: UInt64
        var bytes = ByteBuffer()
        init(rev: UInt64) { self.rev = rev }
    }

    private unowned let segment: Segment
    /// The last value of each item, by the item's name.
    private var known: [[UInt8]: Value] = [:]
    private var knownBytes = 0
    private var spare = ByteBuffer()

    /// A bound for damaged segments. Otherwise the bases of a segment lie in it, and the cache stays about as large as the segment.
    private static let mostBytes = 64 << 20
    /// Longer than any chain that the encoder makes (`RecordPatches.longest`).
    private static let longest = 1024

    init(of segment: Segment) { self.segment = segment }

    /// Appends a row's records, each patch replaced by its whole value.
    /// - Returns: false if a patch cannot be applied; then the appended bytes must be discarded.
    func append(_ records: Bytes, to whole: inout ByteBuffer) throws(StorageFault) -> Bool {
        var offset = 0
        while let bounds = try RecordBounds(records, at: offset) {
            let raw = records.extracting(offset..<offset + bounds.length)
            offset += bounds.length
            guard bounds.flags & SegmentFormat.patched != 0 else {
                whole.append(raw)
                continue
            }
            guard let value = try value(of: raw) else { return false }
            whole.append(raw, bounds, withValue: value.bytes.bytes, isPatch: false)
        }
        return true
    }

    private func value(of raw: Bytes) throws(StorageFault) -> Value? {
        var offset = 0
        guard let record = try LogRecord.next(in: raw, at: &offset), let base = ValuePatch.base(of: record.value),
            base < record.rev
        else { return nil }
        let name = Self.name(record)
        if let value = known[name], value.rev == base { return apply(record.value, rev: record.rev, to: value, name) }
        // Collect the chain back to a whole value, then apply it forwards.
        var patches: [(rev: UInt64, patch: [UInt8])] = []
        var rev = base
        while let found = try find(record, at: rev), patches.count < Self.longest {
            guard found.isPatch else {
                var value = Value(rev: rev)
                value.bytes.append(found.value)
                for (rev, patch) in patches.reversed() {
                    guard let next = patch.withBytes({ apply($0, rev: rev, to: value, name) }) else { return nil }
                    value = next
                }
                return apply(record.value, rev: record.rev, to: value, name)
            }
            patches.append((rev, found.value))
            guard let before = found.value.withBytes({ ValuePatch.base(of: $0) }), before < rev else { return nil }
            rev = before
        }
        return nil
    }

    /// Applies a patch and caches the result in place of its base.
    private func apply(_ patch: Bytes, rev: UInt64, to base: Value, _ name: [UInt8]) -> Value? {
        guard ValuePatch.apply(patch, to: base.bytes.bytes, into: &spare) else { return nil }
        if known[name] !== base {
            if let other = known[name] { knownBytes -= other.bytes.count }
            if knownBytes > Self.mostBytes { (known, knownBytes) = ([:], 0) }
            known[name] = base
        } else {
            knownBytes -= base.bytes.count
        }
        swap(&base.bytes, &spare)
        base.rev = rev
        knownBytes += base.bytes.count
        return base
    }

    // MARK: Looking for a base

    /// The same item's record of another revision, still a patch if it is one.
    private func find(_ wanted: LogRecord, at rev: UInt64) throws(StorageFault) -> (isPatch: Bool, value: [UInt8])? {
        var walk = segment.rawWalk(after: rev - 1)
        while true {
            switch try walk.next() {
            case .row(let row):
                if row.rev >= rev { return try Self.find(wanted, at: rev, in: row.records) }
            case .damage(let damage):
                for saved in damage.saved where saved.rev >= rev {
                    let found = try saved.records.withBytes { (records) throws(StorageFault) in
                        try Self.find(wanted, at: rev, in: records)
                    }
                    if let found { return found }
                }
            case .end: return nil
            }
        }
    }

    private static func find(
        _ wanted: LogRecord, at rev: UInt64, in records: Bytes
    ) throws(StorageFault) -> (isPatch: Bool, value: [UInt8])? {
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            guard record.rev == rev, record.store == wanted.store, !record.isTombstone, record.key.equals(wanted.key),
                record.scope.equals(wanted.scope)
            else { continue }
            return (record.isPatch, Array(record.value))
        }
        return nil
    }

    static func name(_ record: LogRecord) -> [UInt8] {
        [record.store.rawValue, UInt8(truncatingIfNeeded: record.scope.count)] + Array(record.scope) + Array(record.key)
    }
}

extension ByteBuffer {
    /// Appends a copy of a record with its value replaced.
    mutating func append(_ raw: Bytes, _ bounds: RecordBounds, withValue value: Bytes, isPatch: Bool) {
        let start = count
        append(raw.extracting(0..<bounds.namesEnd))
        append(value)
        finishRecord(at: start, bounds, isPatch: isPatch)
    }

    /// Completes the head of the record that begins at `start`: lengths and the flag for a patch.
    mutating func finishRecord(at start: Int, _ bounds: RecordBounds, isPatch: Bool) {
        overwrite(at: start, littleEndian: UInt32(count - start - 4))
        overwrite(at: start + 5, with: bounds.flags & ~SegmentFormat.patched | (isPatch ? SegmentFormat.patched : 0))
        overwrite(at: start + 12, littleEndian: UInt32(count - start - bounds.namesEnd))
    }
}
