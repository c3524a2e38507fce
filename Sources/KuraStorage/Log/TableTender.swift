import KuraBytes
import SQLite

/// What the fold thread does while there is nothing to fold: the work that stores' folders have, such as building indexes, removing what is
/// gone from the tables, and giving the file system back what is free in their file.
///
/// One piece is a transaction of at most `limit`, so a fold never waits longer for it. What a piece may take up is found out: when
/// the last one was too long, with all that the disk had to write for it, the next one begins to end earlier.
final class TableTender {
    /// Nanoseconds that a piece is to take, its commit included.
    static let limit: UInt64 = 20_000_000

    private let connection: Connection
    private let statements: FoldStatements
    let removal: DocumentRemoval
    let shrinking: TableShrinking
    /// Whose pieces are done by turns, so that whoever waits for one does not wait for all of the others; shrinking comes after them.
    private let works: [any TableWork]
    private var turn: Int
    /// Nanoseconds after which a piece begins its commit.
    private var budget: UInt64 = 4_000_000
    /// Longest piece since this was asked last, in nanoseconds.
    private var longest: UInt64 = 0
    private var newsAt: UInt64 = 0
    /// Milliseconds to wait for other work before the next piece.
    private var pause = 0
    /// Pieces in a row that found no room.
    private var fullPieces = 0
    private var hasGivenUp = false

    private static let fullPieceLimit = 16

    /// `path`: the tables' file.
    init(_ statements: FoldStatements, path: String, _ clock: Clock) throws(SQLiteError) {
        self.statements = statements
        let tables = statements.tables
        connection = tables.connection
        removal = try DocumentRemoval(tables)
        shrinking = try TableShrinking(tables.connection, path: path, clock)
        works = statements.work + [removal]
        turn = works.count - 1
    }

    /// There is something to do that is not to wait.
    private var hasWork: Bool { !hasGivenUp && (0...works.count).contains { hasWork($0) } }

    /// Milliseconds until the next piece is due; nil while there is nothing to do.
    var wait: Int? {
        if hasGivenUp { return nil }
        return hasWork ? pause : shrinking.wait.map { max($0, pause) }
    }

    private func hasWork(_ turn: Int) -> Bool { turn < works.count ? works[turn].hasWork : shrinking.wait == 0 }

    /// The next after the last that has something to do.
    private func takeTurn() {
        let next = (1...works.count + 1).lazy.map { (self.turn + $0) % (self.works.count + 1) }
        turn = next.first { self.hasWork($0) } ?? turn
    }

    /// Progress is told now and then, an end at once.
    var isNewsDue: Bool {
        let urgency = statements.newsUrgency
        if removal.hasNews || urgency == .atOnce { return true }
        guard urgency == .inTime else { return false }
        let time = shrinking.clock.monotonic
        guard time >= newsAt || !hasWork else { return false }
        newsAt = time + 200_000_000
        return true
    }

    /// Nothing is left to do, and the loop has not been told of all that has been done.
    var isNewsLeft: Bool { !hasGivenUp && !hasWork && statements.newsUrgency > .none }

    func takeLongest() -> UInt64 {
        defer { longest = 0 }
        return longest
    }

    /// The storage is about to end.
    func giveUp() { hasGivenUp = true }

    /// A piece found no room, or somebody in its way: not again at once. Nothing is lost, and nobody waits who could not wait longer, but for a
    /// compaction. What the loop gives up meanwhile may be enough.
    func rest(after failure: SQLiteError) {
        fullPieces = failure.isFull ? fullPieces + 1 : 0
        let isHopeless = fullPieces == 0 || fullPieces > Self.fullPieceLimit
        pause = isHopeless ? 1000 : 20
        if isHopeless { shrinking.end(failure) }
    }

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
        let isShrinking = turn == works.count
        if isShrinking {
            guard try shrinking.look() else {
                fullPieces = 0
                return
            }
        }
        let (start, deadline) = (shrinking.clock.monotonic, shrinking.clock.deadline(after: budget))
        do throws(SQLiteError) {
            if let code = FaultPoints.hit(.tendSlice)?.errno { throw .injected(code) }
            if isShrinking {
                try begin()
                try shrinking.work(until: deadline)
            } else {
                try works[turn].work(until: deadline, begin)
            }
            // Reading needs none.
            if connection.isInTransaction {
                if let code = FaultPoints.hit(.tendCommit)?.errno { throw .injected(code) }
                try connection.execute("COMMIT")
            }
            if !isShrinking { works[turn].committed() }
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            for work in works { try work.reload() }
            throw error
        }
        fullPieces = 0
        let time = shrinking.clock.monotonic - start
        longest = max(longest, time)
        if isShrinking { shrinking.rest(after: time) } else { shrinking.noteChanged() }
        if time > Self.limit / 4 * 3 {
            budget = max(500_000, budget / 2)
        } else if time < Self.limit / 2 {
            budget = min(Self.limit / 2, budget + budget / 8)
        }
    }

    private func begin() throws(SQLiteError) { try connection.execute("BEGIN IMMEDIATE") }
}
