public import KuraBytes
public import KuraJSON

/// A regular expression for queries: ECMA 262 as JSON Schema has it, with `(?i)`, `(?m)` and `(?s)` (one or several letters) allowed
/// at the very beginning, and with bounds on what one text may cost.
///
/// Used by one thread at a time.
public final class BoundedPattern: TextPattern, @unchecked Sendable {
    // Safety: `matcher` is written by `matches` alone, which one thread calls at a time: a query has one user.
    private let pattern: Pattern
    private let matcher: PatternMatcher
    private let limits: SchemaLimits

    /// - Parameters:
    ///   - text: UTF-8, well formed.
    ///   - limits: `patternSteps`, `patternKibibytes` and `subjectBytes` count.
    /// - Throws: when it is no pattern.
    public init(_ text: Bytes, limits: SchemaLimits = SchemaLimits()) throws(TextPatternError) {
        var options = Pattern.Options()
        let start = Self.leadingOptions(text, &options)
        do throws(PatternError) {
            pattern = try Pattern(text.extracting(start..<text.count), options)
        } catch { throw TextPatternError("\(error.message), at byte \(error.offset + start)") }
        matcher = PatternMatcher(limits: limits)
        self.limits = limits
    }

    public func matches(_ text: Bytes) -> Bool? {
        guard text.count <= limits.subjectBytes else { return nil }
        matcher.steps = limits.patternSteps
        return switch pattern.match(text, with: matcher) {
        case .matches: true
        case .differs: false
        case .tooComplex: nil
        }
    }

    /// Where the pattern goes on behind its options; 0 when it has none.
    private static func leadingOptions(_ text: Bytes, _ options: inout Pattern.Options) -> Int {
        guard text.starts(with: Bytes("(?")), let end = text.firstIndex(of: UInt8(ascii: ")")), end > 2 else {
            return 0
        }
        var found = options
        for byte in text.extracting(2..<end) {
            switch byte {
            case UInt8(ascii: "i"): found.ignoresCase = true
            case UInt8(ascii: "m"): found.isMultiline = true
            case UInt8(ascii: "s"): found.dotIsAny = true
            default: return 0
            }
        }
        options = found
        return end + 1
    }
}
