import KuraBytes
import KuraProtocol

extension JSONSchema {
    /// What the schema tells about one of its top-level `properties`, without following references.
    public struct Property: Equatable, Sendable {
        public var name: String
        public var title: String?
        public var description: String?
        /// The words of `type`; empty when the schema does not say.
        public var types: [String]
        /// The JSON text of `default`, as it stands in the schema.
        public var defaultText: [UInt8]?
    }

    /// The property of that name; nil when `properties` does not have it.
    public func property(named name: String) -> Property? {
        guard let properties = topLevel,
            let value = Array(name.utf8).withBytes({ tape.member($0, of: properties) })
        else { return nil }
        return property(at: value, name: name)
    }

    /// All of them, in the schema's order.
    public var properties: [Property] {
        guard let properties = topLevel else { return [] }
        var result: [Property] = []
        var at = properties + 1
        while at < tape[properties].next {
            result.append(property(at: at + 1, name: tape.string(at)))
            at = tape[at + 1].next
        }
        return result
    }

    private var topLevel: Int32? { member(.properties, of: 0) }

    private func member(_ keyword: Keyword, of node: Int32) -> Int32? {
        guard tape[node].kind == .object else { return nil }
        return Array(keyword.rawValue.utf8).withBytes { tape.member($0, of: node) }
    }

    private func property(at node: Int32, name: String) -> Property {
        Property(
            name: name, title: member(.title, of: node).map(tape.string),
            description: member(.description, of: node).map(tape.string), types: types(of: node),
            defaultText: member(.default, of: node).map { Array(tape.source($0)) })
    }

    private func types(of node: Int32) -> [String] {
        guard let type = member(.type, of: node) else { return [] }
        guard tape[type].kind == .array else { return [tape.string(type)] }
        var words: [String] = []
        var at = type + 1
        while at < tape[type].next {
            words.append(tape.string(at))
            at = tape[at].next
        }
        return words
    }
}
