public import KuraBytes

/// Why a text is no selector.
public struct SelectorError: Error, Equatable {
    public enum Cause: Sendable {
        /// No such operator.
        case unknownOperator
        /// The name of a field is no path.
        case path
        /// An operator stands where a field should, or its argument is of the wrong kind.
        case form
        /// A `$regex` cannot be compiled, or none are allowed here.
        case pattern
        /// More operators, items or levels than `SelectorLimits` has.
        case limit
    }

    public var cause: Cause
    public var message: String
    /// Where in the selector: a JSON pointer (RFC 6901).
    public var pointer: String
    /// The limit, when one is passed.
    public var limit: Int?
}

/// What a selector may be. A document of 8 MiB is looked through once for each operator, which bounds what one document costs.
public struct SelectorLimits: Sendable {
    /// Operators, implicit equality counted.
    public var operators = 256
    /// Objects within each other, as in `{"a":{"$not":{…}}}`.
    public var depth = 64
    /// Items of `$in` and `$nin`.
    public var items = 10_000
    /// Items of `$all`.
    public var itemsOfAll = 100
    /// `$regex` operators.
    public var patterns = 16
    /// Bytes of one `$regex`.
    public var patternBytes = 1024

    public init() {}
}

/// A regular expression that has been compiled: the module that can is above this one.
public protocol TextPattern: AnyObject, Sendable {
    /// Whether any part of `text`, UTF-8 with escapes resolved, matches; nil when that would take longer than one text may.
    func matches(_ text: Bytes) -> Bool?
}

/// Why a text is no pattern.
public struct TextPatternError: Error {
    public var message: String

    public init(_ message: String) {
        self.message = message
    }
}
