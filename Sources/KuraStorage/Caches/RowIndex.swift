import KuraBytes

/// A hash table from hashes to row numbers: where the rows are is the owner's, and so are the links between those of one bucket.
///
/// It grows by one bucket at each insertion (linear hashing: Litwin, VLDB 1980), so no single one pays for a large move. Row 0 is nobody.
/// Belongs to the loop.
struct RowIndex: ~Copyable {
    private var buckets = GrowingRow<UInt32>()
    /// Buckets of the round that is under way, before it began: a power of two.
    private var round = 16
    /// Buckets below it have been split in this round.
    private var split = 0

    init() {
        for _ in 0..<16 { buckets.append(0) }
    }

    /// The first row of the bucket that a hash belongs to; 0 when it is empty.
    func first(_ hash: UInt64) -> UInt32 { buckets[place(hash)] }

    /// Has the bucket fetched, which is looked at soon.
    func prefetch(_ hash: UInt64) { buckets.prefetch(place(hash)) }

    /// Puts a row in front of its bucket.
    /// - Returns: the row that follows it there.
    mutating func insert(_ row: UInt32, _ hash: UInt64) -> UInt32 {
        let place = place(hash)
        defer { buckets[place] = row }
        return buckets[place]
    }

    /// Says which row a bucket begins with now.
    mutating func setFirst(_ row: UInt32, _ hash: UInt64) { buckets[place(hash)] = row }

    private func place(_ hash: UInt64) -> Int {
        let place = Int(hash & UInt64(round - 1))
        return place < split ? Int(hash & UInt64(round * 2 - 1)) : place
    }

    /// Splits one bucket when there are more rows than buckets.
    /// `next`, `setNext`: the links between rows of one bucket; `hash`: of a row.
    mutating func grow(
        rows: Int, hash: (UInt32) -> UInt64, next: (UInt32) -> UInt32, setNext: (UInt32, UInt32) -> Void
    ) {
        guard rows > buckets.count else { return }
        var row = buckets[split]
        var (low, high): (UInt32, UInt32) = (0, 0)
        while row != 0 {
            let following = next(row)
            if hash(row) & UInt64(round) == 0 {
                setNext(row, low)
                low = row
            } else {
                setNext(row, high)
                high = row
            }
            row = following
        }
        buckets[split] = low
        buckets.append(high)
        split += 1
        if split == round {
            round *= 2
            split = 0
        }
    }
}
