import KuraBytes

/// A JSON text as a tree, for documents that are rendered once. The hot path has no tree.
indirect enum JSONTree {
    /// Members in the order in which they are written.
    case object([(name: String, value: JSONTree)])
    case array([JSONTree])
    case string(String)
    case integer(Int64)
    case boolean(Bool)
    /// A number or word as it stands in a text.
    case token(String)

    /// Reads a text that is known to be JSON, as those in the method table are.
    init(checked text: String) {
        self = Array(text.utf8).withBytes { JSONTree(checked: $0) }
    }

    private init(checked text: Bytes) {
        switch text.first {
        case UInt8(ascii: "{"):
            var walk = JSONWalk(text, storage: WalkStorage())
            var members: [(name: String, value: JSONTree)] = []
            while let (name, value) = walk.nextMember() {
                members.append((String(decoding: name, as: UTF8.self), JSONTree(checked: value)))
            }
            self = .object(members)
        case UInt8(ascii: "["):
            var walk = JSONWalk(text, storage: WalkStorage())
            var elements: [JSONTree] = []
            while let element = walk.nextElement() { elements.append(JSONTree(checked: element)) }
            self = .array(elements)
        default:
            // The string's bytes may stand in the storage, which has to outlive them.
            let storage = WalkStorage()
            self = withExtendedLifetime(storage) {
                guard let string = JSONWalk.string(text, storage: storage) else {
                    return .token(String(decoding: text, as: UTF8.self))
                }
                return .string(String(decoding: string, as: UTF8.self))
            }
        }
    }

    /// The text with two spaces a level and a final newline.
    func pretty() -> [UInt8] {
        var output = ByteBuffer()
        append(to: &output, level: 0)
        output.append(0x0A)
        return Array(output.bytes)
    }

    /// The text on one line, without a final newline.
    func compact() -> [UInt8] {
        var output = ByteBuffer()
        append(to: &output, level: nil)
        return Array(output.bytes)
    }

    /// Without a level there is no white space.
    private func append(to output: inout ByteBuffer, level: Int?) {
        switch self {
        case .object(let members):
            Self.append(members, between: ("{", "}"), to: &output, level: level) { member, output, level in
                output.append(quoted: member.name)
                output.append(level == nil ? ":" : ": ")
                member.value.append(to: &output, level: level)
            }
        case .array(let elements):
            Self.append(elements, between: ("[", "]"), to: &output, level: level) { element, output, level in
                element.append(to: &output, level: level)
            }
        case .string(let text): output.append(quoted: text)
        case .integer(let value): output.append(integer: value)
        case .boolean(let value): output.append(value ? "true" : "false")
        case .token(let text): output.append(text: text)
        }
    }

    private static func append<Item>(
        _ items: [Item], between brackets: (StaticString, StaticString), to output: inout ByteBuffer, level: Int?,
        _ body: (Item, inout ByteBuffer, Int?) -> Void
    ) {
        output.append(brackets.0)
        let inner = level.map { $0 + 1 }
        for (index, item) in items.enumerated() {
            if index > 0 { output.append(",") }
            newLine(in: &output, level: inner)
            body(item, &output, inner)
        }
        if !items.isEmpty { newLine(in: &output, level: level) }
        output.append(brackets.1)
    }

    private static func newLine(in output: inout ByteBuffer, level: Int?) {
        guard let level else { return }
        output.append(0x0A)
        for _ in 0..<level { output.append("  ") }
    }
}

extension JSONTree: ExpressibleByStringLiteral {
    init(stringLiteral value: String) { self = .string(value) }
}
