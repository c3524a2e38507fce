import KuraBytes
import SQLite

/// Documents go into their rows and their indexes.
final class DocumentFolder: StoreFolder {
    private let rows: FoldedRows
    private let indexes: IndexKeeper
    private let searches: SearchKeeper

    init(_ tables: FoldTables) { (rows, indexes, searches) = (tables.rows, tables.indexes, tables.searches) }

    func configure(_ scope: UInt32, _ key: Bytes, _ text: Bytes) throws(SQLiteError) {
        if ConfigurationStore.isSearch(key) {
            try searches.define(scope, text)
        } else {
            try indexes.define(scope, text)
        }
    }

    func drop(_ scope: UInt32) throws(SQLiteError) {
        try indexes.define(scope, Bytes())
        try searches.define(scope, Bytes())
    }

    func write(_ item: ItemRef) throws(SQLiteError) {
        try indexes.note(item)
        try searches.note(item)
        try rows.write(item)
    }

    func finish(_ slice: FoldSlice) throws(SQLiteError) {
        try indexes.finish(confirmed: slice.confirmed)
        try searches.finish()
    }
}

/// Lists of attachments go into rows, and their contents are counted.
final class AttachmentFolder: StoreFolder {
    private let rows: FoldedRows
    private let uses: ContentUses

    init(_ tables: FoldTables) { (rows, uses) = (tables.rows, tables.uses) }

    func begin() { uses.begin() }

    func write(_ item: ItemRef) throws(SQLiteError) {
        try uses.note(item)
        try rows.write(item)
    }

    func finish(_ slice: FoldSlice) throws(SQLiteError) { slice.unused = try uses.write(forgetting: slice.forgotten) }
}
