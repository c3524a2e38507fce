import Glibc
package import KuraBytes
package import SQLite
import Synchronization

/// A read-only connection to the tables, for one thread: one that may wait for the disk, or the loop, which may not.
///
/// Its snapshots are short: one that is held keeps the WAL from starting over. Whoever reads much asks `Snapshot.isStale`
/// now and then, ends the snapshot when it is, and goes on by key in the next.
public final class TableReader {
    let connection: Connection
    private let foldedRev: Statement
    private let collection: Statement
    private let indexState: Statement
    let documents: DocumentStatements
    let scans: ScanStatements
    let searches: SearchStatements
    let history: HistoryStatements
    private let isCancelled: @Sendable () -> Bool

    private let mayWait: Bool
    private let configuration: StorageConfiguration
    /// The loop's: one snapshot serves all that is asked in a turn.
    private var shared: Snapshot?
    /// Indexes that are ready in it.
    private var readyIndexes: [Int64] = []
    private let begin: Statement
    private let commit: Statement

    /// `mayWait`: false where what is not in the page cache is `.cold`.
    /// `isCancelled`: asked between snapshots; what is under way then ends with `.cancelled`.
    public init(
        _ configuration: StorageConfiguration, mayWait: Bool = true,
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(EngineError) {
        self.isCancelled = isCancelled
        self.mayWait = mayWait
        self.configuration = configuration
        do throws(SQLiteError) {
            connection = try Connection(
                path: configuration.tablesPath, mode: .readOnly, vfs: mayWait ? .counting : .nonBlockingReads)
            try connection.setBusyTimeout(milliseconds: mayWait ? 5000 : 0)
            try connection.execute("PRAGMA cache_size=-2048;")
            foldedRev = try connection.prepare("SELECT value FROM meta WHERE name = 'foldedRev'")
            begin = try connection.prepare("BEGIN")
            commit = try connection.prepare("COMMIT")
            collection = try connection.prepare("SELECT 1 FROM scopes WHERE id = ?1")
            indexState = try connection.prepare("SELECT state FROM indexes WHERE number = ?1")
            documents = try DocumentStatements(connection)
            scans = ScanStatements(connection)
            searches = try SearchStatements(connection)
            history = try HistoryStatements(connection)
        } catch {
            throw !mayWait && (error.wouldBlock || error.isBusy)
                ? .cold : .unreadable(Tables.judged(error, configuration.tablesPath))
        }
    }

    /// Reads into the page cache what the loop looks for without waiting.
    /// `look`: what `DocumentsStore.coldLook` said.
    public func warm(_ look: ColdLook) throws(EngineError) {
        switch look {
        case .document(let scope, let id): try warm(documentsOf: scope) { read in id.withBytes { read($0) } }
        // Of secrets, whose looks the page warmer reads in.
        case .behind(let scope, let id): try warm(documentsOf: scope) { read in id.withBytes { read($0) } }
        case .index(let number, let key): try warm(index: number, key)
        case .referring(let number, let key, let scope): try warm(referring: number, key, scope)
        case .several(let looks): for look in looks { try warm(look) }
        }
    }

    /// Reads documents of a collection into the page cache.
    /// `body`: calls what it is given with each of their ids.
    func warm(documentsOf scope: UInt32, _ body: ((Bytes) -> Void) -> Void) throws(EngineError) {
        try snapshot { (_) throws(SQLiteError) in
            var failure: SQLiteError?
            body { id in
                defer { documents.one.reset() }
                do throws(SQLiteError) {
                    try documents.one.bind(1, Int64(scope))
                    try documents.one.bind(2, utf8: id)
                    if try documents.one.step() { _ = documents.one.bytes(0) }
                } catch { failure = error }
            }
            if let failure { throw failure }
        }
    }

    /// What refers to a document, with the documents: so many as one transaction may change.
    private func warm(referring number: Int64, _ key: [UInt8], _ scope: UInt32) throws(EngineError) {
        try snapshot { (_) throws(SQLiteError) in
            let select = try connection.prepare(
                "SELECT d.id FROM \(IndexTable.name(number)) i JOIN documents d ON d.row = i.row WHERE i.key = ?1 LIMIT ?2"
            )
            try key.withBytes { (key) throws(SQLiteError) in
                try select.bind(1, bytes: key)
                try select.bind(2, Int64(DeletionEffects.limit + 1))
                while try select.step() {
                    defer { documents.one.reset() }
                    try documents.one.bind(1, Int64(scope))
                    try documents.one.bind(2, utf8: select.bytes(0))
                    if try documents.one.step() { _ = documents.one.bytes(0) }
                }
            }
        }
    }

    private func warm(index: Int64, _ key: [UInt8]) throws(EngineError) {
        try snapshot { (_) throws(SQLiteError) in
            let select = try connection.prepare(
                "SELECT d.id, d.rev FROM \(IndexTable.name(index)) i JOIN documents d ON d.row = i.row WHERE i.key = ?1"
            )
            try key.withBytes { (key) throws(SQLiteError) in
                try select.bind(1, bytes: key)
                while try select.step() { _ = select.int64(1) }
            }
        }
    }

    var clock: Clock { configuration.clock }

    /// Whoever asked does not wait any more: what is under way may end.
    var isEnding: Bool { isCancelled() }

    /// What a snapshot shows, and how long it has been held.
    package struct Snapshot {
        /// The tables are as of this revision.
        let rev: UInt64
        private let end: Deadline
        private let role: FileRole
        private let walBytes: Int

        /// `role`: whose WAL it holds up.
        package init(rev: UInt64, until end: Deadline, of role: FileRole = .durable) {
            self.rev = rev
            self.role = role
            walBytes = CountingVFS.count(role, .wal).bytesWritten
            self.end = end
        }

        /// Held for its time, or while 32 MiB were written behind it.
        package var isStale: Bool {
            end.isOver || CountingVFS.count(role, .wal).bytesWritten - walBytes >= 32 << 20
        }
    }

    /// Whether the collection of this number is there in the snapshot; when it has been dropped some of its rows may be.
    func hasCollection(_ number: UInt32) throws(SQLiteError) -> Bool {
        defer { collection.reset() }
        try collection.bind(1, Int64(number))
        return try collection.step()
    }

    /// Whether an index has every document in the snapshot. Ask in each: it may have been removed since it was chosen.
    func isReady(index number: Int64) throws(SQLiteError) -> Bool {
        if shared != nil, readyIndexes.contains(number) { return true }
        defer { indexState.reset() }
        try indexState.bind(1, number)
        guard try indexState.step(), indexState.int64(0) == Int64(IndexStatus.State.ready.rawValue) else {
            return false
        }
        if shared != nil { readyIndexes.append(number) }
        return true
    }

    /// Runs `body` on one state of the tables; on the loop it is the same until `endTurn`.
    func snapshot(_ body: (Snapshot) throws(SQLiteError) -> Void) throws(EngineError) {
        if isCancelled() { throw .cancelled }
        do throws(SQLiteError) {
            do throws(SQLiteError) {
                let snapshot: Snapshot
                if let shared { snapshot = shared } else { snapshot = try take() }
                if !mayWait { shared = snapshot }
                try body(snapshot)
                if mayWait { try commit.run() }
            } catch {
                if connection.isInTransaction { try? connection.execute("ROLLBACK") }
                forgetShared()
                throw error
            }
        } catch { throw !mayWait && (error.wouldBlock || error.isBusy) ? .cold : .unreadable(error) }
    }

    private func take() throws(SQLiteError) -> Snapshot {
        defer { foldedRev.reset() }
        do throws(SQLiteError) {
            try begin.run()
            return Snapshot(
                rev: try foldedRev.step() ? UInt64(foldedRev.int64(0)) : 0,
                until: clock.deadline(milliseconds: configuration.snapshotMilliseconds))
        } catch { throw Tables.judged(error, configuration.tablesPath) }
    }

    /// Gives up the snapshot that the turn's queries have shared: one that is held keeps the WAL from starting over.
    func endTurn() {
        guard shared != nil else { return }
        forgetShared()
        do throws(SQLiteError) { try commit.run() } catch { try? connection.execute("ROLLBACK") }
    }

    private func forgetShared() {
        shared = nil
        readyIndexes.removeAll(keepingCapacity: true)
    }
}
