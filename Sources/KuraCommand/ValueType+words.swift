import KuraBytes
import KuraProtocol

/// Types of the method table as a command line's user needs them.
extension ValueType {
    /// `name=text` is a value of this type.
    var acceptsText: Bool {
        switch self {
        case .name, .text, .json, .timestamp, .word: true
        case .integer, .boolean, .map, .list, .object: false
        }
    }

    /// With an article, to stand in a sentence or a table.
    var words: String {
        switch self {
        case .name(let maxBytes): "a name of at most \(maxBytes) bytes"
        case .text(let maxBytes): "text of at most \(maxBytes) bytes"
        case .json: "any JSON"
        case .integer(let range): "a whole number\(Self.bounds(range))"
        case .boolean: "true or false"
        case .timestamp: "a time"
        case .map: "an object"
        case .list(_, let maxItems) where maxItems < Int32.max: "an array of at most \(maxItems) items"
        case .list: "an array"
        case .object(let fields) where fields.isEmpty: "an object"
        case .object(let fields): "\(fields.map { "\($0.name)=…" }.joined(separator: ",")), or a JSON object of these"
        case .word(let words): words.joined(separator: ", ")
        }
    }

    /// JSON text to show what one looks like.
    var sample: String {
        switch self {
        case .name, .text, .json, .timestamp, .word: "'\"text\"'"
        case .integer(let range): String(range.contains(5) ? 5 : range.lowerBound)
        case .boolean: "true"
        case .map, .object: "'{…}'"
        case .list: "'[…]'"
        }
    }

    private static func bounds(_ range: ClosedRange<Int64>) -> String {
        switch (range.lowerBound, range.upperBound) {
        case (0, WireLimits.safeInteger): ", not negative"
        case (-WireLimits.safeInteger, WireLimits.safeInteger): ""
        default: " from \(range.lowerBound) to \(range.upperBound)"
        }
    }
}
