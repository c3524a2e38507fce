import KuraBytes
import KuraClient
import KuraProtocol

/// A method's declared example as a command line.
enum CommandExample {
    /// `kura settings put app theme dark`, ready to be pasted into a shell.
    static func line(_ verb: Verb) -> String {
        (["kura"] + words(verb)).map(quoted).joined(separator: " ")
    }

    /// The command of an import with the place at which it is to go on.
    static func line(_ verb: Verb, _ parameters: Parameters, offset: Int64) -> String {
        var parameters = parameters
        parameters["offset"] = Array(String(offset).utf8)
        return (["kura"] + words(verb, JSONObject(parameters.json), file: parameters.file ?? "-")).map(quoted)
            .joined(separator: " ")
    }

    /// The words behind `kura`.
    static func words(_ verb: Verb) -> [String] {
        words(verb, JSONObject(Array(verb.method.example.utf8)), file: "data.json")
    }

    private static func words(_ verb: Verb, _ given: JSONObject?, file: String) -> [String] {
        var placed: [String] = []
        var options: [String] = []
        // A word fills what may be left out from the left: behind a gap only what must be there is given by place.
        var hasGap = false
        let positional = verb.positional.map(\.field.name)
        for parameter in verb.parameters {
            let isPlaced = positional.contains(parameter.field.name)
            guard let value = given?[parameter.field.name] else {
                if isPlaced, !parameter.field.isRequired { hasGap = true }
                continue
            }
            let isTrue = value == Array("true".utf8)
            if parameter.form == .file {
                if isTrue { placed.append(file) }
            } else if parameter.form == .reply {
                placed.append("front.png")
            } else if parameter.form == .secret {
                if !parameter.field.isRequired { options.append("--\(parameter.options[0])") }
            } else if parameter.form == .flag {
                options.append(isTrue ? "--\(parameter.options[0])" : "--no-\(parameter.options[0])")
            } else if isPlaced, parameter.field.isRequired || !hasGap {
                placed += arguments(value, parameter)
            } else {
                options += arguments(value, parameter).flatMap { ["--\(parameter.options.last ?? "")", $0] }
            }
        }
        return [verb.noun, verb.word] + placed + options
    }

    /// The value as words that make it again.
    private static func arguments(_ value: [UInt8], _ parameter: Verb.Parameter) -> [String] {
        let text = String(decoding: value, as: UTF8.self)
        switch parameter.field.type {
        case .list(let element, _):
            let words = (JSONElements.read(value) ?? []).map { word($0, element) }
            // One word that looks like an array would be taken for all of it.
            return words.isEmpty || words.count == 1 && words[0].hasPrefix("[") ? [text] : words
        case .map(let element):
            let entries = JSONObject(value)?.entries ?? []
            let isPlain = !entries.isEmpty && entries.allSatisfy { !$0.name.contains("=") && !$0.name.hasPrefix("{") }
            return isPlain ? entries.map { "\($0.name)=\(word($0.value, element))" } : [text]
        default: return [word(value, parameter.field.type)]
        }
    }

    private static func word(_ value: [UInt8], _ type: ValueType) -> String {
        let json = String(decoding: value, as: UTF8.self)
        guard let text = JSONObject.string(value) else { return json }
        guard case .json = type else { return text }
        // A string that is JSON by itself keeps its quotes.
        let first = text.first { !$0.isWhitespace }
        let isJSON = (try? JSONDocument.compact(Array(text.utf8))) != nil || first.map { "{[\"".contains($0) } ?? true
        return isJSON || text == "-" ? json : text
    }

    /// As a shell takes it for one word.
    static func quoted(_ word: String) -> String { ShellWord.quoted(word) }
}
