public import KuraBytes

/// A condition on documents in the dialect of CouchDB's and MongoDB's queries, made ready to be asked of many.
///
/// Where the two differ it is CouchDB's: a place where nothing is fulfils `$exists: false` and nothing else, negations
/// included; only `$elemMatch`, `$allMatch`, `$all`, `$in` and `$nin` look into arrays; comparisons go by `Collation`, across kinds.
/// `_id` stands for the document's id. All of it is written down in proto-docs/queries.md.
///
/// It never changes, and asking it allocates nothing but for strings with escapes that `$regex` is asked about.
public struct Selector: Sendable {
    let root: Node
    /// The selector as it was given.
    public let text: [UInt8]
    /// Whether it speaks of the document's id.
    public let usesID: Bool
    /// Whether it has a `$regex`.
    public let usesPatterns: Bool

    /// Matches every document.
    public static let everything = Selector()

    private init() {
        root = .all([])
        text = Array("{}".utf8)
        usesID = false
        usesPatterns = false
    }

    /// - Parameters:
    ///   - value: a checked and compact value.
    ///   - limits: what it may be.
    ///   - compile: makes a `$regex` ready; nil where none may be used.
    /// - Throws: when it is no selector; the error says where and why.
    public init(
        _ value: StoredValue, limits: SelectorLimits = SelectorLimits(),
        compile: ((Bytes) throws(TextPatternError) -> any TextPattern)? = nil
    ) throws(SelectorError) {
        // Swift counts an optional closure as escaping: it is used in this call only.
        var parser = SelectorParser(limits: limits, compile: compile)
        root = try parser.parse(value)
        text = Array(value.text)
        usesID = parser.usesID
        usesPatterns = parser.patterns > 0
    }

    /// Matches everything.
    public var isEmpty: Bool {
        if case .all(let parts) = root { parts.isEmpty } else { false }
    }

    /// The paths that it speaks of, in the order of its text, but for those within `$elemMatch` and its like, which count from there.
    public var paths: [FieldPath] {
        var found: [FieldPath] = []
        root.collectPaths(&found)
        return found
    }

    // MARK: Matching

    /// Whether the document fulfils it. For selectors without `$regex` and `_id`; see the other one.
    public func matches(_ document: StoredValue) -> Bool {
        var gaveUpAt: String?
        return matches(document, id: nil, gaveUpAt: &gaveUpAt)
    }

    /// Whether the document fulfils it.
    /// `id`: the document's id as a JSON string; may be nil unless `usesID`.
    /// `gaveUpAt`: becomes the place in the selector of a `$regex` that would have taken too long: then the answer means nothing.
    public func matches(_ document: StoredValue, id: StoredValue?, gaveUpAt: inout String?) -> Bool {
        var matching = Matching(id: id)
        let matches = matching.holds(root, document)
        if let place = matching.gaveUpAt { gaveUpAt = place }
        return matches
    }
}

/// A part of a selector.
indirect enum Node: Sendable {
    case all([Node])
    case any([Node])
    case test(Place, Condition)

    /// What a condition is asked of.
    enum Place: Sendable, Equatable {
        /// The value itself: an element of `$elemMatch`.
        case itself
        case id
        case path(FieldPath)
    }

    func collectPaths(_ found: inout [FieldPath]) {
        switch self {
        case .all(let parts), .any(let parts):
            for part in parts { part.collectPaths(&found) }
        case .test(.path(let path), _):
            if !found.contains(path) { found.append(path) }
        case .test: break
        }
    }
}

/// What is asked of a value.
indirect enum Condition: Sendable {
    case equal(Literal)
    case notEqual(Literal)
    case less(Literal)
    case lessOrEqual(Literal)
    case greater(Literal)
    case greaterOrEqual(Literal)
    case among(LiteralSet)
    case notAmong(LiteralSet)
    case exists
    /// The only one that a place fulfils where nothing is.
    case isMissing
    case type(ValueType)
    case modulo(divisor: UInt64, remainder: UInt64, isNegative: Bool)
    case size(Int)
    case all([Literal])
    case element(Node)
    case everyElement(Node)
    case memberName(Node)
    /// UTF-8.
    case begins([UInt8])
    /// `at`: where it stands in the selector, as a JSON pointer.
    case pattern(any TextPattern, at: String)
    /// For those that have no opposite above.
    case not(Condition)

    enum ValueType: String, Sendable, CaseIterable {
        case null, boolean, number, string, array, object
    }
}

/// A value of the selector's.
struct Literal: Sendable {
    let text: [UInt8]

    init(_ value: StoredValue) {
        text = Array(value.text)
    }

    /// As `Collation.order` with this on the right.
    @inline(__always)
    func order(of value: StoredValue) -> Int {
        text.withBytes { Collation.order(value, StoredValue($0)) }
    }

    @inline(__always)
    func equals(_ value: StoredValue) -> Bool {
        text.withBytes { Collation.areEqual(value, StoredValue($0)) }
    }

    var key: [UInt8] {
        var key = ByteBuffer()
        text.withBytes { IndexKey.append(StoredValue($0), to: &key) }
        return Array(key.bytes)
    }

    var kind: ValueKind { text.withBytes { StoredValue($0).kind } }
}

/// Values in the order of `Collation`, none twice.
struct LiteralSet: Sendable {
    let sorted: [Literal]

    init(_ literals: [Literal]) {
        var sorted = literals.map { (literal: $0, key: $0.key) }
        sorted.sort { $0.key.lexicographicallyPrecedes($1.key) }
        var kept: [Literal] = []
        for (place, entry) in sorted.enumerated() where place == 0 || sorted[place - 1].key != entry.key {
            kept.append(entry.literal)
        }
        self.sorted = kept
    }

    func contains(_ value: StoredValue) -> Bool {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            let order = sorted[middle].order(of: value)
            if order == 0 { return true }
            if order < 0 { high = middle } else { low = middle + 1 }
        }
        return false
    }
}
