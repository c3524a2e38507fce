/// What the starts before this one come to.
extension Boot {
    /// Whether enough starts have failed for tables and log to be set aside. What traps while it serves, and did so with a copy that was made for
    /// that reason, does so for another one: no more copies are made.
    func isToSetAside(_ record: BootRecord, _ notices: [RecoveredNotice]) -> Bool {
        if record.durableFailures >= Self.durableAttempts { return true }
        guard record.traps.count >= Self.durableAttempts else { return false }
        let isTried = notices.contains { notice in
            guard notice.what == .durable else { return false }
            return record.traps.rev > 0
                ? notice.without.contains(record.traps.rev) : notice.phase == BootPhase.serving.rawValue
        }
        if isTried { report("starts end in traps, also without what was set aside for that: nothing more is") }
        return !isTried
    }

    /// Whether a daemon has served here, and nothing is left that says how far it had come: neither a log nor `acknowledged`, nor that its stop was
    /// clean.
    static func isForgotten(_ configuration: StorageConfiguration, _ last: BootRecord?) throws(StorageFault) -> Bool {
        // A daemon that serves makes these.
        let traces = [configuration.billPath, configuration.auditReservePath, configuration.reservePath]
        guard traces.contains(where: { FileSystem.exists($0) }), try isLogGone(configuration),
            try AcknowledgedNote.read(configuration.acknowledgedPath) == nil
        else { return false }
        let clean = RelaxedDurability.readCleanStop(configuration)
        guard try FileSystem.length(configuration.tablesPath) > 0 else { return clean != 0 }
        return last.map { judge($0).isUnclean } ?? (clean == nil)
    }

    static func isLogGone(_ configuration: StorageConfiguration) throws(StorageFault) -> Bool {
        let log = configuration.logDirectory
        guard FileSystem.exists(log) else { return true }
        return try LogFiles.numbers(in: log).isEmpty
    }

    /// Why the next start cannot know how far the log had come; nil when it can. Changes nothing.
    package static func unknownEnd(_ configuration: StorageConfiguration) throws(StorageFault) -> String? {
        let (last, log) = (BootFile(configuration).read(), configuration.logDirectory)
        guard try AcknowledgedNote.read(configuration.acknowledgedPath) == nil else { return nil }
        let isLogGone = try isLogGone(configuration)
        // Earlier layouts of the log have no note.
        let numbers = isLogGone ? [] : try LogFiles.numbers(in: log)
        guard !numbers.contains(where: { SQLiteSegment.exists($0, in: log) }) else { return nil }
        if try !isForgotten(configuration, last) {
            guard let last, judge(last).isUnclean else { return nil }
        }
        return unknownEnd(
            areTablesGone: try FileSystem.length(configuration.tablesPath) == 0, isLogGone: isLogGone)
    }

    static func unknownEnd(areTablesGone: Bool, isLogGone: Bool) -> String {
        let note = "'acknowledged', which says up to where changes were acknowledged"
        guard isLogGone else {
            return "\(note), is missing or damaged: whether the log has lost any at its end is not known"
        }
        return areTablesGone
            ? "durable/kura.sqlite, log/ and \(note), are gone, and a daemon has served here: what they had is lost"
            : "log/ and \(note), are gone: whether the tables lack any is not known"
    }

    /// What has become of the last start, by what it has left. Tables, log and caches are held to be damaged where something says so: an error that
    /// a start has read, or a trap that it has noted. An end without either is a kill or the power's, and counts as nothing, however often.
    static func judge(_ last: BootRecord, _ trap: TrapNote? = nil) -> BootRecord {
        var record = last
        record.openingCache = ""
        record.readingCaches = []
        if let trap, last.phase.isDurable || trap.countsAsFailedStart {
            if last.phase.isDurable { record.durableFailures += 1 }
            record.failure = .init(phase: last.phase.rawValue, reason: trap.line)
        }
        if let trap, trap.countsAsFailedStart {
            record.traps = .init(
                count: trap.rev ?? 0 == last.traps.rev ? last.traps.count + 1 : 1, rev: trap.rev ?? 0)
        } else {
            record.traps = .init()
        }
        if last.phase == .serving { record.isUnclean = true }
        record.seeding.isUnderWay = false
        if last.seeding.isUnderWay, trap != nil { record.seeding.failures += 1 }
        // What has trapped at what lasts has not done so for what caches hold.
        if let trap, trap.work == .other, !last.openingCache.isEmpty || !last.readingCaches.isEmpty {
            record.cacheFailures += 1
        }
        return record
    }
}
