import KuraBytes
import SQLite

/// Tombstones that may be forgotten: those of one collection that are older than a moment.
struct Purge: Sendable {
    /// Whose answer it is; 0 when nobody waits.
    var ticket: UInt64
    var collection: UInt32
    /// Milliseconds since 1970; tombstones from before go.
    var before: Int64
    /// How many have gone.
    var removed = 0
    /// They are lists of attachments.
    var isLists = false
}

/// Removes rows of documents from the tables, in pieces, on the fold thread: tombstones that may be forgotten, and all of
/// collections that have been dropped. What is to be dropped stands in the table `drops` until it is gone, so a kill loses
/// nothing; a purge that is killed is asked for again or comes by itself.
final class DocumentRemoval {
    private let connection: Connection
    private let uses: ContentUses
    private var drops: [UInt32] = []
    /// Those of them that are lists of attachments.
    private var lists: Set<UInt32> = []
    private var purges: [Purge] = []
    /// Purges that are through, for the loop.
    private var done: [Purge] = []
    /// What the transaction under way has removed.
    private var removed = 0
    private let dropSome: Statement
    private let purgeSome: Statement
    /// The same for lists of attachments, which name the contents that they give up.
    private let dropLists: Statement
    private let purgeLists: Statement
    private let listsOfCollection: Statement
    private let isOfLists: Statement
    private let removeDrop: Statement

    /// Rows between two looks at the clock.
    private static let step: Int64 = 64

    init(_ connection: Connection, _ uses: ContentUses) throws(SQLiteError) {
        self.connection = connection
        self.uses = uses
        dropLists = try connection.prepare(
            """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row LIMIT ?3) RETURNING body
            """)
        purgeLists = try connection.prepare(
            """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents INDEXED BY documents_tombstones
                WHERE collection = ?1 AND isDeleted = 1 AND updatedAt < ?2 LIMIT ?3) RETURNING body
            """)
        listsOfCollection = try connection.prepare(
            """
            SELECT l.id FROM scopes d JOIN scopes l ON l.store = ?2 AND l.name = d.name WHERE d.id = ?1
            """)
        isOfLists = try connection.prepare("SELECT isLists FROM drops WHERE collection = ?1")
        dropSome = try connection.prepare(
            """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row LIMIT ?3)
            """)
        purgeSome = try connection.prepare(
            """
            DELETE FROM documents WHERE row IN (
                SELECT row FROM documents INDEXED BY documents_tombstones
                WHERE collection = ?1 AND isDeleted = 1 AND updatedAt < ?2 LIMIT ?3)
            """)
        removeDrop = try connection.prepare("DELETE FROM drops WHERE collection = ?1")
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        removed = 0
        drops = []
        lists = []
        let select = try connection.prepare("SELECT collection, isLists FROM drops ORDER BY collection")
        while try select.step() {
            drops.append(UInt32(select.int64(0)))
            if select.int64(1) != 0 { lists.insert(UInt32(select.int64(0))) }
        }
    }

    var hasWork: Bool { !purges.isEmpty || !drops.isEmpty }

    /// The lists of attachments of what is purged go with it.
    func add(_ purge: Purge) {
        purges.append(purge)
        guard let scope = try? find(listsOf: purge.collection) else { return }
        purges.append(Purge(ticket: 0, collection: scope, before: purge.before, isLists: true))
    }

    private func find(listsOf collection: UInt32) throws(SQLiteError) -> UInt32? {
        defer { listsOfCollection.reset() }
        try listsOfCollection.bind(1, Int64(collection))
        try listsOfCollection.bind(2, Int64(Store.attachments.rawValue))
        return try listsOfCollection.step() ? UInt32(listsOfCollection.int64(0)) : nil
    }

    /// A slice has been folded that drops this collection.
    func drop(_ collection: UInt32) {
        drops.append(collection)
        if (try? isLists(collection)) == true { lists.insert(collection) }
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

    /// A bounded piece. In a transaction, which `committed` ends.
    func work(until deadline: Deadline) throws(SQLiteError) {
        removed = 0
        if let purge = purges.first {
            try remove(until: deadline) { () throws(SQLiteError) in
                guard !purge.isLists else { return try removeLists(purge) }
                try purgeSome.bind(1, Int64(purge.collection))
                try purgeSome.bind(2, purge.before)
                try purgeSome.bind(3, Self.step)
                try purgeSome.run()
            }
        } else if let collection = drops.first {
            let isEmpty = try remove(until: deadline) { () throws(SQLiteError) in
                guard !lists.contains(collection) else { return try removeLists(collection) }
                try dropSome.bind(1, Int64(collection) << 40)
                try dropSome.bind(2, (Int64(collection) + 1) << 40)
                try dropSome.bind(3, Self.step)
                try dropSome.run()
            }
            guard isEmpty else { return }
            try removeDrop.bind(1, Int64(collection))
            try removeDrop.run()
        }
    }

    private func removeLists(_ purge: Purge) throws(SQLiteError) {
        try purgeLists.bind(1, Int64(purge.collection))
        try purgeLists.bind(2, purge.before)
        try purgeLists.bind(3, Self.step)
        try giveUpContents(of: purgeLists)
    }

    private func removeLists(_ collection: UInt32) throws(SQLiteError) {
        try dropLists.bind(1, Int64(collection) << 40)
        try dropLists.bind(2, (Int64(collection) + 1) << 40)
        try dropLists.bind(3, Self.step)
        try giveUpContents(of: dropLists)
    }

    /// Runs what removes lists, and counts the contents that they named. `changes` is the number of lists afterwards, since the counts
    /// are written before they are removed: those that are none are found with the next slice.
    private func giveUpContents(of statement: borrowing Statement) throws(SQLiteError) {
        defer { statement.reset() }
        uses.begin()
        var count = 0
        while try statement.step() {
            uses.noteRemoval(ofList: statement.bytes(0))
            count += 1
        }
        try uses.writeLater()
        changed = count
    }

    /// Rows that the last statement has removed, when another came after it.
    private var changed: Int?

    /// The transaction of the last piece is in the tables.
    func committed() {
        if !purges.isEmpty {
            purges[0].removed += removed
            if isThrough { done.append(purges.removeFirst()) }
        } else if !drops.isEmpty, isThrough {
            drops.removeFirst()
        }
    }

    /// Nothing was left for the last piece.
    private var isThrough = false

    /// - Returns: whether nothing is left.
    @discardableResult
    private func remove(until deadline: Deadline, _ some: () throws(SQLiteError) -> Void) throws(SQLiteError) -> Bool {
        isThrough = false
        repeat {
            changed = nil
            try some()
            let count = changed ?? Int(connection.changes)
            removed += count
            if count < Self.step {
                isThrough = true
                return true
            }
        } while !deadline.isOver
        return false
    }
}
