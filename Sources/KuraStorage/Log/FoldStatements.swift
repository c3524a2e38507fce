import KuraBytes
import SQLite

/// What a fold writes, with its statements prepared once. On the fold thread.
final class FoldStatements {
    let putSetting: Statement
    let deleteSetting: Statement
    let updateDocument: Statement
    let insertDocument: Statement
    let deleteDocument: Statement
    let removeRow: Statement
    let addScope: Statement
    let updateScope: Statement
    let putSegment: Statement
    let deleteSegment: Statement
    let putFoldedRev: Statement
    let putCompactedRev: Statement
    let removeScope: Statement
    let addDrop: Statement
    let putLastScope: Statement
    let storeOfScope: Statement
    let uses: ContentUses
    /// Else deleted documents leave no body: there is no room for them.
    var keepsLastValues = true
    private let connection: Connection
    private let indexes: IndexKeeper
    private let searches: SearchKeeper

    init(_ connection: Connection, _ indexes: IndexKeeper, _ searches: SearchKeeper) throws(SQLiteError) {
        self.connection = connection
        self.indexes = indexes
        self.searches = searches
        uses = try ContentUses(connection)
        storeOfScope = try connection.prepare("SELECT store FROM scopes WHERE id = ?1")
        putSetting = try connection.prepare(
            """
            INSERT INTO settings(scope, key, rev, updatedAt, value) VALUES(?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(scope, key) DO UPDATE SET rev = ?3, updatedAt = ?4, value = ?5
            """)
        deleteSetting = try connection.prepare("DELETE FROM settings WHERE scope = ?1 AND key = ?2")
        updateDocument = try connection.prepare(
            """
            UPDATE documents SET rev = ?2, version = ?3, createdAt = ?4, updatedAt = ?5, isDeleted = 0, body = ?6
            WHERE row = ?1
            """)
        insertDocument = try connection.prepare(
            """
            INSERT INTO documents(row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        // The body stays under the tombstone until it is purged, so that it can be brought back.
        deleteDocument = try connection.prepare(
            """
            UPDATE documents SET rev = ?2, version = ?3, updatedAt = ?4, isDeleted = 1, body = ifnull(?5, body)
            WHERE row = ?1
            """)
        removeRow = try connection.prepare("DELETE FROM documents WHERE row = ?1")
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
            guard !dropped.contains(event.collection) else { continue }
            switch event.kind {
            case .indexes(let text):
                try text.withBytes { (text) throws(SQLiteError) in try indexes.define(event.collection, text) }
            case .search(let text):
                try text.withBytes { (text) throws(SQLiteError) in try searches.define(event.collection, text) }
            case .drop: break
            }
        }
        uses.begin()
        for item in newest {
            Work.at(.folding, item.pointee.rev)
            _ = FaultPoints.hit(.foldChange)
            switch item.pointee.store {
            case .settings, .requests, .configuration, .secrets: try write(setting: item)
            case .documents:
                guard !dropped.contains(item.pointee.scope) else { continue }
                try indexes.note(item)
                try searches.note(item)
                try write(document: item)
            case .attachments:
                guard !dropped.contains(item.pointee.scope) else { continue }
                try uses.note(item)
                try write(document: item)
            case .secretVersions: try write(version: item)
            }
        }
        Work.at(.folding)
        try indexes.finish(confirmed: slice.confirmed)
        try searches.finish()
        try addUp(slice.items)
        slice.unused = try uses.write(forgetting: slice.forgotten)
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
            dropped.insert(event.collection)
            try storeOfScope.bind(1, Int64(event.collection))
            let isLists = try storeOfScope.step() && storeOfScope.int64(0) == Int64(Store.attachments.rawValue)
            storeOfScope.reset()
            try removeScope.bind(1, Int64(event.collection))
            try removeScope.run()
            try addDrop.bind(1, Int64(event.collection))
            try addDrop.bind(2, isLists ? 1 : 0)
            try addDrop.run()
            try putLastScope.bind(1, Int64(event.collection))
            try putLastScope.run()
            try indexes.define(event.collection, Bytes())
            try searches.define(event.collection, Bytes())
        }
        return dropped
    }

    private func write(setting item: ItemRef) throws(SQLiteError) {
        if item.isTombstone {
            try deleteSetting.bind(1, Int64(item.pointee.scope))
            try deleteSetting.bind(2, utf8: item.key)
            try deleteSetting.run()
        } else {
            try putSetting.bind(1, Int64(item.pointee.scope))
            try putSetting.bind(2, utf8: item.key)
            try putSetting.bind(3, Int64(item.pointee.rev))
            try putSetting.bind(4, item.pointee.updatedAt)
            try putSetting.bind(5, utf8: item.value)
            try putSetting.run()
        }
    }

    private func write(document item: ItemRef) throws(SQLiteError) {
        // A first version has no row, unless an earlier change of it was folded: then the key is found.
        if item.pointee.version > 1, try update(item) { return }
        try insertDocument.bind(1, item.pointee.row)
        try insertDocument.bind(2, Int64(item.pointee.scope))
        try insertDocument.bind(3, utf8: item.key)
        try insertDocument.bind(4, Int64(item.pointee.rev))
        try insertDocument.bind(5, Int64(item.pointee.version))
        try insertDocument.bind(6, item.pointee.createdAt)
        try insertDocument.bind(7, item.pointee.updatedAt)
        try insertDocument.bind(8, item.isTombstone ? 1 : 0)
        if givesUpValue(item) {
            try insertDocument.bind(9, copyingUTF8: DocumentsStore.givenUp)
        } else {
            try insertDocument.bind(9, utf8: item.value)
        }
        try insertDocument.run()
    }

    /// A version of a secret; nothing is left of one that goes.
    private func write(version item: ItemRef) throws(SQLiteError) {
        guard item.isTombstone else { return try write(document: item) }
        try removeRow.bind(1, item.pointee.row)
        try removeRow.run()
    }

    /// A document that has become smaller by so much is taken out and put in again: SQLite lays pages together when something is taken out, and leaves
    /// them as they are when it becomes smaller in its place.
    private static let shrinkage: Int32 = 1024

    private func givesUpValue(_ item: ItemRef) -> Bool {
        !keepsLastValues && item.isTombstone && item.pointee.store == .documents
    }

    private func update(_ item: ItemRef) throws(SQLiteError) -> Bool {
        if item.isTombstone {
            // What is deleted for its room has to give its page up, too.
            if item.pointee.bytesDelta < 0, givesUpValue(item) || item.hasGivenUpValue {
                try removeRow.bind(1, item.pointee.row)
                try removeRow.run()
                return false
            }
            try deleteDocument.bind(1, item.pointee.row)
            try deleteDocument.bind(2, Int64(item.pointee.rev))
            try deleteDocument.bind(3, Int64(item.pointee.version))
            try deleteDocument.bind(4, item.pointee.updatedAt)
            // What was written and deleted between two folds is not there yet.
            if item.pointee.writesBody {
                try deleteDocument.bind(5, utf8: item.value)
            } else {
                try deleteDocument.bindNull(5)
            }
            try deleteDocument.run()
        } else {
            if item.pointee.bytesDelta <= -Self.shrinkage {
                try removeRow.bind(1, item.pointee.row)
                try removeRow.run()
                return false
            }
            try updateDocument.bind(1, item.pointee.row)
            try updateDocument.bind(2, Int64(item.pointee.rev))
            try updateDocument.bind(3, Int64(item.pointee.version))
            try updateDocument.bind(4, item.pointee.createdAt)
            try updateDocument.bind(5, item.pointee.updatedAt)
            try updateDocument.bind(6, utf8: item.value)
            try updateDocument.run()
        }
        return connection.changes > 0
    }

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
