import Glibc
import KuraBytes
import SQLite

/// Has what removed rows of secrets have left in the tables overwritten, a piece at a time: folds go on in between.
///
/// A piece begins with an empty WAL: what was written since the last one is checkpointed, and the WAL zeroed. Which pages those were the WAL
/// says, so that they are looked at again (`PageScrub`). A piece that gets to the end has found every page without remains.
///
/// On the fold thread.
final class TableScrub {
    private let connection: Connection
    /// Path of the tables' file.
    private let tables: String
    private let wal: TablesWAL
    /// What has been looked at of the walk that is under way; nil before the first piece.
    private var pages: PageScrub?
    /// It was asked for.
    private(set) var isDue = false
    /// Checkpoints that were tried when the last piece ended.
    private var knownTries = 0

    /// Nanoseconds that a piece looks at pages.
    static let limit: UInt64 = 40_000_000

    init(_ connection: Connection, tables: String, _ wal: TablesWAL) {
        (self.connection, self.tables, self.wal) = (connection, tables, wal)
    }

    func ask() { isDue = true }

    /// Does one piece. Afterwards `isDue` says whether something is left to do.
    /// - Throws: `isBusy` while somebody reads what is in the WAL. As after every error, it goes on when it is asked for again.
    func work(_ clock: Clock) throws(SQLiteError) {
        isDue = false
        var pages: PageScrub
        if let known = self.pages { pages = known } else { pages = try begin() }
        var isThrough = false
        defer {
            // The next walk is another one.
            self.pages = isThrough ? nil : pages
            knownTries = wal.tries
        }
        // Which pages others' checkpoints have written is not known.
        if wal.tries != knownTries { pages.forget(nil) }
        try emptyWAL(&pages)
        let fault = FaultPoints.hit(.scrubPages)
        if let code = fault?.errno { throw .injected(code) }
        isThrough = fault == .skip
        if isThrough { return }
        let before = pages.zeroed
        defer { if pages.zeroed > before { connection.releaseMemory() } }
        try pages.begin(until: clock.deadline(after: Self.limit))
        try pages.scrub(table: "settings")
        if !pages.isPaused { try pages.scrub(table: "documents", rows: try rowsOfValues()) }
        (isDue, isThrough) = (pages.isPaused, !pages.isPaused)
    }

    private func begin() throws(SQLiteError) -> PageScrub {
        let pages = try PageScrub(connection, journal: ScrubJournal(tables: tables))
        // After a start nothing is known to be durable; with an empty WAL nothing else would tell.
        if wal.durableRev < wal.foldedRev { try wal.run(.full) }
        return pages
    }

    private func rowsOfValues() throws(SQLiteError) -> [ClosedRange<Int64>] {
        var rows: [ClosedRange<Int64>] = []
        let select = try connection.prepare("SELECT id FROM scopes WHERE store = ?1")
        try select.bind(1, Int64(Store.secretVersions.rawValue))
        while try select.step() { rows.append(select.int64(0) << 40...(select.int64(0) + 1) << 40 - 1) }
        return rows
    }

    // MARK: The WAL

    /// Nobody reads it any more, and what it had is in the file.
    private func emptyWAL(_ pages: inout PageScrub) throws(SQLiteError) {
        guard FileSystem.size(wal.path) > 0 else { return }
        let fault = FaultPoints.hit(.scrubTables)
        if let code = fault?.errno { throw .injected(code) }
        do throws(StorageFault) { pages.forget(try Self.pages(in: wal.path, size: pages.pageSize)) } catch {
            pages.forget(nil)
        }
        try wal.run(fault == .skip ? .full : .restart)
        if fault == .skip { return }
        do throws(StorageFault) { try LogScrub.zero(wal: wal.path) } catch {
            throw .injected(error.isFull ? ENOSPC : EIO)
        }
        try wal.run(.truncate)
    }

    /// Numbers of the pages that a WAL has, and maybe more. `size`: of a page, bytes.
    static func pages(in wal: String, size: Int) throws(StorageFault) -> Set<Int> {
        let descriptor = try FileSystem.openRegular(wal)
        defer { close(descriptor) }
        var pages: Set<Int> = []
        var number = ByteBuffer(capacity: 4)
        var offset = 32
        while true {
            number.removeAll()
            guard try FileSystem.read(descriptor, atMost: 4, at: offset, into: &number, path: wal) == 4 else {
                return pages
            }
            pages.insert(Int(UInt32(bigEndian: number.bytes.loadUnaligned(fromByteOffset: 0, as: UInt32.self))))
            offset += 24 + size
        }
    }
}
