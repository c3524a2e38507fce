import KuraBytes
import KuraClient

/// Conditions as a command line has them, made into a selector: `continent=Asia 'area>=1000'`.
///
/// A condition is a path, a sign and a value, without spaces around the sign, which are refused; several must all hold. The path is taken as it is, so
/// that `capital.name` looks into an object; what is more than this (`$or`, `$in`, …) is written as a JSON selector.
enum SelectorWords {
    /// Longer signs before those that they begin with.
    static let signs: [(sign: String, operation: String, meaning: String)] = [
        ("!=", "$ne", "is there and does not equal"), ("<=", "$lte", "is at most"), (">=", "$gte", "is at least"),
        ("^=", "$beginsWith", "is text that begins with"), ("=~", "$regex", "is text that the pattern is found in"),
        ("=", "$eq", "equals"), ("<", "$lt", "is less than"), (">", "$gt", "is more than"),
    ]

    /// Whether the word is a condition; a JSON selector is none.
    static func matches(_ word: String) -> Bool { parts(word) != nil }

    /// - Parameters:
    ///   - words: conditions.
    ///   - value: makes JSON of what stands behind the sign.
    /// - Returns: the selector's JSON text.
    /// - Throws: a usage failure when a word is no condition.
    static func selector(
        _ words: [String], value: (String) throws(Failure) -> [UInt8]
    ) throws(Failure) -> [UInt8] {
        var paths: [String] = []
        var conditions: [(path: String, operation: String, value: [UInt8])] = []
        for word in words {
            guard let (path, operation, text) = parts(word) else {
                throw .usage(
                    "'\(word)' is no condition", hint: "write FIELD=VALUE, 'FIELD>=VALUE', or one JSON selector")
            }
            let sign = signs.first { $0.operation == operation }?.sign ?? ""
            if path.last?.isWhitespace ?? false || text.first?.isWhitespace ?? false {
                // Taken as they are they would be parts of the name and of the value, and match nothing.
                let (bare, rest) = (path.trimmed, text.trimmed)
                throw .usage(
                    "'\(word)' has a space beside its sign",
                    hint: "write '\(bare)\(sign)\(rest)'; a value that begins with a space is written as JSON: "
                        + "'\(bare)\(sign)\"\(text)\"'")
            }
            if operation == "$eq", text.first == "=" {
                throw .usage(
                    "'\(word)' has two signs",
                    hint: "write '\(path)=\(text.dropFirst())'; text that begins with '=' is written as JSON: "
                        + "'\(path)=\"\(text)\"'")
            }
            // A pattern, and what text begins with, are texts, whatever they look like.
            let isText = operation == "$regex" || operation == "$beginsWith"
            conditions.append((path, operation, isText ? JSONParts.string(text) : try value(text)))
            if !paths.contains(path) { paths.append(path) }
        }
        let members = paths.map { path in
            (
                name: path,
                operations: conditions.filter { $0.path == path }.map { (name: $0.operation, value: $0.value) }
            )
        }
        let isPlain = members.allSatisfy { Set($0.operations.map(\.name)).count == $0.operations.count }
        guard isPlain else {
            // One object has each name once.
            let all = conditions.map { one($0.path, [(name: $0.operation, value: $0.value)]) }
            return JSONParts.object([(name: "$and", value: JSONElements.array(all))])
        }
        return JSONParts.object(members.map { (name: escaped($0.name), value: condition($0.operations)) })
    }

    private static func one(_ path: String, _ operations: [(name: String, value: [UInt8])]) -> [UInt8] {
        JSONParts.object([(name: escaped(path), value: condition(operations))])
    }

    /// `{"a":5}` for equality alone; an object there would be fields and operators.
    private static func condition(_ operations: [(name: String, value: [UInt8])]) -> [UInt8] {
        if operations.count == 1, operations[0].name == "$eq", operations[0].value.first != UInt8(ascii: "{") {
            return operations[0].value
        }
        return JSONParts.object(operations)
    }

    /// A field whose name begins like an operator's.
    private static func escaped(_ path: String) -> String { path.hasPrefix("$") ? "\\" + path : path }

    private static func parts(_ word: String) -> (path: String, operation: String, value: String)? {
        guard let first = word.first(where: { !$0.isWhitespace }), !"{[\"".contains(first) else { return nil }
        var index = word.startIndex
        while index < word.endIndex {
            if let found = signs.first(where: { word[index...].hasPrefix($0.sign) }) {
                guard index != word.startIndex else { return nil }
                let behind = word.index(index, offsetBy: found.sign.count)
                return (String(word[..<index]), found.operation, String(word[behind...]))
            }
            index = word.index(after: index)
        }
        return nil
    }
}

extension String {
    /// Without white space at either end.
    fileprivate var trimmed: String {
        var text = drop(while: \.isWhitespace)
        while text.last?.isWhitespace ?? false { text.removeLast() }
        return String(text)
    }
}
