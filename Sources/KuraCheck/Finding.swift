/// One thing that a look at a data directory and its host has found.
public struct Finding: Sendable, Equatable {
    public enum Severity: String, Sendable, Comparable, CaseIterable {
        /// As it should be.
        case ok
        /// Worth knowing; nothing has to be done.
        case note
        /// It works, and something should be done.
        case warning
        /// The daemon does not start, refuses work, or is about to; or others can read what they must not.
        case error
        /// A start had to set something aside, and nobody has acknowledged that.
        case recovered

        public static func < (left: Severity, right: Severity) -> Bool {
            allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
        }
    }

    public var severity: Severity
    /// What was looked at: `directory`, `places`, `modes`, `formats`, `keys`, `tables`, `log`, `disk`, `clock`, `sqlite`, `starts`, `backups`.
    public var check: String
    public var message: String
    /// What to do; empty when nothing is.
    public var advice = ""

    public init(_ severity: Severity, _ check: String, _ message: String, advice: String = "") {
        (self.severity, self.check, self.message, self.advice) = (severity, check, message, advice)
    }
}
