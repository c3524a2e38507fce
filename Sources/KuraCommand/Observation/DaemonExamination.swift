import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// What a running daemon tells of itself that somebody should look at.
enum DaemonExamination {
    typealias Finding = DoctorCommand.Finding

    private static let timeoutMilliseconds: Int32 = 5000

    /// `isDirectoryKnown`: recoveries have been told of already, from the data directory.
    static func run(
        _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue, isDirectoryKnown: Bool
    ) -> [Finding] {
        do throws(Failure) {
            return try ask(options, console, catalogue, isDirectoryKnown: isDirectoryKnown)
        } catch {
            let path = options.socket(console.environment)
            // Safety: the path is lent as a C string for the call.
            if unsafe error.status == .noDaemon && access(path, W_OK) != 0 && errno == EACCES {
                return [
                    Finding(
                        .warning, "daemon", "whether one answers cannot be told: \(error.message)",
                        advice: error.hint ?? "run this as the daemon's user")
                ]
            }
            // Whoever listens may be somebody else.
            let isNone = error.status == .noDaemon && error.cause != .notAllowed
            return [
                Finding(
                    .warning, "daemon",
                    isNone
                        ? "none answers at \(path): \(error.message)" : "it cannot be asked: \(error.message)",
                    advice: isNone
                        ? "start kurad, or name its socket with --socket" : error.hint ?? "look at its log")
            ]
        }
    }

    /// - Returns: the data directory of the daemon that answers; nil when none does, or it does not tell this role.
    static func dataDirectory(_ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue) -> String? {
        do throws(Failure) {
            var session = try Session.open(options, console, timeoutMilliseconds: timeoutMilliseconds)
            let status = try session.result(try catalogue.method(named: "storage.status"))
            return JSONObject(status)?.string("dataDirectory")
        } catch {
            // Why it does not answer is told with what it was to tell of itself.
            return nil
        }
    }

    private static func ask(
        _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue, isDirectoryKnown: Bool
    ) throws(Failure) -> [Finding] {
        var session = try Session.open(options, console, timeoutMilliseconds: timeoutMilliseconds)
        let health = try session.result(try catalogue.method(named: "storage.health"))
        var findings = judge(health: JSONObject(health))
        let status = try session.result(try catalogue.method(named: "storage.status"))
        let stats = try session.result(try catalogue.method(named: "storage.stats"))
        guard let status = JSONObject(status), let stats = JSONObject(stats) else { return findings }
        if status.string("version") != Kura.version {
            findings.append(
                Finding(
                    .note, "daemon",
                    "it is of version \(status.string("version") ?? "?"), this is kura \(Kura.version)",
                    advice: "restart the daemon after an update"))
        }
        guard status["pid"] != nil else {
            findings.append(
                Finding(
                    .note, "daemon", "it does not tell this role how it does",
                    advice: "the role needs the verb monitor on the store 'storage'"))
            return findings
        }
        findings += judge(status, stats, isDirectoryKnown: isDirectoryKnown)
        // A role may not see the secrets at all.
        if let method = try? catalogue.method(named: "secrets.status"), let secrets = try? session.result(method) {
            findings += judge(secrets: JSONObject(secrets))
        }
        return findings
    }

    /// Judges what `secrets.status` tells.
    static func judge(secrets: JSONObject?) -> [Finding] {
        var findings: [Finding] = []
        if secrets?.boolean("memoryLocked") == false {
            findings.append(
                Finding(
                    .warning, "keys", "the daemon's memory of keys is not locked: they may be written to swap",
                    advice:
                        "raise RLIMIT_MEMLOCK (LimitMEMLOCK= of the unit, --ulimit memlock= of a container), and restart it"
                ))
        }
        if secrets?.string("state") == "unusable" {
            findings.append(
                Finding(
                    .error, "keys", "the secrets cannot be used: \(secrets?.string("reason") ?? "?")",
                    advice:
                        "bring the right files back to keys/, then 'kura secrets unlock'; until then nothing is written with them"
                ))
        }
        if let at = secrets?.string("hostKeyRenewedAt") {
            findings.append(
                Finding(
                    .warning, "keys", "keys/host.key was missing, and was made anew at \(at)",
                    advice:
                        "secrets that were bound to this host (deviceOnly) open with the old one alone: put it back, or write them anew; then 'kura storage acknowledge'"
                ))
        }
        if secrets?.boolean("hostKeyUnusable") == true {
            findings.append(
                Finding(
                    .error, "keys", "keys/host.key has not 32 bytes, or cannot be read",
                    advice:
                        "put the right one back and start kurad again: until then secrets that are bound to this host (deviceOnly) do not open"
                ))
        }
        if secrets?.boolean("rootKeyUnneeded") == true {
            findings.append(
                Finding(
                    .warning, "keys", "keys/root.key is there, and no slot of keys/slots.json needs it",
                    advice:
                        "it is overwritten and removed once the secrets are unlocked; where slots.json is an older one, or another store's, bring the right one back before"
                ))
        }
        if secrets?.string("integrity") == "damaged" {
            findings.append(
                Finding(
                    .error, "secrets", "what is on the disk of the secrets, or of their audit, is not what was written",
                    advice:
                        "'kura secrets verify' and 'kura secrets audit verify' tell what; 'kura secrets repair' goes on with what is left"
                ))
        }
        return findings
    }

    private static func judge(health: JSONObject?) -> [Finding] {
        guard health?.boolean("ready") == false else {
            return [Finding(.ok, "daemon", "it answers, and is ready for work")]
        }
        let reasons = (health?["reasons"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject.string($0) }
        let advice = [
            "draining": "it is stopping", "diskFull": "make room on the disk: 'space' says what takes it",
            "overloaded": "it has as many changes waiting as it may hold: look at the disk's speed",
        ]
        return [
            Finding(
                .error, "daemon", "it answers and is not ready: \(reasons.joined(separator: ", "))",
                advice: reasons.compactMap { advice[$0] }.joined(separator: "; "))
        ]
    }

    /// What the state lacks from which a start went on.
    private static func omissions(of notice: JSONObject) -> String {
        let all = (notice["leftOut"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
        guard !all.isEmpty else { return "" }
        let words = all.map { item in
            (item.string("store") ?? "?") + (item.string("scope").map { "/\($0)" } ?? "")
                + " (\(item.integer("count") ?? 0), \(item.string("reason") ?? "?"))"
        }
        if notice.string("startedFrom") == "salvage" {
            return ". Of the damaged tables these could not be read: \(words.joined(separator: ", ")); quarantine/"
                + "\(notice.string("quarantine") ?? "")/salvaged/missing.jsonl names the documents"
        }
        return ". The snapshot \(notice.string("snapshot") ?? "") leaves out: \(words.joined(separator: ", "))"
    }

    /// Lists damage: what reads have met since the start, and what the last check has found.
    private static func judgeDamage(_ status: JSONObject) -> [Finding] {
        var findings = (status["damage"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }.map { damage in
            Finding(
                .error, "damage",
                "\(damage.string("file") ?? "?") is \(damage.string("kind") ?? "?"), met \(damage.integer("count") ?? 1) times, last at "
                    + "\(damage.string("lastAt") ?? "?"): \(damage.string("reason") ?? "?")",
                advice: damage.string("help") ?? "look at the disk; 'kura storage check' tells all that is damaged")
        }
        let problems = status.object("check")?.integer("problems") ?? 0
        if problems > 0 {
            findings.append(
                Finding(
                    .error, "damage",
                    "looking through everything has found \(problems) problems, at \(status.object("check")?.string("at") ?? "?")",
                    advice: "'kura storage check' lists them; the daemon's log has them too"))
        }
        return findings
    }

    /// What helps against each of what takes room, by its name in `space.usage`.
    private static let help = [
        "tables":
            "'kura documents purge' for what is deleted, 'deleteMany' or 'drop' for more, then 'kura storage compact'",
        "tablesWal": "'kura storage compact'", "attachments": "delete their documents, then 'kura documents purge'",
        "caches": "'kura models deleteMany', or smaller bounds", "blobs": "'kura blobs deleteMany', or smaller bounds",
        "backups": "'kura backups prune'", "quarantine": "move what is in quarantine/ elsewhere",
    ]

    /// Changes are refused: what takes the room, the most of it first, and what helps.
    private static func full(_ space: JSONObject) -> Finding {
        let usage = (space.object("usage")?.entries ?? []).compactMap { name, value in
            JSONObject.integer(value).map { (name: name, bytes: $0) }
        }.filter { $0.bytes >= 1 << 16 && $0.name != "reserve" }.sorted { $0.bytes > $1.bytes }
        let all = usage.reduce(Int64(0)) { $0.plus($1.bytes) }
        let taken = usage.map { "\($0.name) \(ByteText.size($0.bytes))" }.joined(separator: ", ")
        return Finding(
            .error, "space",
            "the disk is full: changes are refused until \(ByteText.size(space.integer("missing") ?? 0)) more are free; deletions are not. It has: \(taken)",
            advice: usage.filter { $0.bytes >= all / 20 }.compactMap { Self.help[$0.name] }.prefix(3).joined(
                separator: "; ")
                + "; what others have on the file system, or a larger one")
    }

    /// Judges what `storage.status` and `storage.stats` tell an administrator.
    /// `now`: seconds since 1970.
    static func judge(
        _ status: JSONObject, _ stats: JSONObject, isDirectoryKnown: Bool, now: Int64 = Int64(time(nil))
    ) -> [Finding] {
        var findings: [Finding] = []
        func number(_ object: JSONObject, _ member: String, _ name: String) -> Int64 {
            object.object(member)?.integer(name) ?? 0
        }
        if !isDirectoryKnown {
            for notice in (status["recovered"].flatMap(JSONElements.read) ?? []).compactMap({ JSONObject($0) }) {
                let place = notice.string("quarantine").map { ", set aside to quarantine/\($0)" } ?? ""
                findings.append(
                    Finding(
                        .recovered, "recovery",
                        "a start gave up \(notice.string("what") ?? "?")\(place): \(notice.string("reason") ?? "")"
                            + omissions(of: notice),
                        advice: "look at it, then 'kura storage acknowledge'"))
            }
        }
        if let trap = status.object("lastTrap") {
            findings.append(
                Finding(
                    .warning, "trap", "the run before this one ended in a trap: \(trap.string("line") ?? "?")",
                    advice: trap.string("help") ?? ""))
        }
        findings += judgeDamage(status)
        if let snapshots = SnapshotHealth(status, now: now) {
            findings.append(
                Finding(
                    snapshots.isLate ? .warning : snapshots.lastFailure != nil ? .note : .ok, "snapshots",
                    snapshots.line,
                    advice: snapshots.isLate || snapshots.lastFailure != nil
                        ? "see to what keeps them from being made, or make one elsewhere: 'kura backup FILE'" : ""))
        }
        if let space = status.object("space"), space.boolean("full") == true {
            findings.append(full(space))
        } else if status.object("space")?.boolean("low") == true {
            findings.append(
                Finding(
                    .warning, "space",
                    "\(ByteText.size(number(status, "space", "free"))) are free: caches store nothing",
                    advice: "make room, or set --min-free"))
        }
        let (open, limit) = (
            number(status, "connections", "open"), status.object("limits")?.integer("connections") ?? 0
        )
        if limit > 0, open * 10 >= limit * 9 {
            findings.append(
                Finding(
                    .warning, "connections", "\(open) of \(limit) are open",
                    advice: "raise limits.connections, or find who keeps them"))
        }
        let turnedAway = number(status, "buffers", "turnedAway") + number(status, "buffers", "overloaded")
        if turnedAway > 0 {
            findings.append(
                Finding(
                    .warning, "connections",
                    "\(turnedAway) connections or requests were refused for want of room since the start",
                    advice: "'kura status --json' tells which bound it was: connections, buffers"))
        }
        for (role, account) in (status.object("quotas")?.entries ?? []) {
            guard let account = JSONObject(account) else { continue }
            for unit in ["bytes", "items", "scopes"] {
                guard let limit = account.integer(unit + "Limit"), let held = account.integer(unit),
                    held * 10 >= limit * 9
                else { continue }
                findings.append(
                    Finding(
                        .warning, "quotas", "role \(role) holds \(held) of \(limit) \(unit)",
                        advice: "raise its quota, or have it delete something"))
            }
        }
        let faults = stats.object("daemon")?.object("refusals")?.integer("internalError") ?? 0
        if faults > 0 {
            findings.append(
                Finding(
                    .error, "errors", "\(faults) requests met internal errors since the start",
                    advice: "look at the daemon's log, then 'kura storage check'"))
        }
        let slow = stats.object("daemon")?.object("slow")?.integer("count") ?? 0
        if slow > 0 {
            findings.append(
                Finding(
                    .note, "slow", "\(slow) requests were slow since the start",
                    advice: "'kura storage slow' lists them"))
        }
        return findings
    }
}
