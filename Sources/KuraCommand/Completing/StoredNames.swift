import KuraBytes
import KuraClient
import KuraProtocol

/// Names that the daemon has: its scopes, and the keys in one.
struct StoredNames {
    /// Asks for those that begin like `prefix`, at a socket and of a user that the line names.
    typealias Reader = (_ wanted: StoredNames, _ prefix: String, _ given: [(name: String, value: String)]) -> [String]

    /// What a noun's scope is called.
    static let scopes = Method.Store.allCases.reduce(into: [String: String]()) { scopes, store in
        if store.facts.keeping != nil { scopes[store.rawValue] = store.scopeWord }
    }
    /// Parameters that name what lies in a scope, and the member of a list's items that has it. Not the accounts of secrets: to list
    /// them is a record of the audit, and somebody who tries a key is no reader.
    private static let keys = ["key": "key", "keys": "key", "id": "id", "ids": "id"]

    private let verb: Verb
    private let scopeField: String
    /// nil: the scopes are asked for.
    private let scope: String?
    private let member: String

    /// nil when the parameter names nothing that is stored.
    /// - Parameters:
    ///   - field: a parameter's name.
    ///   - noun: whose verb it is a parameter of.
    ///   - scope: in which scope, when it is known.
    ///   - catalogue: the methods that there are.
    init?(_ field: String, of noun: String, scope: String?, _ catalogue: Catalogue) {
        guard let scopeField = Self.scopes[noun] else { return nil }
        let isScope = field == scopeField
        guard isScope || scope != nil, let member = isScope ? scopeField : Self.keys[field],
            let verb = catalogue.verbs.first(where: { $0.method.name == "\(noun).\(isScope ? "scopes" : "list")" })
        else { return nil }
        self.verb = verb
        self.scopeField = scopeField
        self.scope = isScope ? nil : scope
        self.member = member
    }

    /// Longest time until the daemon is connected, and until it has answered: somebody waits with a finger on the key.
    private static let timeoutMilliseconds: Int32 = 1000
    private static let limit = 200

    /// Asks the daemon; whatever goes wrong, there are none.
    func read(_ prefix: String, _ options: GlobalOptions, _ console: Console) -> [String] {
        var members: [(name: String, value: [UInt8])] = []
        if let scope {
            members.append((scopeField, JSONParts.string(scope)))
            let known = verb.method.parameters.map(\.name)
            if known.contains("prefix"), !prefix.isEmpty { members.append(("prefix", JSONParts.string(prefix))) }
            if known.contains("limit") { members.append(("limit", Array("\(Self.limit)".utf8))) }
        }
        guard let listing = Listing(verb.method),
            let result = try? ask(members.isEmpty ? [] : JSONParts.object(members), options, console),
            let object = JSONObject(result)
        else { return [] }
        let names = listing.items(of: object).compactMap { JSONObject($0)?.string(member) }
        return Array(names.lazy.filter { $0 == Visible.line($0) && $0.hasPrefix(prefix) }.prefix(Self.limit))
    }

    private func ask(
        _ parameters: [UInt8], _ options: GlobalOptions, _ console: Console
    ) throws(Failure) -> [UInt8] {
        var session = try Session.open(options, console, timeoutMilliseconds: Self.timeoutMilliseconds)
        session.end(within: Self.timeoutMilliseconds)
        return try session.result(verb.method, parameters)
    }
}
