import KuraBytes

/// Copies the rows of a log that join up with a revision into a fresh one.
struct LogSalvage {
    private let source: String
    private let scratch: String
    private let configuration: StorageConfiguration
    private let isTaking: Bool
    private let report: (String) -> Void
    /// What is newer is left out.
    private let limit: UInt64
    /// Sees each change that is copied.
    var visit: (LogRecord) -> Void = { _ in }
    /// Everything up to here is in the start state or was copied.
    private(set) var savedRev: UInt64
    /// The newest that was seen.
    private(set) var newestRev: UInt64 = 0

    init(
        from source: String, scratch: String, to configuration: StorageConfiguration, after rev: UInt64,
        upTo limit: UInt64 = .max, isTaking: Bool, report: @escaping (String) -> Void
    ) {
        self.limit = limit
        (self.source, self.scratch, self.configuration, self.isTaking) = (source, scratch, configuration, isTaking)
        self.report = report
        savedRev = rev
    }

    mutating func run() throws(StorageFault) {
        guard FileSystem.exists(source) else { return }
        var found: [(number: Int, firstRev: UInt64, lastRev: UInt64)] = []
        for number in try FileSystem.names(in: source).compactMap(Segment.number(ofFile:)).sorted() {
            try open(number) { segment in found.append((number, segment.firstRev, segment.lastRev)) }
        }
        newestRev = found.map(\.lastRev).max() ?? 0
        guard isTaking else { return }
        let after = savedRev
        let wanted = found.filter { $0.lastRev > after }.sorted { ($0.firstRev, $0.number) < ($1.firstRev, $1.number) }
        guard !wanted.isEmpty else { return }
        let target = try Segment(
            creating: 1, in: configuration.logDirectory, capacity: Segment.leastCapacity, recycled: nil)
        var copy = SegmentCopy(into: target, in: configuration.logDirectory)
        var newest = savedRev
        for one in wanted where one.lastRev > newest && newest < limit {
            var failure: StorageFault?
            var isAtHole = false
            try open(one.number) { segment in
                do throws(StorageFault) {
                    try segment.someRows(after: newest) { (rev, at, records) throws(StorageFault) in
                        var reached = newest
                        let end = try prefix(of: records)
                        let part = records.extracting(0..<end)
                        guard try joins(part, behind: &reached) else {
                            isAtHole = true
                            return false
                        }
                        if end > 0 {
                            do throws(StorageFault) {
                                try copy.append(rev: end == records.count ? rev : reached, at: at, records: part)
                            } catch {
                                failure = error
                                return false
                            }
                        }
                        newest = end == records.count ? max(reached, rev) : reached
                        return end == records.count
                    }
                } catch { report("segment \(one.number) of the log can be read up to revision \(newest): \(error)") }
            }
            if let failure { throw failure }
            if isAtHole { break }
        }
        try copy.finish()
        savedRev = newest
    }

    /// Whether a row's changes come next to a revision.
    private func joins(_ records: Bytes, behind newest: inout UInt64) throws(StorageFault) -> Bool {
        var offset = 0
        let start = newest
        while let record = try LogRecord.next(in: records, at: &offset) {
            if record.rev > newest {
                guard record.rev == newest + 1 || RelaxedDurability.raises(record, from: newest) else { return false }
                newest = record.rev
            }
            if record.rev > start { visit(record) }
        }
        return true
    }

    /// Bytes of a row's changes up to the limit.
    private func prefix(of records: Bytes) throws(StorageFault) -> Int {
        var offset = 0
        var end = 0
        while let record = try LogRecord.next(in: records, at: &offset), record.rev <= limit { end = offset }
        return end
    }

    /// Opens a copy of a segment, which is gone afterwards; one that cannot be opened is told of and passed over.
    private func open(_ number: Int, _ body: (Segment) -> Void) throws(StorageFault) {
        let (from, to) = (Segment.path(source, number), Segment.path(scratch, number))
        do throws(StorageFault) {
            for end in ["", "-wal"] where FileSystem.exists(from + end) {
                try FileSystem.copy(from + end, to: to + end)
            }
            let segment = try Segment(opening: number, in: scratch)
            body(segment)
        } catch {
            if error.isFull { throw error }
            report("segment \(number) of the log cannot be read: \(error)")
        }
        for end in ["", "-wal", "-shm", "-journal"] { try FileSystem.remove(to + end) }
    }
}
