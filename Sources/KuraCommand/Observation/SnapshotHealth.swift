import KuraClient

/// Judges the scheduled snapshots by what `storage.status` says of them.
struct SnapshotHealth {
    /// Seconds between two, as the configuration says.
    let every: Int64
    /// Seconds since 1970.
    let newest: Int64?
    let failures: Int64
    let lastFailure: (at: String, reason: String)?
    private let started: Int64
    private let now: Int64

    /// Nil when the daemon makes none.
    init?(_ status: JSONObject, now: Int64) {
        guard let object = status.object("backups"), let every = object.integer("everySeconds"), every > 0 else {
            return nil
        }
        self.every = every
        self.now = now
        newest = object.string("newestAt").flatMap { StatusSummary.seconds($0) }
        failures = object.integer("failures") ?? 0
        lastFailure = object.string("lastFailureAt").map { ($0, object.string("lastFailure") ?? "?") }
        started = status.string("startedAt").flatMap { StatusSummary.seconds($0) } ?? now
    }

    /// The newest is older than two of them should be; without any, the daemon has run for so long, or has failed to make one.
    var isLate: Bool {
        guard let newest else { return lastFailure != nil || now - started > 2 * every }
        return now - newest > 2 * every
    }

    /// How old the newest is, what was configured, and the last failure.
    var line: String {
        var line = newest.map { "the newest is \(StatusSummary.duration(now - $0)) old" } ?? "there is none"
        line += ", one each \(StatusSummary.duration(every)) was asked for"
        if let lastFailure { line += "; the last try failed at \(lastFailure.at): \(Visible.line(lastFailure.reason))" }
        return line
    }
}
