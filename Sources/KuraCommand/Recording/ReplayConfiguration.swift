import KuraBytes
import KuraClient
import KuraProtocol

/// What a replay's daemon has of a configuration: what decides how requests are answered. Where the recorded daemon was, and what it kept, is not for it:
/// of its sockets each role gets one, for whoever replays.
struct ReplayConfiguration {
    private var members: [(name: String, value: [UInt8])] = []
    /// That there is a socket for.
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
