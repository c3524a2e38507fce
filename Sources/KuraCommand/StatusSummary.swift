import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

/// `storage.status` for people.
struct StatusSummary {
    private let status: JSONObject
    private let socket: String
    /// Seconds since 1970.
    private let now: Int64
    private let isReady: Bool

    init(_ status: JSONObject, socket: String, now: Int64, isReady: Bool) {
        self.status = status
        self.socket = socket
        self.now = now
        self.isReady = isReady
    }

    func text(width: Int, style: Style) -> String {
        let log = Numbers(status, "log")
        let overlay = Numbers(status, "overlay")
        let cache = Numbers(status, "cache")
        let connections = Numbers(status, "connections")
        let rows = [
            ["socket", socket],
            ["process", "pid \(status.integer("pid") ?? 0), up \(uptime)"],
            ["profile", status.string("profile") ?? "?"],
            ["epoch", status.string("epoch") ?? "?"],
            ["revision", revision],
        ]
        let work = [
            [
                "log",
                "\(log.count("segments", "segment")), \(log.size("bytes")); \(log.count("commits", "commit")), \(log.count("syncs", "sync")), \(log.count("noOpWrites", "write")) without effect",
            ],
            [
                "overlay",
                "\(overlay.count("items", "item")), \(overlay.size("bytes")) of \(overlay.size("limit")), at most \(overlay.size("peakBytes")) so far",
            ],
            ["cache", "\(cache.count("items", "item")), \(cache.size("bytes")) of \(cache.size("limit"))"],
            [
                "connections",
                "\(connections.number("open")) open, \(connections.number("accepted")) so far; \(connections.count("requests", "request"))",
            ],
        ]
        let seed = status.object("seedBundle")
        let failed = seed.flatMap { seed in
            seed.string("problem").map { ["seed bundle", "not laid down: \(Visible.line($0))"] }
        }
        let state = isReady ? style.green("ready") : style.red("not ready")
        return "kurad \(status.string("version") ?? "?") is \(state)\n"
            + Layout.definitions(
                (rows + stores + work + troubles + (failed.map { [$0] } ?? []) + disk).map { ($0[0], $0[1]) },
                width: width)
    }

    /// A row for each store that keeps its items in the log, unsealed: how many, in how many scopes, and their bytes.
    private var stores: [[String]] {
        Method.Store.all(.clear).map { store in
            let (numbers, scope) = (Numbers(status, store.rawValue), StoredNames.scopes[store.rawValue] ?? "scope")
            let items = numbers.count("count", store.facts.item)
            return [store.rawValue, "\(items) in \(numbers.count("\(scope)s", scope)), \(numbers.size("bytes"))"]
        }
    }

    /// Damage that was found, and the state of scheduled snapshots.
    private var troubles: [[String]] {
        var rows: [[String]] = []
        let damage = (status["damage"].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
        if let first = damage.first?.string("file") {
            let more = damage.count > 1 ? " and \(damage.count - 1) more" : ""
            rows.append(["damage", "\(Visible.line(first))\(more): 'kura doctor' says what to do"])
        }
        if let trap = status.object("lastTrap")?.string("line") {
            rows.append(["last run", "ended in a trap: \(Visible.line(trap)); 'kura doctor' says what to do"])
        }
        if let snapshots = SnapshotHealth(status, now: now) { rows.append(["snapshots", snapshots.line]) }
        return rows
    }

    private var revision: String {
        let rev = status.integer("rev") ?? 0
        let folded = status.integer("foldedRev") ?? 0
        return folded == rev ? "\(rev), all folded" : "\(rev), folded up to \(folded)"
    }

    /// One row a group of files, those without writes left out.
    private var disk: [[String]] {
        guard let disk = status.object("disk") else { return [] }
        return disk.names.compactMap { name in
            let group = Numbers(disk, name)
            guard group.number("writes") > 0 else { return nil }
            return [
                "disk: \(name)",
                "\(group.size("bytesWritten")) written in \(group.count("writes", "write")), \(group.count("syncs", "sync"))",
            ]
        }
    }

    private var uptime: String {
        guard let text = status.string("startedAt"), let start = Self.seconds(text) else { return "since ?" }
        return "\(Self.duration(now - start)), since \(text)"
    }

    /// Seconds since 1970 of an RFC 3339 time in UTC; nil when it is none.
    static func seconds(_ text: String) -> Int64? {
        let parts = text.split { !$0.isNumber }.compactMap { Int32($0) }
        guard parts.count >= 6 else { return nil }
        // Safety: `tm` has an address only for the name of a time zone, which stays nil.
        var fields = unsafe tm()
        unsafe fields.tm_year = parts[0] - 1900
        unsafe fields.tm_mon = parts[1] - 1
        unsafe fields.tm_mday = parts[2]
        unsafe fields.tm_hour = parts[3]
        unsafe fields.tm_min = parts[4]
        unsafe fields.tm_sec = parts[5]
        return unsafe Int64(timegm(&fields))
    }

    /// The two largest units.
    static func duration(_ seconds: Int64) -> String {
        let seconds = max(0, seconds)
        return switch seconds {
        case 0..<60: "\(seconds) s"
        case 60..<3600: "\(seconds / 60) min \(seconds % 60) s"
        case 3600..<86_400: "\(seconds / 3600) h \(seconds / 60 % 60) min"
        default: "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
        }
    }
}

/// The counters of one member of the status.
private struct Numbers {
    private let object: JSONObject?

    init(_ status: JSONObject, _ name: String) {
        object = status.object(name)
    }

    func number(_ name: String) -> Int64 { object?.integer(name) ?? 0 }

    /// `1 key`, `2 keys`.
    func count(_ name: String, _ noun: String) -> String {
        let value = number(name)
        return "\(value) \(noun)\(value == 1 ? "" : "s")"
    }

    func size(_ name: String) -> String { ByteText.size(number(name)) }
}
