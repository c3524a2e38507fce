import KuraBytes
import Testing

@Suite struct HistogramTests {
    private static let values: [UInt64] = {
        var random = SystemRandomNumberGenerator()
        // As many small ones as great ones, and both sides of each power of two.
        let powers: [UInt64] = (0...40).flatMap { (power: UInt64) -> [UInt64] in
            [1 << power, max(1, (1 << power) - 1), (1 << power) + 1]
        }
        let others: [UInt64] = (0..<4000).map { _ in
            UInt64.random(in: 0...(1 << UInt64.random(in: 0...40)), using: &random)
        }
        return powers.filter { $0 <= Histogram.most } + others + Array(0...64)
    }()

    private func buckets(_ histogram: Histogram) -> [(bound: UInt64, count: UInt64)] {
        var buckets: [(bound: UInt64, count: UInt64)] = []
        histogram.forEachBucket { buckets.append(($0, $1)) }
        return buckets
    }

    @Test func `a value's bucket ends at most a sixteenth above it, and not below`() {
        for value in Self.values {
            var histogram = Histogram()
            histogram.record(value)
            let bound = buckets(histogram).first?.bound ?? 0
            #expect(bound >= value && (bound - value) * 16 <= max(value, 16), "\(value): \(bound)")
            if value <= 16 { #expect(bound == max(value, 1)) }
        }
    }

    @Test func `up to each power of two the count is exact`() {
        var histogram = Histogram()
        for value in Self.values { histogram.record(value) }
        for power in 0...40 {
            let limit = UInt64(1) << power
            let counted = buckets(histogram).filter { $0.bound <= limit }.reduce(0) { $0 + $1.count }
            #expect(counted == UInt64(Self.values.count { $0 <= limit }), "up to \(limit)")
        }
        let bounds = buckets(histogram).map(\.bound)
        #expect(bounds == bounds.sorted() && Set(bounds).count == bounds.count)
    }

    @Test func `ranks are those of the sorted values, rounded up by a sixteenth at most`() {
        var histogram = Histogram()
        for (position, value) in Self.values.enumerated() { histogram.record(value, times: UInt64(position % 3 + 1)) }
        let sorted = Self.values.enumerated().flatMap { Array(repeating: $1, count: $0 % 3 + 1) }.sorted()
        #expect(histogram.count == UInt64(sorted.count) && histogram.sum == sorted.reduce(0, +))
        #expect(histogram.max == sorted.last)
        for perMille: UInt64 in [0, 1, 10, 500, 900, 990, 999, 1000] {
            let rank = max(1, (sorted.count * Int(perMille) + 999) / 1000)
            let (exact, told) = (sorted[rank - 1], histogram.value(perMille: perMille))
            #expect(told >= exact && (told - exact) * 16 <= max(exact, 16), "\(perMille): \(told) for \(exact)")
        }
    }

    @Test func `a rank is the nearest one, at or above the part that is asked for`() {
        var histogram = Histogram()
        for value: UInt64 in [1, 2, 3] { histogram.record(value) }
        #expect([0, 333, 334, 500, 667, 1000].map { histogram.value(perMille: $0) } == [1, 1, 2, 2, 3, 3])
    }

    @Test func `what is greater than everything counts as the greatest, and keeps its size in the sum`() {
        var histogram = Histogram()
        histogram.record(Histogram.most * 3)
        #expect(buckets(histogram).map(\.bound) == [Histogram.most])
        #expect(histogram.max == Histogram.most * 3 && histogram.sum == Histogram.most * 3)
        #expect(Histogram().value(perMille: 500) == 0 && buckets(Histogram()).isEmpty)
    }
}
