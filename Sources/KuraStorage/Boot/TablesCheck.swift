import Glibc
import KuraBytes
import SQLite

/// A look through kura.sqlite by SQLite itself.
package enum TablesCheck {
    /// What is looked through after an unclean stop, in this order, for so long at most: what every start needs, and last the documents, as far
    /// as the time goes.
    static let vital = [
        "meta", "scopes", "segments", "settings", "indexes", "searches", "drops", "contents", "histories",
    ]

    struct Problem: Equatable, Sendable {
        var table: String
        var text: String
        /// A read has failed, which may be all that is wrong.
        var error: SQLiteError?
    }

    /// What keeps a start from taking in the tables, as they lie there. Changes nothing. While their WAL has commits only the file's length is
    /// looked at, since what a start sees is both together.
    package static func problem(
        _ configuration: StorageConfiguration
    ) throws(StorageFault) -> String? {
        let path = configuration.tablesPath
        // A daemon that runs may be checkpointing: then the second look tells.
        if try shortfall(path) != nil, let shortfall = try shortfall(path) { return shortfall }
        guard try DatabaseHeader(path)?.version == Tables.migrator.newestVersion,
            try WALCommits(path: path + "-wal").ends.isEmpty
        else { return nil }
        do throws(SQLiteError) {
            let connection = try Connection(immutable: path)
            defer { connection.close() }
            let found = try quick(
                connection, vital, milliseconds: configuration.boot.lookMilliseconds, by: configuration.clock)
            return found.problems.first.map { "\(path) is damaged: \($0.table): \($0.text)" }
        } catch {
            guard error.isDamage else { throw .database(error, file: path) }
            return "\(path) is damaged: \(error.message)"
        }
    }

    /// What the file lacks at its end that is not in its WAL either; nil when it lacks nothing.
    static func shortfall(_ path: String) throws(StorageFault) -> String? {
        let has = try FileSystem.length(path) / SQLiteSegment.pageSize
        guard let pages = try DatabaseHeader.pageCount(path), has < pages else { return nil }
        let wal = try WALCommits(path: path + "-wal")
        guard wal.isReadable || wal.ends.isEmpty && !FileSystem.exists(path + "-wal") else { return nil }
        let wanted = wal.ends.isEmpty ? pages : wal.pageCount
        guard has < wanted, (has + 1...wanted).contains(where: { wal.pages[$0] == nil }) else { return nil }
        return "\(path) was cut short: it has \(has) of \(wanted) pages, and its WAL lacks some of the others"
    }

    /// - Returns: the first thing that is wrong with the file; nil when nothing is. However long it takes.
    static func firstProblem(_ connection: Connection) throws(SQLiteError) -> String? {
        let statement = try connection.prepare("PRAGMA quick_check(1)")
        guard try statement.step() else { return nil }
        let text = statement.text(0)
        if let error = failedRead(text) { throw error }
        return text == "ok" ? nil : text
    }

    /// SQLite tells of a page that it could not read as of one that is wrong: "unable to get the page. error code=266".
    /// - Returns: the error, when it is the disk's or for want of memory.
    static func failedRead(_ text: String) -> SQLiteError? {
        guard
            let code = text.firstRange(of: "error code=").flatMap({
                Int32(text[$0.upperBound...].prefix { $0.isNumber })
            })
        else { return nil }
        let error = SQLiteError(extendedCode: code, systemErrno: code & 0xff == 10 ? EIO : 0, message: text)
        return error.isIOError && !error.isOfContents || error.isWant ? error : nil
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
                if text != "ok" { problems.append(Problem(table: table, text: text, error: failedRead(text))) }
            } catch {
                guard error.isDamage else { throw error }
                problems.append(Problem(table: table, text: error.message, error: error))
            }
        }
        return (problems, true)
    }
}
