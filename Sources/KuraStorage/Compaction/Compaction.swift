public import KuraBytes
public import SQLite

/// A compaction that somebody has asked for and waits for: how far the threads are that do it. From any thread.
public final class Compaction: Sendable {
    /// A database file, with its WAL; sizes in bytes.
    public struct File: Equatable, Sendable {
        /// Below the data directory.
        public var name: String
        public var before: Int
        public var after: Int
    }

    private struct State {
        var files: [File] = []
        /// Threads that are not through.
        var waiting: Int
        var done = 0
        var total = 0
        var failure: SQLiteError?
        var isCancelled = false
    }
    private let state: Guarded<State>
    private let changed = Semaphore()
    /// Only files of this size and more.
    let minimumBytes: Int
    /// Nobody waits: between two pieces the threads rest.
    let isIdle: Bool

    /// `parts`: threads that are to be through. `minimumBytes`: smaller files are left as they are.
    init(parts: Int, minimumBytes: Int = 0, isIdle: Bool = false) {
        state = Guarded(State(waiting: parts))
        self.minimumBytes = minimumBytes
        self.isIdle = isIdle
    }

    // MARK: For those who do it

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// So many bytes are to be given back.
    func expects(_ bytes: Int) { state.withLock { $0.total += bytes } }

    func gaveBack(_ bytes: Int) { state.withLock { $0.done += bytes } }

    /// One of the threads is through with its files.
    func end(_ files: [File], _ failure: SQLiteError? = nil) {
        let isThrough = state.withLock { state in
            state.files += files
            state.waiting -= 1
            state.failure = state.failure ?? failure
            return state.waiting <= 0
        }
        if isThrough { changed.signal() }
    }

    // MARK: For those who wait

    /// Nobody waits any more: what is not done is left.
    public func cancel() {
        state.withLock { $0.isCancelled = true }
        changed.signal()
    }

    /// Waits until it is through, or until then.
    /// - Returns: whether it is.
    public func wait(until deadline: Deadline) -> Bool {
        if isThrough { return true }
        _ = changed.wait(until: deadline)
        return isThrough
    }

    public var isThrough: Bool { state.withLock { $0.waiting <= 0 } }

    /// Bytes that were given back, and bytes that are to be.
    public var progress: (done: Int, total: Int) { state.withLock { (min($0.done, $0.total), $0.total) } }

    /// What has become of the files, in the order of their names.
    public var files: [File] { state.withLock { $0.files.sorted { $0.name < $1.name } } }

    /// What kept some of it from being done.
    public var failure: SQLiteError? { state.withLock { $0.failure } }

    /// Bytes of a database file with its WAL.
    static func size(_ path: String) -> Int { FileSystem.size(path) + FileSystem.size(path + "-wal") }
}
