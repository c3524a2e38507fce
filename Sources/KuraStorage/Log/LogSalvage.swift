import KuraBytes

/// Copies the rows of a log that follow a revision into a fresh one.
struct LogSalvage {
    private let copies: SegmentCopies
    private let configuration: StorageConfiguration
    private let isTaking: Bool
    private let report: (String) -> Void
    /// What is newer is left out.
    private let limit: UInt64
    /// Sees each change of the rows that are copied, also what the start state has, and its row.
    var visit: (LogRecord, SegmentRow) -> Void = { _, _ in }
    /// Sees the segments that are to be copied from, before that is begun.
    var admit: ([any ReadableSegment]) throws(StorageFault) -> Void = { _ in }
    /// Changes that a damaged log has lost are passed over; else the first one that is missing ends the copy.
    var passesOverLoss = false
    var start = Start()
    /// Revisions that are left out: they are passed over as if they were lost.
    var without: Set<UInt64> = []
    var contents = LostContents()
    /// Everything up to here is in the start state or was copied, but for what is lost.
    private(set) var savedRev: UInt64
    /// The newest that there was, as the segments say.
    private(set) var newestRev: UInt64 = 0
    private(set) var lost = LostChanges()
    /// What the copied rows belong to; nil where the segments do not say.
    private(set) var history: LogHistory?

    /// What is known of the state that the rows are to follow.
    struct Start {
        /// The log went with it: what is missing right behind it was in the log.
        var isOfLog = false
        /// What it is of: segments of other histories are passed over. Nil where nobody knows.
        var lineage: LogLineage?
        /// What the note says that was acknowledged.
        var acknowledged: UInt64 = 0
    }

    /// Acknowledged revisions that were passed over, and what is known of them.
    struct LostChanges {
        var revs = RevisionSet()
        var records: [SegmentDamage.Lost] = []
    }

    init(
        from source: String, scratch: String, to configuration: StorageConfiguration, after rev: UInt64,
        upTo limit: UInt64 = .max, isTaking: Bool, report: @escaping (String) -> Void
    ) {
        self.limit = limit
        copies = SegmentCopies(source: source, scratch: scratch, report: report)
        (self.configuration, self.isTaking) = (configuration, isTaking)
        self.report = report
        savedRev = rev
    }

    mutating func run() throws(StorageFault) {
        guard var copies = try copies.open() else { return }
        if let lineage = start.lineage { copies = lineage.belonging(copies, configuration, report: report) }
        newestRev = copies.map { max($0.lastRev, $0.greatestSynced) }.max() ?? 0
        let segments = copies.filter { $0.lastRev > 0 || !$0.damages.isEmpty }
        let wanted = segments.filter { $0.lastRev > savedRev || !$0.damages.isEmpty }
        guard isTaking, !wanted.isEmpty else { return }
        let needed = wanted.filter { $0.previousRev < limit }
        try admit(needed)
        let examination = try LogExamination(segments, above: savedRev, acknowledged: start.acknowledged)
        // The newest history has the older ones' changes as well.
        let named = needed.filter { $0.history != nil }
        history = (named.last { $0.lastRev > savedRev } ?? named.last)?.history
        let target = try Segment(
            creating: 1, in: configuration.logDirectory, capacity: Segment.leastCapacity, recycled: nil,
            history: history)
        var copy = SegmentCopy(into: target, in: configuration.logDirectory)
        for segment in wanted where savedRev < limit {
            guard try take(segment, examination, into: &copy) else { break }
        }
        try copy.finish()
        guard passesOverLoss, newestRev > savedRev || start.acknowledged > savedRev else { return }
        newestRev = max(newestRev, examination.newest)
    }

    /// - Returns: false at the first change that is missing.
    private mutating func take(
        _ segment: any ReadableSegment, _ examination: LogExamination, into copy: inout SegmentCopy
    ) throws(StorageFault) -> Bool {
        let tail = examination.damages[segment.number]?.last { !segment.damages.map(\.bytes).contains($0.bytes) }
        guard let segment = segment as? Segment else {
            var goesOn = true
            var failure: StorageFault?
            do throws(StorageFault) {
                try segment.someRows(after: savedRev) { (row) throws(StorageFault) in
                    do throws(StorageFault) { goesOn = try take(row, examination, into: &copy) } catch {
                        if error.isDamage { throw error }
                        failure = error
                        return false
                    }
                    return goesOn
                }
            } catch { report("segment \(segment.number) of the log can be read up to revision \(savedRev): \(error)") }
            if let failure { throw failure }
            return goesOn
        }
        var walk = segment.walk()
        while true {
            switch try walk.next() {
            case .row(let row): guard try take(row, examination, into: &copy) else { return false }
            case .damage(let damage):
                report(
                    "segment \(segment.number) of the log is not what was written from byte \(damage.bytes.lowerBound) on"
                )
                guard try take(damage, examination, into: &copy) else { return false }
            case .end:
                guard let tail else { return true }
                return try take(tail, examination, into: &copy)
            }
        }
    }

    private mutating func take(
        _ damage: SegmentDamage, _ examination: LogExamination, into copy: inout SegmentCopy
    ) throws(StorageFault) -> Bool {
        for saved in damage.saved {
            let goesOn = try saved.records.withBytes { (records) throws(StorageFault) in
                try take(
                    SegmentRow(
                        previous: saved.previous, rev: saved.rev, at: damage.at, synced: 0, records: records),
                    examination, into: &copy)
            }
            guard goesOn else { return false }
        }
        return true
    }

    private mutating func take(
        _ row: SegmentRow, _ examination: LogExamination, into copy: inout SegmentCopy
    ) throws(StorageFault) -> Bool {
        guard row.rev > savedRev else { return true }
        guard row.rev <= examination.end else { return false }
        if row.previous > savedRev {
            let missing = savedRev + 1...row.previous
            // A log that does not reach back to the start state has not lost what is between them.
            let joins = start.isOfLog || savedRev > examination.base || examination.reachesBack
            guard passesOverLoss, joins, examination.lost.contains(missing) else { return false }
            lost.revs.insert(missing)
            lost.records += examination.lostRecords.filter { missing.contains($0.rev) }
        }
        let end = try prefix(of: row.records)
        let part = row.records.extracting(0..<end.bytes)
        var offset = 0
        while let record = try LogRecord.next(in: part, at: &offset) {
            visit(record, row)
        }
        guard end.bytes > 0 else { return false }
        var row = row
        let isWhole = end.bytes == row.records.count
        row.records = part
        if !isWhole { row.rev = end.rev }
        try append(row, into: &copy)
        savedRev = row.rev
        return isWhole
    }

    /// Appends a row without what is left out: in two where a whole revision is, which the start then knows as lost.
    private mutating func append(_ row: SegmentRow, into copy: inout SegmentCopy) throws(StorageFault) {
        guard contents.areNone else { return try contents.append(row, into: &copy) }
        guard !without.isEmpty else { return try copy.append(row) }
        var partly: Set<UInt64> = []
        var offset = 0
        while let record = try LogRecord.next(in: row.records, at: &offset) {
            if without.contains(record.rev), !isLeftOut(record) { partly.insert(record.rev) }
        }
        var piece = row
        var kept = ByteBuffer()
        offset = 0
        while true {
            let start = offset
            guard let record = try LogRecord.next(in: row.records, at: &offset) else { break }
            guard isLeftOut(record) else {
                kept.append(row.records.extracting(start..<offset))
                piece.rev = record.rev
                continue
            }
            lost.records.append(.init(rev: record.rev, store: record.store, scope: Array(record.scope)))
            guard !partly.contains(record.rev), !lost.revs.contains(record.rev...record.rev) else { continue }
            lost.revs.insert(record.rev...record.rev)
            try append(piece, &kept, into: &copy)
            piece.previous = record.rev
        }
        try append(piece, &kept, into: &copy)
    }

    private func append(
        _ piece: SegmentRow, _ kept: inout ByteBuffer, into copy: inout SegmentCopy
    ) throws(StorageFault) {
        guard kept.count > 0 else { return }
        var piece = piece
        piece.records = kept.bytes
        try copy.append(piece)
        kept.removeAll()
    }

    /// A service's keys stay: without them all of its secrets would be lost.
    private func isLeftOut(_ record: LogRecord) -> Bool {
        without.contains(record.rev) && !SecretRecords.holdsKeys(record.store, record.key)
    }

    /// Bytes of a row's changes up to the limit, and the last of these.
    private func prefix(of records: Bytes) throws(StorageFault) -> (bytes: Int, rev: UInt64) {
        var offset = 0
        var end = (bytes: 0, rev: UInt64(0))
        while let record = try LogRecord.next(in: records, at: &offset), record.rev <= limit {
            end = (offset, record.rev)
        }
        return end
    }
}
