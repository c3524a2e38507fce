import KuraBytes

/// Reads a selector. Negations are moved down to the conditions (De Morgan), so that a place where nothing is fulfils neither a
/// condition nor its opposite, and so that the planner sees through them.
///
/// Source: CouchDB, mango_selector's normal form.
struct SelectorParser {
    let limits: SelectorLimits
    let compile: ((Bytes) throws(TextPatternError) -> any TextPattern)?
    private(set) var usesID = false
    private(set) var patterns = 0
    private var operators = 0
    private var depth = 0
    /// Where the parser is, from the outside in: an error makes a JSON pointer of it.
    private var place: [Step] = []

    private enum Step {
        case member([UInt8])
        case element(Int)
    }

    init(limits: SelectorLimits, compile: ((Bytes) throws(TextPatternError) -> any TextPattern)?) {
        self.limits = limits
        self.compile = compile
    }

    /// What the conditions of an object are asked of.
    private struct Subject {
        var path: FieldPath?
        /// Paths start at an element, not at the document.
        var isElement = false
        var isNegated = false
    }

    mutating func parse(_ value: StoredValue) throws(SelectorError) -> Node {
        guard value.kind == .object else { throw error(.form, "a selector is an object") }
        return try parse(object: value, Subject())
    }

    func error(_ cause: SelectorError.Cause, _ message: String, limit: Int? = nil) -> SelectorError {
        SelectorError(cause: cause, message: message, pointer: pointer, limit: limit)
    }

    private var pointer: String { place.map { "/" + Self.token($0) }.joined() }

    /// Runs `body` a level further down.
    private mutating func within<R>(
        _ step: Step, _ body: (inout SelectorParser) throws(SelectorError) -> R
    ) throws(SelectorError) -> R {
        place.append(step)
        depth += 1
        guard depth <= limits.depth else {
            throw error(.limit, "a selector has at most \(limits.depth) levels", limit: limits.depth)
        }
        let result = try body(&self)
        depth -= 1
        place.removeLast()
        return result
    }

    // MARK: Objects

    private mutating func parse(object: StoredValue, _ subject: Subject) throws(SelectorError) -> Node {
        var parts: [Node] = []
        var members = object.members
        while let member = members.next() {
            let name = ResolvedText.bytes(member.name)
            let part = try within(.member(name)) { (parser) throws(SelectorError) in
                try parser.parse(name, member.value, subject)
            }
            parts.append(part)
        }
        if parts.isEmpty, subject.path != nil {
            return try test(subject, .equal(Literal(object)))
        }
        if parts.count == 1 { return parts[0] }
        return subject.isNegated ? .any(parts) : .all(parts)
    }

    private mutating func parse(
        _ name: [UInt8], _ value: StoredValue, _ subject: Subject
    ) throws(SelectorError) -> Node {
        if name.first == UInt8(ascii: "$") {
            return try parse(operator: String(decoding: name, as: UTF8.self), value, subject)
        }
        var inner = subject
        let path: FieldPath
        do throws(FieldPathError) {
            let own = try name.withBytes { (name) throws(FieldPathError) in try FieldPath(name) }
            path = try subject.path?.appending(own) ?? own
        } catch { throw self.error(.path, error.message) }
        inner.path = path
        return value.kind == .object ? try parse(object: value, inner) : try test(inner, .equal(Literal(value)))
    }

    private static func token(_ step: Step) -> String {
        guard case .member(let name) = step else {
            if case .element(let position) = step { return String(position) }
            return ""
        }
        return JSONPointer.token(name)
    }

    /// A condition at the subject's place, its opposite when that is negated.
    private mutating func test(_ subject: Subject, _ condition: Condition) throws(SelectorError) -> Node {
        operators += 1
        guard operators <= limits.operators else {
            throw error(.limit, "a selector has at most \(limits.operators) operators", limit: limits.operators)
        }
        let condition = subject.isNegated ? condition.opposite : condition
        guard let path = subject.path else {
            guard subject.isElement else {
                throw error(.form, "this operator is asked of a field: {\"name\": {\"$…\": …}}")
            }
            return .test(.itself, condition)
        }
        if !subject.isElement, path.isID {
            usesID = true
            return .test(.id, condition)
        }
        return .test(.path(path), condition)
    }

    // MARK: Operators

    private mutating func parse(
        operator name: String, _ value: StoredValue, _ subject: Subject
    ) throws(SelectorError) -> Node {
        switch name {
        case "$and": return try combine(value, subject, isAll: true)
        case "$or": return try combine(value, subject, isAll: false)
        case "$nor":
            var inner = subject
            inner.isNegated.toggle()
            return try combine(value, inner, isAll: false)
        case "$not":
            guard value.kind == .object else { throw error(.form, "the argument of $not is an object") }
            var inner = subject
            inner.isNegated.toggle()
            return try parse(object: value, inner)
        default:
            return try test(subject, try condition(name, value))
        }
    }

    private mutating func combine(
        _ value: StoredValue, _ subject: Subject, isAll: Bool
    ) throws(SelectorError) -> Node {
        guard value.kind == .array else { throw error(.form, "the argument is an array of selectors") }
        var parts: [Node] = []
        for element in value.elements {
            let part = try within(.element(parts.count)) { (parser) throws(SelectorError) -> Node in
                if element.kind == .object { return try parser.parse(object: element, subject) }
                guard subject.path != nil || subject.isElement else {
                    throw parser.error(.form, "a selector is an object")
                }
                return try parser.test(subject, .equal(Literal(element)))
            }
            parts.append(part)
        }
        return isAll == subject.isNegated ? .any(parts) : .all(parts)
    }

    /// A selector that is asked of elements or names.
    mutating func inner(_ value: StoredValue) throws(SelectorError) -> Node {
        guard value.kind == .object else { throw error(.form, "the argument is an object") }
        return try parse(object: value, Subject(isElement: true))
    }

    mutating func pattern(_ value: StoredValue) throws(SelectorError) -> Condition {
        guard value.kind == .string else { throw error(.form, "a pattern is a string") }
        guard let compile else { throw error(.pattern, "$regex cannot be used here") }
        patterns += 1
        guard patterns <= limits.patterns else {
            throw error(.limit, "a selector has at most \(limits.patterns) patterns", limit: limits.patterns)
        }
        let text = ResolvedText.bytes(value.quoted)
        guard text.count <= limits.patternBytes else {
            throw error(.limit, "a pattern has at most \(limits.patternBytes) bytes", limit: limits.patternBytes)
        }
        do throws(TextPatternError) {
            let pattern = try text.withBytes { (text) throws(TextPatternError) in try compile(text) }
            return .pattern(pattern, at: pointer)
        } catch { throw self.error(.pattern, error.message) }
    }
}

extension FieldPath {
    /// Stands for the document's id.
    public var isID: Bool { isOneName("_id") }
}
