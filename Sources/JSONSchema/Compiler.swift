import KuraBytes
import KuraProtocol

/// Makes a program of a schema's text: one pass over its nodes, then the references.
struct Compiler {
    let tape: TapeView
    let limits: SchemaLimits
    var program = Program()
    /// The subschemas by the nodes where they stand: what a reference may point at.
    var places: [Int32: Int32] = [:]
    /// References that are to be set when all places are known: rule and subschema in which it stands.
    var references: [(rule: Int, schema: Int32)] = []

    /// Bytes of all patterns so far.
    var patternBytes = 0

    init(tape: TapeView, limits: SchemaLimits) {
        self.tape = tape
        self.limits = limits
    }

    static func compile(_ tape: TapeView, limits: SchemaLimits) throws(SchemaError) -> Program {
        var compiler = Compiler(tape: tape, limits: limits)
        _ = try compiler.subschema(at: 0, under: .never)
        try compiler.setReferences()
        try compiler.refuseLoops()
        return compiler.program
    }

    func error(_ node: Int32, _ keyword: Keyword, _ message: String) -> SchemaError {
        SchemaError(pointer: tape.pointer(to: node), keyword: keyword.rawValue, message: message)
    }

    /// The index of the schema at `node`, compiled with all that is inside of it.
    mutating func subschema(at node: Int32, under keyword: Keyword) throws(SchemaError) -> Int32 {
        guard program.subschemas.count < limits.subschemas else {
            throw error(node, keyword, "a schema has at most \(limits.subschemas) schemas inside")
        }
        let index = Int32(program.subschemas.count)
        program.subschemas.append(Subschema(place: Place(keyword: keyword, node: node)))
        places[node] = index
        switch tape[node].kind {
        case .true: break
        case .false: program.subschemas[Int(index)].verdict = .never
        case .object:
            var rules = try rules(of: index, at: node)
            // The type goes first: it is the cheapest, and what it says is the plainest.
            if let type = rules.firstIndex(where: { $0.place.keyword == .type }), type > 0 {
                rules.insert(rules.remove(at: type), at: 0)
            }
            let first = program.rules.count
            program.rules += rules
            program.subschemas[Int(index)].rules = Run(first: Int32(first), count: Int32(rules.count))
            for (offset, rule) in rules.enumerated() where rule.place.keyword == .reference {
                references.append((first + offset, index))
            }
        default: throw error(node, keyword, "a schema is an object, true or false")
        }
        return index
    }

    private mutating func rules(of schema: Int32, at node: Int32) throws(SchemaError) -> [Rule] {
        var members: [(keyword: Keyword, value: Int32)] = []
        var at = node + 1
        while at < tape[node].next {
            let word = tape.string(at)
            guard let keyword = Keyword(rawValue: word), keyword != .never else {
                let hint = Keyword.hint(word).map { ": \($0)" } ?? ""
                throw SchemaError(
                    pointer: tape.pointer(to: at), keyword: word, message: "this keyword is unknown" + hint)
            }
            members.append((keyword, at + 1))
            at = tape[at + 1].next
        }
        let group = Group(members: members)
        let refers = group[.reference] != nil
        var rules: [Rule] = []
        for (keyword, value) in members {
            if keyword.isAnnotation {
                try checkAnnotation(keyword, value)
                continue
            }
            // The draft ignores it, and a check that is silently ignored is a trap.
            if refers, keyword != .reference, keyword != .definitions {
                throw error(value, keyword, "beside $ref nothing else counts: put both into allOf")
            }
            if let test = try test(keyword, value, group) {
                rules.append(Rule(place: Place(keyword: keyword, node: value), test: test))
            }
        }
        return rules
    }

    private func checkAnnotation(_ keyword: Keyword, _ value: Int32) throws(SchemaError) {
        let kind = tape[value].kind
        switch keyword {
        case .default: return
        case .examples:
            guard kind == .array else { throw error(value, keyword, "must be an array") }
        case .readOnly, .writeOnly:
            guard kind == .true || kind == .false else { throw error(value, keyword, "must be true or false") }
        case .schema:
            guard kind == .string else { throw error(value, keyword, "must be a string") }
            let name = tape.string(value)
            let known = ["http://json-schema.org/draft-07/schema", "https://json-schema.org/draft-07/schema"]
            guard known.contains(name.hasSuffix("#") ? String(name.dropLast()) : name) else {
                throw error(value, keyword, "only draft-07 is known: http://json-schema.org/draft-07/schema#")
            }
        default:
            guard kind == .string else { throw error(value, keyword, "must be a string") }
        }
    }

    /// The keywords of one schema that belong together.
    struct Group {
        let members: [(keyword: Keyword, value: Int32)]

        subscript(_ keyword: Keyword) -> Int32? { members.first { $0.keyword == keyword }?.value }
    }
}
