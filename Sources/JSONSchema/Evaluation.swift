import KuraBytes
import KuraJSON
import KuraProtocol

/// Ends a validation whose bounds are reached.
struct Stop: Error {
    enum Reason {
        case steps, depth, pattern, subject
    }
    var reason: Reason
    var place: Place
    /// A node of the value.
    var instance: Int32
}

/// What was found, as places; words are made of it when somebody asks.
struct Finding {
    var place: Place
    /// A node of the value.
    var instance: Int32
    var detail = Detail.none

    enum Detail {
        case none
        case types(TypeSet)
        /// The node of a name in the schema that is missing from the value.
        case missing(Int32)
        /// How many schemas of how many match.
        case matches(Int, of: Int)
        /// Two elements that are equal.
        case equal(Int, Int)
    }
}

/// One validation: holds values against rules, recursively, and counts its steps.
struct Evaluation: ~Copyable {
    let schema: JSONSchema
    let tape: TapeView
    let matcher: PatternMatcher
    let limits: SchemaLimits
    var equality: Equality
    var findings: [Finding] = []
    private let wanted: Int
    /// Above zero, what fails is only a question's answer, not a finding.
    private var questions = 0
    private var depth = 0

    init(_ schema: JSONSchema, tape: TapeView, matcher: PatternMatcher, steps: Int, wanted: Int) {
        self.schema = schema
        self.tape = tape
        self.matcher = matcher
        self.limits = schema.limits
        self.wanted = wanted
        equality = Equality(steps: steps)
    }

    /// Whether it makes sense to look for more.
    var goesOn: Bool { questions == 0 && findings.count < wanted }

    mutating func spend(_ steps: Int, _ place: Place, _ instance: Int32) throws(Stop) {
        equality.steps -= steps
        if equality.steps < 0 {
            throw Stop(reason: .steps, place: place, instance: instance)
        }
    }

    /// Notes that `instance` breaks a keyword; always false, so that callers can return it.
    mutating func fail(_ place: Place, _ instance: Int32, _ detail: Finding.Detail = .none) -> Bool {
        if goesOn {
            findings.append(Finding(place: place, instance: instance, detail: detail))
        }
        return false
    }

    /// Whether the value at `instance` satisfies the subschema.
    mutating func check(_ index: Int32, _ instance: Int32) throws(Stop) -> Bool {
        let subschema = schema.program.subschemas[Int(index)]
        try spend(1, subschema.place, instance)
        if subschema.verdict == .never { return fail(subschema.place, instance) }
        guard depth < limits.evaluationDepth else {
            throw Stop(reason: .depth, place: subschema.place, instance: instance)
        }
        depth += 1
        var holds = true
        for rule in subschema.rules.range where try !test(schema.program.rules[rule], instance) {
            holds = false
            if !goesOn { break }
        }
        depth -= 1
        return holds
    }

    /// The same without findings.
    mutating func ask(_ index: Int32, _ instance: Int32) throws(Stop) -> Bool {
        questions += 1
        defer { questions -= 1 }
        return try check(index, instance)
    }

    private mutating func test(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        try spend(1, rule.place, instance)
        switch rule.test {
        case .type(let types): return hasType(types, instance) || fail(rule.place, instance, .types(types))
        case .const, .enum: return try isListed(rule, instance)
        case .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
            guard tape[instance].kind == .number else { return true }
            return try isInBounds(rule, instance)
        case .minLength, .maxLength, .pattern:
            guard tape[instance].kind == .string else { return true }
            return try isStringGood(rule, instance)
        case .items, .tuple, .minItems, .maxItems, .uniqueItems, .contains:
            guard tape[instance].kind == .array else { return true }
            return try isArrayGood(rule, instance)
        case .members, .propertyNames, .required, .minProperties, .maxProperties, .dependencies:
            guard tape[instance].kind == .object else { return true }
            return try isObjectGood(rule, instance)
        case .conditional, .allOf, .anyOf, .oneOf, .not, .reference: return try combine(rule, instance)
        }
    }

    private func hasType(_ types: TypeSet, _ instance: Int32) -> Bool {
        switch tape[instance].kind {
        case .null: types.contains(.null)
        case .true, .false: types.contains(.boolean)
        case .object: types.contains(.object)
        case .array: types.contains(.array)
        case .string: types.contains(.string)
        case .number:
            types.contains(.number) || types.contains(.integer) && Decimal(tape.bytes(instance)).isInteger
        }
    }

    private mutating func isListed(_ rule: Rule, _ instance: Int32) throws(Stop) -> Bool {
        switch rule.test {
        case .const(let node):
            let isEqual = equality.areEqual(instance, in: tape, node, in: schema.tape)
            try spend(0, rule.place, instance)
            return isEqual || fail(rule.place, instance)
        case .enum(let run):
            for index in run.range {
                let isEqual = equality.areEqual(instance, in: tape, schema.program.lists[index], in: schema.tape)
                try spend(0, rule.place, instance)
                if isEqual { return true }
            }
            return fail(rule.place, instance)
        default: return true
        }
    }
}
