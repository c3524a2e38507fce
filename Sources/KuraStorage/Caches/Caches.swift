import Glibc
import KuraBytes
import SQLite

/// The common ground of the rooms whose data may be lost: their threads, their clock, the room on the disk, and who makes what. Belongs to the loop.
public final class Caches {
    public let claims = CacheClaims()
    /// Who has what written.
    weak var bill: WriteBill?
    public let changes = CacheChanges()
    public let space: FreeSpace
    /// The only writer of the cache's files.
    let writer: CacheThread
    /// Looks up what somebody waits for.
    let reader: CacheThread
    let configuration: StorageConfiguration
    /// The last run did not end well: the files are checked before they are used, and what they say may be old.
    let isDoubtful: Bool
    /// What the model cache begins with when there is none.
    let seed: ModelSeed?
    private let boot: Boot?
    /// Look-ups that are through.
    private var answers: [QueryAnswer] = []
    private var rooms: [any CacheRoom] = []
    private let housekeeper: Housekeeper
    private let wake: @Sendable () -> Void
    let report: @Sendable (String) -> Void
    /// Database files when the daemon or an application started last: names below the data directory, bytes.
    public internal(set) var sizes: [(name: String, bytes: Int)]
    /// Files that could not be opened, read or written.
    public internal(set) var openErrors = 0
    private var lookAt: UInt64 = 0
    private var hasWritten = false
    private var wasLow = false
    private var purgeAt: UInt64 = 0
    /// Bytes that are still to be given up.
    private var purgeLeft = 0
    /// What was given up last is still on its way off the disk.
    private var isPurging = false
    /// Bytes that were given up for want of space since the start.
    public private(set) var purgedBytes = 0

    /// Requests that wait for a sweep to end.
    private var sweepTickets: [UInt64] = []
    private var effortEnd: UInt64 = 0
    private var turnClock: Int64 = 0
    private var clockBase: Int64 = 0
    private var clockStart: UInt64 = 0

    /// Nanoseconds between two looks at the space while it matters.
    private static let lookTime: UInt64 = 1_000_000_000

    /// `tables`: the rooms' CREATE statements. `boot`: is told which file is being opened, in case the process does not outlive that.
    init(
        _ configuration: StorageConfiguration, tables: [String], boot: Boot? = nil, housekeeper: Housekeeper,
        wake: @escaping @Sendable () -> Void, report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.housekeeper = housekeeper
        self.wake = wake
        self.report = report
        self.boot = boot
        let space = FreeSpace(directory: configuration.cacheDirectory, minimum: configuration.minFreeBytes)
        self.space = space
        seed = boot.flatMap { boot in configuration.seedBundle.map { ModelSeed($0, boot, space) } }
        let isDoubtful = !FileSystem.exists(configuration.cacheCleanPath)
        self.isDoubtful = isDoubtful
        let layout = CacheFile.Layout(version: Self.layoutVersion, sql: tables.joined(separator: "\n"))
        let copying =
            boot?.isCompacting == true && !isDoubtful
            ? CacheCopy.Rule(configuration, space: space, report: report) : nil
        writer = CacheThread(
            name: "kura-cache", isBackground: true,
            limit: min(32 << 20, max(8 << 20, configuration.modelMemoryBytes / 4)),
            makeFiles: {
                // From here on only a clean stop says that the files are whole.
                FileSystem.tryToRemove(configuration.cacheCleanPath)
                try? FileSystem.syncDirectory(configuration.cacheDirectory)
                return CacheFiles(
                    configuration, layout: layout, isReader: false, isDoubtful: isDoubtful, boot: boot,
                    copying: copying)
            }, wake: wake)
        reader = CacheThread(
            name: "kura-cacheread", isBackground: false,
            makeFiles: { CacheFiles(configuration, layout: layout, isReader: true, isDoubtful: false) }, wake: wake)
        sizes = Self.sizes(configuration)
        clockBase = configuration.clock.wall
        clockStart = configuration.clock.monotonic
    }

    /// Database files as they are now.
    static func sizes(_ configuration: StorageConfiguration) -> [(name: String, bytes: Int)] {
        [("durable/kura.sqlite", FileSystem.size(configuration.tablesPath))]
            + CacheFiles.sizes(configuration).map { ("cache/" + $0.name, $0.bytes) }
    }

    /// Of the tables of all rooms: one more whenever any of them changes. Files of another version are dropped.
    static let layoutVersion: Int64 = 1

    /// What was laid down of the seed bundle, or was not.
    func take(_ seed: ModelSeed) {
        guard seed.isTried else { return }
        boot?.hasSeeded(models: seed.entries, namespaces: seed.namespaces, problem: seed.problem)
    }

    func add(_ room: any CacheRoom) {
        rooms.append(room)
        rooms.sort { $0.purgeRank < $1.purgeRank }
    }

    // MARK: The clock

    /// Milliseconds since 1970, as of the turn. It never goes back, neither when the system's clock does nor from one run to the next, so that
    /// nothing that has expired comes back; and it goes on with the system's when that leaps ahead.
    var clock: Int64 {
        if turnClock == 0 {
            let elapsed = Int64((configuration.clock.monotonic - clockStart) / 1_000_000)
            let wall = configuration.clock.wall
            if wall > clockBase + elapsed { clockBase = wall - elapsed }
            turnClock = clockBase + elapsed
        }
        return turnClock
    }

    /// What an earlier run had come to.
    func clockWas(_ milliseconds: Int64) {
        if milliseconds > clock {
            clockBase += milliseconds - clock
            turnClock = 0
        }
    }

    /// Somebody has been told that something is not there since its time is over: how far the clock has come is written, so that a kill and an
    /// earlier clock after it do not bring it back.
    func noteExpired() { hasShownExpired = true }
    private var hasShownExpired = false
    private var clockWrittenAt: UInt64 = 0

    /// - Returns: nanoseconds until the clock is to be written; nil when it need not be.
    func waitForClock(_ time: UInt64) -> UInt64? {
        guard hasShownExpired else { return nil }
        let due = clockWrittenAt + 1_000_000_000
        return due > time ? due - time : 0
    }

    func noteClockWritten(_ time: UInt64) { (hasShownExpired, clockWrittenAt) = (false, time) }

    // MARK: Turns

    func beginTurn() {
        turnClock = 0
        effortEnd = 0
        if let done = writer.takeDone() { take(done) }
        if let done = reader.takeDone() { take(done) }
    }

    private func take(_ outcomes: [CacheOutcome]) {
        for outcome in outcomes {
            if !outcome.dropped.isEmpty {
                report(
                    "cache files could not be used any more and begin anew, empty: "
                        + outcome.dropped.joined(separator: ", "))
                forgetInReader(outcome.dropped)
                for room in rooms { room.filesDropped(outcome.dropped) }
            }
            if outcome.job is SpaceLook { isPurging = false }
            for room in rooms where room.take(outcome) { break }
        }
    }

    /// Files have been removed: the reader must not go on in them.
    func forgetInReader(_ names: [String]) { reader.submit(ForgottenFiles(names)) }

    /// A look-up that a request waits for is through.
    func answer(_ ticket: UInt64, _ query: any TableQuery) { answers.append(QueryAnswer(ticket: ticket, query: query)) }

    var hasAnswers: Bool { !answers.isEmpty }

    func takeAnswers() -> [QueryAnswer] {
        defer { answers = [] }
        return answers
    }

    /// Nanoseconds of a turn for what can as well be done in a later one, of all rooms together.
    private static let effortTime: UInt64 = 2_000_000

    /// Whether there is still some of it.
    func hasTime() -> Bool {
        let time = configuration.clock.monotonic
        if effortEnd == 0 { effortEnd = time + Self.effortTime }
        return time < effortEnd
    }

    // MARK: Space

    /// A room is about to have so many bytes written.
    /// - Returns: false when space is low and nothing may be stored.
    func admits(bytes: Int) -> Bool {
        hasWritten = true
        // What is large may be what fills the disk: a look costs some microseconds.
        if bytes > 1 << 20 { space.look() }
        return !space.isLow
    }

    /// Somebody who must not lose anything has found no room: the space is looked at, though no cache is about to write.
    func noticeFullDisk() {
        guard !space.isLow else { return }
        hasWritten = true
        lookAt = 0
    }

    /// Looks at the space now and then, and makes room while it is low.
    private func watchSpace(_ time: UInt64) -> UInt64? {
        let isLow = space.isLow
        if isLow != wasLow {
            wasLow = isLow
            report(
                isLow
                    ? "low storage: \(space.free) bytes are free, caches store nothing below \(space.threshold)"
                    : "storage is no longer low: \(space.free) bytes are free, caches store again")
            tell(
                .storage,
                CacheChange(
                    target: .init(source: .storage, extent: .whole, scope: []),
                    event: isLow ? .becameLow : .becameAmple))
        }
        guard isLow || hasWritten || changes.isWatched(.storage) else { return nil }
        if time >= lookAt {
            lookAt = time + Self.lookTime
            hasWritten = false
            housekeeper.submit { [space, wake] in
                let was = space.isLow
                if space.look() != was { wake() }
            }
        }
        if isLow, space.missing > 0, time >= purgeAt, !isPurging, purgeLeft == 0 {
            purgeAt = time + Self.lookTime / 4
            purgeLeft = space.missing
        }
        if !isLow { purgeLeft = 0 }
        if purgeLeft > 0 { purge() }
        return purgeLeft > 0 ? 0 : max(lookAt, time) - time
    }

    /// Has the rooms give up some of what is still to be: as much as there is time for.
    private func purge() {
        var given = 0
        for room in rooms where given == 0 { given = room.purge(bytes: purgeLeft) }
        purgedBytes += given
        purgeLeft = given == 0 ? 0 : max(purgeLeft - given, 0)
        guard purgeLeft == 0 else { return }
        for room in rooms { room.purgeEnded() }
        // What was given up shows when the thread is through with it: before that it would be given up once more.
        isPurging = true
        writer.submit(SpaceLook(space))
    }

    func upkeep(_ time: UInt64) -> UInt64? {
        var due = watchSpace(time)
        for room in rooms { if let next = room.upkeep(time) { due = min(due ?? .max, next) } }
        if !sweepTickets.isEmpty, !sweep.isRunning {
            for ticket in sweepTickets { answer(ticket, SweepDone(sweep)) }
            sweepTickets = []
            due = 0
        }
        return due
    }

    // MARK: Sweeping

    /// How the sweep stands that is under way, or how the last one ended; all rooms together.
    public var sweep: CacheSweep {
        rooms.reduce(into: CacheSweep()) { sum, room in
            let one = room.sweepProgress
            if one.isRunning { sum.isRunning = true }
            sum.done += one.done
            sum.total += one.total
            sum.removed += one.removed
            sum.bytes += one.bytes
        }
    }

    /// Sweeps all rooms.
    /// `ticket`: comes back with a `SweepDone` when they are through.
    func sweep(_ ticket: UInt64) {
        for room in rooms { room.beginSweep() }
        sweepTickets.append(ticket)
    }

    /// Sweeps the namespaces of an application.
    func sweep(of application: ApplicationScopes) { for room in rooms { room.beginSweep(of: application) } }

    /// Has everything written, and ends the threads.
    func stop() {
        for room in rooms { room.close() }
        reader.stop()
        writer.stop()
        // What came of the last jobs keeps the rooms as well.
        _ = reader.takeDone()
        let isWhole = !(writer.takeDone() ?? []).contains { $0.error != nil }
        // They keep the caches, and the caches them.
        rooms = []
        guard isWhole else { return report("the caches could not be written to their end") }
        if let descriptor = try? FileSystem.open(configuration.cacheCleanPath, O_WRONLY | O_CREAT) {
            Glibc.close(descriptor)
        }
    }
}
