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
