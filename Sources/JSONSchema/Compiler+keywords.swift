import KuraBytes
import KuraJSON
import KuraProtocol

/// What each keyword asks for, and of what form its value is.
extension Compiler {
    /// The test of one keyword; nil when it tests nothing by itself.
    mutating func test(_ keyword: Keyword, _ value: Int32, _ group: Group) throws(SchemaError) -> Test? {
        switch keyword {
        case .type: .type(try types(value))
        case .const: .const(value)
        case .enum: .enum(try values(keyword, value))
        case .minimum: .minimum(try bound(keyword, value))
        case .maximum: .maximum(try bound(keyword, value))
        case .exclusiveMinimum: .exclusiveMinimum(try bound(keyword, value))
        case .exclusiveMaximum: .exclusiveMaximum(try bound(keyword, value))
        case .multipleOf: .multipleOf(try divisor(keyword, value))
        case .minLength: .minLength(try count(keyword, value))
        case .maxLength: .maxLength(try count(keyword, value))
        case .pattern: .pattern(try pattern(keyword, value))
        case .minItems: .minItems(try count(keyword, value))
        case .maxItems: .maxItems(try count(keyword, value))
        case .uniqueItems: try flag(keyword, value) ? .uniqueItems : nil
        case .contains: .contains(try subschema(at: value, under: keyword))
        case .propertyNames: .propertyNames(try subschema(at: value, under: keyword))
        case .required: .required(try names(keyword, value))
        case .minProperties: .minProperties(try count(keyword, value))
        case .maxProperties: .maxProperties(try count(keyword, value))
        case .dependencies: .dependencies(try dependencies(value))
        case .allOf: .allOf(try schemas(keyword, value))
        case .anyOf: .anyOf(try schemas(keyword, value))
        case .oneOf: .oneOf(try schemas(keyword, value))
        case .not: .not(try subschema(at: value, under: keyword))
        case .reference: .reference(-1)
        default: try groupTest(keyword, value, group)
        }
    }

    /// Keywords that only mean something together: the first of them has the test, the others have none.
    private mutating func groupTest(_ keyword: Keyword, _ value: Int32, _ group: Group) throws(SchemaError) -> Test? {
        switch keyword {
        case .items:
            guard tape[value].kind == .array else { return .items(try subschema(at: value, under: keyword)) }
            let run = try schemas(keyword, value, mayBeEmpty: true)
            guard let additional = group[.additionalItems] else { return .tuple(run, additional: -1) }
            return .tuple(run, additional: try subschema(at: additional, under: .additionalItems))
        case .additionalItems:
            if let items = group[.items], tape[items].kind == .array { return nil }
            // Without an array of items it says nothing (draft-07, 6.4.2), but must be a schema.
            _ = try subschema(at: value, under: keyword)
            return nil
        case .properties, .patternProperties, .additionalProperties:
            let together: [Keyword] = [.properties, .patternProperties, .additionalProperties]
            guard group.members.first(where: { together.contains($0.keyword) })?.keyword == keyword else { return nil }
            return .members(try objectRule(group))
        case .if:
            let condition = try subschema(at: value, under: keyword)
            var (then, otherwise): (Int32, Int32) = (-1, -1)
            if let node = group[.then] { then = try subschema(at: node, under: .then) }
            if let node = group[.else] { otherwise = try subschema(at: node, under: .else) }
            return .conditional(condition, then: then, else: otherwise)
        case .then, .else:
            guard group[.if] != nil else { throw error(value, keyword, "without if it tests nothing") }
            return nil
        case .definitions:
            try eachMember(keyword, value) { compiler, _, schema throws(SchemaError) in
                _ = try compiler.subschema(at: schema, under: keyword)
            }
            return nil
        default: return nil
        }
    }

    private mutating func objectRule(_ group: Group) throws(SchemaError) -> Int32 {
        var rule = ObjectRule()
        if let node = group[.properties] {
            var entries: [PropertyEntry] = []
            try eachMember(.properties, node) { compiler, name, schema throws(SchemaError) in
                let hash = Hash.bytes(compiler.tape.bytes(name), seed: compiler.program.seed)
                let index = try compiler.subschema(at: schema, under: .properties)
                entries.append(PropertyEntry(hash: hash, name: name, schema: index))
            }
            rule.properties = Run(first: Int32(program.properties.count), count: Int32(entries.count))
            program.properties += entries.sorted { $0.hash < $1.hash }
        }
        if let node = group[.patternProperties] {
            var entries: [PatternEntry] = []
            try eachMember(.patternProperties, node) { compiler, name, schema throws(SchemaError) in
                let pattern = try compiler.pattern(.patternProperties, name)
                let index = try compiler.subschema(at: schema, under: .patternProperties)
                entries.append(PatternEntry(name: name, pattern: pattern, schema: index))
            }
            rule.patterns = Run(first: Int32(program.patternProperties.count), count: Int32(entries.count))
            program.patternProperties += entries
        }
        if let node = group[.additionalProperties] {
            rule.additional = try subschema(at: node, under: .additionalProperties)
        }
        program.objects.append(rule)
        return Int32(program.objects.count - 1)
    }

    private mutating func dependencies(_ value: Int32) throws(SchemaError) -> Run {
        var entries: [Dependency] = []
        try eachMember(.dependencies, value) { compiler, name, target throws(SchemaError) in
            var entry = Dependency(name: name, names: Run(first: 0, count: 0), schema: -1)
            if compiler.tape[target].kind == .array {
                entry.names = try compiler.names(.dependencies, target)
            } else {
                entry.schema = try compiler.subschema(at: target, under: .dependencies)
            }
            entries.append(entry)
        }
        defer { program.dependencies += entries }
        return Run(first: Int32(program.dependencies.count), count: Int32(entries.count))
    }

    private mutating func eachMember(
        _ keyword: Keyword, _ value: Int32,
        _ body: (inout Compiler, _ name: Int32, _ value: Int32) throws(SchemaError) -> Void
    ) throws(SchemaError) {
        guard tape[value].kind == .object else { throw error(value, keyword, "must be an object") }
        var at = value + 1
        while at < tape[value].next {
            try body(&self, at, at + 1)
            at = tape[at + 1].next
        }
    }

    // MARK: Lists

    private func elements(_ keyword: Keyword, _ value: Int32, mayBeEmpty: Bool) throws(SchemaError) -> [Int32] {
        guard tape[value].kind == .array else { throw error(value, keyword, "must be an array") }
        guard mayBeEmpty || tape[value].count > 0 else { throw error(value, keyword, "must not be empty") }
        var elements: [Int32] = []
        var at = value + 1
        while at < tape[value].next {
            elements.append(at)
            at = tape[at].next
        }
        return elements
    }

    private mutating func run(_ elements: [Int32]) -> Run {
        defer { program.lists += elements }
        return Run(first: Int32(program.lists.count), count: Int32(elements.count))
    }

    private mutating func schemas(
        _ keyword: Keyword, _ value: Int32, mayBeEmpty: Bool = false
    ) throws(SchemaError) -> Run {
        var schemas: [Int32] = []
        for node in try elements(keyword, value, mayBeEmpty: mayBeEmpty) {
            schemas.append(try subschema(at: node, under: keyword))
        }
        return run(schemas)
    }

    private mutating func values(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Run {
        run(try elements(keyword, value, mayBeEmpty: false))
    }

    private mutating func names(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Run {
        var seen: Set<String> = []
        let elements = try elements(keyword, value, mayBeEmpty: true)
        for node in elements {
            guard tape[node].kind == .string else { throw error(node, keyword, "must be a string") }
            guard seen.insert(tape.string(node)).inserted else { throw error(node, keyword, "is named twice") }
        }
        return run(elements)
    }

    private func types(_ value: Int32) throws(SchemaError) -> TypeSet {
        let isList = tape[value].kind == .array
        var types: TypeSet = []
        for node in isList ? try elements(.type, value, mayBeEmpty: false) : [value] {
            guard tape[node].kind == .string, let type = TypeSet(word: tape.string(node)) else {
                let words = TypeSet.words.map(\.word).joined(separator: ", ")
                throw error(node, .type, "must be one of \(words)" + (isList ? "" : ", or an array of them"))
            }
            guard types.insert(type).inserted else { throw error(node, .type, "is named twice") }
        }
        return types
    }

    // MARK: Single values

    private func flag(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Bool {
        switch tape[value].kind {
        case .true: return true
        case .false: return false
        default: throw error(value, keyword, "must be true or false")
        }
    }

    private func count(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Int {
        guard tape[value].kind == .number, let count = JSONNumber.integer(tape.bytes(value)), count >= 0 else {
            throw error(value, keyword, "must be a whole number from 0 to \(Int64.max)")
        }
        return Int(count)
    }

    private mutating func bound(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Int32 {
        guard tape[value].kind == .number else { throw error(value, keyword, "must be a number") }
        program.numbers.append(Bound(node: value, small: JSONNumber.integer(tape.bytes(value))))
        return Int32(program.numbers.count - 1)
    }

    private mutating func divisor(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Int32 {
        guard tape[value].kind == .number else { throw error(value, keyword, "must be a number") }
        let number = Decimal(tape.bytes(value))
        guard !number.isNegative, !number.isZero else { throw error(value, keyword, "must be more than 0") }
        guard let digits = number.significand else {
            throw error(value, keyword, "must have at most 18 significant digits")
        }
        let small = JSONNumber.integer(tape.bytes(value))
        program.divisors.append(Divisor(digits: digits, power: number.lastPower, small: small))
        return Int32(program.divisors.count - 1)
    }

    private mutating func pattern(_ keyword: Keyword, _ value: Int32) throws(SchemaError) -> Int32 {
        guard tape[value].kind == .string else { throw error(value, keyword, "must be a string") }
        guard program.patterns.count < limits.patterns else {
            throw error(value, keyword, "a schema has at most \(limits.patterns) patterns")
        }
        let text = tape.bytes(value)
        guard text.count <= limits.patternBytes else {
            throw error(value, keyword, "a pattern has at most \(limits.patternBytes) bytes")
        }
        patternBytes += text.count
        guard patternBytes <= limits.patternBytesTogether else {
            throw error(
                value, keyword, "the patterns of a schema have at most \(limits.patternBytesTogether) bytes together")
        }
        do {
            program.patterns.append(try Pattern(text))
        } catch {
            throw self.error(value, keyword, "is no pattern: \(error.message) (at byte \(error.offset))")
        }
        return Int32(program.patterns.count - 1)
    }
}
