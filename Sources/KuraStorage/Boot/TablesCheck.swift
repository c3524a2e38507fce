import KuraBytes
import SQLite

/// A look through kura.sqlite by SQLite itself.
enum TablesCheck {
    /// What is looked through after an unclean stop, in this order, for so long at most: what every start needs, and last the documents, as far
    /// as the time goes.
    static let vital = ["meta", "scopes", "segments", "settings", "indexes", "searches", "drops", "contents"]

    struct Problem: Equatable, Sendable {
        var table: String
        var text: String
    }

    /// - Returns: the first thing that is wrong with the file; nil when nothing is. However long it takes.
    static func firstProblem(_ connection: Connection) throws(SQLiteError) -> String? {
        let statement = try connection.prepare("PRAGMA quick_check(1)")
        guard try statement.step() else { return nil }
        let text = statement.text(0)
        return text == "ok" ? nil : text
    }

    /// Looks through tables one after the other until the time is over.
    /// - Returns: the first problem of each that has any, and whether all have been looked through.
    static func quick(
        _ connection: Connection, _ tables: [String] = vital + ["documents"], milliseconds: Int, by clock: Clock
    ) throws(SQLiteError) -> (problems: [Problem], isComplete: Bool) {
        let deadline = clock.deadline(milliseconds: milliseconds)
        var problems: [Problem] = []
        for table in tables {
            if deadline.isOver { return (problems, false) }
            do throws(SQLiteError) {
                let text = try connection.limited(until: deadline) { () throws(SQLiteError) in
                    let statement = try connection.prepare("PRAGMA quick_check('\(table)')")
                    return try statement.step() ? statement.text(0) : "ok"
                }
                guard let text else { return (problems, false) }
                if text != "ok" { problems.append(Problem(table: table, text: text)) }
            } catch {
                guard error.isDamage else { throw error }
                problems.append(Problem(table: table, text: error.message))
            }
        }
        return (problems, true)
    }
}
