package import SQLite

/// A set of revisions, as ranges: in order, none touching the next.
package struct RevisionSet: Equatable, Sendable {
    package private(set) var ranges: [ClosedRange<UInt64>] = []

    package init(_ ranges: ClosedRange<UInt64>...) { for range in ranges { insert(range) } }

    /// What the tables say is missing of the log.
    package init(lostIn connection: Connection) throws(SQLiteError) {
        let select = try connection.prepare("SELECT firstRev, lastRev FROM lost")
        while try select.step() {
            let (first, last) = (select.int64(0), select.int64(1))
            if first > 0, last >= first { insert(UInt64(first)...UInt64(last)) }
        }
    }

    var isEmpty: Bool { ranges.isEmpty }

    mutating func insert(_ range: ClosedRange<UInt64>) {
        // The ranges that touch the new one become a part of it. Mostly it comes behind the last.
        var first = ranges.count
        while first > 0, ranges[first - 1].upperBound >= range.lowerBound &- 1 { first -= 1 }
        var end = first
        var (lower, upper) = (range.lowerBound, range.upperBound)
        while end < ranges.count, ranges[end].lowerBound <= upper || ranges[end].lowerBound == upper + 1 {
            lower = min(lower, ranges[end].lowerBound)
            upper = max(upper, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: [lower...upper])
    }

    package mutating func formUnion(_ other: RevisionSet) { for range in other.ranges { insert(range) } }

    /// What of `range` is not in the set.
    package func missing(in range: ClosedRange<UInt64>) -> RevisionSet {
        var missing = RevisionSet()
        var next = range.lowerBound
        for known in ranges where known.upperBound >= range.lowerBound {
            guard known.lowerBound <= range.upperBound else { break }
            if known.lowerBound > next { missing.insert(next...known.lowerBound - 1) }
            guard known.upperBound < range.upperBound else { return missing }
            next = max(next, known.upperBound + 1)
        }
        missing.insert(next...range.upperBound)
        return missing
    }

    package func contains(_ range: ClosedRange<UInt64>) -> Bool {
        ranges.contains { $0.contains(range.lowerBound) && $0.contains(range.upperBound) }
    }
}
