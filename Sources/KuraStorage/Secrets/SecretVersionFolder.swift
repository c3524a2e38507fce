import SQLite

/// Versions of secrets go into rows, and nothing is left of one that goes.
final class SecretVersionFolder: StoreFolder {
    private let rows: FoldedRows

    init(_ tables: FoldTables) { rows = tables.rows }

    func write(_ item: ItemRef) throws(SQLiteError) {
        if item.isTombstone { try rows.remove(item) } else { try rows.write(item) }
    }
}
