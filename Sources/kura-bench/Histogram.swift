/// Counts of latencies in buckets that are log-linear, as HdrHistogram's: 128 buckets an octave.
///
/// Exact below 128 ns, then within 0.8 %, up to 2⁴⁰ ns (18 minutes); what is longer counts in the last bucket.
struct Histogram {
    private static let subBits: UInt64 = 7
    private static let subCount = 1 << 7
    private static let limit: UInt64 = (1 << 40) - 1
    /// Octaves 2⁷…2³⁹ of 128 buckets each, above the 128 exact ones.
    static let bucketCount = (40 - 7 + 1) * 128

    private(set) var counts = [UInt64](repeating: 0, count: bucketCount)
    private(set) var total: UInt64 = 0

    init() {}

    /// The histogram whose buckets another process recorded.
    init(counts: [UInt64]) {
        precondition(counts.count == Histogram.bucketCount)
        self.counts = counts
        total = counts.reduce(0, +)
    }

    @inline(__always)
    mutating func record(_ nanoseconds: UInt64) {
        counts[Histogram.bucket(of: nanoseconds)] &+= 1
        total &+= 1
    }

    mutating func merge(_ other: Histogram) {
        for index in counts.indices { counts[index] &+= other.counts[index] }
        total &+= other.total
    }

    /// The smallest recorded latency, in nanoseconds, that at least `fraction` (0…1) of all do not exceed; 0 when empty.
    func quantile(_ fraction: Double) -> Double {
        guard total > 0 else { return 0 }
        let wanted = max(1, UInt64((Double(total) * fraction).rounded(.up)))
        var seen: UInt64 = 0
        for index in counts.indices {
            seen += counts[index]
            if seen >= wanted { return Histogram.middle(of: index) }
        }
        return Double(Histogram.limit)
    }

    @inline(__always)
    private static func bucket(of nanoseconds: UInt64) -> Int {
        let value = min(nanoseconds, limit)
        if value < UInt64(subCount) { return Int(value) }
        let shift = UInt64(63 - value.leadingZeroBitCount) &- subBits
        return Int(shift) &* subCount &+ Int(value >> shift)
    }

    private static func middle(of index: Int) -> Double {
        if index < subCount { return Double(index) }
        let shift = index / subCount - 1
        let lower = UInt64(index - shift * subCount) << UInt64(shift)
        return Double(lower) + Double((UInt64(1) << UInt64(shift)) - 1) / 2
    }
}
