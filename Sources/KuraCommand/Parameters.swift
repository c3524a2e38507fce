import KuraBytes
import KuraProtocol

/// A verb's parameters as they go onto the wire.
struct Parameters {
    private(set) var members: [(name: String, value: [UInt8])] = []
    /// The file whose descriptor goes along; `-` is standard input or output.
    private(set) var file: String?
    /// The file that the descriptor of the reply is copied to; `-` is standard output.
    private(set) var target: String?

    init() {}

    /// Puts every word in its place and makes JSON of it.
    /// - Parameters:
    ///   - invocation: names the verb.
    ///   - verb: whose parameters they are.
    ///   - input: all of standard input; called once at most.
    ///   - secrets: reads what is never an argument; nil: from standard input.
    /// - Throws: a usage failure that names the argument at fault.
    init(
        _ invocation: Invocation, of verb: Verb, input: @escaping () throws(Failure) -> [UInt8],
        secrets: SecretReader? = nil
    ) throws(Failure) {
        var isInputTaken = false
        let input = { () throws(Failure) -> [UInt8] in
            guard !isInputTaken else {
                throw .usage("standard input can be read once, and a secret comes from there")
            }
            isInputTaken = true
            return try input()
        }
        let secrets = secrets.map {
            SecretReader(
                asks: $0.asks, takesObject: $0.takesObject, allowsEmpty: $0.allowsEmpty, input: input, ask: $0.ask)
        }
        var reader = ValueReader(takesText: invocation.takesText, input: input)
        var given: [(parameter: Verb.Parameter, words: [String])] = []
        for (parameter, value) in invocation.named {
            if let index = given.firstIndex(where: { $0.parameter.field.name == parameter.field.name }) {
                guard parameter.isRepeatable else { throw .usage("--\(parameter.options[0]) is given twice") }
                given[index].words.append(value)
            } else {
                given.append((parameter, [value]))
            }
        }
        let wanted = verb.parameters.filter { parameter in
            parameter.form == .secret
                && (parameter.field.isRequired || given.contains { $0.parameter.field.name == parameter.field.name })
        }
        let implied = verb.parameters.first { candidate in
            candidate.isImplied && !given.contains { $0.parameter.field.name.hasPrefix(candidate.field.name) }
        }
        let placed = try Self.place(invocation.words, of: verb, apartFrom: given.map(\.parameter))
        if !invocation.takesText { try MisplacedWords.check(placed: placed, named: given, of: verb) }
        given += placed
        // When all else is right.
        let read =
            try wanted.isEmpty
            ? [] : (secrets ?? SecretReader(asks: false, input: input, ask: { _ in nil })).read(wanted)
        // In the order of the declaration, so that the same command always makes the same request.
        for parameter in verb.parameters {
            if parameter.field.name == implied?.field.name {
                let reader = secrets ?? SecretReader(asks: false, input: input, ask: { _ in nil })
                members.append(try reader.readImplied(parameter))
                continue
            }
            if parameter.form == .secret {
                guard let index = wanted.firstIndex(where: { $0.field.name == parameter.field.name }) else { continue }
                members.append((parameter.field.name, JSONParts.string(read[index])))
                continue
            }
            guard let words = given.first(where: { $0.parameter.field.name == parameter.field.name })?.words else {
                guard parameter.field.isRequired else { continue }
                throw Self.missing([parameter], verb)
            }
            if parameter.form == .file {
                file = words[0]
                members.append((parameter.field.name, Array("true".utf8)))
            } else if parameter.form == .reply {
                target = words[0]
                members.append((parameter.field.name, Array("\"fd\"".utf8)))
            } else if parameter.isPatch, !given.contains(where: { $0.parameter.field.name == "replace" }) {
                let patch = try reader.patch(words)
                // Operations are a patch of another kind.
                members.append((patch.first == UInt8(ascii: "[") ? "jsonPatch" : parameter.field.name, patch))
            } else {
                let json: [UInt8]
                do throws(Failure) { json = try reader.json(words, of: parameter) } catch {
                    let isPlaced = placed.contains { $0.parameter.field.name == parameter.field.name }
                    throw isPlaced ? MisplacedWords.hinted(error, words[0], for: parameter, of: verb) : error
                }
                if words != ["-"],
                    let secret = SecretArguments.found(
                        in: parameter.field.name, json, besides: members)
                {
                    throw .usage(
                        SecretArguments.advice(secret),
                        hint: "give \(parameter.field.name) on standard input, as '-' in its place")
                }
                members.append((parameter.field.name, json))
            }
        }
    }

    /// Deals the words out: first what must be there gets one each, then what may be left out, from the left; a list takes all
    /// that is left over.
    private static func place(
        _ words: [String], of verb: Verb, apartFrom named: [Verb.Parameter]
    ) throws(Failure) -> [(parameter: Verb.Parameter, words: [String])] {
        var open = verb.positional.filter { candidate in !named.contains { $0.field.name == candidate.field.name } }
        let required = open.filter(\.field.isRequired)
        var words = words
        var placed: [(parameter: Verb.Parameter, words: [String])] = []
        // Conditions are known by their signs, and leave the other places to the other words.
        if let index = open.firstIndex(where: \.isSelector) {
            let conditions = words.dropFirst(required.count).filter(SelectorWords.matches)
            if !conditions.isEmpty {
                placed.append((open.remove(at: index), conditions))
                words =
                    words.prefix(required.count) + words.dropFirst(required.count).filter { !SelectorWords.matches($0) }
            }
        }
        guard words.count >= required.count else {
            throw missing(Array(required[words.count...]), verb)
        }
        var extra = words.count - required.count
        var rest = words[...]
        for parameter in open {
            var count = parameter.field.isRequired ? 1 : 0
            if parameter.isGreedy {
                count += extra
                extra = 0
            } else if count == 0, extra > 0 {
                count = 1
                extra -= 1
            }
            guard count > 0 else { continue }
            placed.append((parameter, Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        if let word = rest.first {
            throw .usage(
                "\(verb.path) does not know what to do with '\(word)'",
                hint: "usage: kura \(verb.usage); quote a value that has spaces")
        }
        return placed
    }

    private static func missing(_ parameters: [Verb.Parameter], _ verb: Verb) -> Failure {
        let names = parameters.map { $0.isGreedy ? $0.elementPlaceholder : $0.placeholder }
        return .usage("\(verb.path) needs \(names.joined(separator: " and "))", hint: "usage: kura \(verb.usage)")
    }

    /// Whether a flag among them was set.
    var hasFlag: Bool { members.contains { $0.name != "fd" && $0.value == Array("true".utf8) } }

    subscript(name: String) -> [UInt8]? {
        get { members.first { $0.name == name }?.value }
        set {
            members.removeAll { $0.name == name }
            if let newValue { members.append((name, newValue)) }
        }
    }

    /// The object to send; empty when there are none.
    var json: [UInt8] {
        if members.isEmpty { return [] }
        return JSONParts.object(members)
    }
}

/// JSON texts put together.
enum JSONParts {
    static func object(_ members: [(name: String, value: [UInt8])]) -> [UInt8] {
        var output = ByteBuffer()
        output.append("{")
        for (index, member) in members.enumerated() {
            if index > 0 { output.append(",") }
            output.append(quoted: member.name)
            output.append(":")
            member.value.withBytes { output.append($0) }
        }
        output.append("}")
        return Array(output.bytes)
    }

    /// `text`: UTF-8.
    static func string(_ text: [UInt8]) -> [UInt8] {
        var output = ByteBuffer()
        text.withBytes { output.append(quoted: $0) }
        return Array(output.bytes)
    }

    static func string(_ text: String) -> [UInt8] {
        var output = ByteBuffer()
        output.append(quoted: text)
        return Array(output.bytes)
    }
}
