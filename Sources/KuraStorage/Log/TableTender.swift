import KuraBytes
import SQLite

/// What the fold thread does while there is nothing to fold: builds indexes, removes what is gone from the tables, and gives the file
/// system back what is free in their file.
///
/// One piece is a transaction of at most `limit`, so a fold never waits longer for it. What a piece may take up is found out: when
/// the last one was too long, with all that the disk had to write for it, the next one begins to end earlier.
final class TableTender {
    /// Nanoseconds that a piece is to take, its commit included.
    static let limit: UInt64 = 20_000_000

    private let tables: FoldTables
    private var connection: Connection { tables.connection }
    private var indexes: IndexKeeper { tables.indexes }
    private var searches: SearchKeeper { tables.searches }
    let removal: DocumentRemoval
    let shrinking: TableShrinking
    /// Nanoseconds after which a piece begins its commit.
    private var budget: UInt64 = 4_000_000
    /// Longest piece since this was asked last, in nanoseconds.
    private var longest: UInt64 = 0
    private var newsAt: UInt64 = 0
    /// Milliseconds to wait for other work before the next piece.
    private var pause = 0
    private var hasGivenUp = false
    private var turn = Turn.removal
    /// Whose piece it is: by turns, so that whoever waits for one does not wait for all of the others.
    private enum Turn: CaseIterable { case indexes, searches, removal, shrinking }

    /// `path`: the tables' file.
    init(_ tables: FoldTables, path: String, _ clock: Clock) throws(SQLiteError) {
        self.tables = tables
        removal = try DocumentRemoval(tables.connection, tables.uses)
        shrinking = try TableShrinking(tables.connection, path: path, clock)
    }

    /// There is something to do that is not to wait.
    private var hasWork: Bool { !hasGivenUp && Turn.allCases.contains { hasWork($0) } }

    /// Milliseconds until the next piece is due; nil while there is nothing to do.
    var wait: Int? {
        if hasGivenUp { return nil }
        return hasWork ? pause : shrinking.wait.map { max($0, pause) }
    }

    private func hasWork(_ turn: Turn) -> Bool {
        switch turn {
        case .indexes: indexes.hasWork
        case .searches: searches.hasWork
        case .removal: removal.hasWork
        case .shrinking: shrinking.wait == 0
        }
    }

    /// The next after the last that has something to do.
    private func takeTurn() {
        let last = Turn.allCases.firstIndex(of: turn) ?? 0
        let next = (1...Turn.allCases.count).lazy.map { Turn.allCases[(last + $0) % Turn.allCases.count] }
        turn = next.first { self.hasWork($0) } ?? turn
    }

    /// Progress is told now and then, an end at once.
    var isNewsDue: Bool {
        if removal.hasNews { return true }
        guard indexes.hasNews || searches.hasNews else { return false }
        let time = shrinking.clock.monotonic
        guard time >= newsAt || !hasWork else { return false }
        newsAt = time + 200_000_000
        return true
    }

    /// Nothing is left to do, and the loop has not been told of all that has been done.
    var isNewsLeft: Bool { !hasGivenUp && !hasWork && (indexes.hasNews || searches.hasNews) }

    func takeLongest() -> UInt64 {
        defer { longest = 0 }
        return longest
    }

    /// The disk is full: not again at once.
    func rest(milliseconds: Int) { pause = milliseconds }

    /// The storage is about to end.
    func giveUp() { hasGivenUp = true }

    /// A slice has been folded: what it brought may be work.
    func note(_ slice: FoldSlice) {
        shrinking.noteChanged()
        for event in slice.events {
            if case .drop = event.kind { removal.drop(event.scope) }
        }
    }

    /// Does one piece.
    func work() throws(SQLiteError) {
        pause = 0
        takeTurn()
        if turn == .shrinking {
            guard try shrinking.look() else { return }
        }
        let (start, deadline) = (shrinking.clock.monotonic, shrinking.clock.deadline(after: budget))
        do throws(SQLiteError) {
            if let code = FaultPoints.hit(.tendSlice)?.errno { throw .injected(code) }
            switch turn {
            case .removal:
                try connection.execute("BEGIN IMMEDIATE")
                try removal.work(until: deadline)
            case .shrinking:
                try connection.execute("BEGIN IMMEDIATE")
                try shrinking.work(until: deadline)
            case .searches:
                try connection.execute("BEGIN IMMEDIATE")
                try searches.work(until: deadline)
            case .indexes:
                try indexes.work(until: deadline) { () throws(SQLiteError) in
                    try connection.execute("BEGIN IMMEDIATE")
                }
            }
            // Reading needs none.
            if connection.isInTransaction {
                if let code = FaultPoints.hit(.tendCommit)?.errno { throw .injected(code) }
                try connection.execute("COMMIT")
            }
            if turn == .removal { removal.committed() }
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            try tables.reload()
            try removal.reload()
            throw error
        }
        let time = shrinking.clock.monotonic - start
        longest = max(longest, time)
        if turn == .shrinking { shrinking.rest(after: time) } else { shrinking.noteChanged() }
        if time > Self.limit / 4 * 3 {
            budget = max(500_000, budget / 2)
        } else if time < Self.limit / 2 {
            budget = min(Self.limit / 2, budget + budget / 8)
        }
    }
}
