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
}

/// Removes rows of documents from the tables, in pieces, on the fold thread: tombstones that may be forgotten, and all of
/// collections that have been dropped. What is to be dropped stands in the table `drops` until it is gone, so a kill loses
/// nothing; a purge that is killed is asked for again or comes by itself.
///
/// Afterwards the file is given back what it does not need.
final class DocumentRemoval {
    private let connection: Connection
    private var drops: [UInt32] = []
    private var purges: [Purge] = []
    /// Purges that are through, for the loop.
    private var done: [Purge] = []
    /// What the transaction under way has removed.
    private var removed = 0
    private var mayShrink = false
    private let dropSome: Statement
    private let purgeSome: Statement
    private let removeDrop: Statement
    private let freePages: Statement

    /// Rows between two looks at the clock.
    private static let step: Int64 = 64
    /// Pages that may stay free in the file.
    private static let spare: Int64 = 1024

    init(_ connection: Connection) throws(SQLiteError) {
        self.connection = connection
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
        freePages = try connection.prepare("PRAGMA freelist_count")
        try reload()
    }

    /// Takes up what the tables say.
    func reload() throws(SQLiteError) {
        removed = 0
        drops = []
        let select = try connection.prepare("SELECT collection FROM drops ORDER BY collection")
        while try select.step() { drops.append(UInt32(select.int64(0))) }
    }

    var hasWork: Bool { !purges.isEmpty || !drops.isEmpty || mayShrink }

    func add(_ purge: Purge) { purges.append(purge) }

    /// A slice has been folded that drops this collection.
    func drop(_ collection: UInt32) { drops.append(collection) }

    /// A table of another kind has gone.
    func noteFreed() { mayShrink = true }

    var hasNews: Bool { !done.isEmpty }

    func takeDone() -> [Purge] {
        defer { done = [] }
        return done
    }

    /// A bounded piece. In a transaction, which `committed` ends.
    func work(until deadline: UInt64) throws(SQLiteError) {
        removed = 0
        if let purge = purges.first {
            try remove(until: deadline) { () throws(SQLiteError) in
                try purgeSome.bind(1, Int64(purge.collection))
                try purgeSome.bind(2, purge.before)
                try purgeSome.bind(3, Self.step)
                try purgeSome.run()
            }
        } else if let collection = drops.first {
            let isEmpty = try remove(until: deadline) { () throws(SQLiteError) in
                try dropSome.bind(1, Int64(collection) << 40)
                try dropSome.bind(2, (Int64(collection) + 1) << 40)
                try dropSome.bind(3, Self.step)
                try dropSome.run()
            }
            guard isEmpty else { return }
            try removeDrop.bind(1, Int64(collection))
            try removeDrop.run()
        } else {
            try shrink(until: deadline)
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
        if removed > 0 { mayShrink = true }
    }

    /// Nothing was left for the last piece.
    private var isThrough = false

    /// - Returns: whether nothing is left.
    @discardableResult
    private func remove(until deadline: UInt64, _ some: () throws(SQLiteError) -> Void) throws(SQLiteError) -> Bool {
        isThrough = false
        repeat {
            try some()
            let count = connection.changes
            removed += count
            if count < Self.step {
                isThrough = true
                return true
            }
        } while monotonicNanoseconds() < deadline
        return false
    }

    private func shrink(until deadline: UInt64) throws(SQLiteError) {
        isThrough = false
        repeat {
            guard try freePages.step(), freePages.int64(0) > Self.spare else {
                freePages.reset()
                mayShrink = false
                return
            }
            freePages.reset()
            try connection.execute("PRAGMA incremental_vacuum(16)")
        } while monotonicNanoseconds() < deadline
    }
}
