/// How the method table is spelled on a command line. Whoever adds a method need not look here: its name and its parameters'
/// names in kebab-case are right by themselves.
extension Method {
    /// The part before the dot: `settings`.
    public var noun: String { String(name.prefix { $0 != "." }) }

    /// The part behind the dot in kebab-case: `get-many` of `settings.getMany`.
    public var verb: String { String(name.drop { $0 != "." }.dropFirst()).kebabCase }

    /// The verbs that have a word of their own, because they concern the daemon as a whole or are asked for often.
    public static let commandAliases: [(word: String, method: String)] = [
        ("status", "storage.status"), ("ping", "storage.ping"), ("discover", "rpc.discover"),
        ("watch", "changes.watch"), ("compact", "storage.compact"),
    ]
}

extension Method.Store {
    /// What the command line calls it for short; nil when the name is short enough.
    public var shortName: String? {
        switch self {
        case .documents: "docs"
        default: nil
        }
    }
}

extension Field {
    /// Its option without the dashes: `if-rev` of `ifRev`.
    public var optionName: String { name == "idField" ? "id" : name.kebabCase }

    /// It modifies a request more than it is an object of the verb, so it has no place among the arguments: a word too many must
    /// not become a condition.
    public var isOptionOnly: Bool {
        if case .boolean = type { return true }
        // A path within a document is what the verb is about; one that leads to a file takes the place of a descriptor.
        if isRequired, name == "path" { return false }
        // What says which blob it is, or how it is stored, when it is not what the verb is about.
        let details = [
            "variant", "variantOf", "ttlSeconds", "range", "digest", "leaseSeconds", "bytes", "millis",
        ]
        if !isRequired, details.contains(name) { return true }
        return ["ifRev", "requestKey", "cursor", "limit", "timeoutMs", "path", "contentType", "data", "sealTo"]
            .contains(name)
    }
}

extension String {
    /// `ifRev` as `if-rev`.
    public var kebabCase: String {
        var result = ""
        for character in self {
            if character.isUppercase { result += "-" + character.lowercased() } else { result.append(character) }
        }
        return result
    }
}
