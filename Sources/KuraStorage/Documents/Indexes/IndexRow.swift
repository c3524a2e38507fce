import KuraBytes
import SQLite

/// A row of the table `indexes`.
struct IndexRow {
    var status: IndexStatus
    var definition: IndexDefinition
    var reached: Int64
    var builtTo: Int64

    static func all(_ connection: Connection) throws(SQLiteError) -> [IndexRow] {
        let select = try connection.prepare(
            """
            SELECT number, collection, name, definition, state, reached, builtTo, entries, bytes, first, second
            FROM indexes ORDER BY number
            """)
        var rows: [IndexRow] = []
        while try select.step() {
            let collection = UInt32(select.int64(1))
            let text = Array(select.bytes(3))
            var list: [UInt8] = [UInt8(ascii: "[")]
            list += text
            list.append(UInt8(ascii: "]"))
            // One of a later version is left alone.
            let known = list.withBytes { try? IndexDefinition.list($0) }
            guard let definition = known?.first, let state = IndexStatus.State(rawValue: UInt8(select.int64(4))) else {
                continue
            }
            let builtTo = select.int64(6)
            rows.append(
                IndexRow(
                    status: IndexStatus(
                        number: select.int64(0), collection: collection, name: Array(select.bytes(2)), text: text,
                        state: state, done: Int(max(0, builtTo - Int64(collection) << 40)),
                        entries: Int(select.int64(7)), bytes: Int(select.int64(8)),
                        conflict: select.isNull(9)
                            ? nil
                            : IndexConflict(first: Array(select.bytes(9)), second: Array(select.bytes(10)))),
                    definition: definition, reached: select.int64(5), builtTo: builtTo))
        }
        return rows
    }
}
