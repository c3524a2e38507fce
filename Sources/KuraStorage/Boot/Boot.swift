import KuraBytes
import SQLite
import Synchronization

/// A start, phase by phase, held against those before it, so that starting succeeds in the end.
///
/// boot.json says how far a start has come. Whoever finds another phase there than `ended` knows that the start before it did not
/// outlive that phase. Caches are dropped after `bootAttempts` such starts; tables and log are set aside after two that failed in a phase
/// of theirs (`Quarantine`), and what can be saved of them is (`Rebuilding`). What fails for other reasons counts as nothing and moves
/// nothing.
///
/// The loop's, but for what is told of caches, which their thread does.
public final class Boot: Sendable {
    private struct State {
        var record = BootRecord()
        var file: BootFile
        var notices: [RecoveredNotice] = []
        /// A write of boot.json has failed: nothing more is told there.
        var isMute = false
    }
    private let state: Guarded<State>
    private let configuration: StorageConfiguration
    private let recoveredFile: RecoveredFile
    private let report: @Sendable (String) -> Void
    /// Notices have come or gone, and nobody has been told.
    private let news = Atomic<Bool>(false)
    /// Some caches have not been read yet.
    let isReading = Atomic<Bool>(false)

    /// Failed starts in a phase of tables and log after which these are set aside.
    static let durableAttempts = 2

    /// After the lock has been taken.
    init(_ configuration: StorageConfiguration, report: @escaping @Sendable (String) -> Void) {
        self.configuration = configuration
        self.report = report
        recoveredFile = RecoveredFile(configuration)
        state = Guarded(State(file: BootFile(configuration)))
    }

    // MARK: Beginning

    /// Judges the starts before this one, and does what they ask for: finishes a recovery that was under way, begins one, drops caches.
    /// - Throws: what keeps that from being done; nothing is lost then.
    func begin() throws(StorageFault) {
        let last = state.withLock { $0.file.read() } ?? BootRecord()
        var record = Self.judge(last)
        record.attempts = min(last.attempts + 1, 1 << 30)
        record.starts = (last.starts + 1) % (1 << 30)
        let notices = try readNotices()
        state.withLock { state in
            state.record = record
            state.notices = notices
        }
        // What the next starts act on is durable before anything is done about it.
        let hasFailed = record.durableFailures != last.durableFailures || record.cacheFailures != last.cacheFailures
        note(isDurable: hasFailed) { $0.phase = .lock }
        try strike(.lock)
        if let limit = cacheLimit(last), record.cacheFailures >= limit { try dropCaches(last) }
        if notices.contains(where: { $0.step != .done }) {
            try recover(after: last)
        } else if record.durableFailures >= Self.durableAttempts {
            var notice = RecoveredNotice(
                at: nowMilliseconds(), what: .durable, phase: record.failedPhase, reason: record.reason)
            notice.step = .moving
            notice.quarantine = try Quarantine.freshName(configuration, at: notice.at)
            try Rebuilding.checkRoom(configuration)
            try keep(notice)
            try recover(after: last)
        }
    }

    /// What has become of the last start, by what it has left.
    static func judge(_ last: BootRecord) -> BootRecord {
        var record = last
        record.openingCache = ""
        record.readingCaches = []
        if last.phase.isDurable {
            record.durableFailures += 1
            record.failedPhase = last.phase.rawValue
            record.reason = "the process ended while it was in phase \(last.phase.rawValue)"
        }
        if last.phase == .serving { record.isUnclean = true }
        if !last.openingCache.isEmpty || !last.readingCaches.isEmpty {
            record.cacheFailures += 1
        }
        return record
    }

    private func readNotices() throws(StorageFault) -> [RecoveredNotice] {
        do throws(StorageFault) { return try recoveredFile.read() } catch {
            guard case .damaged = error else { throw error }
            report("\(error), and set aside: what it said about earlier recoveries is lost")
            recoveredFile.setAside()
            return []
        }
    }

    // MARK: Phases

    /// The start has come to a phase.
    func enter(_ phase: BootPhase) throws(StorageFault) {
        note { $0.phase = phase }
        try strike(phase)
    }

    private func strike(_ phase: BootPhase) throws(StorageFault) {
        guard let point = phase.faultPoint, let action = FaultPoints.hit(point) else { return }
        switch action {
        case .fail: throw .damaged("injected fault in phase \(phase.rawValue)")
        case .full: throw .system(errno: action.errno ?? 0, call: "boot", path: phase.rawValue)
        case .skip: return
        }
    }

    /// The storage is open; the daemon is about to listen.
    public func listens() throws(StorageFault) { try enter(.listen) }

    /// The start has failed, and says so itself.
    func failed(_ fault: StorageFault) {
        let phase = state.withLock { $0.record.phase }
        let counts = fault.isDamage && phase.isDurable
        note(isDurable: counts) { record in
            record.phase = .ended
            guard counts else { return }
            record.durableFailures += 1
            record.failedPhase = phase.rawValue
            record.reason = fault.description
        }
        if counts { noteFailedRecovery(isSure: true) }
    }

    /// One start in five writes caches' files anew that are mostly free.
    static let compactionInterval = 5

    var isCompacting: Bool { state.withLock { $0.record.starts % Self.compactionInterval == 0 } }

    /// When everything was looked through last, milliseconds since 1970, and how many problems there were; nil: never.
    public var lastCheck: (at: Int64, problems: Int)? {
        state.withLock { $0.record.checkedAt > 0 ? ($0.record.checkedAt, $0.record.checkProblems) : nil }
    }

    /// Everything has been looked through. From any thread.
    public func checked(problems: Int) {
        note { record in
            record.checkedAt = nowMilliseconds()
            record.checkProblems = problems
        }
    }

    /// Whether a run before this one was killed while it served.
    var isUnclean: Bool { state.withLock { $0.record.isUnclean } }

    /// The loop has taken its first turn.
    public func serves() {
        let hadFailures = state.withLock { $0.record.durableFailures > 0 }
        note(isDurable: hadFailures) { record in
            record.phase = .serving
            record.attempts = 0
            record.durableFailures = 0
            record.isUnclean = false
            (record.failedPhase, record.reason) = ("", "")
        }
    }

    /// Everything has been closed.
    func ended() {
        note { record in
            record.phase = .ended
            record.openingCache = ""
            record.readingCaches = []
        }
        state.withLock { $0.file.close() }
    }

    /// Writes what has changed, if anything has.
    private func note(isDurable: Bool = false, _ change: (inout BootRecord) -> Void) {
        let failure: StorageFault? = state.withLock { state in
            let before = state.record
            change(&state.record)
            guard !state.isMute, isDurable || state.record != before else { return nil }
            do throws(StorageFault) {
                // On a full disk it can still be written over.
                if isDurable { try? state.file.writeDurably(state.record) }
                try state.file.write(state.record)
                return nil
            } catch {
                // What is there would be taken for how this start ended.
                state.isMute = true
                FileSystem.tryToRemove(configuration.bootPath)
                return error
            }
        }
        if let failure { report("boot.json cannot be written, so this start is not counted: \(failure)") }
    }

    // MARK: Caches

    /// `kura-cache` opens a file, which the process may not outlive.
    func opens(cache name: String) {
        note { $0.openingCache = name }
        _ = FaultPoints.hit(.bootOpenCache)
    }

    func hasOpened() { note { $0.openingCache = "" } }

    /// `rooms`: those whose files are being read.
    func reads(_ rooms: [String]) {
        note { record in
            record.readingCaches = rooms
            if rooms.isEmpty { record.cacheFailures = 0 }
        }
        isReading.store(!rooms.isEmpty, ordering: .relaxed)
    }

    /// Failed starts after which the cache goes: one more while it is only read, since the daemon serves by then and whoever ends it may
    /// have reasons of his own.
    private func cacheLimit(_ last: BootRecord) -> Int? {
        if !last.openingCache.isEmpty { return configuration.bootAttempts }
        return last.readingCaches.isEmpty ? nil : configuration.bootAttempts + 1
    }

    private func dropCaches(_ last: BootRecord) throws(StorageFault) {
        let names = try FileSystem.names(in: configuration.cacheDirectory).filter { $0.hasSuffix(".sqlite") }
        let dropped = names.filter { name in
            guard last.openingCache.isEmpty else { return name == last.openingCache }
            return last.readingCaches.contains(name == BlobTable.file ? BootRooms.blobs : BootRooms.models)
        }
        for name in dropped { CacheFile.remove(configuration.cacheDirectory + "/" + name) }
        note { $0.cacheFailures = 0 }
        guard !dropped.isEmpty else { return }
        var notice = RecoveredNotice(
            at: nowMilliseconds(), what: .caches, phase: BootPhase.caches.rawValue,
            reason: "the process ended while it was opening or reading caches")
        notice.files = dropped.sorted()
        try keep(notice)
        report(notice.line)
    }

    // MARK: Notices

    /// What has been recovered, and not acknowledged.
    public var recovered: [RecoveredNotice] { state.withLock { $0.notices.filter { $0.step == .done } } }

    /// Whether notices have come or gone since this was asked last.
    func takeNews() -> Bool {
        guard news.load(ordering: .relaxed) else { return false }
        return news.exchange(false, ordering: .acquiring)
    }

    /// Nobody is told any more. May wait for the disk.
    /// - Returns: how many notices there were.
    func acknowledge() throws(StorageFault) -> Int {
        let before = state.withLock { $0.notices }
        let left = before.filter { $0.step != .done }
        guard left.count < before.count else { return 0 }
        try recoveredFile.write(left)
        state.withLock { $0.notices = left }
        news.store(true, ordering: .releasing)
        return before.count - left.count
    }

    private func keep(_ notice: RecoveredNotice) throws(StorageFault) {
        var notices = state.withLock { $0.notices }
        if let position = notices.firstIndex(where: { $0.step != .done }), notice.what == .durable {
            notices[position] = notice
        } else {
            notices.append(notice)
        }
        while notices.count > RecoveredFile.mostNotices,
            let oldest = notices.firstIndex(where: { $0.step == .done && $0.what == .caches })
                ?? notices.firstIndex(where: { $0.step == .done })
        {
            notices.remove(at: oldest)
        }
        try recoveredFile.write(notices)
        let kept = notices
        state.withLock { $0.notices = kept }
        news.store(true, ordering: .releasing)
    }

    // MARK: Recovering

    /// The recovery that is under way.
    private var pending: RecoveredNotice? { state.withLock { $0.notices.first { $0.step != .done } } }

    /// What the secrets' keys open may lie in a quarantine that nobody has acknowledged: no new keys take their place.
    var mayHaveSetSecretsAside: Bool { state.withLock { $0.notices.contains { $0.what == .durable } } }

    /// Revisions up to this one may have been given out and are missing: they are not given out again. 0 when none are.
    var lostRev: UInt64 { pending.map { $0.newestRev > $0.savedRev ? $0.newestRev : 0 } ?? 0 }

    /// Sets aside what is to be, and makes what this start goes on with.
    private func recover(after last: BootRecord) throws(StorageFault) {
        guard var notice = pending else { return }
        // From here on the notice says what has failed.
        note(isDurable: true) { $0.durableFailures = 0 }
        if notice.step == .moving {
            try Quarantine.setAside(notice, configuration)
            notice.step = .rebuilding
            try keep(notice)
        } else if last.phase.isDurable {
            noteFailedRecovery(isSure: false)
            notice = pending ?? notice
        }
        try enter(.rebuild)
        var rebuilding = Rebuilding(configuration, notice, report: report)
        try keep(try rebuilding.run())
    }

    /// A start has failed with what had been saved.
    /// `isSure`: it would fail again; else the process has ended, for whatever reason, and the same is tried once more.
    private func noteFailedRecovery(isSure: Bool) {
        guard var notice = pending, notice.step == .rebuilding else { return }
        notice.failures += 1
        if isSure || notice.failures >= Self.durableAttempts {
            notice.rung = notice.rung.next
            notice.failures = 0
        }
        do throws(StorageFault) { try keep(notice) } catch {
            report("recovered.json cannot be written: \(error)")
        }
    }

    /// The storage is open: what was recovered is the data from now on. Before anybody is answered.
    func confirm() throws(StorageFault) {
        guard var notice = pending else { return }
        notice.step = .done
        try keep(notice)
        report(notice.line)
    }
}
