import KuraBytes
import SQLite

/// What may be forgotten of one collection: tombstones that are older than a moment, or versions that were replaced before it.
struct Purge: Sendable {
    /// Whose answer it is; 0 when nobody waits.
    var ticket: UInt64
    var collection: UInt32
    /// Milliseconds since 1970; what is from before goes.
    var before: Int64
    /// How many have gone.
    var removed = 0
    var kind = Kind.tombstones

    enum Kind { case tombstones, tombstonesOfLists, history }
}

/// Removes rows of documents from the tables, in pieces, on the fold thread: tombstones that may be forgotten, and all of
/// collections that have been dropped. What is to be dropped stands in the table `drops` until it is gone, so a kill loses
/// nothing; a purge that is killed is asked for again or comes by itself.
final class DocumentRemoval: TableWork {
    private struct Drop {
        var collection: UInt32
        /// It has lists of attachments.
        var isLists: Bool
    }
    private let connection: Connection
    private let rows: RowRemoval
    private var drops: [Drop] = []
    private var purges: [Purge] = []
    /// Purges that are through, for the loop.
    private var done: [Purge] = []
    /// What the transaction under way has removed.
    private var removed = 0
    /// Nothing was left for the last piece.
    private var isThrough = false
    private let listsOfCollection: Statement
    private let isOfLists: Statement
    private let removeDrop: Statement

    init(_ tables: FoldTables) throws(SQLiteError) {
        connection = tables.connection
        rows = try RowRemoval(tables)
        listsOfCollection = try connection.prepare(
            """
            SELECT l.id FROM scopes d JOIN scopes l ON l.store = ?2 AND l.name = d.name WHERE d.id = ?1
            """)
        isOfLists = try connection.prepare("SELECT isLists FROM drops WHERE collection = ?1")
        removeDrop = try connection.prepare("DELETE FROM drops WHERE collection = ?1")
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        removed = 0
        drops = []
        let select = try connection.prepare("SELECT collection, isLists FROM drops ORDER BY collection")
        while try select.step() {
            drops.append(Drop(collection: UInt32(select.int64(0)), isLists: select.int64(1) != 0))
        }
    }

    var hasWork: Bool { !purges.isEmpty || !drops.isEmpty }

    /// The lists of attachments of what is purged go with it.
    func add(_ purge: Purge) {
        purges.append(purge)
        guard purge.kind == .tombstones, let scope = try? find(listsOf: purge.collection) else { return }
        purges.append(Purge(ticket: 0, collection: scope, before: purge.before, kind: .tombstonesOfLists))
    }

    private func find(listsOf collection: UInt32) throws(SQLiteError) -> UInt32? {
        defer { listsOfCollection.reset() }
        try listsOfCollection.bind(1, Int64(collection))
        try listsOfCollection.bind(2, Int64(Store.attachments.rawValue))
        return try listsOfCollection.step() ? UInt32(listsOfCollection.int64(0)) : nil
    }

    /// A slice has been folded that drops this collection.
    func drop(_ collection: UInt32) {
        drops.append(Drop(collection: collection, isLists: (try? isLists(collection)) == true))
    }

    private func isLists(_ collection: UInt32) throws(SQLiteError) -> Bool {
        defer { isOfLists.reset() }
        try isOfLists.bind(1, Int64(collection))
        return try isOfLists.step() && isOfLists.int64(0) != 0
    }

    var hasNews: Bool { !done.isEmpty }

    func takeDone() -> [Purge] {
        defer { done = [] }
        return done
    }

    func work(until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        removed = 0
        try begin()
        if let purge = purges.first {
            try remove(until: deadline) { () throws(SQLiteError) in try rows.some(of: purge) }
        } else if let drop = drops.first {
            try remove(until: deadline) { () throws(SQLiteError) in
                try rows.some(ofCollection: drop.collection, isLists: drop.isLists)
            }
            guard isThrough else { return }
            try removeDrop.bind(1, Int64(drop.collection))
            try removeDrop.run()
        }
    }

    /// The transaction of the last piece is in the tables.
    func committed() {
        if !purges.isEmpty {
            purges[0].removed += removed
            if isThrough { done.append(purges.removeFirst()) }
        } else if !drops.isEmpty, isThrough {
            drops.removeFirst()
        }
    }

    private func remove(until deadline: Deadline, _ some: () throws(SQLiteError) -> Int) throws(SQLiteError) {
        isThrough = false
        repeat {
            let count = try some()
            removed += count
            isThrough = count < RowRemoval.step
        } while !isThrough && !deadline.isOver
    }
}
