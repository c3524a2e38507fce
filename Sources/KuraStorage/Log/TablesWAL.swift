import Glibc
import KuraBytes
import SQLite
import Synchronization

/// How far what was folded has come: it is written into the WAL of kura.sqlite, and from there into the file by checkpoints (with sync). What
/// a checkpoint has covered whole is durable, and only that may leave the log.
///
/// On the fold thread, but for what says otherwise.
final class TablesWAL {
    private let connection: Connection
    /// The WAL's file.
    let path: String
    private let clock: Clock
    let pace: FoldPace
    /// The tables are as of this revision.
    private(set) var foldedRev: UInt64
    /// Everything up to this revision lies checkpointed and synced in the database file.
    private(set) var durableRev: UInt64 = 0
    /// Bytes that are not in the database file yet.
    private(set) var bytes: Int {
        didSet { pending.store(bytes, ordering: .relaxed) }
    }
    private let pending: Atomic<Int>
    /// Checkpoints that were tried.
    private(set) var tries = 0
    private let times = Guarded(Histogram())
    /// Has a row when there are secrets.
    private let holdsSecrets: Statement
    /// It held something when the thread started.
    let hadBytesAtStart: Bool

    /// `tables`: the database file.
    init(
        _ connection: Connection, tables: String, foldedRev: UInt64, pace: FoldPace, _ clock: Clock
    ) throws(SQLiteError) {
        self.connection = connection
        path = tables + "-wal"
        (self.clock, self.pace, self.foldedRev) = (clock, pace, foldedRev)
        // What an earlier run left there is checkpointed with what comes.
        let bytes = FileSystem.size(path)
        (self.bytes, hadBytesAtStart) = (bytes, bytes > 0)
        pending = Atomic(bytes)
        let sealed = Store.all(.sealed).map { "\($0.rawValue)" }.joined(separator: ", ")
        holdsSecrets = try connection.prepare("SELECT 1 FROM scopes WHERE store IN (\(sealed)) LIMIT 1")
    }

    // MARK: For any thread

    /// Bytes that are not in the database file yet.
    var waitingBytes: Int { pending.load(ordering: .relaxed) }

    /// What checkpoints took, nanoseconds.
    var checkpointTimes: Histogram { times.withLock { $0 } }

    // MARK: Writing

    /// Counts what is written, unless it fails: then nothing of it stays.
    func counting(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        let before = CountingVFS.count(.durable, .wal).bytesWritten
        try body()
        bytes += CountingVFS.count(.durable, .wal).bytesWritten - before
    }

    func noteFolded(to rev: UInt64) { foldedRev = max(foldedRev, rev) }

    // MARK: Checkpoints

    func run(_ mode: Connection.CheckpointMode) throws(SQLiteError) {
        if let code = FaultPoints.hit(.foldCheckpoint)?.errno { throw .injected(code) }
        tries += 1
        let start = clock.monotonic
        let (frames, done) = try connection.checkpoint(mode)
        let time = clock.monotonic - start
        // With all frames in the database file, the next writer starts the WAL from its front.
        if frames <= done { (durableRev, bytes) = (foldedRev, 0) }
        times.withLock { $0.record(time) }
    }

    /// Runs one when the WAL has grown. That there is no room for it, or somebody in its way, is no failure.
    func runIfDue() throws(SQLiteError) {
        guard bytes >= pace.checkpointBytes else { return }
        do throws(SQLiteError) { try checkpoint() } catch {
            if !error.isFull, !error.isBusy { throw error }
        }
    }

    /// One as the loop asks for it.
    func checkpoint() throws(SQLiteError) { if pace.isShort { try shrink() } else { try run(.passive) } }

    /// Has everything in the database file, and gives the WAL's bytes back unless somebody reads it.
    func shrink() throws(SQLiteError) {
        try run(.passive)
        guard bytes == 0 else { return }
        try withoutWaiting { () throws(SQLiteError) in
            do throws(SQLiteError) { try run(.truncate) } catch { if !error.isBusy { throw error } }
        }
    }

    /// Has everything in the database file, which is cut off where it ends now, and takes the WAL's bytes back; not while somebody reads.
    func empty() throws(SQLiteError) {
        try withoutWaiting { () throws(SQLiteError) in
            // What destroyed secrets have left there is to be overwritten, which the file system's blocks could not be.
            if try hasSecrets() {
                try run(.restart)
                do throws(StorageFault) { try LogScrub.zero(wal: path) } catch {
                    throw .injected(error.isFull ? ENOSPC : EIO)
                }
            }
            try run(.truncate)
        }
    }

    private func hasSecrets() throws(SQLiteError) -> Bool {
        defer { holdsSecrets.reset() }
        return try holdsSecrets.step()
    }

    private func withoutWaiting(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        try connection.setBusyTimeout(milliseconds: 0)
        defer { try? connection.setBusyTimeout(milliseconds: Tables.busyMilliseconds) }
        try body()
    }
}
