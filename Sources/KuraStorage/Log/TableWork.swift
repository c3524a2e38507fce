import KuraBytes
import SQLite

/// Work on the tables that is not urgent: the fold thread does it in pieces while there is nothing to fold.
protocol TableWork: AnyObject {
    /// There is something to do.
    var hasWork: Bool { get }
    /// A bounded piece. In no transaction; `begin` is called before anything is written.
    func work(until deadline: Deadline, _ begin: () throws(SQLiteError) -> Void) throws(SQLiteError)
    /// What the last piece has written is in the tables.
    func committed()
    /// A transaction was taken back: what is known of the tables is read anew.
    func reload() throws(SQLiteError)
}

extension TableWork {
    func committed() {}
}

/// What a store's folder tells its store of the work between folds.
protocol FoldNews: Sendable {
    /// Hands it to whom it is for. On the loop.
    func tell(_ tables: TablesKeeper, _ time: UInt64)
}

/// How soon the loop is told: an end at once, progress now and then.
enum NewsUrgency: Comparable {
    case none, inTime, atOnce
}
