import KuraBytes
import KuraProtocol

/// `$ref`: within the document only, and never around in a circle without going into the value.
extension Compiler {
    mutating func setReferences() throws(SchemaError) {
        for (rule, _) in references {
            let node = program.rules[rule].place.node
            guard tape[node].kind == .string else { throw error(node, .reference, "must be a string") }
            let text = tape.string(node)
            guard text.utf8.first == UInt8(ascii: "#") else {
                throw error(
                    node, .reference,
                    "only references within the schema are followed (# and #/definitions/…), not \(text)")
            }
            guard let pointer = Self.percentDecoded(Array(text.utf8.dropFirst())), let place = tape.node(at: pointer)
            else {
                throw error(node, .reference, "\(text) leads nowhere")
            }
            guard let target = places[place] else { throw error(node, .reference, "\(text) is no schema") }
            program.rules[rule].test = .reference(target)
        }
    }

    /// A fragment of a URI as the bytes of UTF-8 that it stands for (RFC 3986, 2.1).
    private static func percentDecoded(_ text: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next().flatMap(hexDigit), let low = rest.next().flatMap(hexDigit) else { return nil }
            bytes.append(high << 4 | low)
        }
        return String(validating: bytes, as: UTF8.self) == nil ? nil : bytes
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// A schema that comes back to itself on the same value would never end. Walked with a stack of its own: a chain may be as
    /// long as there are subschemas.
    mutating func refuseLoops() throws(SchemaError) {
        enum Mark { case unseen, open, done }
        var marks = [Mark](repeating: .unseen, count: program.subschemas.count)
        var stack: [(schema: Int, targets: [(schema: Int32, node: Int32)])] = []
        for root in marks.indices where marks[root] == .unseen {
            marks[root] = .open
            stack.append((root, sameValue(root)))
            while let top = stack.indices.last {
                guard let (schema, node) = stack[top].targets.popLast() else {
                    marks[stack[top].schema] = .done
                    stack.removeLast()
                    continue
                }
                switch marks[Int(schema)] {
                case .done: continue
                case .open:
                    let isReference = tape[node].kind == .string
                    let keyword: Keyword = isReference ? .reference : program.subschemas[Int(schema)].place.keyword
                    throw error(node, keyword, "this leads back to itself without going into the value")
                case .unseen:
                    marks[Int(schema)] = .open
                    stack.append((Int(schema), sameValue(Int(schema))))
                }
            }
        }
    }

    /// The schemas that a schema holds against the same value, with the keyword's place.
    private func sameValue(_ schema: Int) -> [(schema: Int32, node: Int32)] {
        var targets: [(schema: Int32, node: Int32)] = []
        for rule in program.rules[program.subschemas[schema].rules.range] {
            switch rule.test {
            case .allOf(let run), .anyOf(let run), .oneOf(let run):
                targets += program.lists[run.range].map { ($0, rule.place.node) }
            case .not(let target), .reference(let target): targets.append((target, rule.place.node))
            case .conditional(let condition, let then, let otherwise):
                targets += [condition, then, otherwise].filter { $0 >= 0 }.map { ($0, rule.place.node) }
            case .dependencies(let run):
                targets += program.dependencies[run.range].filter { $0.schema >= 0 }.map {
                    ($0.schema, rule.place.node)
                }
            default: break
            }
        }
        return targets
    }
}
