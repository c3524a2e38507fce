import Glibc
import KuraBytes
import SQLite
import Synchronization

/// The log as the loop sees it: the segment being written, the one that waits to take over, and those of the past.
///
/// The loop only appends. The housekeeper makes the next segment in advance, and retires old ones when the tables hold
/// their changes durably and the change feed's retention has let them go.
package final class Log {
    /// A closed segment; `bytes` is the size of its WAL.
    package struct Closed {
        package var number: Int
        package var firstRev: UInt64
        package var lastRev: UInt64
        package var bytes: Int
        /// When its last commit was made, milliseconds since 1970.
        var lastAt: Int64 = 0
    }

    let configuration: StorageConfiguration
    private let housekeeper: Housekeeper
    private(set) var active: Segment
    private var past: ClosedSegments
    private var supply: SegmentSupply
    /// Segments that hold changes which are appended and not synced.
    private(set) var unsynced = UnsyncedSegments()
    private(set) var volume = LogVolume()
    /// The newest revision in the log, or of the tables: what is appended follows it.
    private var newestRev: UInt64
    /// Everything up to this revision was on the disk at the last commit, or at the start.
    private var syncedRev: UInt64

    // MARK: What the change feed reads

    private(set) var recent: RecentChanges
    /// Of the housekeeper's thread.
    let reader: SegmentReader
    /// The greatest revision that retention has let go.
    private(set) var compactedRev: UInt64 = 0
    /// The newest revision when the active segment took over.
    package private(set) var activeAfter: UInt64 = 0

    /// `rev`: the newest revision that there is.
    /// `retired`: segments that are gone and that the tables list.
    /// `synced`: everything up to this revision is on the disk.
    init(
        configuration: StorageConfiguration, housekeeper: Housekeeper, active: Segment, closed: [Closed], rev: UInt64,
        retired: [Int] = [], history: LogHistory? = nil, synced: UInt64 = 0
    ) {
        newestRev = rev
        syncedRev = synced
        self.configuration = configuration
        self.housekeeper = housekeeper
        self.active = active
        past = ClosedSegments(closed, retired: RetiredSegments(untold: retired))
        supply = SegmentSupply(
            first: max(active.number, closed.last?.number ?? 0) + 1, history: history, configuration, housekeeper)
        recent = RecentChanges(
            after: 0, keepBytes: configuration.log.recentBytes, mostBytes: 2 * configuration.log.segmentBytes)
        reader = SegmentReader(directory: configuration.logDirectory)
        beginFeed(after: max(active.lastRev, past.lastRev), compactedRev: 0)
    }

    /// In the order of their numbers.
    package var closed: [Closed] { past.all }
    /// Bytes of the files of all segments.
    var bytes: Int { past.bytes + active.extent }
    var segments: Int { past.all.count + 1 }
    var commits: UInt64 { volume.commits }
    var bytesAppended: UInt64 { volume.appended }
    /// Why the last attempt to make the next segment has failed, when none was made since.
    var nextFailure: EngineError? { supply.failure }

    // MARK: Appending

    /// The next segment takes over when the active one is full for so many bytes of records, and another stands ready.
    func makeRoom(for bytes: Int) { if active.isFull(for: bytes) { switchSegment() } }

    /// Appends one row to the active segment.
    /// `records`: as they are; `logged`: with patches of values that lie in this segment (`activeAfter`).
    /// `syncedRev`: up to there everything is on the disk.
    /// - Throws: with `isFull` when there is no room, and then nothing is appended; else the outcome is unknown.
    func append(
        rev: UInt64, at: Int64, records: Bytes, logged: Bytes? = nil, syncedRev: UInt64
    ) throws(StorageFault) {
        let logged = logged ?? records
        if let code = FaultPoints.hit(.logAppend)?.errno {
            throw .system(errno: code, call: "write", path: active.path)
        }
        try active.append(previous: newestRev, rev: rev, at: at, records: logged, synced: syncedRev)
        newestRev = rev
        self.syncedRev = syncedRev
        unsynced.insert(active)
        volume.note(whole: records.count, logged: logged.count)
        recent.append(rev: rev, at: at, records: records, closedRev: activeAfter)
        // The row is in: whatever fails from here on leaves the outcome unknown.
        if FaultPoints.hit(.logCommit)?.errno != nil {
            throw .system(errno: EIO, call: "write", path: active.path)
        }
    }

    /// A sync up to the newest revision has been asked for; what comes later is another sync's.
    func takeUnsynced() -> UnsyncedSegments {
        defer { unsynced = UnsyncedSegments() }
        return unsynced
    }

    /// Whether the tables' list of segments is behind.
    var hasNews: Bool { past.hasNews }

    func takeUnrecorded() -> [Closed] { past.takeUnrecorded() }

    func takeRetired() -> [Int] { past.retired.takeUntold() }
    package var retired: RetiredSegments { past.retired }

    @discardableResult
    private func switchSegment() -> Bool {
        guard active.lastRev > 0, let segment = supply.take() else { return false }
        _ = FaultPoints.hit(.logSegmentChange)
        activeAfter = active.lastRev
        past.append(
            Closed(
                number: active.number, firstRev: active.firstRev, lastRev: active.lastRev, bytes: active.extent,
                lastAt: active.lastAt))
        let leaving = active
        active = segment
        // The last reference goes on the housekeeper's thread, after the sync that still needs it.
        housekeeper.submit { withExtendedLifetime(leaving) {} }
        return true
    }

    /// Takes the rows above `rev` out of the files, as a power cut does with what is not synced. Nothing is appended any more.
    func cut(after rev: UInt64) throws(StorageFault) {
        for closed in past.all where closed.lastRev > rev {
            try Segment(opening: closed.number, in: configuration.logDirectory).cut(after: rev)
        }
        if active.lastRev > rev { try active.cut(after: rev) }
    }

    // MARK: Upkeep

    /// Bytes of closed segments that only wait for a checkpoint to be let go.
    func bytesAwaitingCheckpoint(foldedRev: UInt64, durableRev: UInt64) -> Int {
        past.bytesAwaitingCheckpoint(foldedRev: foldedRev, durableRev: durableRev)
    }

    /// Nothing is appended any more: the active segment gives back what it has in advance.
    func finish() { try? active.trim() }

    /// Has the next segment made when there is none; called once a turn, cheap.
    /// `capacity`: bytes that it has in advance; nil for a full segment.
    func prepareNext(now: UInt64, capacity: Int? = nil) {
        supply.prepare(now: now, capacity: capacity, synced: syncedRev)
    }

    /// Notes that making the next segment failed, so that it is tried again later.
    /// - Returns: whether it failed since the last call.
    @discardableResult
    func noticeFailures(now: UInt64) -> Bool { supply.noticeFailures(now: now) }

    /// Closes the active segment when it has rows and another stands ready, so that it can be let go.
    /// - Returns: whether it was closed.
    @discardableResult
    func turnOver() -> Bool { switchSegment() }

    /// Whether some segment may be let go of, whatever its age.
    func mayRetire(durableRev: UInt64) -> Bool {
        guard let oldest = past.all.first else { return false }
        return oldest.lastRev <= durableRev
    }

    /// Lets go of segments whose changes the tables hold durably, oldest first, down to the retention's bytes and age.
    /// `keeping`: bytes of segments to keep for the change feed.
    /// `since`: segments whose last commit is older go as well; milliseconds since 1970.
    func retire(durableRev: UInt64, keeping: Int, since: Int64) {
        var total = past.bytes
        while let oldest = past.all.first, oldest.lastRev <= durableRev, total > keeping || oldest.lastAt < since {
            past.retireOldest()
            compact(to: oldest.lastRev)
            total -= oldest.bytes
            let directory = configuration.logDirectory
            let spare = configuration.sparePath
            let reader = self.reader
            let temporary = configuration.temporaryDirectory
            let mayRecycle = !supply.isScrubbing
            housekeeper.submit {
                reader.forget(oldest.number)
                _ = FaultPoints.hit(.logRetire)
                let path = Segment.path(directory, oldest.number)
                if mayRecycle, FileSystem.exists(path), !FileSystem.exists(spare) {
                    FileSystem.tryToRename(path, spare)
                }
                try? LogFiles.remove(oldest.number, in: directory) { (path) throws(StorageFault) in
                    if mayRecycle { try FileSystem.remove(path) } else { try LogScrub.letGo(path, to: temporary) }
                }
                // A power cut brings back the last one at most, never one before a gap.
                try? FileSystem.syncDirectory(directory)
            }
        }
    }
}

/// Letting nothing of the past stay in the files.
extension Log {
    /// From now on no file is used again, and what waits to be is overwritten and goes.
    /// - Returns: whether there is a next segment of a fresh file; else it has to be asked again.
    func beginScrub() -> Bool { supply.beginScrub() }

    /// The next segment, of a fresh file, takes over.
    /// - Returns: false when none stands ready.
    func turnOverForScrub() -> Bool {
        guard supply.isScrubbing, supply.isReady else { return false }
        if active.lastRev > 0 {
            switchSegment()
        } else if let segment = supply.take() {
            // It may be a recycled file, too.
            let old = active
            active = segment
            supply.discard(old)
        }
        return true
    }

    /// All closed segments have been looked through. `sizes`: of their files now.
    func noteScrubbed(_ sizes: [Int: Int]) { past.note(sizes: sizes) }

    func endScrub() { supply.endScrub() }
}

/// What the change feed needs to know.
extension Log {
    /// The feed begins: everything up to `rev` is in closed segments, or gone.
    /// `compactedRev`: the greatest revision that earlier runs have let go.
    func beginFeed(after rev: UInt64, compactedRev: UInt64) {
        newestRev = max(newestRev, rev)
        recent = RecentChanges(
            after: rev, keepBytes: configuration.log.recentBytes, mostBytes: 2 * configuration.log.segmentBytes)
        activeAfter = rev
        compact(to: compactedRev)
        let directory = configuration.logDirectory
        past.date { LogFiles.paths($0, in: directory).first.map(FileSystem.modified) ?? 0 }
    }

    /// Changes up to `rev` cannot be read any more.
    func compact(to rev: UInt64) { compactedRev = max(compactedRev, rev) }

    /// Closed segments that have, or may have, the change after `rev`, the likeliest first.
    func segmentNumbers(after rev: UInt64) -> [Int] { past.numbers(after: rev) }

    /// Nanoseconds until the oldest segment that may go is as old as `seconds`; nil when none may.
    func timeToExpiry(durableRev: UInt64, seconds: Int) -> UInt64? {
        guard let oldest = past.all.first, mayRetire(durableRev: durableRev) else { return nil }
        let left = oldest.lastAt.later(by: .milliseconds(seconds: seconds)).since(configuration.clock.wall)
        return .nanoseconds(milliseconds: max(left, 0).later(by: 1))
    }
}

/// Segments that have to be synced, in the order of their changes: mostly one, which takes no list.
struct UnsyncedSegments {
    private var first: Segment?
    private var others: [Segment] = []

    init(_ segments: Segment...) {
        for segment in segments { insert(segment) }
    }

    var isEmpty: Bool { first == nil }

    mutating func insert(_ segment: Segment) {
        guard let first else {
            first = segment
            return
        }
        if first !== segment, !others.contains(where: { $0 === segment }) { others.append(segment) }
    }

    mutating func formUnion(_ segments: UnsyncedSegments) {
        segments.forEach { insert($0) }
    }

    /// - Returns: the first result of `body` that is not nil; those behind are not asked.
    func firstResult<R>(_ body: (Segment) -> R?) -> R? {
        if let first, let result = body(first) { return result }
        for segment in others {
            if let result = body(segment) { return result }
        }
        return nil
    }

    func forEach(_ body: (Segment) -> Void) {
        if let first { body(first) }
        for segment in others { body(segment) }
    }
}
