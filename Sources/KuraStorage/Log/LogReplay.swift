import KuraBytes
import SQLite

/// How a store takes in a change that the log has and the tables have not.
protocol StoreReplay: AnyObject {
    func replay(_ record: LogRecord, at: Int64) throws(StorageFault)
}

/// Resident stores have all that is known of an item in memory.
final class ResidentReplay: StoreReplay {
    private let ledger: Ledger

    init(_ ledger: Ledger) { self.ledger = ledger }

    func replay(_ record: LogRecord, at: Int64) { ledger.replay(resident: record, at: at) }
}

/// Takes the log's changes into memory, each as its store does. At a start, on its thread.
final class LogReplay {
    private let ledger: Ledger
    /// By the numbers of the stores.
    private let stores: [(any StoreReplay)?]

    /// `reader`: waits for the disk.
    init(_ ledger: Ledger, _ reader: DocumentReader) {
        self.ledger = ledger
        var stores: [(any StoreReplay)?] = Array(repeating: nil, count: Store.numbers)
        for store in Store.allCases { stores[Int(store.rawValue)] = store.parts.makeReplay(ledger, reader) }
        self.stores = stores
    }

    /// Takes a row's changes above `foldedRev` into memory.
    /// `newest`: the revision of the last change that was taken in; what follows comes next to it.
    /// - Returns: how many they are.
    /// `lost`: revisions that are known to be missing.
    /// - Throws: `.hole` when others are: they may have been acknowledged, so nobody goes on without them unasked.
    func apply(
        _ row: SegmentRow, above foldedRev: UInt64, behind newest: inout UInt64, without lost: RevisionSet
    ) throws(StorageFault) -> Int {
        var changes = 0
        var offset = 0
        let at = row.at
        if row.previous > newest {
            guard lost.contains(newest + 1...row.previous) else { throw .hole(after: newest, next: row.previous + 1) }
            newest = row.previous
        }
        while let record = try LogRecord.next(in: row.records, at: &offset) {
            // A row's first changes may have been folded, its last not: slices end where a sync ended.
            guard record.rev > foldedRev else { continue }
            guard record.rev <= newest + 1 || RelaxedDurability.raises(record, from: newest) else {
                throw .hole(after: newest, next: record.rev)
            }
            newest = max(newest, record.rev)
            changes += 1
            Work.at(.replaying, record.rev)
            _ = FaultPoints.hit(.recoverChange)
            if record.isDrop, !record.store.isResident {
                ledger.replay(drop: ledger.scopes.find(record.store, record.scope), rev: record.rev, at: at)
            } else {
                try stores[Int(record.store.rawValue)]!.replay(record, at: at)
            }
        }
        Work.at(.other)
        return changes
    }
}
