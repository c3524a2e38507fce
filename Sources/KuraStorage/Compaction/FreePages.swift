import KuraBytes
import SQLite

/// The pages of a database file that nothing uses any more (its freelist), and their way back to the file system.
///
/// For the one connection that writes the file, which was made with `auto_vacuum=INCREMENTAL`: a page at the end of the file moves into a free one, and the
/// file is cut off behind it, in the next checkpoint that gets to the WAL's end.
final class FreePages {
    struct Count {
        var free: Int
        /// All pages of the file.
        var all: Int

        /// Free pages that may stay for what comes next: a file that is written will need them again.
        func spare(atLeast least: Int) -> Int { max(least, (all - free) / 16) }
    }

    static let pageSize = 4096
    /// Pages between two looks at the clock.
    private static let step = 16
    /// Pages of a piece: they lie in the WAL, and in memory until they do.
    private static let most = 256

    private let freeCount: Statement
    private let allCount: Statement
    private let giveBackSome: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        freeCount = try connection.prepare("PRAGMA freelist_count")
        allCount = try connection.prepare("PRAGMA page_count")
        giveBackSome = try connection.prepare("PRAGMA incremental_vacuum(\(Self.step))")
    }

    func count() throws(SQLiteError) -> Count {
        defer {
            freeCount.reset()
            allCount.reset()
        }
        guard try freeCount.step(), try allCount.step() else { return Count(free: 0, all: 0) }
        return Count(free: Int(freeCount.int64(0)), all: Int(allCount.int64(0)))
    }

    /// Gives pages back until no more than `spare` are free, or it was a mebibyte, or the time is over. In a transaction.
    /// - Returns: how many it has given back, and whether that was all.
    func giveBack(
        until deadline: Deadline, keeping spare: Int
    ) throws(SQLiteError) -> (pages: Int, isThrough: Bool) {
        let first = try count().free
        var free = first
        while free > spare {
            try giveBackSome.run()
            let left = try count().free
            // A file that was not made for it gives nothing.
            guard left < free else { return (first - left, true) }
            free = left
            guard free > spare else { break }
            if first - free >= Self.most || deadline.isOver { return (first - free, false) }
        }
        return (first - free, true)
    }
}
