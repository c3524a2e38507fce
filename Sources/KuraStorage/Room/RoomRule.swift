/// How many changes the room on the disk admits, from numbers alone.
///
/// A change that is appended takes room three times before it lies in the tables: in the log, in the tables' WAL, and in their
/// file. The first two come back. So what is not folded is kept so small that the room carries all of it through the fold: then
/// a disk that fills up with our own data is found full while everything is folded, and the reserve is left to deletions. Where
/// somebody else takes the room at once, the fold has the reserve, and goes through it in slices.
struct RoomRule: Sendable {
    /// What is known of the room now, in bytes.
    struct Facts: Equatable {
        /// Free on the file system.
        var free: Int
        /// Changes that are not folded, as they lie in memory.
        var overlay: Int
        /// Of the tables' WAL, not in their file yet.
        var wal: Int
    }

    /// Bytes of the whole reserve, and of changes that may be unfolded when there is room.
    let reserve: Int
    let overlay: Int

    /// Bytes that each byte of changes may take in log, WAL and tables.
    static let factor = 3
    /// Bytes of changes that a slice has at least, however little room there is.
    static let leastSlice = 128 << 10
    /// Bytes of the pages that a change touches in the tables, about, and in each index: the WAL has them whole.
    static let pages = 8 << 10
    static let indexPages = 4 << 10

    /// Bytes that stay free for deletions while other changes are refused.
    var deletions: Int { max(min(reserve / 4, 4 << 20), 64 << 10) }
    /// Bytes that are nobody's: blocks and metadata of the file system.
    var margin: Int { deletions / 4 }

    /// Most bytes of unfolded changes; nil when the room sets no bound.
    func overlayLimit(_ facts: Facts) -> Int? {
        let spare = facts.free - facts.wal - margin
        if spare >= Self.factor * overlay { return nil }
        return spare < Self.factor * Self.leastSlice / 2 ? 0 : spare / Self.factor
    }

    /// Most bytes of unfolded changes that a long transaction may bring about: what was there before it has its place in the log already,
    /// and each change takes a third of its pages besides. A transaction is folded at once, so nothing can be cut off it. A short one is not
    /// refused for what may be a moment's: it waits.
    func transactionEnd(_ facts: Facts) -> Int {
        max(0, facts.free - facts.wal - margin + facts.overlay) / Self.factor
    }

    /// Most bytes of pages that the removals of one transaction may touch, whatever goes: the fold may have the reserve for it.
    func removalPages(_ facts: Facts, held: Int) -> Int { max(2 * Self.leastSlice, carried(facts, held)) }

    /// Bytes of unfolded changes behind which removals wait. What they take in the log comes back when all of it is folded.
    func removalsEnd(_ facts: Facts, held: Int) -> Int {
        min(overlay, max(2 * Self.leastSlice, carried(facts, held) / 4))
    }

    private func carried(_ facts: Facts, _ held: Int) -> Int {
        max(0, facts.free - facts.wal - facts.overlay - margin + held)
    }

    /// Bytes of changes that are folded at once, so that their WAL and what they add to the tables find room.
    func slice(_ limit: Int) -> Int { max(Self.leastSlice, limit / 4) }

    /// Bytes of the tables' WAL at which it is emptied.
    func walLimit(_ facts: Facts) -> Int { max(2 * Self.leastSlice, (facts.free + facts.wal) / 8) }

    /// Bytes that the reserve grows by, while changes are refused.
    /// `held`: bytes that it has.
    func growth(_ free: Int, held: Int) -> Int { max(0, min(reserve - held, free - deletions)) }

    /// Whether changes that were refused are admitted again.
    func admits(_ free: Int, held: Int) -> Bool { held >= reserve && free >= 2 * margin }

    /// Bytes that have to become free until they are.
    func missing(_ free: Int, held: Int) -> Int {
        max(0, reserve - held) + max(0, (held < reserve ? deletions : 2 * margin) - free)
    }
}
