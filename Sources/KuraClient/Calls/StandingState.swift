import KuraBytes
import KuraProtocol
import Synchronization

/// What calls have made of their connection alone, and what has to be made of the next one too.
///
/// A name stands for what is kept of one call: a later call of the same name adds to it, or ends it.
struct StandingState {
    /// What a call that succeeds changes of it.
    enum Change: Sendable {
        case keep(Name, method: String, members: [Member])
        /// Overrides of a domain or of everything.
        case clearOverrides(domain: String?, key: String?)
        case drop(Name)
        /// Members of a call that was kept already; else nothing.
        case amend(Name, members: [Member])
    }
    enum Name: Hashable, Sendable {
        case introduction
        case override(domain: String, key: String)
        case version(collection: String)
        case scratch(namespace: String)
    }
    struct Member: Sendable {
        var name: String
        var value: [UInt8]
    }
    struct Entry: Sendable {
        var name: Name
        var method: String
        var members: [Member]

        var params: [UInt8] {
            var text = ParameterText()
            for member in members { text.add(member.name, json: member.value) }
            return text.object
        }
    }

    /// In the order in which they came to be.
    private(set) var entries: [Entry] = []

    mutating func apply(_ change: Change) {
        switch change {
        case .keep(let name, let method, let members):
            if let place = entries.firstIndex(where: { $0.name == name }) {
                entries[place].members = Self.merged(entries[place].members, members)
            } else {
                entries.append(Entry(name: name, method: method, members: members))
            }
        case .amend(let name, let members):
            guard let place = entries.firstIndex(where: { $0.name == name }) else { return }
            entries[place].members = Self.merged(entries[place].members, members)
        case .drop(let name): drop(name)
        case .clearOverrides(let domain, let key):
            entries.removeAll { entry in
                guard case .override(let itsDomain, let itsKey) = entry.name else { return false }
                return (domain ?? itsDomain) == itsDomain && (key ?? itsKey) == itsKey
            }
        }
    }

    mutating func drop(_ name: Name) { entries.removeAll { $0.name == name } }

    private static func merged(_ old: [Member], _ new: [Member]) -> [Member] {
        old.filter { known in !new.contains { $0.name == known.name } } + new
    }
}

extension StandingState.Change {
    /// What is looked at.
    static let methods: Set<String> = [
        "session.hello", "settings.override", "settings.clearOverrides", "documents.configure", "documents.describe",
        "models.configure",
    ]

    /// What a call changes of its connection, when it succeeds; nil: nothing that lasts.
    init?(_ method: String, _ params: [UInt8]) {
        guard let members = Self.members(of: method, params) else { return nil }
        func text(_ name: String) -> String? {
            members.first { $0.name == name }.flatMap { JSONObject.string($0.value) }
        }
        func flag(_ name: String) -> Bool? {
            members.first { $0.name == name }.map { $0.value == Array("true".utf8) }
        }
        func only(_ names: Set<String>) -> [StandingState.Member] { members.filter { names.contains($0.name) } }
        switch method {
        case "session.hello":
            // The application has started once, however often it connects.
            self = .keep(.introduction, method: method, members: members.filter { $0.name != "launch" })
        case "settings.override":
            guard let domain = text("domain"), let key = text("key") else { return nil }
            self = .keep(.override(domain: domain, key: key), method: method, members: members)
        case "settings.clearOverrides": self = .clearOverrides(domain: text("domain"), key: text("key"))
        case "models.configure":
            guard let namespace = text("namespace") else { return nil }
            switch flag("scratch") {
            case true?: self = .keep(.scratch(namespace: namespace), method: method, members: members)
            case false?: self = .drop(.scratch(namespace: namespace))
            case nil: self = .amend(.scratch(namespace: namespace), members: members)
            }
        default:
            // Said by `configure` with everything that the version needs; to say it again takes the number alone.
            guard let collection = text("collection"), flag("dryRun") != true,
                members.contains(where: { $0.name == "version" })
            else { return nil }
            self = .keep(
                .version(collection: collection), method: "documents.describe",
                members: only(["collection", "version"]))
        }
    }

    /// Whether the daemon's answer says that it is so.
    func holds(_ outcome: PendingCall.Outcome, _ text: Bytes) -> Bool {
        if outcome == .result { return true }
        // A version is declared also by the one who is told that it is too old.
        guard case .keep(.version, _, _) = self, outcome == .error else { return false }
        return KuraError(answer: Array(text), method: nil).kind == .schemaTooNew
    }

    /// Parameters by name, those by position under the names that the method's table has for them.
    private static func members(of method: String, _ params: [UInt8]) -> [StandingState.Member]? {
        if params.first == UInt8(ascii: "{") {
            return JSONObject(params)?.entries.map { StandingState.Member(name: $0.name, value: $0.value) }
        }
        guard let values = JSONElements.read(params), let table = Method.all.first(where: { $0.name == method }) else {
            return nil
        }
        return zip(table.parameters, values).map { StandingState.Member(name: "\($0.name)", value: $1) }
    }
}

/// Something that held for a connection alone, and could not be made to hold for the next one.
public struct LostState: Sendable {
    public enum What: Sendable, Hashable {
        /// The value that `settings.override` has this client see.
        case override(domain: String, key: String)
        /// The version of a collection's documents that the client has declared: the daemon does not hold its writes against it any more.
        case version(collection: String)
        /// A namespace of the model cache that was to be gone with the client.
        case scratch(namespace: String)
        /// Who the client is, as `session.hello` was called with.
        case introduction
    }
    public let what: What
    /// Why the daemon refuses it.
    public let error: KuraError

    init(_ name: StandingState.Name, _ error: KuraError) {
        what =
            switch name {
            case .override(let domain, let key): .override(domain: domain, key: key)
            case .version(let collection): .version(collection: collection)
            case .scratch(let namespace): .scratch(namespace: namespace)
            case .introduction: .introduction
            }
        self.error = error
    }
}

extension Link {
    /// Makes of a new connection what the last one was, before any call is sent on it. What the daemon refuses is told and forgotten.
    /// - Throws: when the connection is lost, or the daemon has too much to do for it.
    func restore(_ shared: SharedSocket) throws(KuraError) {
        for entry in lock.withLock({ _ in standing.entries }) {
            let answer = try ask(shared, entry.method, entry.params)
            guard let error = JSONObject(answer)?["error"] else { continue }
            let refusal = KuraError(answer: error, method: entry.method)
            switch refusal.kind {
            case .overloaded, .shuttingDown: throw refusal
            // It is declared all the same, and the writes that it is about are refused.
            case .schemaTooNew: continue
            default:
                lock.withLock { _ in standing.drop(entry.name) }
                options.onLostState?(LostState(entry.name, refusal))
            }
        }
    }
}
