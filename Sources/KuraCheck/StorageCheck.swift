import KuraBytes
public import KuraStorage
import SQLite

/// A look through everything that the data directory has: tables, log, caches, contents, and files that belong to nothing.
///
/// The loop makes it, a thread of its own runs it, and it writes nothing. The daemon drops at once what the check finds
/// wrong in caches, and tells the rest. Of the log the segment that is being written is left out: nobody but the loop has it open.
public final class StorageCheck: @unchecked Sendable {
    // Used by the thread that runs it; by the loop before and after.

    /// How many things of each kind the check has read.
    public struct Counts: Sendable {
        public var tables = 0
        public var documents = 0
        public var segments = 0
        public var changes = 0
        public var caches = 0
        public var blobs = 0
        public var attachments = 0
        public var secrets = 0
    }

    /// The first of them.
    public private(set) var problems: [DamageBook.Problem] = []
    public private(set) var problemCount = 0
    public var counts = Counts()
    /// What could not be looked at, in words.
    public private(set) var skipped: [String] = []
    public static let mostProblems = 1000

    let configuration: StorageConfiguration
    /// Segments that are closed, as of when this was made.
    let closed: [Log.Closed]
    let retired: RetiredSegments
    let blobFiles: BlobFiles
    let attachmentFiles: AttachmentFiles
    let cacheThread: CacheThread
    private let scopes: ScopeComparison
    /// Segments' rows up to here lie in one of the closed ones.
    let activeAfter: UInt64
    private var progress: CheckProgress

    init(
        _ configuration: StorageConfiguration, log: Log, scopes: ScopeComparison, blobFiles: BlobFiles,
        attachmentFiles: AttachmentFiles,
        cacheThread: CacheThread
    ) {
        self.configuration = configuration
        (closed, retired) = (log.closed, log.retired)
        self.scopes = scopes
        activeAfter = log.activeAfter
        self.blobFiles = blobFiles
        self.attachmentFiles = attachmentFiles
        self.cacheThread = cacheThread
        progress = CheckProgress(configuration.clock)
    }

    public func skip(_ what: String) { skipped.append(what) }

    public func note(_ what: DamageBook.Problem.What, _ place: String, _ text: String) {
        problemCount += 1
        guard problems.count < Self.mostProblems else { return }
        problems.append(DamageBook.Problem(what: what, place: place, text: text))
    }

    var goesOn: Bool { progress.goesOn }

    /// So many bytes have been looked at.
    func advance(_ bytes: Int) { progress.advance(bytes) }

    /// Looks at everything, once.
    /// - Parameters:
    ///   - isCancelled: asked often; once true, it ends with what it has found.
    ///   - pause: called between pieces of 200 ms at most, when no snapshot is held; it may take its time.
    ///   - report: called twice a second at most, with bytes that were looked at and bytes in all, about.
    /// - Throws: what keeps it from looking.
    public func run(
        isCancelled: @escaping () -> Bool, pause: @escaping () -> Void = {},
        report: @escaping (_ done: Int, _ total: Int) -> Void
    ) throws(EngineError) {
        progress = CheckProgress(configuration.clock, isCancelled: isCancelled, pause: pause, report: report)
        do throws(StorageFault) {
            progress.total = try Self.bytes(below: configuration.dataDirectory)
            try lookAtTables()
            try lookAtDocuments()
            try lookAtLog()
            try lookAtCaches()
            try lookAtAttachments()
            lookAtBlobs()
            try lookForOrphans()
        } catch {
            switch error {
            case .database(let cause, let file): throw .unreadable(Tables.judged(cause, file))
            default: throw .unreadable(SQLiteError(extendedCode: 10, message: error.description))
            }
        }
        guard goesOn else { throw .cancelled }
    }

    /// Sizes of all files that are looked at.
    private static func bytes(below path: String) throws(StorageFault) -> Int {
        var sum = 0
        for name in try FileSystem.names(in: path) {
            let inner = path + "/" + name
            if FileSystem.isDirectory(inner) {
                if !["quarantine", "backups", "keys", "tmp"].contains(name) { sum += (try? bytes(below: inner)) ?? 0 }
            } else {
                sum += FileSystem.size(inner)
            }
        }
        return sum
    }

    // MARK: Tables

    /// SQLite's own look at every table but the documents', and revisions of what lies in them.
    private func lookAtTables() throws(StorageFault) {
        let path = configuration.tablesPath
        do throws(SQLiteError) {
            let look = try DatabaseLook(
                path, role: .durable, milliseconds: configuration.snapshotMilliseconds, clock: configuration.clock
            ) { [progress] in progress.goesOnLater }
            let tables: [String]
            do throws(SQLiteError) { tables = try look.tables() } catch {
                guard error.isDamage else { throw error }
                return note(.table, "durable/kura.sqlite", error.message)
            }
            for table in tables where table != "documents" {
                guard goesOn else { return }
                for problem in try look.problems(of: table) { note(.table, table, problem) }
                counts.tables += 1
                advance(0)
            }
            guard problems.isEmpty else { return }
            let connection = try Connection(path: path, mode: .readOnly)
            try connection.setBusyTimeout(milliseconds: 5000)
            for problem in try scopes.problems(connection) { note(.table, "scopes", problem) }
        } catch { throw .database(error, file: path) }
    }

    // MARK: Caches

    /// SQLite's own look at every file; one that is damaged is dropped by the thread that writes it, and begins anew.
    private func lookAtCaches() throws(StorageFault) {
        for name in try FileSystem.names(in: configuration.cacheDirectory).sorted() where name.hasSuffix(".sqlite") {
            guard goesOn else { return }
            let path = configuration.cacheDirectory + "/" + name
            var found: [String] = []
            do throws(SQLiteError) {
                let look = try DatabaseLook(
                    path, role: .cache, milliseconds: configuration.snapshotMilliseconds, clock: configuration.clock
                ) { [progress] in progress.goesOnLater }
                for table in try look.tables() where goesOn && found.isEmpty {
                    found += try look.problems(of: table)
                }
            } catch {
                // It may have been dropped meanwhile.
                guard error.isDamage, FileSystem.exists(path) else { continue }
                found.append(error.message)
            }
            counts.caches += 1
            advance(FileSystem.size(path))
            guard let first = found.first else { continue }
            note(.cache, "cache/" + name, first + "; it is dropped")
            cacheThread.drop(damaged: name)
        }
    }
}

extension Storage {
    /// A check of all that there is now, to be run on a thread that may take its time.
    public func makeCheck() -> StorageCheck {
        StorageCheck(
            configuration, log: log.segments, scopes: ScopeComparison(ledger), blobFiles: blobs.files,
            attachmentFiles: tables.attachments, cacheThread: caches.writer)
    }
}
