import KuraBytes
import SQLite

/// Takes what can be read of damaged tables into new ones.
///
/// SQLite ends a walk at the first page that does not hold. Here it goes on behind it: rows are asked for number by number, and keys of what
/// is resident are looked for between those that could be read (`KeySearch`). How much a scope has lost follows from its own count.
/// Documents that are lost are named by the index of their ids, which lies on other pages.
///
/// The new tables are as of the same revision, so that the log joins up with them.
struct TablesSalvage {
    /// The tables are as of this revision.
    let rev: UInt64
    /// What could not be read, by scope.
    private(set) var lost: [RecoveredOmission] = []

    private struct Salvaged {
        var id: UInt32
        var store: Store
        var name: [UInt8]
        var count = 0
        var lastRev: UInt64 = 0
        var nextRow: Int64 = 0
    }

    /// Names of lost documents that are written down.
    private static let mostNames = 1_000_000
    private static let rowBits = BackupRecord.rowBits

    /// - Parameters:
    ///   - damaged: a copy, which may be written.
    ///   - path: of the new tables; nothing is there.
    ///   - names: of the file that gets the names of lost documents, one JSON object a line; there is none when no name is known.
    /// - Throws: why nothing can be made of them: what says which rows belong to what is damaged itself, or the disk is full.
    init(of damaged: String, into path: String, names: String) throws(StorageFault) {
        let connection = try Tables.openWriter(damaged, cacheKibibytes: 2048)
        defer { connection.close() }
        do throws(SQLiteError) {
            guard let found = try connection.scalar("SELECT value FROM meta WHERE name = 'foldedRev'"), found >= 0 else {
                throw SQLiteError.damaged("it has no revision")
            }
            rev = UInt64(found)
            let seededRev = try connection.scalar("SELECT value FROM meta WHERE name = '\(RestoredTables.seededRev)'") ?? 0
            let scopes = try Self.scopes(connection)
            let target: RestoredTables
            var unread: [Salvaged] = []
            do throws(BackupFault) {
                target = try RestoredTables(path, cacheKibibytes: 8 << 10)
                for scope in scopes {
                    var left = scope
                    left.count -= try Self.copy(scope, connection, to: target)
                    if left.count > 0 { unread.append(left) }
                }
                _ = try target.countContents()
                try target.finish(
                    epoch: UUIDv7Generator.random(), rev: rev, seededRev: UInt64(clamping: seededRev))
            } catch { throw Self.failure(error) }
            lost = Self.omissions(unread)
            if unread.contains(where: { $0.store == .documents }) {
                try Self.writeNames(unread, connection, salvaged: path, to: names)
            }
        } catch { throw .database(error, file: damaged) }
    }

    private static func failure(_ fault: BackupFault) -> SQLiteError {
        if case .tables(.unreadable(let error)) = fault { return error }
        return fault == .noSpace ? .injected(28) : .damaged(fault.description)
    }

    private static func omissions(_ unread: [Salvaged]) -> [RecoveredOmission] {
        var all: [RecoveredOmission] = []
        // Results of earlier requests are nothing that anybody reads.
        for scope in unread where scope.store != .requests {
            let isNamed = !scope.store.isSealed && all.count < RecoveredOmission.most
            let name = isNamed ? String(decoding: scope.name, as: UTF8.self) : ""
            let store = scope.store.isSealed ? Store.secrets.roomName : scope.store.roomName
            if let position = all.firstIndex(where: { $0.store == store && $0.scope == name }) {
                all[position].count += scope.count
            } else {
                all.append(RecoveredOmission(store: store, scope: name, count: scope.count, reason: .damaged))
            }
        }
        return all.sorted { ($0.store, $0.scope) < ($1.store, $1.scope) }
    }

    // MARK: Scopes

    /// Rows of a scope whose own row is damaged still have its name, by the index of the names.
    private static func scopes(_ connection: Connection) throws(SQLiteError) -> [Salvaged] {
        var found: [UInt32: Salvaged] = [:]
        let names = try connection.prepare(
            "SELECT id, store, name FROM scopes INDEXED BY sqlite_autoindex_scopes_1 ORDER BY store, name")
        let isNamed = try walk(names) {
            guard let store = Store(rawValue: UInt8(clamping: names.int64(1))) else { return }
            let id = UInt32(clamping: names.int64(0))
            found[id] = Salvaged(id: id, store: store, name: Array(names.bytes(2)), nextRow: 1 << rowBits - 1)
        }
        let rows = try connection.prepare(
            "SELECT id, store, name, count, lastRev, nextRow FROM scopes WHERE id >= ?1 ORDER BY id")
        let last = found.keys.max().map(Int64.init) ?? 0
        let isWhole = try walkRows(rows, 0, last + 1) {
            guard let store = Store(rawValue: UInt8(clamping: rows.int64(1))) else { return }
            let id = UInt32(clamping: rows.int64(0))
            found[id] = Salvaged(
                id: id, store: store, name: Array(rows.bytes(2)), count: Int(rows.int64(3)),
                lastRev: UInt64(clamping: rows.int64(4)), nextRow: rows.int64(5) & BackupRecord.rowMask)
        }
        // What nobody knows to exist would be lost without a word.
        guard isNamed || isWhole else { throw SQLiteError.damaged("the names of the scopes cannot be read") }
        return found.values.sorted { $0.id < $1.id }
    }

    /// - Returns: how many of its items that are not deleted could be read.
    private static func copy(
        _ scope: Salvaged, _ connection: Connection, to target: RestoredTables
    ) throws(BackupFault) -> Int {
        var live = 0
        func put(_ found: BackupRecord) throws(BackupFault) {
            var record = found
            record.store = scope.store
            if !record.flags.contains(.isDeleted) { live += 1 }
            let fault: BackupFault? = scope.name.withBytes { name in
                record.scope = name
                do throws(BackupFault) { try target.apply(record) } catch { return error }
                return nil
            }
            if let fault { throw fault }
        }
        var own = BackupRecord(store: scope.store, rev: scope.lastRev, scope: Bytes())
        own.flags = .isScope
        own.row = UInt64(clamping: scope.nextRow & BackupRecord.rowMask)
        if scope.lastRev > 0 { try put(own) }
        live = 0
        var failure: BackupFault?
        func take(_ record: BackupRecord) throws(SQLiteError) {
            do throws(BackupFault) { try put(record) } catch {
                failure = error
                throw .stopped
            }
        }
        do throws(SQLiteError) {
            if scope.store.isResident {
                let search = try KeySearch(connection, scope: Int64(scope.id))
                try search.run(take)
            } else {
                let first = Int64(scope.id) << rowBits
                let rows = try connection.prepare(
                    """
                    SELECT \(WalkStatements.rowColumns) FROM documents
                    WHERE row >= ?1 AND row < \((Int64(scope.id) + 1) << rowBits) ORDER BY row
                    """)
                _ = try walkRows(rows, first, first + scope.nextRow) { () throws(SQLiteError) in
                    try take(WalkStatements.row(in: rows))
                }
            }
        } catch { throw failure ?? .tables(.unreadable(error)) }
        return live
    }

    // MARK: Walking

    /// - Returns: whether the walk has come to its end.
    private static func walk(
        _ statement: borrowing Statement, _ body: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        defer { statement.reset() }
        do throws(SQLiteError) {
            while try statement.step() { try body() }
            return true
        } catch {
            guard error.isDamageOfFile else { throw error }
            return false
        }
    }

    /// Asks in vain for so many rows in a table; each takes some microseconds.
    private static let mostMisses = 2_000_000

    /// Walks on behind each row that cannot be read. The first column is the row's number, the first parameter where to begin.
    /// - Returns: whether all could be read.
    private static func walkRows(
        _ statement: borrowing Statement, _ first: Int64, _ end: Int64, _ body: () throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        var next = first
        var misses = 0
        while true {
            try statement.bind(1, next)
            let isAtEnd = try walk(statement) { () throws(SQLiteError) in
                next = statement.int64(0) + 1
                try body()
            }
            if isAtEnd { return misses == 0 }
            next += 1
            misses += 1
            guard next < end, misses < mostMisses else { return false }
        }
    }

    // MARK: Names

    /// Writes down which documents are lost.
    private static func writeNames(
        _ unread: [Salvaged], _ connection: Connection, salvaged path: String, to names: String
    ) throws(SQLiteError) {
        let other = try Connection(path: path, mode: .readOnly)
        defer { other.close() }
        let isThere = try other.prepare(
            """
            SELECT 1 FROM documents WHERE id = ?2
            AND collection = (SELECT id FROM scopes WHERE store = \(Store.documents.rawValue) AND name = ?1)
            """)
        let ids = try connection.prepare("SELECT id FROM documents INDEXED BY documents_id WHERE collection = ?1")
        var text = ByteBuffer()
        var count = 0
        for scope in unread where scope.store == .documents {
            try ids.bind(1, Int64(scope.id))
            _ = try walk(ids) { () throws(SQLiteError) in
                let id = ids.bytes(0)
                try isThere.bind(1, text: String(decoding: scope.name, as: UTF8.self))
                try isThere.bind(2, utf8: id)
                let isKept = try isThere.step()
                isThere.reset()
                guard !isKept, count < mostNames else { return }
                count += 1
                text.append("{\"collection\":")
                text.append(jsonString: scope.name)
                text.append(",\"id\":")
                text.append(jsonString: Array(id))
                text.append("}\n")
            }
        }
        guard count > 0 else { return }
        let directory = String(names.prefix(upTo: names.lastIndex(of: "/") ?? names.startIndex))
        do throws(StorageFault) { try FileSystem.replace(names, with: text.bytes, in: directory) } catch {
            throw .injected(error.isFull ? 28 : 5)
        }
    }
}

/// Reads the resident items of a scope around what is damaged: from the front, from the end, and from the middle of each gap between, as often
/// as that brings something to light.
private final class KeySearch {
    private let forwards: Statement
    private let backwards: Statement
    private let scope: Int64
    /// Tries that are left.
    private var tries = 4096

    private struct Gap {
        /// Everything up to here has been read, this key included.
        var low: [UInt8]
        /// Everything from here on has been read; nil for nothing.
        var high: [UInt8]?
    }

    init(_ connection: Connection, scope: Int64) throws(SQLiteError) {
        self.scope = scope
        let select = "SELECT \(WalkStatements.residentColumns) FROM settings WHERE scope = ?1 AND key"
        forwards = try connection.prepare(select + " > ?2 ORDER BY key")
        backwards = try connection.prepare(select + " < ?2 ORDER BY key DESC")
    }

    func run(_ take: (BackupRecord) throws(SQLiteError) -> Void) throws(SQLiteError) {
        var whole = Gap(low: [], high: nil)
        if try readOn(from: [], &whole.low, until: nil, take) { return }
        var high = [UInt8](repeating: 0xFF, count: 8)
        if try readBack(from: high, &high, until: whole.low, take) { return }
        var gaps = [Gap(low: whole.low, high: high)]
        while tries > 0, !gaps.isEmpty {
            let gap = gaps.removeFirst()
            guard let middle = Self.middle(gap.low, gap.high ?? high) else { continue }
            tries -= 1
            var (above, below) = (middle, middle)
            let isJoined = (
                try readOn(from: middle, &above, until: gap.high, take),
                try readBack(from: Self.successor(middle), &below, until: gap.low, take)
            )
            if !isJoined.0 { gaps.append(Gap(low: above, high: gap.high)) }
            if !isJoined.1 { gaps.append(Gap(low: gap.low, high: below)) }
        }
    }

    /// Reads on from a key, which is not read itself.
    /// - Parameter reached: the last key that was read, when any was.
    /// - Returns: whether that is up to `end`, or all there is.
    private func readOn(
        from key: [UInt8], _ reached: inout [UInt8], until end: [UInt8]?,
        _ take: (BackupRecord) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        try read(forwards, from: key, &reached, take) { found in
            end.map { !found.lexicographicallyPrecedes($0) } ?? false
        }
    }

    /// The same in the other direction.
    private func readBack(
        from key: [UInt8], _ reached: inout [UInt8], until end: [UInt8],
        _ take: (BackupRecord) throws(SQLiteError) -> Void
    ) throws(SQLiteError) -> Bool {
        try read(backwards, from: key, &reached, take) { !end.lexicographicallyPrecedes($0) }
    }

    private func read(
        _ statement: borrowing Statement, from key: [UInt8], _ reached: inout [UInt8],
        _ take: (BackupRecord) throws(SQLiteError) -> Void, isEnd: ([UInt8]) -> Bool
    ) throws(SQLiteError) -> Bool {
        var last: [UInt8]?
        defer { if let last { reached = last } }
        return try key.withBytes { (key) throws(SQLiteError) in
            defer { statement.reset() }
            do throws(SQLiteError) {
                try statement.bind(1, scope)
                try statement.bind(2, utf8: key)
                while try statement.step() {
                    let found = Array(statement.bytes(1))
                    if isEnd(found) { return true }
                    try take(WalkStatements.resident(in: statement))
                    last = found
                }
                return true
            } catch {
                guard error.isDamageOfFile else { throw error }
                return false
            }
        }
    }

    /// The least key behind one.
    private static func successor(_ key: [UInt8]) -> [UInt8] { key + [0] }

    /// A key between two, by the eight bytes behind what they have in common; nil when these leave none.
    static func middle(_ low: [UInt8], _ high: [UInt8]) -> [UInt8]? {
        let common = zip(low, high).prefix { $0 == $1 }.count
        func number(_ key: [UInt8]) -> UInt64 {
            (0..<8).reduce(0) { $0 << 8 | UInt64(common + $1 < key.count ? key[common + $1] : 0) }
        }
        let (from, to) = (number(low), number(high))
        guard to > from, to - from > 1 else { return nil }
        let middle = from + (to - from) / 2
        return Array(high.prefix(common)) + (0..<8).map { UInt8(truncatingIfNeeded: middle >> (56 - 8 * $0)) }
    }
}

extension SQLiteError {
    /// The one who reads wants no more, for a reason of its own.
    fileprivate static let stopped = SQLiteError(extendedCode: 9, message: "stopped")
}
