import KuraBytes
import SQLite

/// The backups that are under way: they hear of each slice as it is folded, and when it is in the tables.
struct FoldTaps {
    private var taps: [FoldTap] = []

    /// `rev`: the tables are as of this revision.
    mutating func add(_ tap: FoldTap, _ connection: Connection, rev: UInt64) {
        tap.begin(connection, rev: rev)
        taps.append(tap)
    }

    /// A slice is about to be committed.
    mutating func note(_ slice: FoldSlice, _ newest: ContiguousArray<ItemRef>) {
        guard !taps.isEmpty else { return }
        taps.removeAll(where: \.isClosed)
        for tap in taps { tap.note(slice, newest) }
    }

    func committed(_ rev: UInt64) { for tap in taps { tap.committed(rev) } }

    /// The thread ends.
    func fail(_ fault: BackupFault) { for tap in taps { tap.fail(fault) } }
}
