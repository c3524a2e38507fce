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
    private let path: String
    private let checkpoint: (Connection.CheckpointMode) throws(SQLiteError) -> Void
    private var pages: PageScrub
    /// It is the scrub that has the tables checkpointed.
    private var isEmptying = false

    /// Nanoseconds that a piece looks at pages.
    static let limit: UInt64 = 40_000_000

    /// `path`: the tables' file. `checkpoint`: runs one.
    init(
        _ connection: Connection, path: String,
        checkpoint: @escaping (Connection.CheckpointMode) throws(SQLiteError) -> Void
    ) throws(SQLiteError) {
        self.connection = connection
        self.path = path
        self.checkpoint = checkpoint
        pages = try PageScrub(connection, journal: ScrubJournal(tables: path))
    }

    /// Somebody else has run a checkpoint: which pages were written since is not known.
    func noteCheckpoint() { if !isEmptying { pages.forget(nil) } }

    /// Does one piece.
    /// - Returns: whether nothing is left to do.
    /// - Throws: `isBusy` while somebody reads what is in the WAL; then it goes on with the next call, as after every error.
    func work(_ clock: Clock) throws(SQLiteError) -> Bool {
        try emptyWAL()
        let fault = FaultPoints.hit(.scrubPages)
        if let code = fault?.errno { throw .injected(code) }
        if fault == .skip { return true }
        let before = pages.zeroed
        defer { if pages.zeroed > before { connection.releaseMemory() } }
        try pages.begin(until: clock.deadline(after: Self.limit))
        try pages.scrub(table: "settings")
        if !pages.isPaused { try pages.scrub(table: "documents", rows: try rowsOfValues()) }
        return !pages.isPaused
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
    private func emptyWAL() throws(SQLiteError) {
        let wal = path + "-wal"
        guard FileSystem.size(wal) > 0 else { return }
        let fault = FaultPoints.hit(.scrubTables)
        if let code = fault?.errno { throw .injected(code) }
        isEmptying = true
        defer { isEmptying = false }
        do throws(StorageFault) { pages.forget(try Self.pages(in: wal, size: pages.pageSize)) } catch {
            pages.forget(nil)
        }
        try checkpoint(fault == .skip ? .full : .restart)
        if fault == .skip { return }
        do throws(StorageFault) { try LogScrub.zero(wal, from: 0) } catch {
            throw .injected(error.isFull ? ENOSPC : EIO)
        }
        try checkpoint(.truncate)
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
