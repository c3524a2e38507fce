import KuraBytes
import SQLite

/// A row of the table `searches`.
struct SearchRow {
    var status: SearchStatus
    var definition: SearchDefinition
    var builtTo: Int64
    /// It was built by another version (`SearchDefinition.version`), and is to go.
    var isOutdated = false

    static func all(_ connection: Connection) throws(SQLiteError) -> [SearchRow] {
        let select = try connection.prepare(
            "SELECT number, collection, definition, version, state, builtTo, entries FROM searches ORDER BY number")
        var rows: [SearchRow] = []
        while try select.step() {
            // One of a later version is left alone.
            guard let definition = SearchDefinition(stored: select.bytes(2)),
                let state = SearchStatus.State(rawValue: UInt8(select.int64(4)))
            else { continue }
            let isOutdated = select.int64(3) != SearchDefinition.version && state != .dropping
            let collection = UInt32(select.int64(1))
            let builtTo = select.int64(5)
            rows.append(
                SearchRow(
                    status: SearchStatus(
                        number: select.int64(0), collection: collection, tableText: definition.tableText,
                        state: isOutdated ? .dropping : state,
                        done: Int(max(0, builtTo - Int64(collection) << 40)), entries: Int(select.int64(6))),
                    definition: definition, builtTo: builtTo, isOutdated: isOutdated))
        }
        return rows
    }
}
