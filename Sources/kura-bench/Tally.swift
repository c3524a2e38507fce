/// What a generator counted; numbers only, so that a child process can hand it to its parent as words.
struct Tally {
    /// Replies within the measured time.
    var operations: UInt64 = 0
    /// Writes acknowledged, those of the last batch after the measured time too.
    var acknowledgedWrites: UInt64 = 0
    /// Reads that found no value.
    var misses: UInt64 = 0
    /// Requests of an open loop that were due and never sent.
    var unserved: UInt64 = 0
    /// Nanoseconds measured.
    var elapsed: UInt64 = 0
    var reads = Histogram()
    var writes = Histogram()

    init() {}

    static let wordCount = 5 + 2 * Histogram.bucketCount

    var words: [UInt64] {
        [operations, acknowledgedWrites, misses, unserved, elapsed] + reads.counts + writes.counts
    }

    init(words: [UInt64]) {
        precondition(words.count == Tally.wordCount)
        operations = words[0]
        acknowledgedWrites = words[1]
        misses = words[2]
        unserved = words[3]
        elapsed = words[4]
        reads = Histogram(counts: Array(words[5..<(5 + Histogram.bucketCount)]))
        writes = Histogram(counts: Array(words[(5 + Histogram.bucketCount)...]))
    }

    mutating func merge(_ other: Tally) {
        operations += other.operations
        acknowledgedWrites += other.acknowledgedWrites
        misses += other.misses
        unserved += other.unserved
        elapsed = max(elapsed, other.elapsed)
        reads.merge(other.reads)
        writes.merge(other.writes)
    }

    var operationsPerSecond: Double {
        elapsed == 0 ? 0 : Double(operations) * 1e9 / Double(elapsed)
    }
}
