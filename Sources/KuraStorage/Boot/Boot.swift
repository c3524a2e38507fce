import CSyscalls
import KuraBytes
import SQLite
import Synchronization

/// A start, phase by phase, held against those before it, so that starting succeeds in the end.
///
/// boot.json says how far a start has come, and DATA/trap whether the process has ended by a fault of its own (`TrapNote`). Whoever finds another phase there than `ended` knows that the start before it did not
/// outlive that phase. Caches are dropped after `boot.attempts` starts that have trapped with them. Tables and log are set aside after two that have
/// met damage or trapped in a phase of theirs (`Quarantine`), and what can be saved of them is (`Rebuilding`). What fails for other reasons, and
/// whatever is killed, counts as nothing, moves nothing and drops nothing.
///
/// The loop's, but for what is told of caches, which their thread does.
public final class Boot: Sendable {
    private struct State {
        var record = BootRecord()
        var file: BootFile
        var notices: [RecoveredNotice] = []
        /// A write of boot.json has failed: nothing more is told there.
        var isMute = false
        /// Which bundle the tables of a recovery begin with, when they are the data.
        var seedRecord: SeedRecord?
        var isOfThisKernel = false
        var hadTables = true
        var lastTrap: TrapNote?
    }
    private let state: Guarded<State>
    private let configuration: StorageConfiguration
    private let recoveredFile: RecoveredFile
    private let trapFile: TrapFile
    let report: @Sendable (String) -> Void
    /// Notices have come or gone, and nobody has been told.
    private let news = Atomic<Bool>(false)
    /// Some caches have not been read yet.
    let isReading = Atomic<Bool>(false)
    private let seedStatus: Guarded<SeedStatus?>
    private let remark: @Sendable (String) -> Void

    /// Starts that have met damage or trapped in a phase of tables and log, after which these are set aside.
    static let durableAttempts = 2

    /// After the lock has been taken.
    init(
        _ configuration: StorageConfiguration, remark: @escaping @Sendable (String) -> Void = { _ in },
        report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.remark = remark
        self.report = report
        seedStatus = Guarded(configuration.seedBundle.map { SeedStatus(file: $0) })
        recoveredFile = RecoveredFile(configuration)
        trapFile = TrapFile(configuration)
        state = Guarded(State(file: BootFile(configuration)))
    }

    // MARK: Beginning

    /// Judges the starts before this one, and does what they ask for: finishes a recovery that was under way, begins one, drops caches.
    /// - Throws: what keeps that from being done; nothing is lost then.
    func begin() throws(StorageFault) {
        let found = state.withLock { $0.file.read() }
        let last = found ?? BootRecord()
        let trap = trapFile.read().flatMap { $0.isNew ? $0.note : nil }
        var record = Self.judge(last, trap)
        record.attempts = min(last.attempts + 1, 1 << 30)
        record.starts = (last.starts + 1) % (1 << 30)
        let notices = try readNotices()
        let hadTables = try FileSystem.length(configuration.tablesPath) > 0
        // Until a start comes to serve, whatever becomes of this one.
        if !notices.contains(where: { $0.step != .done }), try Self.isForgotten(configuration, found) {
            record.isUnclean = true
        }
        state.withLock { state in
            state.hadTables = hadTables
            state.isOfThisKernel = !Kernel.boot.isEmpty && last.kernel == Kernel.boot
            state.record = record
            state.notices = notices
            state.lastTrap = trap
        }
        // Before it is counted: a kill in between must not have it counted twice.
        var untold: StorageFault?
        do throws(StorageFault) { try trapFile.begin() } catch { untold = error }
        // What the next starts act on is durable before anything is done about it.
        let hasFailed =
            record.durableFailures != last.durableFailures || record.cacheFailures != last.cacheFailures
            || record.traps.count > last.traps.count
        note(isDurable: hasFailed) { $0.phase = .lock }
        if let trap { report("THE LAST RUN ENDED IN A TRAP: \(trap.line)") }
        if let untold { report("traps are not noted: \(untold)") }
        if trap == nil, last.phase.isDurable {
            report(
                "the last start was ended in phase \(last.phase.rawValue), by a kill or the power and by no fault of its own: "
                    + "that counts as nothing, and nothing is set aside for it. This is start \(record.attempts) since the "
                    + "daemon served last")
        }
        try strike(.lock)
        if record.cacheFailures > last.cacheFailures, record.cacheFailures >= cacheLimit(last) { try dropCaches(last) }
        if notices.contains(where: { $0.step != .done }) {
            try recover(after: last)
        } else if isToSetAside(record, notices) {
            var notice = RecoveredNotice(
                at: configuration.clock.wall, what: .durable, phase: record.failure.phase, reason: record.failure.reason
            )
            if record.traps.count >= Self.durableAttempts, record.traps.rev > 0 { notice.without = [record.traps.rev] }
            notice.step = .moving
            notice.quarantine = try Quarantine.freshName(configuration, at: notice.at)
            try Rebuilding.checkRoom(configuration)
            try keep(notice)
            try recover(after: last)
        }
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
        Work.at(.other)
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

    /// The log has been read and repaired under this kernel: a row that is missing from now on was not lost to an earlier power cut.
    func hasReadLog() { note { $0.kernel = Kernel.boot } }

    /// The storage is open; the daemon is about to listen.
    public func listens() throws(StorageFault) { try enter(.listen) }

    /// The start has failed, and says so itself.
    func failed(_ fault: StorageFault) {
        let phase = state.withLock { $0.record.phase }
        let counts = fault.isDamage && phase.isDurable && !fault.isPassing(durableFiles)
        note(isDurable: counts) { record in
            record.phase = .ended
            guard counts else { return }
            record.durableFailures += 1
            record.failure = .init(phase: phase.rawValue, reason: fault.description)
        }
        guard counts else { return }
        if pending == nil {
            let isLast = state.withLock { $0.record.durableFailures >= Self.durableAttempts }
            report(
                "put back what is damaged from where it was copied, or start kurad again: "
                    + (isLast ? "the next start" : "after \(Self.durableAttempts) such starts the next one")
                    + " sets tables and log aside in quarantine/ and goes on with what can be saved of them")
        }
        noteFailedRecovery(isSure: true)
    }

    /// Tables and log, and what a recovery makes them of.
    private var durableFiles: [String] {
        var directories = [configuration.durableDirectory, configuration.logDirectory]
        if let notice = pending {
            let aside = configuration.quarantineDirectory + "/" + notice.quarantine
            directories += [aside + "/durable", aside + "/log"]
        }
        return directories.flatMap { directory in
            ((try? FileSystem.names(in: directory)) ?? []).filter { !$0.hasSuffix("-shm") }.map { directory + "/" + $0 }
        }
    }

    /// One start in five writes caches' files anew that are mostly free.
    static let compactionInterval = 5

    var isCompacting: Bool { state.withLock { $0.record.starts % Self.compactionInterval == 0 } }

    /// When everything was looked through last, milliseconds since 1970, and how many problems there were; nil: never.
    public var lastCheck: (at: Int64, problems: Int)? {
        state.withLock { $0.record.checkedAt > 0 ? ($0.record.checkedAt, $0.record.checkProblems) : nil }
    }

    /// A read has met damage in a file that lasts, below the data directory. From any thread.
    func hasMet(damageIn file: String) { note { $0.damagedFile = file } }

    /// Everything has been looked through. From any thread.
    public func checked(problems: Int) {
        note { record in
            if problems == 0 { record.damagedFile = "" }
            record.checkedAt = configuration.clock.wall
            record.checkProblems = problems
        }
    }

    /// Whether the run before this one wrote to the kernel that runs now: no power cut lies between them.
    var isOfThisKernel: Bool { state.withLock { $0.isOfThisKernel } }

    /// Whether there were tables when this start began.
    var hadTables: Bool { state.withLock { $0.hadTables } }

    /// Whether a run before this one was killed while it served, or nothing tells how it has ended.
    var isUnclean: Bool { state.withLock { $0.record.isUnclean } }

    /// Whether there was a start before this one.
    var hasStartedBefore: Bool { state.withLock { $0.record.starts > 1 } }

    /// The loop has taken its first turn.
    public func serves() {
        let hadFailures = state.withLock { $0.record.durableFailures > 0 }
        note(isDurable: hadFailures) { record in
            record.phase = .serving
            record.attempts = 0
            record.durableFailures = 0
            record.isUnclean = false
            if record.traps.count == 0 { record.failure = .init() }
        }
        csys_traps_serving()
    }

    /// A fold has met damage that it cannot pass: the next start sets tables and log aside.
    func cannotFold(_ error: SQLiteError) {
        note(isDurable: true) { record in
            record.durableFailures = Self.durableAttempts
            record.failure = .init(
                phase: BootPhase.serving.rawValue,
                reason: "the tables could not be written, since they are damaged: \(error.message)")
        }
    }

    /// Everything has been closed.
    func ended() {
        note { record in
            record.phase = .ended
            record.openingCache = ""
            record.readingCaches = []
            record.seeding.isUnderWay = false
        }
        state.withLock { $0.file.close() }
        trapFile.end()
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
    func reads(_ rooms: [CacheStore]) {
        note { record in
            record.readingCaches = rooms.map { "\($0.name)" }
            if rooms.isEmpty { record.cacheFailures = 0 }
        }
        isReading.store(!rooms.isEmpty, ordering: .relaxed)
    }

    /// Trapped starts after which the cache goes: one more while it is only read, since the daemon serves by then, and a request may have trapped.
    private func cacheLimit(_ last: BootRecord) -> Int {
        configuration.boot.attempts + (last.openingCache.isEmpty ? 1 : 0)
    }

    private func dropCaches(_ last: BootRecord) throws(StorageFault) {
        let names = try FileSystem.names(in: configuration.cacheDirectory).filter { $0.hasSuffix(".sqlite") }
        let dropped = names.filter { name in
            guard last.openingCache.isEmpty else { return name == last.openingCache }
            return last.readingCaches.contains("\(CacheStore.whose(name).name)")
        }
        for name in dropped { CacheFile.remove(configuration.cacheDirectory + "/" + name) }
        note { $0.cacheFailures = 0 }
        guard !dropped.isEmpty else { return }
        var notice = RecoveredNotice(
            at: configuration.clock.wall, what: .caches, phase: BootPhase.caches.rawValue,
            reason: "the process trapped while it was opening or reading caches")
        notice.files = dropped.sorted()
        try keep(notice)
        report(notice.line)
    }

    // MARK: Seed bundle

    /// Starts that trap while they lay it down, after which it is left out where there is no other way to come up.
    static let seedAttempts = 2

    /// What it was to this start; nil without one.
    public var seed: SeedStatus? { seedStatus.withLock { $0 } }

    /// Lays the seed bundle's settings and documents down when there is nothing of them: at the first start, or when a recovery has found
    /// nothing. Between `begin` and the opening of the tables.
    /// - Throws: at a first start why the bundle is refused: to begin empty would be for good. Whatever there is to be saved comes first:
    ///   a recovery goes on without it.
    func layBundle() throws(StorageFault) {
        guard let file = configuration.seedBundle else { return }
        let recovery = pending
        if let recovery {
            guard recovery.origin == .nothing, recovery.savedRev == 0 else { return }
        } else {
            guard try TablesInMemory.areAbsent(configuration) else { return }
        }
        try enter(.bundle)
        do throws(BackupFault) {
            guard beginsSeeding() || recovery == nil else {
                throw .refused("starts trapped while it was being laid down")
            }
            defer { endsSeeding() }
            let bundle = try SeedBundle(file)
            guard bundle.manifest.hasTables else { return }
            // A recovery that is begun again finds its log, which this bundle has nothing to do with.
            if recovery == nil {
                try noting { () throws(StorageFault) in
                    try bundle.record(at: configuration.clock.wall).write(configuration)
                }
            }
            let counts = try bundle.layTables(configuration)
            seedStatus.withLock { $0?.stores += Store.all(.named).map(\.roomName) }
            let laid = Store.all(.named).map { "\(counts[$0]) \($0.described.name)" }.joined(separator: ", ")
            remark("the seed bundle \(file) was laid down: \(laid), revision \(bundle.manifest.rev)")
            if var recovery {
                recovery.origin = .bundle
                state.withLock { $0.seedRecord = bundle.record(at: configuration.clock.wall) }
                let notice = recovery
                try noting { () throws(StorageFault) in try keep(notice) }
            }
        } catch {
            if error == .noSpace { throw StorageFault(error) }
            guard recovery != nil else {
                // The next start may read it.
                if error.isPassing { throw StorageFault(error) }
                throw .refused(
                    "the seed bundle \(file) was not laid down: \(error). There is no data yet, so nothing was begun; "
                        + "without --seed-bundle the daemon begins empty")
            }
            seedStatus.withLock { $0?.problem = error.description }
            report("SETTINGS AND DOCUMENTS BEGIN EMPTY: the seed bundle \(file) was not laid down: \(error)")
        }
    }

    private func noting(_ body: () throws(StorageFault) -> Void) throws(BackupFault) {
        do throws(StorageFault) { try body() } catch { throw BackupFault(error) }
    }

    /// Something is about to be laid down. Also on the caches' thread.
    /// - Returns: false when too many starts have trapped while they did, which is forgotten by that.
    func beginsSeeding() -> Bool {
        let isAllowed = state.withLock { $0.record.seeding.failures < Self.seedAttempts }
        note { $0.seeding.isUnderWay = true }
        if !isAllowed { endsSeeding() }
        return isAllowed
    }

    /// It is there, or was refused.
    func endsSeeding() {
        note { record in
            record.seeding = .init()
        }
    }

    /// What became of the model cache's part.
    func hasSeeded(models: Int, namespaces: Int, problem: String?) {
        guard let file = configuration.seedBundle else { return }
        if let problem {
            seedStatus.withLock { $0?.problem = problem }
            report("the model cache begins empty: of the seed bundle \(file) nothing was laid down there: \(problem)")
        } else if models > 0 {
            seedStatus.withLock { $0?.stores.append("models") }
            remark(
                "the seed bundle \(file) was laid down in the model cache: \(models) entries of \(namespaces) namespaces"
            )
        }
    }

    // MARK: Notices

    /// How the run before this one ended, when it ended in a trap.
    public var lastTrap: TrapNote? { state.withLock { $0.lastTrap } }

    /// What has been recovered, and not acknowledged.
    public var recovered: [RecoveredNotice] { state.withLock { $0.notices.filter { $0.step == .done } } }

    /// When tables or log were recovered last, and nobody has acknowledged that: what is from before may have what was lost.
    public var recoveredAt: Int64? { recovered.filter { $0.what != .caches }.map(\.at).max() }

    /// Whether notices have come or gone since this was asked last.
    func takeNews() -> Bool {
        guard news.load(ordering: .relaxed) else { return false }
        return news.exchange(false, ordering: .acquiring)
    }

    /// Nobody is told any more. May wait for the disk.
    /// - Returns: how many notices there were.
    func acknowledge() throws(StorageFault) -> Int {
        recoveredFile.forgetSetAside()
        let renewals = KeyFiles(configuration).acknowledgeRenewal() ? 1 : 0
        let before = state.withLock { $0.notices }
        let left = before.filter { $0.step != .done }
        guard left.count < before.count else { return renewals }
        try recoveredFile.write(left)
        state.withLock { $0.notices = left }
        news.store(true, ordering: .releasing)
        return before.count - left.count + renewals
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

    /// Whether this start goes on with what a recovery has made.
    var isRebuilding: Bool { pending != nil }

    /// What the secrets' keys open may lie in a quarantine that nobody has acknowledged: no new keys take their place.
    var mayHaveSetSecretsAside: Bool { state.withLock { $0.notices.contains { $0.what == .durable } } }

    /// Revisions up to this one may have been given out and are missing: they are not given out again. 0 when none are.
    var lostRev: UInt64 { pending.map { $0.newestRev > $0.savedRev ? $0.newestRev : 0 } ?? 0 }

    /// Sets aside what is to be, and makes what this start goes on with.
    private func recover(after last: BootRecord) throws(StorageFault) {
        guard var notice = pending else { return }
        // From here on the notice says what has failed.
        note(isDurable: true) { record in
            record.durableFailures = 0
            record.traps = .init()
            // It is set aside; what is made of it has been looked through.
            (record.damagedFile, record.checkProblems) = ("", 0)
        }
        if notice.step == .moving {
            try Quarantine.setAside(notice, configuration)
            notice.step = .rebuilding
            try keep(notice)
        } else if last.phase.isDurable, let trap = lastTrap {
            if let rev = trap.rev, !notice.without.contains(rev) {
                notice.without.append(rev)
                try keep(notice)
            } else {
                noteFailedRecovery(isSure: false)
                notice = pending ?? notice
            }
        }
        try enter(.rebuild)
        var rebuilding = Rebuilding(configuration, notice, report: report)
        try keep(try rebuilding.run())
    }

    /// The log has lost acknowledged changes: told before anything of it is moved. A start that was killed behind this tells it again.
    func tell(lost notice: RecoveredNotice) throws(StorageFault) {
        let isKnown = state.withLock { state in
            state.notices.contains {
                $0.what == .log && $0.missing == notice.missing && $0.newestRev == notice.newestRev
            }
        }
        if !isKnown { try keep(notice) }
    }

    /// A start has failed with what had been saved.
    /// `isSure`: it would fail again; else the process has trapped, and the same is tried once more.
    private func noteFailedRecovery(isSure: Bool) {
        guard var notice = pending, notice.step == .rebuilding else { return }
        notice.attempt.fail(isSure: isSure)
        do throws(StorageFault) { try keep(notice) } catch {
            report("recovered.json cannot be written: \(error)")
        }
    }

    /// The storage is open: what was recovered is the data from now on. Before anybody is answered.
    func confirm() throws(StorageFault) {
        guard var notice = pending else { return }
        notice.step = .done
        try keep(notice)
        // Without it a recovery would not begin with the bundle, which is no reason not to start.
        try? state.withLock(\.seedRecord)?.write(configuration)
        report(notice.line)
    }
}
