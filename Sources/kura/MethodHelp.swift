import KuraClient
import KuraProtocol

/// Help on one method, made from its declaration.
enum MethodHelp {
    static func text(_ method: Method) -> String {
        var parts = ["\(method.name) - \(method.summary)\n", "usage: \(usage(method))\n"]
        if !method.parameters.isEmpty {
            let described = method.parameters.flatMap {
                rows($0, path: $0.name, presence: $0.isRequired ? "required" : "optional")
            }
            parts.append("parameters:\n" + Help.table(described, indent: 2))
        }
        let returned = method.result.flatMap { rows($0, path: $0.name, presence: $0.isRequired ? "always" : "maybe") }
        parts.append("result:\n" + Help.table(returned, indent: 2))
        if !method.errors.isEmpty {
            let names = method.errors.map { "\($0.facts.name)" }.joined(separator: ", ")
            parts.append("errors besides those that any request can meet: \(names)\n")
        }
        parts.append("example:\n  \(example(method))\n")
        return parts.joined(separator: "\n")
    }

    private static func usage(_ method: Method) -> String {
        let parameters = method.parameters.map { field in
            let word = field.type.isText ? "\(field.name)=…" : "\(field.name):=…"
            return field.isRequired ? word : "[\(word)]"
        }
        return (["kura call", method.name] + parameters).joined(separator: " ")
    }

    /// One row for the field and one for each field of the objects in it.
    private static func rows(_ field: Field, path: String, presence: String) -> [[String]] {
        [[path, field.type.words, presence, field.summary]]
            + inner(field.type, path: path).flatMap {
                rows($0.field, path: $0.path, presence: $0.field.isRequired ? presence : "")
            }
    }

    private static func inner(_ type: ValueType, path: String) -> [(field: Field, path: String)] {
        switch type {
        case .object(let fields): fields.map { ($0, "\(path).\($0.name)") }
        case .list(let element, _): inner(element, path: path + "[]")
        default: []
        }
    }

    /// The declaration's example as a command line.
    private static func example(_ method: Method) -> String {
        let given = JSONObject(Array(method.example.utf8))
        let words = (given?.names ?? []).map { name in
            let value = given?[name] ?? []
            guard let text = JSONObject.string(value), !text.hasPrefix("@") else {
                return "\(name):=\(quoted(String(decoding: value, as: UTF8.self)))"
            }
            return "\(name)=\(quoted(text))"
        }
        return (["kura call", method.name] + words).joined(separator: " ")
    }

    /// As a shell takes it for one word.
    private static func quoted(_ word: String) -> String {
        let isPlain = word.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
                UInt8(ascii: "/"), UInt8(ascii: ":"):
                true
            default: false
            }
        }
        if isPlain, !word.isEmpty { return word }
        return "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

extension ValueType {
    /// Usually written with `=`.
    fileprivate var isText: Bool {
        if case .json = self { return false }
        return acceptsText
    }
}
