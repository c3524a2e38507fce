import KuraBytes
import KuraClient
import KuraProtocol

/// Makes JSON of arguments, as the parameter's type wants it.
///
/// A parameter that takes any JSON takes the argument as JSON when it is, and as text when it is not: `5`, `true` and `{"a":1}` are
/// themselves, `dark` is a string. What begins like an object, an array or a quoted string and is none is refused, since a typing
/// error must not become a string. `--string` makes all of them strings.
struct ValueReader {
    let takesText: Bool
    let input: () throws(Failure) -> [UInt8]
    private var isInputTaken = false

    init(takesText: Bool, input: @escaping () throws(Failure) -> [UInt8]) {
        self.takesText = takesText
        self.input = input
    }

    /// The words as one JSON text; there is one word, unless the parameter is a list or an object.
    mutating func json(_ words: [String], of parameter: Verb.Parameter) throws(Failure) -> [UInt8] {
        let name = parameter.isSelector ? parameter.elementPlaceholder : parameter.placeholder
        if parameter.isSelector { return try selector(words, name) }
        switch parameter.field.type {
        case .list(let element, _):
            if words == ["-"] { return try list(try text(), of: element, name) }
            if words.count == 1, let array = whole(words[0], opening: "[") { return array }
            var elements: [[UInt8]] = []
            for word in words {
                if parameter.isSort, !takesText, let sort = SortWord(word) {
                    elements.append(sort.json)
                } else {
                    elements.append(try value(word, element, parameter.elementPlaceholder))
                }
            }
            return JSONElements.array(elements)
        case .map(let element):
            if words == ["-"] {
                let text = try text()
                if case .map = element, let merged = Self.lines(text) { return merged }
                return try object(text, name)
            }
            if words.count == 1, words[0].utf8.first == UInt8(ascii: "{") { return try object(words[0], name) }
            return try members(words, element, name)
        default:
            let word = words[0] == "-" ? try text() : words[0]
            return try value(word, parameter.field.type, name)
        }
    }

    /// Conditions, or one selector as JSON.
    private mutating func selector(_ words: [String], _ name: String) throws(Failure) -> [UInt8] {
        if words.count == 1, !SelectorWords.matches(words[0]) {
            let word = words[0] == "-" ? try text() : words[0]
            guard word.first(where: { !$0.isWhitespace }) == "{" else {
                throw .usage(
                    "'\(word)' is no condition, and no JSON selector",
                    hint: "write FIELD=VALUE, 'FIELD>=VALUE', or '{\"FIELD\":VALUE}': 'kura help conditions' tells more"
                )
            }
            return try object(word, name)
        }
        return try SelectorWords.selector(words) { (word) throws(Failure) in try any(word, name) }
    }

    /// Members as `NAME=VALUE`, an object of them, or the operations of a JSON Patch.
    mutating func patch(_ words: [String]) throws(Failure) -> [UInt8] {
        if words.count == 1, let first = words[0].first(where: { !$0.isWhitespace }),
            words == ["-"] || "{[".contains(first)
        {
            let patch = try any(words[0] == "-" ? try text() : words[0], "PATCH")
            guard let opening = patch.first, "{[".utf8.contains(opening) else {
                throw .usage(
                    "what comes from standard input is no patch",
                    hint: "a patch is a JSON object, or a list of operations")
            }
            return patch
        }
        return try PatchWords.patch(words) { (word) throws(Failure) in try any(word, "VALUE") }
    }

    /// Objects by name, from the lines that a list of them is printed as: `{"key":NAME,"value":{…}}`. A name that comes again adds to
    /// what is there.
    /// - Returns: nil when the text is anything else.
    private static func lines(_ text: String) -> [UInt8]? {
        var names: [String] = []
        var members: [String: [(name: String, value: [UInt8])]] = [:]
        for line in text.utf8.split(separator: 0x0A) {
            guard let object = JSONObject(line), object.names == ["key", "value"], let name = object.string("key"),
                let value = object.object("value")
            else { return nil }
            if members[name] == nil { names.append(name) }
            members[name, default: []] += value.entries
        }
        guard !names.isEmpty else { return nil }
        return JSONParts.object(names.map { (name: $0, value: JSONParts.object(members[$0] ?? [])) })
    }

    // MARK: One value

    private func value(_ word: String, _ type: ValueType, _ name: String) throws(Failure) -> [UInt8] {
        switch type {
        case .name, .text, .timestamp: return JSONParts.string(word)
        case .word(let choices):
            guard choices.contains(word) else {
                throw .usage(
                    "\(name) is one of \(choices.joined(separator: ", ")), not '\(word)'",
                    hint: Suggestion.hint(for: word, among: choices))
            }
            return JSONParts.string(word)
        case .integer:
            // The number's text is looked at only once it is known to be one.
            guard let compact = compact(word), let first = compact.first,
                first == 0x2D || (0x30...0x39).contains(first),
                compact.withBytes({ JSONNumber.integer($0) }) != nil
            else { throw .usage("\(name) is a whole number, not '\(word)'") }
            return compact
        case .boolean:
            guard word == "true" || word == "false" else { throw .usage("\(name) is true or false, not '\(word)'") }
            return Array(word.utf8)
        case .json: return try any(word, name)
        case .list:
            guard let array = whole(word, opening: "[") else { throw .usage("\(name) is a JSON array, not '\(word)'") }
            return array
        case .object(let fields) where !word.isEmpty && word.first(where: { !$0.isWhitespace }) != "{":
            return try object(word, of: fields, name)
        case .map, .object: return try object(word, name)
        }
    }

    /// `offset=10,length=5`: the members of an object in one word.
    private func object(_ word: String, of fields: [KuraProtocol.Field], _ name: String) throws(Failure) -> [UInt8] {
        var members: [(name: String, value: [UInt8])] = []
        for part in word.split(separator: ",", omittingEmptySubsequences: false) {
            let known = fields.map(\.name)
            guard let sign = part.firstIndex(of: "=") else {
                throw .usage("\(name) is \(ValueType.object(fields).words), not '\(word)'")
            }
            let member = String(part[..<sign])
            guard let field = fields.first(where: { $0.name == member }) else {
                throw .usage(
                    "'\(member)' is no member of \(name), which has \(known.joined(separator: ", "))",
                    hint: Suggestion.hint(for: member, among: known))
            }
            guard !members.contains(where: { $0.name == member }) else { throw .usage("'\(member)' is given twice") }
            members.append((member, try value(String(part[part.index(after: sign)...]), field.type, member)))
        }
        return JSONParts.object(members)
    }

    private func any(_ word: String, _ name: String) throws(Failure) -> [UInt8] {
        if takesText { return JSONParts.string(word) }
        do throws(JSONFault) {
            return try JSONDocument.compact(Array(word.utf8))
        } catch {
            guard let first = word.first(where: { !$0.isWhitespace }), "{[\"".contains(first) else {
                return JSONParts.string(word)
            }
            throw .usage(
                "\(name) begins like JSON and is none: \(error.explanation)", hint: "--string takes it as text")
        }
    }

    private func object(_ word: String, _ name: String) throws(Failure) -> [UInt8] {
        let text: [UInt8]
        do throws(JSONFault) {
            text = try JSONDocument.compact(Array(word.utf8))
        } catch {
            throw .usage("\(name) is a JSON object, and this is none: \(error.explanation)")
        }
        guard text.first == UInt8(ascii: "{") else { throw .usage("\(name) is a JSON object, not '\(word)'") }
        return text
    }

    /// `theme=dark size=12`: an object's members one by one.
    private func members(_ words: [String], _ element: ValueType, _ name: String) throws(Failure) -> [UInt8] {
        var members: [(name: String, value: [UInt8])] = []
        for word in words {
            guard let sign = word.firstIndex(of: "="), sign != word.startIndex else {
                throw .usage("'\(word)' is no member: write NAME=VALUE, or all of \(name) as one JSON object")
            }
            let member = String(word[..<sign])
            guard !members.contains(where: { $0.name == member }) else { throw .usage("'\(member)' is given twice") }
            members.append((member, try value(String(word[word.index(after: sign)...]), element, member)))
        }
        return JSONParts.object(members)
    }

    /// An array from standard input: one JSON array, or an element a line.
    private func list(_ text: String, of element: ValueType, _ name: String) throws(Failure) -> [UInt8] {
        if let array = whole(text, opening: "[") { return array }
        var elements: [[UInt8]] = []
        for line in text.split(whereSeparator: \.isNewline) { elements.append(try value(String(line), element, name)) }
        return JSONElements.array(elements)
    }

    private func compact(_ word: String) -> [UInt8]? {
        do throws(JSONFault) { return try JSONDocument.compact(Array(word.utf8)) } catch { return nil }
    }

    /// The word as JSON when it is, and begins so.
    private func whole(_ word: String, opening: Character) -> [UInt8]? {
        guard word.first(where: { !$0.isWhitespace }) == opening else { return nil }
        return compact(word)
    }

    // MARK: Standard input

    /// As `$(…)` gives it: without the line end that it closes with.
    private mutating func text() throws(Failure) -> String {
        guard !isInputTaken else { throw .usage("'-' stands twice, and standard input can be read once") }
        isInputTaken = true
        var bytes = try input()
        if bytes.last == 0x0A { bytes.removeLast() }
        if bytes.last == 0x0D { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .usage("standard input is not UTF-8", hint: "JSON is text: encode other bytes, as base64")
        }
        return text
    }
}
