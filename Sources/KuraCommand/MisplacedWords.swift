import KuraBytes
import KuraClient
import KuraProtocol

/// Words that would be read as something else than what was meant: they are refused, and what was probably meant is named.
///
/// Taken as they stand they would sort by a field called `name:desc`, look for documents whose `name` is the text `desc`, pick a field
/// called `a,b`, or delete the document with the id `n=a`; none of these says that anything is wrong.
enum MisplacedWords {
    typealias Given = (parameter: Verb.Parameter, words: [String])

    /// - Parameters:
    ///   - placed: words that have found their parameter by their place.
    ///   - named: those that were given with an option.
    ///   - verb: whose parameters they are.
    /// - Throws: a usage failure that names the word.
    static func check(placed: [Given], named: [Given], of verb: Verb) throws(Failure) {
        let sorts = verb.parameters.contains(where: \.isSort)
        let takesConditions = verb.parameters.contains(where: \.isSelector)
        for (parameter, words) in placed {
            if sorts, parameter.isSort || parameter.isSelector { try refuseDirections(words) }
            if sorts, parameter.isSelector { try refuseField(words) }
            if takesConditions, parameter.field.name == "ids" { try refuseConditions(words) }
        }
        for (parameter, words) in placed + named {
            if sorts, parameter.isSelector { try refuseSort(words) }
            if parameter.isFieldList || parameter.isSort {
                try refuseCommas(words, "--\(parameter.options.last ?? "") ")
            }
        }
    }

    /// - Parameters:
    ///   - failure: a word cannot be read.
    ///   - word: that has found its parameter by its place.
    ///   - parameter: which one.
    ///   - verb: whose parameter it is.
    /// - Returns: the failure, with the list that a name was probably meant for where a number is wanted.
    static func hinted(
        _ failure: Failure, _ word: String, for parameter: Verb.Parameter, of verb: Verb
    ) -> Failure {
        guard case .integer = parameter.field.type, failure.hint == nil,
            let list = verb.parameters.first(where: \.isNameList)
        else { return failure }
        var failure = failure
        failure.hint = "did you mean --\(list.options.last ?? "") \(CommandExample.quoted(word))?"
        return failure
    }

    /// Behind the option a word such as `name:desc` is taken.
    private static func refuseDirections(_ words: [String]) throws(Failure) {
        for word in words where !SelectorWords.matches(word) && SortWord(word)?.direction != nil {
            throw .usage(
                "'\(word)' is no field, and no condition",
                hint: "did you mean --sort \(CommandExample.quoted(word))? A field that is called so is written as JSON"
            )
        }
    }

    /// A field stands where a condition does: only behind one is it what to sort by.
    private static func refuseField(_ words: [String]) throws(Failure) {
        guard words.count == 1, let first = words[0].first, first.isLetter || first == "_" || first == "[",
            !SelectorWords.matches(words[0])
        else { return }
        throw .usage(
            "'\(words[0])' is no condition, and no JSON selector",
            hint:
                "did you mean --sort \(CommandExample.quoted(words[0]))? A condition is FIELD=VALUE, 'FIELD>=VALUE', or "
                + "'{\"FIELD\":VALUE}': 'kura help conditions' tells more")
    }

    /// `{"name":"desc"}`
    private static func refuseSort(_ words: [String]) throws(Failure) {
        guard words.count == 1, let members = JSONObject(Array(words[0].utf8))?.entries, !members.isEmpty else {
            return
        }
        let sorts = members.compactMap { name, value in
            JSONObject.string(value).flatMap(SortWord.Direction.init).map { (name: name, direction: $0.rawValue) }
        }
        guard sorts.count == members.count else { return }
        let options = sorts.map { "--sort " + CommandExample.quoted("\($0.name):\($0.direction)") }
        throw .usage(
            "'\(words[0])' asks for documents whose \(sorts[0].name) is the text '\(sorts[0].direction)'",
            hint: "did you mean \(options.joined(separator: " "))? If not, write "
                + CommandExample.quoted("\(sorts[0].name)=\(sorts[0].direction)"))
    }

    /// - Parameters:
    ///   - words: names of fields.
    ///   - option: what stands in front of each, with a space behind it; empty when nothing does.
    /// - Throws: for `a,b`, which is one name.
    static func refuseCommas(_ words: [String], _ option: String) throws(Failure) {
        for word in words where word.contains(",") && !"{[\"".contains(word.first ?? "{") {
            let names = word.split(separator: ",").map { option + CommandExample.quoted(String($0)) }
            throw .usage(
                "'\(word)' is the name of one field",
                hint:
                    "did you mean \(names.joined(separator: " "))? A field that is called so is written as JSON, in an array"
            )
        }
    }

    private static func refuseConditions(_ words: [String]) throws(Failure) {
        for word in words where SelectorWords.matches(word) || word.first == "{" {
            throw .usage(
                "'\(word)' stands where an id does",
                hint: "did you mean --where \(CommandExample.quoted(word))? An id that looks so is written --id "
                    + CommandExample.quoted(word))
        }
    }
}

/// What to sort by as a command line has it: `name`, `name:asc`, `name:desc`.
struct SortWord {
    enum Direction: String { case asc, desc }

    let path: String
    let direction: Direction?

    /// - Returns: nil for JSON.
    init?(_ word: String) {
        guard let first = word.first, !"{[\"".contains(first) else { return nil }
        let sign = word.lastIndex(of: ":") ?? word.startIndex
        let direction = sign == word.startIndex ? nil : Direction(rawValue: String(word[word.index(after: sign)...]))
        self.direction = direction
        path = direction == nil ? word : String(word[..<sign])
    }

    /// As the protocol has it.
    var json: [UInt8] {
        direction == .desc ? JSONParts.object([(path, JSONParts.string("desc"))]) : JSONParts.string(path)
    }
}
