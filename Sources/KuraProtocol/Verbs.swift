public import KuraBytes

/// What a role can be granted on a scope.
public struct Verbs: OptionSet, Hashable, Sendable {
    public let rawValue: UInt16

    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// That the scope is there, its size, the names in it.
    public static let list = Verbs(rawValue: 1)
    public static let read = Verbs(rawValue: 2)
    public static let create = Verbs(rawValue: 4)
    public static let update = Verbs(rawValue: 8)
    public static let delete = Verbs(rawValue: 16)
    /// To have something done with an item without seeing it.
    public static let use = Verbs(rawValue: 32)
    /// To say what the scope is.
    public static let admin = Verbs(rawValue: 64)
    /// To see how the daemon does, and nothing of what it stores.
    public static let monitor = Verbs(rawValue: 128)
    /// To make backups of everything, to read, compare and remove them.
    public static let backup = Verbs(rawValue: 256)

    /// The three in the middle, for which a configuration has this word.
    public static let write: Verbs = [.create, .update, .delete]
    public static let all: Verbs = [.list, .read, .write, .use, .admin, .monitor, .backup]

    /// One of them at a time with its word, in the order in which they are told.
    public static let words: [(verb: Verbs, word: StaticString)] = [
        (.list, "list"), (.read, "read"), (.create, "create"), (.update, "update"), (.delete, "delete"), (.use, "use"),
        (.admin, "admin"), (.monitor, "monitor"), (.backup, "backup"),
    ]

    /// What a configuration may call them: their own words, and `write`.
    public init?(word: String) {
        if word == "write" {
            self = .write
            return
        }
        guard let known = Self.words.first(where: { "\($0.word)" == word }) else { return nil }
        self = known.verb
    }

    public var names: [String] { Self.words.filter { contains($0.verb) }.map { "\($0.word)" } }
}

extension ByteBuffer {
    /// The verbs as an array of their words.
    public mutating func append(verbs: Verbs) {
        append("[")
        var isFirst = true
        for (verb, word) in Verbs.words where verbs.contains(verb) {
            append(isFirst ? "\"" : ",\"")
            isFirst = false
            append(word)
            append("\"")
        }
        append("]")
    }
}
