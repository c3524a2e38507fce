import KuraBytes

/// A page of what a search has found, in the order of its ranks, best first, and of rows where these are equal: where it begins and how far
/// it has come.
struct RankedPage {
    /// Documents on it at most.
    let limit: Int
    private let start: QueryPosition?
    /// Behind the last one that was taken; where it begins when none was.
    private(set) var position: QueryPosition?
    /// Others match behind it.
    var hasMore = false

    /// `after`: where an earlier page ended; nil for the first one.
    init(limit: Int, after position: QueryPosition?) {
        self.limit = limit
        (start, self.position) = (position, position)
    }

    /// Whether a document comes behind where the page begins.
    func isBehind(_ key: Bytes, _ row: Int64) -> Bool {
        guard case .sorted(let start, let startRow)? = start else { return true }
        return start.withBytes { start in start.precedes(key) || (!key.precedes(start) && row > startRow) }
    }

    /// A document was taken, or is there no more.
    mutating func take(_ entry: SmallestEntries.Entry) { position = .sorted(entry.key, row: entry.row) }

    // MARK: Ranks

    /// Bytes whose order is that of the numbers; SQLite's best rank is the smallest.
    static func append(_ rank: Double, to key: inout ByteBuffer) {
        let bits = rank.bitPattern
        let ordered = bits >> 63 == 1 ? ~bits : bits | 1 << 63
        key.append(littleEndian: ordered.byteSwapped)
    }

    /// The rank as clients see it: more is better.
    static func rank(_ key: [UInt8]) -> Double {
        let ordered = key.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return -Double(bitPattern: ordered >> 63 == 1 ? ordered & ~(1 << 63) : ~ordered)
    }
}
