import KuraClient

/// The question that follows a word that nobody knows.
enum Suggestion {
    /// What other programs call it.
    private static let synonyms = [
        "set": ["put"], "rm": ["delete"], "remove": ["delete"], "del": ["delete"], "unset": ["delete"],
        "ls": ["list"], "cat": ["get"], "read": ["get"], "show": ["get", "list"], "add": ["put"],
        "insert": ["put"], "update": ["patch", "put"], "query": ["find"], "version": ["--version"],
    ]

    static func synonym(of word: String, among candidates: [String]) -> String? {
        synonyms[word.lowercased()]?.first(where: candidates.contains)
    }

    static func hint(for word: String, among candidates: [String]) -> String? {
        if let known = synonym(of: word, among: candidates) { return "did you mean \(known)?" }
        return Spelling.nearest(to: word, among: candidates).map { "did you mean \($0)?" }
    }
}
