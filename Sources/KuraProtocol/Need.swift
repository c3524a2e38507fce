import KuraBytes

extension Method {
    /// What a connection must have been granted before a method is begun. Every method declares it; one place decides by it
    /// (KuraServer, `Access`), before any handler sees the request and before anything is looked up.
    public enum Need: Sendable {
        /// Whoever is connected may call it.
        case nothing
        /// All of these on the scope that the parameter names, and more when other parameters say so. When the parameter is
        /// absent, all of them on any scope of the store: the answer is about those alone.
        case scope(Verbs, String, also: [Extra] = [])
        /// The same for each scope that the list names.
        case scopes(Verbs, String)
        /// The same for each scope that is a name in the map.
        case scopeNames(Verbs, String, also: [Extra] = [])
        /// To write one item of the scope: `create` when `ifRev` is 0 or the item's name is left out, `update` when `ifRev` is
        /// another revision, both without a condition.
        case item(scope: String, name: String)
        /// The same for each object of the list, whose members `id` and `ifRev` decide.
        case items(scope: String, list: String)
        /// All of these on any scope of the store: the answer shows only such scopes.
        case anywhere(Verbs)
        /// On the store as a whole, which has no scopes.
        case whole(Verbs)
        /// `read` on what the feed is asked for: on the scope, on the stores; the answer shows only what may be read.
        case feed(stores: String?, scope: String?)
        /// Some right to write; then each operation's own need is asked.
        case operations
    }

    /// Verbs that a parameter asks for besides.
    public struct Extra: Sendable {
        public let verbs: Verbs
        public let parameter: String
        /// Only when the parameter is this word; nil: whenever it is given.
        public let word: String?

        public init(_ verbs: Verbs, with parameter: String, word: String? = nil) {
            self.verbs = verbs
            self.parameter = parameter
            self.word = word
        }
    }
}

extension Method {
    /// Whether it only takes something away: it needs the right to delete, and none to create or to change.
    public var isRemoval: Bool {
        guard access == .write else { return false }
        switch need {
        case .scope(let verbs, _, _), .scopes(let verbs, _), .scopeNames(let verbs, _, _):
            return verbs.contains(.delete) && verbs.isDisjoint(with: [.create, .update])
        default: return false
        }
    }
}

extension Method.Need: CustomStringConvertible {
    /// In words, for the tables of proto-docs; parameters in back quotes.
    public var description: String {
        switch self {
        case .nothing: "nothing"
        case .scope(let verbs, let parameter, let also): Self.words(verbs) + " on `\(parameter)`" + Self.words(also)
        case .scopes(let verbs, let parameter): Self.words(verbs) + " on each of `\(parameter)`"
        case .scopeNames(let verbs, let parameter, let also):
            Self.words(verbs) + " on each name in `\(parameter)`" + Self.words(also)
        case .item(let scope, let name):
            "`create` and `update` on `\(scope)`; only `create` with `ifRev` 0 or without `\(name)`, only `update` with another `ifRev`"
        case .items(let scope, let list):
            "`create` and `update` on `\(scope)`; for one of `\(list)` only `create` with `ifRev` 0 or without `id`, only `update` with another `ifRev`"
        case .anywhere(let verbs): Self.words(verbs) + " on a scope; only such scopes are shown"
        case .whole(let verbs): Self.words(verbs) + " on the store"
        case .feed(_, nil): "`read` on a scope"
        case .feed: "`read` on what is asked for; only what may be read is shown"
        case .operations: "what each operation needs"
        }
    }

    private static func words(_ verbs: Verbs) -> String {
        verbs.names.map { "`\($0)`" }.joined(separator: " and ")
    }

    private static func words(_ extras: [Method.Extra]) -> String {
        extras.map { extra in
            let when = extra.word.map { "`\(extra.parameter)` `\($0)`" } ?? "`\(extra.parameter)`"
            return "; with \(when) also \(words(extra.verbs))"
        }.joined()
    }
}
