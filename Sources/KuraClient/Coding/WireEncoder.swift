/// Makes compact JSON text of `Encodable` values, without Foundation.
///
/// Integers keep every digit, `Double` and `Float` get the shortest text that reads back as the same number, and members stand in the order in which they
/// are encoded. Dictionaries and sets, which have no order, are written in that of their members' texts: equal values have equal texts, so that what has not
/// changed is not written. Bytes (`[UInt8]`) become base64 text, as the protocol has them. Other types are as they encode themselves: a `Date` of Foundation's is a
/// number of seconds since 2001, its `Data` an array of numbers. NaN, infinities, an object that is given a name twice and more than 512 levels are refused.
public struct WireEncoder: Sendable {
    public init() {}

    /// - Returns: one JSON value.
    /// - Throws: `notEncodable`, with the path to what cannot be written.
    public func encode<T: Encodable>(_ value: T) throws(KuraError) -> [UInt8] {
        if let text = WireNode.scalar(value) { return text }
        let node = WireNode()
        do {
            try WireNode.encode(value, into: node, path: [])
        } catch {
            throw Self.fault(error)
        }
        var text: [UInt8] = []
        text.reserveCapacity(256)
        node.write(to: &text)
        return text
    }

    private static func fault(_ error: any Error) -> KuraError {
        switch error {
        case EncodingError.invalidValue(_, let context):
            let path = WirePath.text(context.codingPath)
            return KuraError(.notEncodable, "\(path.isEmpty ? "the value" : path): \(context.debugDescription)")
        case let error as KuraError: return error
        default: return KuraError(.notEncodable, "\(error)", advice: "")
        }
    }
}

enum WirePath {
    static func text(_ path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let position = key.intValue, key is WireIndex {
                text += "[\(position)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return text
    }
}

/// A place in an array, as a key.
struct WireIndex: CodingKey {
    var intValue: Int?
    var stringValue: String { String(intValue ?? 0) }

    init(_ position: Int) { intValue = position }
    init?(intValue: Int) { self.intValue = intValue }
    init?(stringValue: String) { nil }
}

struct WireName: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

/// A value that is being written. What is finished in it is text; what may still grow is a node of its own, at its place in the text.
final class WireNode {
    enum Kind { case empty, scalar, object, array }

    var kind = Kind.empty
    /// Of an object or array what stands within the brackets.
    var text: [UInt8] = []
    var children: [(offset: Int, node: WireNode)] = []
    var count = 0
    /// Where its elements begin, when they are yet to be put in order.
    private var starts: [Int]?
    /// Containers within that were asked for by name.
    private var named: [(name: String, node: WireNode)] = []
    /// What was wrong where nothing could be thrown.
    private var fault: EncodingError?
    private var names: [String] = []
    /// The same, once there are many.
    private var manyNames: Set<String> = []

    /// The text of what needs no node; nil for the rest.
    @inline(__always)
    static func scalar<T: Encodable>(_ value: T) -> [UInt8]? {
        var text: [UInt8] = []
        switch value {
        case let value as String: text.append(quoted: value)
        case let value as Int: text.append(number: value)
        case let value as Bool: text.append(contentsOf: (value ? "true" : "false").utf8)
        case let value as RawJSON: return value.text
        // By its type: an empty array of any other is taken for one of bytes as well.
        case let value as [UInt8] where T.self == [UInt8].self || T.self == [UInt8]?.self: text.append(base64: value)
        default: return nil
        }
        return text
    }

    /// `node` is empty.
    static func encode<T: Encodable>(_ value: T, into node: WireNode, path: [any CodingKey]) throws {
        if let text = scalar(value) {
            node.kind = .scalar
            node.text = text
        } else {
            guard path.count < JSONDocument.maximumDepth else {
                throw EncodingError.invalidValue(
                    value,
                    EncodingError.Context(
                        codingPath: Array(path.prefix(4)), debugDescription: "it goes on too deep, or without an end"))
            }
            let unordered = T.self as? any UnorderedValue.Type
            if unordered != nil { node.starts = [] }
            try value.encode(to: WireNodeEncoder(node: node, codingPath: path))
            if let fault = node.firstFault { throw fault }
            if let unordered { node.putInOrder(by: node.kind == .array ? unordered.elementsOfArray : 1) }
            // A type that encodes nothing is an object without members.
            if node.kind == .empty { node.kind = .object }
        }
    }

    func begin(_ kind: Kind, _ path: [any CodingKey]) throws {
        guard self.kind != kind else { return }
        guard self.kind == .empty else {
            throw EncodingError.invalidValue(
                self,
                EncodingError.Context(
                    codingPath: path, debugDescription: "a value is encoded as two kinds of value at once"))
        }
        self.kind = kind
    }

    /// A place behind what is there, for a member of that name.
    func add(name: String, _ path: [any CodingKey]) throws {
        let isNew: Bool
        if names.count < 16 {
            isNew = !names.contains(name)
            names.append(name)
        } else {
            if manyNames.isEmpty { manyNames = Set(names) }
            isNew = manyNames.insert(name).inserted
        }
        guard isNew else {
            throw EncodingError.invalidValue(
                name,
                EncodingError.Context(codingPath: path, debugDescription: "the object has the name \"\(name)\" twice"))
        }
        addElement()
        text.append(quoted: name)
        text.append(UInt8(ascii: ":"))
    }

    func addElement() {
        if count > 0 { text.append(UInt8(ascii: ",")) }
        starts?.append(text.count)
        count += 1
    }

    /// Puts elements, so many of which belong together, in the order of their texts.
    private func putInOrder(by width: Int) {
        guard let starts, count > width, children.isEmpty else { return }
        let ends = starts.dropFirst().map { $0 - 1 } + [text.count]
        let parts = stride(from: 0, to: starts.count, by: width).map { first in
            text[starts[first]..<ends[min(first + width, starts.count) - 1]]
        }
        let sorted = parts.sorted { $0.lexicographicallyPrecedes($1) }
        text = Array(sorted.joined(separator: [UInt8(ascii: ",")]))
    }

    /// Puts a value behind what is there.
    func put<T: Encodable>(_ value: T, path: @autoclosure () -> [any CodingKey]) throws {
        if let scalar = Self.scalar(value) {
            text += scalar
            return
        }
        let child = WireNode()
        try Self.encode(value, into: child, path: path())
        child.write(to: &text)
    }

    /// A node behind what is there, which is written to until all is done.
    func child() -> WireNode {
        let node = WireNode()
        children.append((text.count, node))
        return node
    }

    /// The same of a name; whoever asks for it again gets the same one.
    func child(name: String, _ path: [any CodingKey]) -> WireNode {
        if let known = named.first(where: { $0.name == name }) { return known.node }
        do { try add(name: name, path) } catch {
            fault = fault ?? error as? EncodingError
            return WireNode()
        }
        let node = child()
        named.append((name, node))
        return node
    }

    private var firstFault: EncodingError? {
        if let fault { return fault }
        for child in children { if let fault = child.node.firstFault { return fault } }
        return nil
    }

    func write(to output: inout [UInt8]) {
        switch kind {
        case .empty: output.append(contentsOf: "null".utf8)
        case .scalar: output += text
        case .object, .array:
            output.append(kind == .object ? UInt8(ascii: "{") : UInt8(ascii: "["))
            var start = 0
            for (offset, node) in children {
                output += text[start..<offset]
                node.write(to: &output)
                start = offset
            }
            output += text[start...]
            output.append(kind == .object ? UInt8(ascii: "}") : UInt8(ascii: "]"))
        }
    }
}

/// What has elements in no order.
private protocol UnorderedValue {
    /// How many elements of an array belong together, when it is encoded as one.
    static var elementsOfArray: Int { get }
}

extension Set: UnorderedValue {
    static var elementsOfArray: Int { 1 }
}

extension Dictionary: UnorderedValue {
    /// Key and value.
    static var elementsOfArray: Int { 2 }
}
