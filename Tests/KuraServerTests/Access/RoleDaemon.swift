import Glibc
import Testing

/// A daemon with a socket for each role of a configuration, beside the usual one, which is for `admin`.
final class RoleDaemon {
    let daemon: TemporaryDaemon
    let roles: [String: String]
    private let limits: String
    var root: String { daemon.root }

    /// `roles`: the JSON of each by its name. `limits`: members of that object.
    init(_ roles: [String: String], limits: String = "", faults: String? = nil, movesTime: Bool = false) throws {
        self.roles = roles
        self.limits = limits
        daemon = try TemporaryDaemon(movesTime: movesTime, starts: false)
        try daemon.start(configuration: configuration(roles), faults: faults)
    }

    /// What the daemon is started with.
    func configuration(_ roles: [String: String]) -> String {
        let sockets = roles.keys.sorted().map { "{\"path\":\"\(path(of: $0))\",\"role\":\"\($0)\"}" }
        let admin = "{\"path\":\"\(daemon.socket)\",\"role\":\"admin\"}"
        let bodies = roles.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        let limits = limits.isEmpty ? "" : ",\"limits\":{\(limits)}"
        return
            "{\"sockets\":[\(([admin] + sockets).joined(separator: ","))],\"roles\":{\(bodies.joined(separator: ","))}\(limits)}"
    }

    func path(of role: String) -> String { role == "admin" ? daemon.socket : root + "/" + role + ".sock" }

    func connect(_ role: String) throws -> Client { try Client(path: path(of: role)) }

    /// Writes another configuration, sends SIGHUP and waits until it is in force, or refused.
    func reload(_ text: String) throws {
        let before = daemon.log.occurrences(of: "read again")
        TemporaryDaemon.write(text, to: root + "/config.json")
        Glibc.kill(daemon.pid, SIGHUP)
        let deadline = now() + 60
        while daemon.log.occurrences(of: "read again") == before {
            guard now() < deadline else {
                Issue.record("the configuration was not read again: \(daemon.log)")
                return
            }
            usleep(2000)
        }
    }

    /// One grant's JSON.
    static func grant(_ store: String, _ scope: String, _ verbs: String...) -> String {
        let allow = verbs.map { "\"\($0)\"" }.joined(separator: ",")
        return "{\"store\":\"\(store)\",\"scope\":\"\(scope)\",\"allow\":[\(allow)]}"
    }

    /// A role's JSON.
    static func role(_ grants: String..., quotas: String? = nil) -> String {
        let end = quotas.map { ",\"quotas\":\($0)" } ?? ""
        return "{\"grants\":[\(grants.joined(separator: ","))]\(end)}"
    }
}

extension String {
    /// How often a text stands in this one.
    func occurrences(of text: String) -> Int { split(separator: text, omittingEmptySubsequences: false).count - 1 }
}
