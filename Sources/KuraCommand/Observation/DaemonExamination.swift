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
            return [
                Finding(
                    .warning, "daemon",
                    error.status == .noDaemon
                        ? "none answers at \(path): \(error.message)" : "it cannot be asked: \(error.message)",
                    advice: error.status == .noDaemon
                        ? "start kurad, or name its socket with --socket" : error.hint ?? "look at its log")
            ]
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
                    advice: "the role needs the verbs read and admin on the store 'storage'"))
            return findings
        }
        return findings + judge(status, stats, isDirectoryKnown: isDirectoryKnown)
    }

    private static func judge(health: JSONObject?) -> [Finding] {
        guard health?.boolean("ready") == false else {
            return [Finding(.ok, "daemon", "it answers, and is ready for work")]
        }
        let reasons = (health?["reasons"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject.string($0) }
        let advice = [
            "draining": "it is stopping", "diskFull": "make room on the disk",
            "overloaded": "it has as many changes waiting as it may hold: look at the disk's speed",
        ]
        return [
            Finding(
                .error, "daemon", "it answers and is not ready: \(reasons.joined(separator: ", "))",
                advice: reasons.compactMap { advice[$0] }.joined(separator: "; "))
        ]
    }

    /// Judges what `storage.status` and `storage.stats` tell an administrator.
    static func judge(_ status: JSONObject, _ stats: JSONObject, isDirectoryKnown: Bool) -> [Finding] {
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
                        "a start gave up \(notice.string("what") ?? "?")\(place): \(notice.string("reason") ?? "")",
                        advice: "look at it, then 'kura storage acknowledge'"))
            }
        }
        if status.object("space")?.boolean("low") == true {
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
