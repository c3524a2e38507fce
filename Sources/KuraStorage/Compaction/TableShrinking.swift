import KuraBytes
import SQLite

/// Gives pages of kura.sqlite back to the file system that nothing uses any more, in pieces between folds, on the fold thread.
///
/// Any fold may free pages. So some seconds after one the freelist is looked at, and while it is long a piece is done, then the thread rests for three
/// times as long. At the end the WAL is emptied too: all that was moved lies in it. A compaction that somebody waits for leaves nothing free and does not rest.
final class TableShrinking {
    private let pages: FreePages
    private let path: String
    let clock: Clock
    /// Whether the disk is full; then nothing stays free in the file, and nobody rests.
    var pace: FoldPace?
    /// When the freelist is looked at, or the next piece is due; nil while nothing has been freed.
    private var dueAt: UInt64?
    private var compactions: [Compaction] = []
    /// Sizes of the file when the compactions have begun with it.
    private var before: [Int] = []
    /// Pages were given back, and the WAL not emptied since.
    private var hasGivenBack = false
    /// The last piece has found nothing more to give back.
    private var isThrough = false
    /// Times that the WAL could not be emptied since somebody read it.
    private var refusals = 0

    /// Nanoseconds from the first fold to the look.
    private static let pause: UInt64 = 2_000_000_000
    /// Nanoseconds after a start before the first look.
    private static let startPause: UInt64 = 5_000_000_000
    /// Nanoseconds between two attempts at emptying the WAL, and how many.
    private static let retryPause: UInt64 = 20_000_000
    private static let attempts = 250
    /// Pages that may stay free in the file, at least.
    static let spare = 1024
    /// Bytes that the WAL may keep.
    private static let walBytes = 4 << 20

    /// `path`: the tables' file.
    init(_ connection: Connection, path: String, _ clock: Clock) throws(SQLiteError) {
        pages = try FreePages(connection)
        self.path = path
        self.clock = clock
        // An earlier run may have left something to do.
        dueAt = clock.monotonic + Self.startPause
    }

    /// Something was written that may have freed pages.
    func noteChanged() {
        isThrough = false
        if dueAt == nil { dueAt = clock.monotonic + Self.pause }
    }

    func add(_ compaction: Compaction) {
        let bytes = Compaction.size(path)
        guard bytes >= compaction.minimumBytes else { return compaction.end([]) }
        do throws(SQLiteError) { compaction.expects(try pages.count().free * FreePages.pageSize) } catch {
            return compaction.end([], error)
        }
        isThrough = false
        compactions.append(compaction)
        before.append(bytes)
    }

    // MARK: Pieces

    private var isHurried: Bool { isPressed || compactions.contains { !$0.isIdle } }
    private var isPressed: Bool { dueAt != nil && pace?.isFull == true }

    /// Milliseconds until there is something to do; nil when nothing is.
    var wait: Int? {
        if isHurried, refusals == 0 { return 0 }
        guard let dueAt = dueAt ?? (compactions.isEmpty ? nil : 0) else { return nil }
        let time = clock.monotonic
        return dueAt > time ? Int((dueAt - time + 999_999) / 1_000_000) : 0
    }

    private func spare(_ count: FreePages.Count) -> Int {
        compactions.isEmpty && !isPressed ? count.spare(atLeast: Self.spare) : 0
    }

    /// Looks at the freelist.
    /// - Returns: whether a piece is to be done.
    func look() throws(SQLiteError) -> Bool {
        dropCancelled()
        let count = try pages.count()
        if count.free > spare(count) {
            isThrough = false
            return true
        }
        isThrough = true
        return false
    }

    /// A piece. In a transaction, which `committed` ends.
    func work(until deadline: Deadline) throws(SQLiteError) {
        let spare = spare(try pages.count())
        let (given, isThrough) = try pages.giveBack(until: deadline, keeping: spare)
        if given > 0 { hasGivenBack = true }
        for compaction in compactions { compaction.gaveBack(given * FreePages.pageSize) }
        self.isThrough = isThrough
    }

    /// The piece took so many nanoseconds, with its commit.
    func rest(after time: UInt64) {
        dueAt = clock.monotonic + (isHurried ? 0 : 3 * time)
    }

    // MARK: The end

    /// All that was to be given back has been: the WAL's bytes are to be taken back, and what the file has been cut off by.
    /// `isWALSettled`: everything in the WAL is in the file.
    func wantsEmptyWAL(isWALSettled: Bool) -> Bool {
        guard isThrough else { return false }
        return hasGivenBack || !compactions.isEmpty || isWALSettled && FileSystem.size(path + "-wal") > Self.walBytes
    }

    /// The look has found that nothing is to be done.
    func settle() { if isThrough, !hasGivenBack, compactions.isEmpty { dueAt = nil } }

    /// What has become of emptying the WAL. Readers are short, so it is tried again while somebody reads.
    func emptied(_ error: SQLiteError?) {
        if let error, error.isBusy, refusals < Self.attempts {
            refusals += 1
            dueAt = clock.monotonic + Self.retryPause
            return
        }
        refusals = 0
        hasGivenBack = false
        dueAt = nil
        // That somebody reads all the time is no failure: the pages are given back all the same.
        end(error.flatMap { $0.isBusy ? nil : $0 })
    }

    /// What waits has failed, or ends with the thread.
    func end(_ error: SQLiteError?) {
        let after = Compaction.size(path)
        for (compaction, before) in zip(compactions, before) {
            compaction.end([.init(name: "durable/kura.sqlite", before: before, after: after)], error)
        }
        (compactions, before) = ([], [])
    }

    private func dropCancelled() {
        guard compactions.contains(where: \.isCancelled) else { return }
        for position in compactions.indices.reversed() where compactions[position].isCancelled {
            compactions.remove(at: position).end([])
            before.remove(at: position)
        }
    }
}
