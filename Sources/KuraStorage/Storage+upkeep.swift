import KuraBytes

/// What is done after a turn: a bounded piece of each.
extension Storage {
    /// Folds, checkpoints, prepares and retires segments: a bounded piece of each.
    /// `time`: now, by the clock that never goes back.
    /// - Returns: nanoseconds until it wants to be called again; 0 for at once, nil when only a change or a wake can
    ///   give it work.
    public func upkeep(at time: UInt64) -> UInt64? {
        Work.at(.upkeep)
        defer { Work.at(.other) }
        desk.endTurn()
        let wait = keepUp(time)
        var due = log.relaxedDueAt
        // What has aged goes some a turn.
        if chores.aging.hasFound { due = min(due ?? .max, time + 1_000_000) }
        due = min(due ?? .max, tendRooms(time))
        if let next = settleWaits(time) { due = min(due ?? .max, next) }
        if let next = desk.tend(at: time) { due = min(due ?? .max, time + next) }
        guard let due else { return wait }
        return min(wait ?? .max, due > time ? due - time : 0)
    }

    /// What takes its time anyway: ages, migrations, the secrets' checks and keys, the caches. Not asked again within a millisecond, unless something is
    /// due: it would be a tenth of a read.
    /// - Returns: when the next turn is due for any of them.
    private func tendRooms(_ time: UInt64) -> UInt64 {
        if let due = chores.rest(time) { return due }
        var due = min(
            chores.aging.nextAt, chores.migrations.nextPiece(time, admitsBulk: admitsBulk) ?? .max,
            chores.secrets.tend(time))
        if let next = caches.upkeep(time) { due = min(due, time + next) }
        due = min(due, chores.bill.tend(time))
        if !chores.launches.isIdle { due = min(due, chores.launches.tend(time, self)) }
        tendBoot()
        chores.noteTended(time, due: due)
        return due
    }

    private func keepUp(_ time: UInt64) -> UInt64? {
        ledger.trimCache()
        chores.age(time)
        migrate(time)
        return tables.keepUp(time, chores.secrets.scrub)
    }
}
