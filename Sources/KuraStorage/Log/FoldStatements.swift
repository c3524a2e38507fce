import KuraBytes
import SQLite

/// What a fold writes: items by the folders of their stores, and beside them scopes, segments and revisions. On the fold thread.
final class FoldStatements {
    private let addScope, updateScope, removeScope, storeOfScope, addDrop, putLastScope: Statement
    private let putSegment, deleteSegment, putFoldedRev, putCompactedRev: Statement
    let tables: FoldTables
    /// By the numbers of their stores.
    private let folders: [(any StoreFolder)?]

    init(_ tables: FoldTables) throws(SQLiteError) {
        self.tables = tables
        var folders: [(any StoreFolder)?] = Array(repeating: nil, count: Store.numbers)
        for store in Store.allCases { folders[Int(store.rawValue)] = try store.parts.makeFolder(tables) }
        self.folders = folders
        let connection = tables.connection
        storeOfScope = try connection.prepare("SELECT store FROM scopes WHERE id = ?1")
        addScope = try connection.prepare("INSERT OR IGNORE INTO scopes(id, store, name) VALUES(?1, ?2, ?3)")
        updateScope = try connection.prepare(
            """
            UPDATE scopes SET count = count + ?2, bytes = bytes + ?3, lastRev = ?4, nextRow = max(nextRow, ?5)
            WHERE id = ?1
            """)
        putSegment = try connection.prepare(
            "INSERT OR REPLACE INTO segments(number, firstRev, lastRev, bytes) VALUES(?1, ?2, ?3, ?4)")
        deleteSegment = try connection.prepare("DELETE FROM segments WHERE number = ?1")
        putFoldedRev = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'foldedRev'")
        putCompactedRev = try connection.prepare(
            """
            INSERT INTO meta(name, value) VALUES('compactedRev', ?1)
            ON CONFLICT(name) DO UPDATE SET value = max(value, ?1)
            """)
        removeScope = try connection.prepare("DELETE FROM scopes WHERE id = ?1")
        addDrop = try connection.prepare("INSERT OR IGNORE INTO drops(collection, isLists) VALUES(?1, ?2)")
        putLastScope = try connection.prepare(
            """
            INSERT INTO meta(name, value) VALUES('lastScope', ?1)
            ON CONFLICT(name) DO UPDATE SET value = max(value, ?1)
            """)
    }

    func write(_ slice: FoldSlice, _ newest: ContiguousArray<ItemRef>) throws(SQLiteError) {
        // First of all: a new collection may have a dropped one's name.
        Work.at(.folding)
        defer { Work.at(.other) }
        let dropped = try drop(slice)
        for scope in slice.newScopes where !dropped.contains(scope.id) {
            try addScope.bind(1, Int64(scope.id))
            try addScope.bind(2, Int64(scope.store.rawValue))
            try addScope.bind(3, text: String(decoding: scope.name, as: UTF8.self))
            try addScope.run()
        }
        for event in slice.events {
            guard !dropped.contains(event.scope), case .configured(let key, let text) = event.kind else { continue }
            try key.withBytes { (key) throws(SQLiteError) in
                try text.withBytes { (text) throws(SQLiteError) in
                    try folder(event.store).configure(event.scope, key, text)
                }
            }
        }
        for folder in folders { folder?.begin(slice) }
        for item in newest where dropped.isEmpty || !dropped.contains(item.pointee.scope) {
            Work.at(.folding, item.pointee.rev)
            _ = FaultPoints.hit(.foldChange)
            try folder(item.pointee.store).write(item)
        }
        Work.at(.folding)
        for folder in folders { try folder?.finish(slice) }
        try addUp(slice.items)
        for segment in slice.closed {
            try putSegment.bind(1, Int64(segment.number))
            try putSegment.bind(2, Int64(segment.firstRev))
            try putSegment.bind(3, Int64(segment.lastRev))
            try putSegment.bind(4, Int64(segment.bytes))
            try putSegment.run()
        }
        for number in slice.retired {
            try deleteSegment.bind(1, Int64(number))
            try deleteSegment.run()
        }
        if !slice.retired.isEmpty {
            try putCompactedRev.bind(1, Int64(slice.compactedRev))
            try putCompactedRev.run()
        }
        if slice.rev > 0 {
            try putFoldedRev.bind(1, Int64(slice.rev))
            try putFoldedRev.run()
        }
    }

    /// Takes the names of dropped collections out; their rows go later, in slices.
    /// - Returns: their numbers.
    private func drop(_ slice: FoldSlice) throws(SQLiteError) -> Set<UInt32> {
        var dropped: Set<UInt32> = []
        for event in slice.events {
            guard case .drop = event.kind else { continue }
            dropped.insert(event.scope)
            try storeOfScope.bind(1, Int64(event.scope))
            let isLists =
                try storeOfScope.step()
                && Store(rawValue: UInt8(truncatingIfNeeded: storeOfScope.int64(0)))?.has(.usesContents) == true
            storeOfScope.reset()
            try removeScope.bind(1, Int64(event.scope))
            try removeScope.run()
            try addDrop.bind(1, Int64(event.scope))
            try addDrop.bind(2, isLists ? 1 : 0)
            try addDrop.run()
            try putLastScope.bind(1, Int64(event.scope))
            try putLastScope.run()
            for folder in folders { try folder?.drop(event.scope) }
        }
        return dropped
    }

    // MARK: The folders

    /// What they have done between folds.
    var work: [any TableWork] { folders.flatMap { $0?.work ?? [] } }

    /// A transaction was taken back: what is known of the tables is read anew.
    func reload() throws(SQLiteError) { for work in work { try work.reload() } }

    var newsUrgency: NewsUrgency { folders.lazy.map { $0?.newsUrgency ?? .none }.max() ?? .none }

    /// What stores are told of the work.
    func takeNews() -> [any FoldNews] { folders.compactMap { $0?.takeNews() } }

    private func folder(_ store: Store) -> any StoreFolder { folders[Int(store.rawValue)]! }

    /// Each scope's numbers, by how the slice's changes altered them.
    private func addUp(_ items: ContiguousArray<ItemRef>) throws(SQLiteError) {
        struct Sum {
            var count: Int64 = 0
            var bytes: Int64 = 0
            var lastRev: UInt64 = 0
            var nextRow: Int64 = 0
        }
        var sums: [UInt32: Sum] = [:]
        // Neighbours mostly share their scope: one look-up a run of them.
        var position = 0
        while position < items.count {
            let scope = items[position].pointee.scope
            var sum = sums[scope] ?? Sum()
            while position < items.count, items[position].pointee.scope == scope {
                let item = items[position]
                sum.count += Int64(item.pointee.countDelta)
                sum.bytes += Int64(item.pointee.bytesDelta)
                sum.lastRev = item.pointee.rev
                sum.nextRow = max(sum.nextRow, item.pointee.row + 1)
                position += 1
            }
            sums[scope] = sum
        }
        for (scope, sum) in sums {
            try updateScope.bind(1, Int64(scope))
            try updateScope.bind(2, sum.count)
            try updateScope.bind(3, sum.bytes)
            try updateScope.bind(4, Int64(sum.lastRev))
            try updateScope.bind(5, sum.nextRow)
            try updateScope.run()
        }
    }
}
