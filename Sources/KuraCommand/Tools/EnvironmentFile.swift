/// Names and values of a `.env` file, as shells and most libraries that read them agree on it.
///
/// A line is `NAME=VALUE`, perhaps behind `export`; empty lines and those that begin with `#` say nothing. A bare value ends before
/// ` #` or the line's end; one in single quotes is taken as it is, one in double quotes has `\n`, `\r`, `\t`, `\"`, `\\` and `\$`
/// as escapes, and both may have several lines. Nothing is substituted: `$HOME` is these five characters.
struct EnvironmentFile {
    struct Entry: Equatable {
        let name: String
        var value: String
    }

    private(set) var entries: [Entry] = []
    /// Names that stand there more than once; the last value counts, as in a shell.
    private(set) var repeated: [String] = []

    private var rest: Substring
    private var line = 1

    private let path: String

    /// - Throws: a usage failure that names the file and the line.
    init(_ text: String, _ path: String = "-") throws(Failure) {
        rest = text[...]
        self.path = path == "-" ? "standard input" : path
        while !rest.isEmpty { try readLine() }
    }

    private func fault(_ message: String, at line: Int) -> Failure {
        .usage("\(path), line \(line): \(message)", hint: "nothing was stored: the file is taken whole, or not at all")
    }

    private mutating func readLine() throws(Failure) {
        let start = line
        skipBlanks()
        guard let first = rest.first, !first.isNewline, first != "#" else { return skipLine() }
        var name = takeName()
        if name == "export", rest.first == " " || rest.first == "\t" {
            skipBlanks()
            name = takeName()
        }
        skipBlanks()
        guard !name.isEmpty, rest.first == "=" else { throw fault("NAME=VALUE is expected", at: start) }
        rest.removeFirst()
        skipBlanks()
        let value: String
        switch rest.first {
        case "'", "\"":
            value = try quoted()
            skipBlanks()
            guard rest.first.map({ $0.isNewline || $0 == "#" }) ?? true else {
                throw fault("something stands behind the closing quote", at: line)
            }
        default: value = bare()
        }
        skipLine()
        add(Entry(name: name, value: value))
    }

    private mutating func add(_ entry: Entry) {
        guard let index = entries.firstIndex(where: { $0.name == entry.name }) else { return entries.append(entry) }
        entries[index].value = entry.value
        if !repeated.contains(entry.name) { repeated.append(entry.name) }
    }

    private mutating func skipBlanks() { rest = rest.drop { $0 == " " || $0 == "\t" } }

    private mutating func skipLine() {
        rest = rest.drop { !$0.isNewline }
        if !rest.isEmpty {
            rest.removeFirst()
            line += 1
        }
    }

    private mutating func takeName() -> String {
        let name = rest.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "_.-".contains($0)) }
        rest = rest[name.endIndex...]
        return String(name)
    }

    private mutating func bare() -> String {
        let whole = rest.prefix { !$0.isNewline }
        rest = rest[whole.endIndex...]
        var end = whole.endIndex
        var isBlank = true
        for index in whole.indices {
            if whole[index] == "#", isBlank {
                end = index
                break
            }
            isBlank = whole[index] == " " || whole[index] == "\t"
        }
        var value = whole[..<end]
        while let last = value.last, last == " " || last == "\t" { value.removeLast() }
        return String(value)
    }

    private mutating func quoted() throws(Failure) -> String {
        let start = line
        let quote = rest.removeFirst()
        var value = ""
        while let character = rest.popFirst() {
            if character == quote { return value }
            if character.isNewline { line += 1 }
            guard quote == "\"", character == "\\", let escaped = rest.popFirst() else {
                value.append(character)
                continue
            }
            switch escaped {
            case "n": value.append("\n")
            case "r": value.append("\r")
            case "t": value.append("\t")
            case "\"", "\\", "$": value.append(escaped)
            default: value += "\\\(escaped)"
            }
        }
        throw fault("the quote is not closed", at: start)
    }
}
