import Glibc
import KuraBytes
import SQLite

/// The changes that the fold thread writes in one transaction: all up to a revision.
final class FoldSlice: @unchecked Sendable {
    // Made on the loop, read by the fold thread, taken apart on the loop again when the thread has handed it back. The items
    // are retained by it, and their fields that are read on the thread never change.

    struct NewScope {
        var id: UInt32
        var store: Store
        var name: [UInt8]
    }
    /// The tables are as of this revision when the slice is in; 0 when it has no changes.
    var rev: UInt64 = 0
    /// In the order of revisions; a key may come several times.
    var items: ContiguousArray<ItemRef> = []
    var newScopes: [NewScope] = []
    var closed: [Log.Closed] = []
    var retired: [Int] = []
    /// With `retired`: the greatest revision that the log no longer has.
    var compactedRev: UInt64 = 0
    /// Contents that were removed: the tables may forget them.
    var forgotten: [ContentDigest] = []
    /// Contents that nobody uses any more, as of the slice.
    var unused: [ContentDigest] = []
    /// How many items the loop has let go of since the slice came back.
    var settled = 0
}

/// The fold thread: the only writer of kura.sqlite.
///
/// A slice is one transaction, sorted so that neighbours in the tables are written together, and not synced; `foldedRev`
/// in it says what the tables are as of. A checkpoint (with sync) comes when the WAL has grown or the loop asks for one;
/// only what it covered may leave the log.
final class Folder: @unchecked Sendable {
    // The connection and statements belong to the fold thread; the rest is behind `state`.

    struct Outcome: Sendable {
        var slice: FoldSlice?
        var error: SQLiteError?
        /// Everything up to this revision lies checkpointed and synced in the database file.
        var durableRev: UInt64
        var hasPendingWAL: Bool
    }

    private enum Job {
        case slice(FoldSlice)
        case checkpoint
        case stop
    }

    private struct State {
        var jobs: [Job] = []
        var outcomes: [Outcome] = []
    }
    private let state = Guarded(State())
    private let pending = Semaphore()
    private let wake: @Sendable () -> Void
    private var thread: WorkerThread?

    private let connection: Connection
    private let configuration: StorageConfiguration
    private let statements: Statements
    private var durableRev: UInt64
    private var foldedRev: UInt64
    private var walBytes: Int
    /// The WAL held something when the thread started.
    let hasPendingWALAtStart: Bool

    /// `connection`: handed over; nobody else uses it from now on.
    init(
        connection: sending Connection, configuration: StorageConfiguration, foldedRev: UInt64,
        wake: @escaping @Sendable () -> Void
    ) throws(StorageFault) {
        do throws(SQLiteError) {
            statements = try Statements(connection)
        } catch { throw .database(error, file: configuration.tablesPath) }
        self.connection = connection
        self.configuration = configuration
        self.foldedRev = foldedRev
        self.wake = wake
        durableRev = 0
        // What an earlier run left there is checkpointed with what comes.
        walBytes = FileSystem.size(configuration.tablesPath + "-wal")
        hasPendingWALAtStart = walBytes > 0
        thread = WorkerThread(name: "kura-fold", isBackground: true) { [unowned self] in run() }
    }

    // MARK: For the loop

    func submit(_ slice: FoldSlice) { post(.slice(slice)) }

    func checkpoint() { post(.checkpoint) }

    func outcomes() -> [Outcome] {
        state.withLock { state in
            defer { state.outcomes = [] }
            return state.outcomes
        }
    }

    /// Ends after the jobs that were submitted, with a checkpoint.
    func stop() {
        post(.stop)
        thread?.join()
        thread = nil
    }

    private func post(_ job: Job) {
        state.withLock { $0.jobs.append(job) }
        pending.signal()
    }

    // MARK: The thread

    private func run() {
        while true {
            pending.wait()
            let job = state.withLock { $0.jobs.removeFirst() }
            switch job {
            case .slice(let slice):
                let failure = perform { () throws(SQLiteError) in try fold(slice) }
                var checkpointFailure: SQLiteError?
                if failure == nil, walBytes >= configuration.checkpointBytes {
                    checkpointFailure = perform { () throws(SQLiteError) in try runCheckpoint(.passive) }
                }
                report(slice, failure ?? checkpointFailure.flatMap { $0.isFull || $0.isBusy ? nil : $0 })
            case .checkpoint:
                report(nil, perform { () throws(SQLiteError) in try runCheckpoint(.passive) })
            case .stop:
                _ = perform { () throws(SQLiteError) in try runCheckpoint(.truncate) }
                return
            }
        }
    }

    private func perform(_ body: () throws(SQLiteError) -> Void) -> SQLiteError? {
        do throws(SQLiteError) { try body() } catch { return error }
        return nil
    }

    private func report(_ slice: FoldSlice?, _ error: SQLiteError?) {
        let outcome = Outcome(slice: slice, error: error, durableRev: durableRev, hasPendingWAL: walBytes > 0)
        state.withLock { $0.outcomes.append(outcome) }
        wake()
    }

    private func fold(_ slice: FoldSlice) throws(SQLiteError) {
        if let code = FaultPoints.hit(.foldSlice)?.errno { throw .injected(code) }
        let before = CountingVFS.snapshot()[.durable, .wal].bytesWritten
        let newest = Self.newestOfEachKey(slice.items)
        try connection.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            try statements.write(slice, newest)
            if let code = FaultPoints.hit(.foldCommit)?.errno { throw .injected(code) }
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try? connection.execute("ROLLBACK") }
            throw error
        }
        foldedRev = max(foldedRev, slice.rev)
        walBytes += CountingVFS.snapshot()[.durable, .wal].bytesWritten - before
    }

    /// Hot keys fold once: sorted as the trees have them, and only the newest change of each key.
    private static func newestOfEachKey(_ items: ContiguousArray<ItemRef>) -> ContiguousArray<ItemRef> {
        var sorted = items
        sorted.sort(by: precedes)
        var kept = 0
        for position in sorted.indices {
            let item = sorted[position]
            if kept > 0, sorted[kept - 1].pointee.scope == item.pointee.scope,
                sorted[kept - 1].pointee.row == item.pointee.row, sorted[kept - 1].key.equals(item.key)
            {
                sorted[kept - 1] = item
            } else {
                sorted[kept] = item
                kept += 1
            }
        }
        sorted.removeLast(sorted.count - kept)
        return sorted
    }

    /// Documents in the order of their rows, settings in that of their keys, changes of one key in that of revisions.
    private static func precedes(_ left: ItemRef, _ right: ItemRef) -> Bool {
        if left.pointee.scope != right.pointee.scope { return left.pointee.scope < right.pointee.scope }
        if left.pointee.row != right.pointee.row { return left.pointee.row < right.pointee.row }
        if left.pointee.row == 0, !left.key.equals(right.key) { return left.key.precedes(right.key) }
        if left.pointee.rev != right.pointee.rev { return left.pointee.rev < right.pointee.rev }
        // Lists of attachments may change several times in a transaction.
        return left.pointee.version < right.pointee.version
    }

    private func runCheckpoint(_ mode: Connection.CheckpointMode) throws(SQLiteError) {
        if let code = FaultPoints.hit(.foldCheckpoint)?.errno { throw .injected(code) }
        let (frames, done) = try connection.checkpoint(mode)
        // With all frames in the database file, the next writer starts the WAL from its front.
        if frames <= done {
            durableRev = foldedRev
            walBytes = 0
        }
    }

    /// The statements of a fold, prepared once.
    private final class Statements {
        let putSetting: Statement
        let deleteSetting: Statement
        let updateDocument: Statement
        let insertDocument: Statement
        let deleteDocument: Statement
        let addScope: Statement
        let updateScope: Statement
        let putSegment: Statement
        let deleteSegment: Statement
        let putFoldedRev: Statement
        let putCompactedRev: Statement
        let uses: ContentUses
        private let connection: Connection

        init(_ connection: Connection) throws(SQLiteError) {
            self.connection = connection
            uses = try ContentUses(connection)
            putSetting = try connection.prepare(
                """
                INSERT INTO settings(scope, key, rev, updatedAt, value) VALUES(?1, ?2, ?3, ?4, ?5)
                ON CONFLICT(scope, key) DO UPDATE SET rev = ?3, updatedAt = ?4, value = ?5
                """)
            deleteSetting = try connection.prepare("DELETE FROM settings WHERE scope = ?1 AND key = ?2")
            updateDocument = try connection.prepare(
                """
                UPDATE documents SET rev = ?2, version = ?3, createdAt = ?4, updatedAt = ?5, isDeleted = 0, body = ?6
                WHERE row = ?1
                """)
            insertDocument = try connection.prepare(
                """
                INSERT INTO documents(row, collection, id, rev, version, createdAt, updatedAt, isDeleted, body)
                VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                """)
            // The body stays under the tombstone until it is purged, so that it can be brought back.
            deleteDocument = try connection.prepare(
                """
                UPDATE documents SET rev = ?2, version = ?3, updatedAt = ?4, isDeleted = 1, body = ifnull(?5, body)
                WHERE row = ?1
                """)
            addScope = try connection.prepare("INSERT OR IGNORE INTO scopes(id, store, name) VALUES(?1, ?2, ?3)")
            updateScope = try connection.prepare(
                """
                UPDATE scopes SET count = count + ?2, bytes = bytes + ?3, lastRev = ?4, nextRow = max(nextRow, ?5)
                WHERE id = ?1
                """)
            putSegment = try connection.prepare(
                "INSERT OR REPLACE INTO segments(number, firstRev, lastRev, bytes) VALUES(?1, ?2, ?3, ?4)")
            deleteSegment = try connection.prepare("DELETE FROM segments WHERE number = ?1")
            putFoldedRev = try connection.prepare("UPDATE meta SET value = ?1 WHERE name = 'foldedRev'")
            putCompactedRev = try connection.prepare(
                """
                INSERT INTO meta(name, value) VALUES('compactedRev', ?1)
                ON CONFLICT(name) DO UPDATE SET value = max(value, ?1)
                """)
        }

        func write(_ slice: FoldSlice, _ newest: ContiguousArray<ItemRef>) throws(SQLiteError) {
            for scope in slice.newScopes {
                try addScope.bind(1, Int64(scope.id))
                try addScope.bind(2, Int64(scope.store.rawValue))
                try addScope.bind(3, text: String(decoding: scope.name, as: UTF8.self))
                try addScope.run()
            }
            uses.begin()
            for item in newest {
                switch item.pointee.store {
                case .settings, .requests, .configuration: try write(setting: item)
                case .documents: try write(document: item)
                case .attachments:
                    try uses.note(item)
                    try write(document: item)
                }
            }
            try addUp(slice.items)
            slice.unused = try uses.write(forgetting: slice.forgotten)
            for segment in slice.closed {
                try putSegment.bind(1, Int64(segment.number))
                try putSegment.bind(2, Int64(segment.firstRev))
                try putSegment.bind(3, Int64(segment.lastRev))
                try putSegment.bind(4, Int64(segment.bytes))
                try putSegment.run()
            }
            for number in slice.retired {
                try deleteSegment.bind(1, Int64(number))
                try deleteSegment.run()
            }
            if !slice.retired.isEmpty {
                try putCompactedRev.bind(1, Int64(slice.compactedRev))
                try putCompactedRev.run()
            }
            if slice.rev > 0 {
                try putFoldedRev.bind(1, Int64(slice.rev))
                try putFoldedRev.run()
            }
        }

        private func write(setting item: ItemRef) throws(SQLiteError) {
            if item.isTombstone {
                try deleteSetting.bind(1, Int64(item.pointee.scope))
                try deleteSetting.bind(2, utf8: item.key)
                try deleteSetting.run()
            } else {
                try putSetting.bind(1, Int64(item.pointee.scope))
                try putSetting.bind(2, utf8: item.key)
                try putSetting.bind(3, Int64(item.pointee.rev))
                try putSetting.bind(4, item.pointee.updatedAt)
                try putSetting.bind(5, utf8: item.value)
                try putSetting.run()
            }
        }

        private func write(document item: ItemRef) throws(SQLiteError) {
            // A first version has no row, unless an earlier change of it was folded: then the key is found.
            if item.pointee.version > 1, try update(item) { return }
            try insertDocument.bind(1, item.pointee.row)
            try insertDocument.bind(2, Int64(item.pointee.scope))
            try insertDocument.bind(3, utf8: item.key)
            try insertDocument.bind(4, Int64(item.pointee.rev))
            try insertDocument.bind(5, Int64(item.pointee.version))
            try insertDocument.bind(6, item.pointee.createdAt)
            try insertDocument.bind(7, item.pointee.updatedAt)
            try insertDocument.bind(8, item.isTombstone ? 1 : 0)
            try insertDocument.bind(9, utf8: item.value)
            try insertDocument.run()
        }

        private func update(_ item: ItemRef) throws(SQLiteError) -> Bool {
            if item.isTombstone {
                try deleteDocument.bind(1, item.pointee.row)
                try deleteDocument.bind(2, Int64(item.pointee.rev))
                try deleteDocument.bind(3, Int64(item.pointee.version))
                try deleteDocument.bind(4, item.pointee.updatedAt)
                // What was written and deleted between two folds is not there yet.
                if item.pointee.writesBody {
                    try deleteDocument.bind(5, utf8: item.value)
                } else {
                    try deleteDocument.bindNull(5)
                }
                try deleteDocument.run()
            } else {
                try updateDocument.bind(1, item.pointee.row)
                try updateDocument.bind(2, Int64(item.pointee.rev))
                try updateDocument.bind(3, Int64(item.pointee.version))
                try updateDocument.bind(4, item.pointee.createdAt)
                try updateDocument.bind(5, item.pointee.updatedAt)
                try updateDocument.bind(6, utf8: item.value)
                try updateDocument.run()
            }
            return connection.changes > 0
        }

        /// Each scope's numbers, by how the slice's changes altered them.
        private func addUp(_ items: ContiguousArray<ItemRef>) throws(SQLiteError) {
            struct Sum {
                var count: Int64 = 0
                var bytes: Int64 = 0
                var lastRev: UInt64 = 0
                var nextRow: Int64 = 0
            }
            var sums: [UInt32: Sum] = [:]
            // Neighbours mostly share their scope: one look-up a run of them.
            var position = 0
            while position < items.count {
                let scope = items[position].pointee.scope
                var sum = sums[scope] ?? Sum()
                while position < items.count, items[position].pointee.scope == scope {
                    let item = items[position]
                    sum.count += Int64(item.pointee.countDelta)
                    sum.bytes += Int64(item.pointee.bytesDelta)
                    sum.lastRev = item.pointee.rev
                    sum.nextRow = max(sum.nextRow, item.pointee.row + 1)
                    position += 1
                }
                sums[scope] = sum
            }
            for (scope, sum) in sums {
                try updateScope.bind(1, Int64(scope))
                try updateScope.bind(2, sum.count)
                try updateScope.bind(3, sum.bytes)
                try updateScope.bind(4, Int64(sum.lastRev))
                try updateScope.bind(5, sum.nextRow)
                try updateScope.run()
            }
        }
    }
}
