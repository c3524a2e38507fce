import KuraBytes

/// The segments of the past, in the order of their numbers, and what of them the tables have not been told: a value without I/O.
struct ClosedSegments {
    private(set) var all: [Log.Closed]
    /// Segments closed, or changed, and retired that the tables have not been told of.
    private var unrecorded: [Log.Closed] = []
    let retired: RetiredSegments

    /// `retired`: segments that are gone and that the tables list.
    init(_ all: [Log.Closed], retired: RetiredSegments) {
        (self.all, self.retired) = (all, retired)
    }

    // MARK: What there is

    /// Bytes of their files.
    var bytes: Int { all.reduce(0) { $0 + $1.bytes } }
    /// The newest revision in them; 0 without any.
    var lastRev: UInt64 { all.map(\.lastRev).max() ?? 0 }

    /// Bytes of those that only wait for a checkpoint to be let go.
    func bytesAwaitingCheckpoint(foldedRev: UInt64, durableRev: UInt64) -> Int {
        all.reduce(0) { $0 + ($1.lastRev > durableRev && $1.lastRev <= foldedRev ? $1.bytes : 0) }
    }

    /// Those that have, or may have, the change after `rev`, the likeliest first.
    func numbers(after rev: UInt64) -> [Int] { all.compactMap { $0.lastRev > rev ? $0.number : nil } }

    // MARK: Changes

    /// A segment is closed.
    mutating func append(_ segment: Log.Closed) {
        all.append(segment)
        unrecorded.append(segment)
    }

    /// The oldest goes.
    mutating func retireOldest() { retired.note(all.removeFirst().number) }

    /// `sizes`: bytes that files have now, by their numbers.
    mutating func note(sizes: [Int: Int]) {
        for position in all.indices {
            guard let size = sizes[all[position].number], size != all[position].bytes else { continue }
            all[position].bytes = size
            unrecorded.append(all[position])
        }
    }

    /// Asks when the last commits were made of which that is not known.
    mutating func date(_ lastAt: (Int) -> Int64) {
        for position in all.indices where all[position].lastAt == 0 {
            all[position].lastAt = lastAt(all[position].number)
        }
    }

    // MARK: The tables' list

    /// Whether it is behind.
    var hasNews: Bool { !unrecorded.isEmpty || retired.isUntold }

    mutating func takeUnrecorded() -> [Log.Closed] {
        defer { unrecorded = [] }
        return unrecorded
    }
}
