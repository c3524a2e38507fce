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
    package let writer: CacheThread
    /// Looks up what somebody waits for.
    let reader: CacheThread
    let configuration: StorageConfiguration
    /// The last run did not end well: the files are checked before they are used, and what they say may be old.
    let isDoubtful: Bool
    /// Look-ups that are through.
    private var answers: [QueryAnswer] = []
    private let rooms = CacheRooms()
    private let turn: CacheClock
    private let watch: SpaceWatch
    let report: @Sendable (String) -> Void
    /// Database files when the daemon or an application started last: names below the data directory, bytes.
    public internal(set) var sizes: [(name: String, bytes: Int)]
    /// Files that could not be opened, read or written.
    public internal(set) var openErrors = 0

    /// `tables`: the rooms' CREATE statements. `boot`: is told which file is being opened, in case the process does not outlive that.
    init(
        _ configuration: StorageConfiguration, tables: [String], boot: Boot? = nil, housekeeper: Housekeeper,
        wake: @escaping @Sendable () -> Void, report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.report = report
        let space = FreeSpace(directory: configuration.cacheDirectory, minimum: configuration.caches.minFreeBytes)
        self.space = space
        watch = SpaceWatch {
            housekeeper.submit {
                let was = space.isLow
                if space.look() != was { wake() }
            }
        }
        let isDoubtful = !FileSystem.exists(configuration.cacheCleanPath)
        self.isDoubtful = isDoubtful
        let layout = CacheFile.Layout(
            version: Self.layoutVersion, unsealed: 1, sql: tables.joined(separator: "\n"))
        let copying =
            boot?.isCompacting == true && !isDoubtful
            ? CacheCopy.Rule(configuration, space: space, report: report) : nil
        writer = CacheThread(
            name: "kura-cache", isBackground: true,
            limit: min(32 << 20, max(8 << 20, configuration.caches.modelMemoryBytes / 4)),
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
        turn = CacheClock(configuration.clock)
    }

    /// Database files as they are now.
    static func sizes(_ configuration: StorageConfiguration) -> [(name: String, bytes: Int)] {
        [("durable/kura.sqlite", FileSystem.size(configuration.tablesPath))]
            + CacheFiles.sizes(configuration).map { ("cache/" + $0.name, $0.bytes) }
    }

    /// Of the tables of all rooms: one more whenever any of them changes. Files of another version are dropped, but for 1, which had no seals.
    static let layoutVersion: Int64 = 2

    func add(_ room: any CacheRoom) { rooms.add(room) }

    /// Those whose files are still being read.
    var unread: [CacheStore] { rooms.unread }

    /// Begins the threads; what the rooms have asked of them waits for that.
    func begin() throws(StorageFault) {
        try writer.begin()
        try reader.begin()
    }

    // MARK: The clock

    /// Milliseconds since 1970, as of the turn.
    var clock: Int64 { turn.now }

    /// What an earlier run had come to.
    func clockWas(_ milliseconds: Int64) { turn.was(milliseconds) }

    func noteExpired() { turn.noteExpired() }

    /// - Returns: nanoseconds until the clock is to be written; nil when it need not be.
    func waitForClock(_ time: UInt64) -> UInt64? { turn.waitForWriting(time) }

    func noteClockWritten(_ time: UInt64) { turn.noteWritten(time) }

    /// Whether there is still some of the turn's time for what can as well be done in a later one.
    func hasTime() -> Bool { turn.hasTime() }

    // MARK: Turns

    func beginTurn() {
        turn.beginTurn()
        if let done = writer.takeDone() { take(done) }
        if let done = reader.takeDone() { take(done) }
    }

    private func take(_ outcomes: [CacheOutcome]) {
        for outcome in outcomes {
            for name in outcome.damaged { writer.drop(damaged: name) }
            if !outcome.dropped.isEmpty {
                report(
                    "cache files were damaged, or could not be written, and begin anew, empty: "
                        + outcome.dropped.joined(separator: ", "))
                forgetInReader(outcome.dropped)
                rooms.filesDropped(outcome.dropped)
            }
            if outcome.job is SpaceLook { watch.noteGone() }
            rooms.take(outcome)
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

    // MARK: Space

    /// A room is about to have so many bytes written.
    /// - Returns: false when space is low and nothing may be stored.
    func admits(bytes: Int) -> Bool {
        watch.hasWritten = true
        // What is large may be what fills the disk: a look costs some microseconds.
        if bytes > 1 << 20 { space.look() }
        return !space.isLow
    }

    /// Somebody who must not lose anything has found no room: the space is looked at, though no cache is about to write.
    func noticeFullDisk() {
        if !space.isLow { watch.hurry() }
    }

    /// Looks at the space now and then, and makes room while it is low.
    private func watchSpace(_ time: UInt64) -> UInt64? {
        let isLow = space.isLow
        if watch.hasTurned(isLow: isLow) {
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
        guard isLow || watch.hasWritten || changes.isWatched(.storage) else { return nil }
        watch.lookIfDue(time)
        watch.plan(time, isLow: isLow, missing: space.missing)
        if watch.purgeLeft > 0 { purge() }
        return watch.wait(time)
    }

    /// Bytes that were given up for want of space since the start.
    public var purgedBytes: Int { watch.purgedBytes }

    /// Has the rooms give up some of what is still to be: as much as there is time for.
    private func purge() {
        let given = rooms.purge(bytes: watch.purgeLeft)
        guard watch.noteGiven(given) else { return }
        rooms.purgeEnded()
        writer.submit(SpaceLook(space))
    }

    func upkeep(_ time: UInt64) -> UInt64? {
        var due = watchSpace(time)
        if let next = rooms.upkeep(time) { due = min(due ?? .max, next) }
        for ticket in rooms.takeSwept() {
            answer(ticket, SweepDone(sweep))
            due = 0
        }
        return due
    }

    // MARK: Sweeping

    /// How the sweep stands that is under way, or how the last one ended; all rooms together.
    public var sweep: CacheSweep { rooms.sweep }

    /// Sweeps all rooms.
    /// `ticket`: comes back with a `SweepDone` when they are through.
    func sweep(_ ticket: UInt64) { rooms.beginSweep(ticket) }

    /// Sweeps the namespaces of an application.
    func sweep(of application: ApplicationScopes) { rooms.beginSweep(of: application) }

    /// Has everything written, and ends the threads.
    func stop() {
        rooms.close()
        reader.stop()
        writer.stop()
        // What came of the last jobs keeps the rooms as well.
        _ = reader.takeDone()
        let isWhole = !(writer.takeDone() ?? []).contains { $0.error != nil }
        // They keep the caches, and the caches them.
        rooms.removeAll()
        guard isWhole else { return report("the caches could not be written to their end") }
        if let descriptor = try? FileSystem.open(configuration.cacheCleanPath, O_WRONLY | O_CREAT) {
            Glibc.close(descriptor)
        }
    }
}
