/// How often values of each size have come: log-linear buckets, as HdrHistogram has them.
///
/// Up to 16 each value has a bucket of its own; from there on each power of two is divided into 16, so what a bucket's upper bound tells of
/// a value is at most one sixteenth too much. What is above `most` counts as `most`. Bounds belong to the bucket below them, so that powers of
/// two are bounds, and counts up to one are exact. The buckets are one block, made with the first value and never again.
///
/// Source: Gil Tene, HdrHistogram.
public struct Histogram: Sendable, Equatable {
    /// Buckets of each power of two.
    public static let parts = 16
    private static let partBits = 4
    /// The greatest value that is told from greater ones: in nanoseconds 18 minutes.
    public static let most: UInt64 = 1 << 40
    private static let bucketCount = index(of: most) + 1

    /// By bucket; empty before the first value.
    private var counts: ContiguousArray<UInt64> = []
    public private(set) var count: UInt64 = 0
    /// Of all values, as they came.
    public private(set) var sum: UInt64 = 0
    /// The greatest one, as it came.
    public private(set) var max: UInt64 = 0

    public init() {}

    /// A value has come, `times` times.
    public mutating func record(_ value: UInt64, times: UInt64 = 1) {
        if counts.isEmpty { counts = ContiguousArray(repeating: 0, count: Self.bucketCount) }
        counts[Self.index(of: Swift.min(value, Self.most))] &+= times
        count &+= times
        sum &+= value &* times
        if value > max { max = value }
    }

    /// Where a value counts.
    @inline(__always)
    private static func index(of value: UInt64) -> Int {
        guard value > UInt64(parts) else { return value == 0 ? 0 : Int(value) - 1 }
        // The bound above belongs to the bucket: one less tells which.
        let inside = value - 1
        let shift = (UInt64.bitWidth - 1 - partBits) - inside.leadingZeroBitCount
        return (shift << partBits) + Int(inside >> UInt64(shift))
    }

    /// The greatest value that counts in a bucket.
    private static func bound(_ index: Int) -> UInt64 {
        guard index >= parts else { return UInt64(index) + 1 }
        let shift = (index >> partBits) - 1
        return UInt64((index & (parts - 1)) + parts + 1) << UInt64(shift)
    }

    /// Buckets that have something, in the order of their bounds.
    public func forEachBucket(_ body: (_ bound: UInt64, _ count: UInt64) -> Void) {
        for (index, count) in counts.enumerated() where count > 0 { body(Self.bound(index), count) }
    }

    /// The value that `perMille` of a thousand do not exceed, rounded up to its bucket's bound; 0 without any.
    public func value(perMille: UInt64) -> UInt64 {
        guard count > 0 else { return 0 }
        // The nearest rank, which is at least one.
        let rank = Swift.max(1, count / 1000 * perMille + (count % 1000 * perMille + 999) / 1000)
        var seen: UInt64 = 0
        for (index, count) in counts.enumerated() {
            seen += count
            if seen >= rank { return Swift.min(Self.bound(index), max) }
        }
        return max
    }
}
