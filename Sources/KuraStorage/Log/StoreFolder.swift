import KuraBytes
import SQLite

/// How a store's changes get into the tables. On the fold thread, within a fold's transaction.
protocol StoreFolder: AnyObject {
    /// A fold begins.
    func begin(_ slice: FoldSlice)
    /// What is configured for a scope under a key that the store's tables go by; empty for nothing.
    func configure(_ scope: UInt32, _ key: Bytes, _ text: Bytes) throws(SQLiteError)
    /// A scope is gone.
    func drop(_ scope: UInt32) throws(SQLiteError)
    /// The newest change of an item.
    func write(_ item: ItemRef) throws(SQLiteError)
    /// The fold's changes are all there.
    func finish(_ slice: FoldSlice) throws(SQLiteError)
    /// What it has done between folds, each piece of it in a transaction of its own.
    var work: [any TableWork] { get }
    /// How soon its store is told what that has come to.
    var newsUrgency: NewsUrgency { get }
    /// What its store is told; nil when nothing has changed.
    func takeNews() -> (any FoldNews)?
}

extension StoreFolder {
    func begin(_ slice: FoldSlice) {}
    func configure(_ scope: UInt32, _ key: Bytes, _ text: Bytes) throws(SQLiteError) {}
    func drop(_ scope: UInt32) throws(SQLiteError) {}
    func finish(_ slice: FoldSlice) throws(SQLiteError) {}
    var work: [any TableWork] { [] }
    var newsUrgency: NewsUrgency { .none }
    func takeNews() -> (any FoldNews)? { nil }
}

/// Resident stores: a row of `settings` is an item.
final class ResidentFolder: StoreFolder {
    private let put, delete: Statement

    init(_ tables: FoldTables) throws(SQLiteError) {
        put = try tables.connection.prepare(
            """
            INSERT INTO settings(scope, key, rev, updatedAt, value) VALUES(?1, ?2, ?3, ?4, ?5)
            ON CONFLICT(scope, key) DO UPDATE SET rev = ?3, updatedAt = ?4, value = ?5
            """)
        delete = try tables.connection.prepare("DELETE FROM settings WHERE scope = ?1 AND key = ?2")
    }

    func write(_ item: ItemRef) throws(SQLiteError) {
        if item.isTombstone {
            try delete.bind(1, Int64(item.pointee.scope))
            try delete.bind(2, utf8: item.key)
            try delete.run()
        } else {
            try put.bind(1, Int64(item.pointee.scope))
            try put.bind(2, utf8: item.key)
            try put.bind(3, Int64(item.pointee.rev))
            try put.bind(4, item.pointee.updatedAt)
            try put.bind(5, utf8: item.value)
            try put.run()
        }
    }
}

/// Rows of `documents`, of whatever store.
final class FoldedRows {
    private let updateDocument, insertDocument, deleteDocument, removeRow: Statement
    private let connection: Connection
    /// Else deleted documents leave no body: there is no room for them.
    var keepsLastValues = true

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
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
    }

    func remove(_ item: ItemRef) throws(SQLiteError) {
        try removeRow.bind(1, item.pointee.row)
        try removeRow.run()
    }

    func write(_ item: ItemRef) throws(SQLiteError) {
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

    /// A document that has become smaller by so much is taken out and put in again: SQLite lays pages together when something is taken out, and leaves
    /// them as they are when it becomes smaller in its place.
    private static let shrinkage: Int32 = 1024

    private func givesUpValue(_ item: ItemRef) -> Bool {
        !keepsLastValues && item.isTombstone && item.pointee.store.has(.keepsLastValues)
    }

    private func update(_ item: ItemRef) throws(SQLiteError) -> Bool {
        if item.isTombstone {
            // What is deleted for its room has to give its page up, too.
            if item.pointee.bytesDelta < 0, givesUpValue(item) || item.hasGivenUpValue {
                try remove(item)
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
                try remove(item)
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
}

/// What folders write through: one of each, whoever shares it.
final class FoldTables {
    let connection: Connection
    let rows: FoldedRows
    let uses: ContentUses
    let history: HistoryTable
    /// Bytes that building an index may take.
    let memory: Int
    private var isZeroing = true

    init(_ connection: Connection, memory: Int) throws(SQLiteError) {
        self.connection = connection
        self.memory = memory
        rows = try FoldedRows(connection)
        uses = try ContentUses(connection)
        history = try HistoryTable(connection)
    }

    /// Whether pages that become free are overwritten with zeros, which takes as much of the WAL as they have: ten times what the
    /// deletion of a large document takes otherwise. On a full disk only secrets are worth that.
    func zero(_ on: Bool) throws(SQLiteError) {
        guard on != isZeroing else { return }
        try connection.execute(on ? "PRAGMA secure_delete=ON" : "PRAGMA secure_delete=FAST")
        isZeroing = on
    }
}
