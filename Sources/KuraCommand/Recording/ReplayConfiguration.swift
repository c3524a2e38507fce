import KuraBytes
import KuraClient
import KuraProtocol

/// The configuration of a replay's daemon: the members of the original that decide how requests are answered. Paths and backups are left out, and each
/// role gets a socket of its own.
struct ReplayConfiguration {
    private var members: [(name: String, value: [UInt8])] = []
    /// The roles that get a socket.
    private(set) var roles = ["admin"]

    private static let kept: Set = ["roles", "profile", "limits", "caches", "changes", "settingsLocks", "seedBundle"]

    init() {}

    /// - Parameter path: a configuration file of kurad.
    /// - Throws: when it cannot be read; what is wrong in it the daemon says.
    init(_ path: String) throws(Failure) {
        let text: [UInt8]
        do throws(ParameterList.Fault) { text = try Input.read(path, atMost: 16 << 20) } catch {
            throw .usage(error.description)
        }
        guard let object = JSONObject(text) else {
            throw .usage("\(Visible.line(path)) is no configuration: it is no JSON object")
        }
        members = object.entries.filter { Self.kept.contains($0.name) }
        roles += (object.object("roles")?.names ?? []).filter { $0 != "admin" }
    }

    /// Text of a configuration file. `sockets`: roles and paths.
    func text(sockets: [(role: String, path: String)]) -> [UInt8] {
        let places = sockets.map { role, path in
            JSONParts.object([
                ("path", JSONParts.string(path)), ("mode", JSONParts.string("0600")), ("role", JSONParts.string(role)),
            ])
        }
        return JSONParts.object(members + [("sockets", JSONElements.array(places))])
    }
}
