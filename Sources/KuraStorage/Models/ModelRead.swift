import KuraBytes
import SQLite

/// Values of entries, read from their file.
///
/// Safety: one user at a time, as `CacheJob` says.
public final class ModelRead: CacheJob, TableQuery, @unchecked Sendable {
    let ticket: UInt64
    private let namespace: UInt32
    /// Keys, and the sequences of their entries.
    private let wanted: [(key: [UInt8], sequence: UInt64)]
    private let file: String
    private var values = ByteBuffer()
    /// Where the values are, by the sequences of their entries; empty for those that the file does not have.
    private var places: [UInt64: Range<Int>] = [:]

    /// The file could not be opened or read: nothing is known of the values.
    public private(set) var isUnavailable = false

    private static let limit = 32 << 20

    enum Answer {
        /// The file has lost it.
        case gone
        case value(Bytes)
    }

    init(ticket: UInt64, namespace: UInt32, wanted: [(key: [UInt8], sequence: UInt64)], file: String) {
        self.ticket = ticket
        self.namespace = namespace
        self.wanted = wanted
        self.file = file
    }

    /// What the file has of an entry; nil when that was not asked for.
    func answer(_ sequence: UInt64) -> Answer? {
        guard let place = places[sequence] else { return nil }
        return place.isEmpty ? .gone : .value(values.bytes(place))
    }

    func run(_ files: CacheFiles) throws(SQLiteError) {
        guard files.exists(file) else {
            for (_, sequence) in wanted { places[sequence] = 0..<0 }
            return
        }
        do throws(SQLiteError) { try read(files) } catch {
            // The file was begun anew under this connection: what is there now is opened.
            files.forget(file)
            do throws(SQLiteError) { try read(files) } catch {
                if error.isCorrupt { files.giveUp(damaged: file) } else { files.forget(file) }
                isUnavailable = !error.isCorrupt
                // What damage hides is gone.
                for (_, sequence) in wanted where !isUnavailable && places[sequence] == nil { places[sequence] = 0..<0 }
                throw error
            }
        }
    }

    private func read(_ files: CacheFiles) throws(SQLiteError) {
        let opened = try files.file(file)
        try opened.noticing { () throws(SQLiteError) in
            let statement = try opened.keep { (connection) throws(SQLiteError) in try ModelValueStatement(connection) }
            // No reply holds more.
            for (key, sequence) in wanted where values.count <= Self.limit {
                let start = values.count
                try statement.read(namespace, key, into: &values)
                places[sequence] = start..<values.count
            }
        }
    }

    // MARK: As an answer

    public var foldedTo: UInt64 { 0 }
    public func run(_ tables: TableReader) throws(QueryError) {}
    public var footprint: Int { values.capacity }
}

/// Reads a value by its key.
final class ModelValueStatement {
    private let find: Statement

    init(_ connection: Connection) throws(SQLiteError) {
        find = try connection.prepare("SELECT value FROM model_values WHERE namespace=?1 AND key=?2")
    }

    /// Appends the value; nothing when there is none.
    func read(_ namespace: UInt32, _ key: [UInt8], into values: inout ByteBuffer) throws(SQLiteError) {
        defer { find.reset() }
        try find.bind(1, Int64(namespace))
        try key.withBytes { (key) throws(SQLiteError) in
            try find.bind(2, bytes: key)
            if try find.step() { values.append(find.bytes(0)) }
        }
    }
}
