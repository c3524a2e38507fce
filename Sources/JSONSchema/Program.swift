import KuraBytes

/// A compiled schema: tables of plain values that refer to each other by index, so that a validation follows no reference
/// counts. Everything is written once, by the compiler.
struct Program {
    var subschemas: [Subschema] = []
    var rules: [Rule] = []
    /// Runs of subschemas' indices and of nodes of the schema's text.
    var lists: [Int32] = []
    var numbers: [Bound] = []
    var divisors: [Divisor] = []
    var patterns: [Pattern] = []
    var objects: [ObjectRule] = []
    /// Sorted by hash within each object rule.
    var properties: [PropertyEntry] = []
    var patternProperties: [PatternEntry] = []
    var dependencies: [Dependency] = []
    /// Hides from clients which names share a hash.
    let seed = UInt64.random(in: 1...UInt64.max)
}

/// A part of one of the program's tables.
struct Run {
    var first: Int32
    var count: Int32

    var range: Range<Int> { Int(first)..<Int(first + count) }
}

struct Subschema {
    enum Verdict: UInt8 {
        /// As the rules say.
        case rules
        /// The schema `false`. `true` is a schema without rules.
        case never
    }
    var verdict = Verdict.rules
    /// Where it stands: blamed when it is `false`.
    var place: Place
    var rules = Run(first: 0, count: 0)
}

struct Rule {
    var place: Place
    var test: Test
}

/// Where a keyword stands: its word, and its value's node in the schema's text.
struct Place {
    var keyword: Keyword
    var node: Int32
}

/// Indices are of subschemas unless the case says otherwise; -1 is none.
enum Test {
    case type(TypeSet)
    /// A node.
    case const(Int32)
    /// Nodes, in `lists`.
    case `enum`(Run)
    /// In `numbers`.
    case minimum(Int32)
    case maximum(Int32)
    case exclusiveMinimum(Int32)
    case exclusiveMaximum(Int32)
    /// In `divisors`.
    case multipleOf(Int32)
    case minLength(Int)
    case maxLength(Int)
    /// In `patterns`.
    case pattern(Int32)
    case items(Int32)
    /// In `lists`; the schema of what comes behind.
    case tuple(Run, additional: Int32)
    case minItems(Int)
    case maxItems(Int)
    case uniqueItems
    case contains(Int32)
    /// In `objects`.
    case members(Int32)
    case propertyNames(Int32)
    /// Nodes of names, in `lists`.
    case required(Run)
    case minProperties(Int)
    case maxProperties(Int)
    /// In `dependencies`.
    case dependencies(Run)
    case conditional(Int32, then: Int32, else: Int32)
    /// In `lists`.
    case allOf(Run)
    case anyOf(Run)
    case oneOf(Run)
    case not(Int32)
    case reference(Int32)
}

/// `properties`, `patternProperties` and `additionalProperties` of one schema, which one walk over an object settles.
struct ObjectRule {
    var properties = Run(first: 0, count: 0)
    var patterns = Run(first: 0, count: 0)
    var additional: Int32 = -1
}

struct PropertyEntry {
    var hash: UInt64
    /// The name's node.
    var name: Int32
    var schema: Int32
}

struct PatternEntry {
    /// The name's node.
    var name: Int32
    var pattern: Int32
    var schema: Int32
}

struct Dependency {
    /// The name's node.
    var name: Int32
    /// Names that must be there too, as nodes in `lists`.
    var names: Run
    var schema: Int32
}

/// A number of the schema. `small` is its value when it is a whole one of 64 bits.
struct Bound {
    var node: Int32
    var small: Int64?
}

/// `digits` × 10^`power`.
struct Divisor {
    var digits: UInt64
    var power: Int
    /// Its value when it is a whole one of 64 bits.
    var small: Int64?
}

struct TypeSet: OptionSet {
    var rawValue: UInt8

    static let null = TypeSet(rawValue: 1)
    static let boolean = TypeSet(rawValue: 2)
    static let object = TypeSet(rawValue: 4)
    static let array = TypeSet(rawValue: 8)
    static let number = TypeSet(rawValue: 16)
    static let string = TypeSet(rawValue: 32)
    static let integer = TypeSet(rawValue: 64)

    static let words: [(word: String, type: TypeSet)] = [
        ("null", .null), ("boolean", .boolean), ("object", .object), ("array", .array), ("number", .number),
        ("string", .string), ("integer", .integer),
    ]

    init(rawValue: UInt8) { self.rawValue = rawValue }

    init?(word: String) {
        guard let found = Self.words.first(where: { $0.word == word }) else { return nil }
        self = found.type
    }

    /// The words of the types in it.
    var words: [String] { Self.words.filter { contains($0.type) }.map(\.word) }
}
