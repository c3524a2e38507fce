import KuraClient

/// The question that follows a word that nobody knows.
enum Suggestion {
    static func hint(for word: String, among candidates: [String]) -> String? {
        Spelling.nearest(to: word, among: candidates).map { "did you mean \($0)?" }
    }
}
