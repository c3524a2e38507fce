import KuraBytes
import SQLite

/// What documents were before, for the collections that keep it. On the fold thread.
///
/// A row of `history` is one version: the document from one revision on, `rev`, until another took its place, `until`. A fold writes in its own
/// transaction the row that it replaces and the changes that came before the slice's newest. So each version is there once, and those of a document
/// join up, unless there was no room for them. `histories` says what a collection keeps, in the same transactions.
final class HistoryTable: TableWork {
    private struct Collection {
        /// nil when nothing is kept any more.
        var rule: HistoryRule?
        var bytes: Int64
        /// Rows with numbers up to this one are being erased.
        var erasedTo: Int64
        var isChanged = false

        var isOver: Bool { rule.map { bytes > $0.bytes } ?? false }
        var isErasing: Bool { erasedTo > 0 }
    }

    private let connection: Connection
    private let replaced, insert, trim, oldest, removeErased, removeOldest: Statement
    private let removeAged, removePurged, update, remove: Statement
    private var collections: [UInt32: Collection] = [:]
    /// The slice's changes, by the rows of their documents.
    private var steps: [Int64: ContiguousArray<ItemRef>] = [:]
    /// There is room for it.
    var isKeeping = true
    private(set) var hasWork = false

    /// Rows at a time: between two looks at the clock.
    private static let step: Int64 = 64

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
        replaced = try connection.prepare(
            "SELECT rev, version, updatedAt, isDeleted, body FROM documents WHERE row = ?1")
        insert = try connection.prepare(
            """
            INSERT INTO history(collection, row, rev, until, version, writtenAt, replacedAt, isDeleted, bytes, body)
            VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
        trim = try connection.prepare(
            """
            DELETE FROM history WHERE row = ?1 AND rev <=
                (SELECT rev FROM history WHERE row = ?1 ORDER BY rev DESC LIMIT 1 OFFSET ?2) RETURNING bytes
            """)
        oldest = try connection.prepare(
            "SELECT ifnull(max(number), 0) FROM history INDEXED BY history_collection WHERE collection = ?1")
        let first = "SELECT number FROM history INDEXED BY history_collection WHERE collection = ?1"
        removeErased = try connection.prepare(
            "DELETE FROM history WHERE number IN (\(first) AND number <= ?2 ORDER BY number LIMIT ?3) RETURNING bytes")
        removeOldest = try connection.prepare(
            "DELETE FROM history WHERE number = (\(first) ORDER BY number LIMIT 1) RETURNING bytes")
        removeAged = try connection.prepare(
            "DELETE FROM history WHERE number IN (\(first) ORDER BY number LIMIT ?3) AND replacedAt < ?2 RETURNING bytes"
        )
        removePurged = try connection.prepare(
            """
            DELETE FROM history WHERE row IN (
                SELECT row FROM documents INDEXED BY documents_tombstones
                WHERE collection = ?1 AND isDeleted = 1 AND updatedAt < ?2 LIMIT ?3) RETURNING bytes
            """)
        update = try connection.prepare(
            "INSERT OR REPLACE INTO histories(collection, definition, bytes, erasedTo) VALUES(?1, ?2, ?3, ?4)")
        remove = try connection.prepare("DELETE FROM histories WHERE collection = ?1")
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        collections = [:]
        let select = try connection.prepare("SELECT collection, definition, bytes, erasedTo FROM histories")
        while try select.step() {
            collections[UInt32(select.int64(0))] = Collection(
                rule: HistoryRule(stored: select.bytes(1)), bytes: select.int64(2), erasedTo: select.int64(3))
        }
        noteWork()
    }

    // MARK: In a fold

    /// From now on the collection keeps so much; empty for nothing: then what it has is erased.
    func define(_ collection: UInt32, _ text: Bytes) throws(SQLiteError) {
        var known = collections[collection] ?? Collection(bytes: 0, erasedTo: 0)
        known.rule = text.isEmpty ? nil : HistoryRule(stored: text)
        known.isChanged = true
        if known.rule == nil {
            defer { oldest.reset() }
            try oldest.bind(1, Int64(collection))
            if try oldest.step() { known.erasedTo = oldest.int64(0) }
        }
        collections[collection] = known
    }

    func begin(_ slice: FoldSlice) {
        steps = [:]
        guard isKeeping, collections.contains(where: { $0.value.rule != nil }) else { return }
        for item in slice.items where item.pointee.row > 0 && collections[item.pointee.scope]?.rule != nil {
            steps[item.pointee.row, default: []].append(item)
        }
    }

    /// A document is about to be written: the slice's newest change of it.
    func note(_ item: ItemRef) throws(SQLiteError) {
        guard let rule = collections[item.pointee.scope]?.rule, let all = steps[item.pointee.row] else { return }
        let steps = rule.count.map { all.suffix($0 + 1) } ?? all[...]
        if steps.count == all.count { try keepRow(replacedBy: all[0]) }
        for (step, next) in zip(steps, steps.dropFirst())
        where step.pointee.rev < next.pointee.rev && !step.pointee.isHollow {
            try keep(
                step, version: Int64(step.pointee.version), rev: step.pointee.rev, at: step.pointee.updatedAt,
                isDeleted: step.isTombstone, step.value, replacedBy: next)
        }
        guard let count = rule.count else { return }
        try trim.bind(1, item.pointee.row)
        try trim.bind(2, Int64(count))
        try take(trim, item.pointee.scope)
    }

    /// The row that the tables have of the document, if they have one.
    private func keepRow(replacedBy next: ItemRef) throws(SQLiteError) {
        guard next.pointee.version > 1 else { return }
        defer { replaced.reset() }
        try replaced.bind(1, next.pointee.row)
        guard try replaced.step(), UInt64(replaced.int64(0)) < next.pointee.rev else { return }
        try keep(
            next, version: replaced.int64(1), rev: UInt64(replaced.int64(0)), at: replaced.int64(2),
            isDeleted: replaced.int64(3) != 0, replaced.bytes(4), replacedBy: next)
    }

    private func keep(
        _ item: ItemRef, version: Int64, rev: UInt64, at: Int64, isDeleted: Bool, _ body: Bytes,
        replacedBy next: ItemRef
    ) throws(SQLiteError) {
        let size = isDeleted ? 0 : Int64(body.count)
        try insert.bind(1, Int64(item.pointee.scope))
        try insert.bind(2, item.pointee.row)
        try insert.bind(3, Int64(rev))
        try insert.bind(4, Int64(next.pointee.rev))
        try insert.bind(5, version)
        try insert.bind(6, at)
        try insert.bind(7, next.pointee.updatedAt)
        try insert.bind(8, isDeleted ? 1 : 0)
        try insert.bind(9, size)
        if isDeleted { try insert.bindNull(10) } else { try insert.bind(10, utf8: body) }
        try insert.run()
        note(size + Self.rowBytes, item.pointee.scope)
    }

    /// Bytes that a row takes besides its value, about.
    private static let rowBytes: Int64 = 64

    /// The slice's documents are through.
    func finish() throws(SQLiteError) {
        steps = [:]
        for (number, collection) in collections where collection.isChanged { try write(number, collection) }
        noteWork()
    }

    private func write(_ number: UInt32, _ collection: Collection) throws(SQLiteError) {
        collections[number]?.isChanged = false
        guard collection.rule != nil || collection.isErasing else {
            collections[number] = nil
            try remove.bind(1, Int64(number))
            return try remove.run()
        }
        try update.bind(1, Int64(number))
        if let rule = collection.rule { try update.bind(2, copyingUTF8: rule.text) } else { try update.bindNull(2) }
        try update.bind(3, collection.bytes)
        try update.bind(4, collection.erasedTo)
        try update.run()
    }

    private func note(_ bytes: Int64, _ collection: UInt32) {
        collections[collection]?.bytes += bytes
        collections[collection]?.isChanged = true
    }

    /// Runs what removes rows.
    /// - Returns: how many they were.
    @discardableResult
    private func take(_ removal: borrowing Statement, _ collection: UInt32) throws(SQLiteError) -> Int64 {
        defer { removal.reset() }
        var count: Int64 = 0
        while try removal.step() {
            note(-(removal.int64(0) + Self.rowBytes), collection)
            count += 1
        }
        return count
    }

    // MARK: Between folds

    private func noteWork() { hasWork = collections.contains { $0.value.isErasing || $0.value.isOver } }

    /// Erases what is kept no more, and takes the oldest out where a collection has too much.
    func work(until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try begin()
        for (number, collection) in collections {
            if collection.isErasing, try !erase(number, upTo: collection.erasedTo, until: deadline) { break }
            while collections[number]!.isOver, !deadline.isOver {
                try removeOldest.bind(1, Int64(number))
                guard try take(removeOldest, number) > 0 else {
                    // What was counted is not there.
                    collections[number]!.bytes = 0
                    break
                }
            }
            if deadline.isOver { break }
        }
        try finish()
    }

    /// - Returns: whether nothing is left.
    private func erase(_ number: UInt32, upTo last: Int64, until deadline: Deadline) throws(SQLiteError) -> Bool {
        while !deadline.isOver {
            try removeErased.bind(1, Int64(number))
            try removeErased.bind(2, last)
            try removeErased.bind(3, Self.step)
            guard try take(removeErased, number) < Self.step else { continue }
            collections[number]!.erasedTo = 0
            collections[number]!.isChanged = true
            return true
        }
        return false
    }

    // MARK: What ages out

    /// Whether documents of the collection may have former versions.
    func has(_ collection: UInt32) -> Bool { collections[collection] != nil }

    /// Removes the former versions of the tombstones that are about to be removed.
    func removeSome(purgedWith purge: Purge, limit: Int) throws(SQLiteError) {
        guard has(purge.collection) else { return }
        try bind(removePurged, purge, limit)
        try take(removePurged, purge.collection)
        try finish()
    }

    /// Removes some of the versions that were replaced before the purge's moment.
    /// - Returns: how many they were; fewer than `limit` when none is left.
    func removeSome(agedBy purge: Purge, limit: Int) throws(SQLiteError) -> Int {
        try bind(removeAged, purge, limit)
        let count = Int(try take(removeAged, purge.collection))
        try finish()
        return count
    }

    private func bind(_ statement: borrowing Statement, _ purge: Purge, _ limit: Int) throws(SQLiteError) {
        try statement.bind(1, Int64(purge.collection))
        try statement.bind(2, purge.before)
        try statement.bind(3, Int64(limit))
    }
}
