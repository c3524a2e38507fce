import KuraBytes
import SQLite

/// Point reads of documents that are not in memory, on the loop: a read-only connection that never waits for the disk.
///
/// When a page is not in the page cache, `find` throws `.cold`; a reader thread then performs the same look-up waiting
/// (`PageWarmer`), and the request is begun again.
final class DocumentReader {
    private let connection: Connection
    private let select: StatementBox
    /// Look-ups in indexes, by number; few, since indexes are.
    private var holders: [Int64: StatementBox] = [:]
    /// Made when it is asked for first.
    private var behind: StatementBox?

    /// `mayWait`: for the reader thread, which waits for the disk.
    /// `cacheKibibytes`: memory for pages, given back with the reader.
    init(path: String, mayWait: Bool, cacheKibibytes: Int = 512) throws(StorageFault) {
        do throws(SQLiteError) {
            connection = try Connection(path: path, mode: .readOnly, vfs: mayWait ? .counting : .nonBlockingReads)
            try connection.setBusyTimeout(milliseconds: mayWait ? 1000 : 0)
            try connection.execute("PRAGMA cache_size=-\(cacheKibibytes);")
            select = StatementBox(
                try connection.prepare(
                    "SELECT \(ItemRef.columns) FROM documents WHERE collection = ?1 AND id = ?2"))
        } catch { throw .database(error, file: path) }
    }

    /// Sees the tables as they are at its next look-up, for good: no lock and no check of the WAL each time. For a short
    /// life while nobody writes.
    func freeze(_ configuration: StorageConfiguration) throws(StorageFault) {
        do throws(SQLiteError) { try connection.execute("BEGIN") } catch {
            throw .database(error, file: configuration.tablesPath)
        }
    }

    /// Sees them as they are from now on.
    func thaw(_ configuration: StorageConfiguration) throws(StorageFault) {
        do throws(SQLiteError) { try connection.execute("COMMIT") } catch {
            throw .database(error, file: configuration.tablesPath)
        }
    }

    /// Reads the document's pages and throws them away: from now on they are in the page cache.
    func warm(scope: UInt32, id: Bytes) throws(SQLiteError) {
        defer { select.statement.reset() }
        try select.statement.bind(1, Int64(scope))
        try select.statement.bind(2, utf8: id)
        if try select.statement.step() { _ = select.statement.bytes(6) }
    }

    /// The same for what `id(behind:scope:)` reads.
    func warm(behind id: Bytes, scope: UInt32) throws(SQLiteError) {
        let box = try behindStatement()
        defer { box.statement.reset() }
        try box.statement.bind(1, Int64(scope))
        try box.statement.bind(2, utf8: id)
        if try box.statement.step() { _ = box.statement.bytes(0) }
    }

    /// The same for what `holder` reads.
    func warm(index: Int64, key: Bytes) throws(SQLiteError) {
        let box = try holderStatement(index)
        defer { box.statement.reset() }
        try box.statement.bind(1, bytes: key)
        while try box.statement.step() { _ = box.statement.int64(1) }
    }

    /// The same, and the documents that were found; so many as one transaction may change.
    func warm(referring index: Int64, key: Bytes, scope: UInt32) throws(SQLiteError) {
        let box = try holderStatement(index)
        defer { box.statement.reset() }
        try box.statement.bind(1, bytes: key)
        var count = 0
        while count <= DeletionEffects.limit, try box.statement.step() {
            try warm(scope: scope, id: box.statement.bytes(0))
            count += 1
        }
    }

    /// Calls `body` with the ids of the documents that have this key in an index, until it returns false.
    func forEachHolder(of key: Bytes, in index: Int64, _ body: (Bytes) -> Bool) throws(EngineError) {
        do throws(SQLiteError) {
            let box = try holderStatement(index)
            defer { box.statement.reset() }
            try box.statement.bind(1, bytes: key)
            while try box.statement.step() {
                if !body(box.statement.bytes(0)) { return }
            }
        } catch {
            if error.wouldBlock || error.isBusy { throw .cold }
            throw .unreadable(error)
        }
    }

    private func holderStatement(_ index: Int64) throws(SQLiteError) -> StatementBox {
        if let known = holders[index] { return known }
        if holders.count >= 64 { holders = [:] }
        let box = StatementBox(
            try connection.prepare(
                "SELECT d.id, d.rev FROM \(IndexTable.name(index)) i JOIN documents d ON d.row = i.row WHERE i.key = ?1"
            ))
        holders[index] = box
        return box
    }

    /// A document with this key in an index, of those that `counts`.
    func holder(of key: Bytes, in index: Int64, where counts: (Bytes) -> Bool) throws(EngineError) -> (
        id: [UInt8], rev: UInt64
    )? {
        do throws(SQLiteError) {
            let box = try holderStatement(index)
            defer { box.statement.reset() }
            try box.statement.bind(1, bytes: key)
            while try box.statement.step() {
                let id = box.statement.bytes(0)
                if counts(id) { return (Array(id), UInt64(box.statement.int64(1))) }
            }
            return nil
        } catch {
            if error.wouldBlock || error.isBusy { throw .cold }
            throw .unreadable(error)
        }
    }

    /// The first id of a collection behind this one, tombstones included; nil when there is none.
    func id(behind id: Bytes, scope: UInt32) throws(EngineError) -> [UInt8]? {
        do throws(SQLiteError) {
            let box = try behindStatement()
            defer { box.statement.reset() }
            try box.statement.bind(1, Int64(scope))
            try box.statement.bind(2, utf8: id)
            return try box.statement.step() ? Array(box.statement.bytes(0)) : nil
        } catch {
            if error.wouldBlock || error.isBusy { throw .cold }
            throw .unreadable(error)
        }
    }

    private func behindStatement() throws(SQLiteError) -> StatementBox {
        if let behind { return behind }
        // Blobs, which no id is, come behind all texts: nobody finds a row by one.
        let made = StatementBox(
            try connection.prepare(
                "SELECT id FROM documents WHERE collection = ?1 AND id > ?2 AND id < x'' ORDER BY id LIMIT 1"))
        behind = made
        return made
    }

    /// The document as a new item with one reference; nil when the tables do not have it.
    /// `isSealed`: it is a secret's version, any bytes; else replies may show it.
    func find(scope: UInt32, id: Bytes, isSealed: Bool = false) throws(EngineError) -> ItemRef? {
        defer { select.statement.reset() }
        do throws(SQLiteError) {
            try select.statement.bind(1, Int64(scope))
            try select.statement.bind(2, utf8: id)
            guard try select.statement.step() else { return nil }
            if !isSealed { _ = try select.statement.line(ItemRef.bodyColumn) }
            return ItemRef.make(from: select.statement, scope: scope)
        } catch {
            if error.wouldBlock || error.isBusy { throw .cold }
            throw .unreadable(error)
        }
    }
}

extension ItemRef {
    /// What `make(from:scope:)` reads.
    static let columns = "row, rev, version, createdAt, updatedAt, isDeleted, body, id"
    static let bodyColumn: Int32 = 6

    /// A document as a row of `columns` has it, with one reference.
    static func make(from row: borrowing Statement, scope: UInt32) -> ItemRef {
        let item = make(key: row.bytes(7), value: row.bytes(bodyColumn))
        item.pointee.row = row.int64(0)
        item.pointee.rev = UInt64(row.int64(1))
        item.pointee.version = UInt32(truncatingIfNeeded: row.int64(2))
        item.pointee.createdAt = row.int64(3)
        item.pointee.updatedAt = row.int64(4)
        item.pointee.scope = scope
        item.pointee.store = .documents
        item.pointee.isDeleted = row.int64(5) != 0
        return item
    }
}
