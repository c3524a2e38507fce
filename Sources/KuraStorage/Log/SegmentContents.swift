import KuraBytes

/// What is known of a segment's rows, as they were written or read through: their revisions, where they end, and where to begin reading. A
/// value without I/O.
struct SegmentContents {
    /// The newest revision before the first row; 0 while there is none.
    private(set) var previousRev: UInt64 = 0
    private(set) var firstRev: UInt64 = 0
    private(set) var lastRev: UInt64 = 0
    /// When the last row was written, milliseconds since 1970; 0 for a segment of an earlier run.
    private(set) var lastAt: Int64 = 0
    /// Where the last row ends.
    private(set) var end = SegmentFormat.firstRow
    /// The greatest revision that is known from here to have been on the disk.
    private(set) var greatestSynced: UInt64
    /// Revisions that whole rows have, as reading through has found.
    private(set) var present = RevisionSet()
    /// What is not what was written, as reading through has found.
    private(set) var damages: [SegmentDamage] = []
    /// Where rows begin, one in so many kilobytes: reading on does not begin at the front.
    private var places: [(after: UInt64, offset: Int)] = []

    private static let placeBytes = 256 << 10

    /// `synced`: the segment's head says that everything up to this revision is on the disk.
    init(synced: UInt64) { greatestSynced = synced }

    // MARK: Rows

    /// A row of `bytes` has been written behind the last.
    mutating func append(previous: UInt64, rev: UInt64, at: Int64, synced: UInt64, bytes: Int) {
        note(previous, rev, synced: synced, to: end + bytes)
        lastRev = rev
        lastAt = at
    }

    /// A row has been read from `start` to `end`.
    mutating func note(_ row: SegmentRow, from start: Int, to end: Int) {
        self.end = start
        note(row.previous, row.rev, synced: row.synced, to: end)
        lastRev = max(lastRev, row.rev)
        if row.rev > row.previous { present.insert(row.previous + 1...row.rev) }
    }

    /// Something else is there, up to `end`.
    mutating func note(_ damage: SegmentDamage, to end: Int) {
        damages.append(damage)
        self.end = end
    }

    private mutating func note(_ previous: UInt64, _ rev: UInt64, synced: UInt64, to next: Int) {
        if firstRev == 0 { (previousRev, firstRev) = (previous, rev) }
        if end - (places.last?.offset ?? 0) >= Self.placeBytes { places.append((previous, end)) }
        end = next
        greatestSynced = max(greatestSynced, synced)
    }

    /// The rows behind `end` are cut off.
    mutating func cut(to end: Int, lastRev: UInt64) { (self.end, self.lastRev) = (end, lastRev) }

    // MARK: Reading

    /// Where reading what follows `rev` begins, and the revision before that row.
    func place(after rev: UInt64) -> (after: UInt64, offset: Int) {
        places.last { $0.after <= rev } ?? (0, SegmentFormat.firstRow)
    }
}
