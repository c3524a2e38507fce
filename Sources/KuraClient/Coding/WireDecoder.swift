import KuraBytes
import KuraProtocol

/// Makes `Decodable` values of JSON text, without Foundation.
///
/// Integers are exact or refused: `5.0` and `5e0` are 5, a fraction or a number that does not fit is of the wrong type. Bytes (`[UInt8]`) are read from base64 text, or
/// from an array of numbers. Members that a type does not ask for are passed over.
public struct WireDecoder: Sendable {
    public init() {}

    /// - Throws: `wrongType`, with the path to what does not fit; `badReply` when the text is not one JSON value.
    public func decode<T: Decodable>(_ type: T.Type = T.self, from text: [UInt8]) throws(KuraError) -> T {
        let document: WireDocument
        do throws(JSONFault) { document = try WireDocument(text) } catch {
            throw KuraError(.badReply, "a text is not JSON: \(error.explanation)")
        }
        do {
            return try WireValue(document, 0).decode(type, path: [])
        } catch {
            throw Self.fault(error)
        }
    }

    /// The same of lent bytes; the most frequent types without anything in between.
    func decode<T: Decodable>(_ type: T.Type, from text: Bytes) throws(KuraError) -> T {
        if let value = Self.plain(type, text) { return value }
        return try decode(type, from: Array(text))
    }

    /// A value of one of the most frequent types, of a text that is written as the daemon does; nil for the rest.
    @inline(__always)
    private static func plain<T>(_ type: T.Type, _ text: Bytes) -> T? {
        if T.self == String.self {
            guard text.count >= 2, text[0] == UInt8(ascii: "\""), text.plainEnd(from: 1) == text.count - 1 else {
                return nil
            }
            return String(decoding: text.extracting(1..<text.count - 1), as: UTF8.self) as? T
        }
        if T.self == Int.self { return JSONNumber.integer(text).flatMap(Int.init(exactly:)) as? T }
        if T.self == Int64.self { return JSONNumber.integer(text) as? T }
        if T.self == Bool.self { return (text.equals("true") ? true : text.equals("false") ? false : nil) as? T }
        return nil
    }

    private static func fault(_ error: any Error) -> KuraError {
        func told(_ context: DecodingError.Context, _ key: (any CodingKey)?, _ what: String) -> KuraError {
            let path = WirePath.text(context.codingPath + (key.map { [$0] } ?? []))
            return KuraError(.wrongType, "\(path.isEmpty ? "the value" : path): \(what)")
        }
        switch error {
        case DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context):
            return told(context, nil, context.debugDescription)
        case DecodingError.valueNotFound(let type, let context):
            return told(context, nil, "null, where \(type) is expected")
        case DecodingError.keyNotFound(let key, let context): return told(context, key, "is missing")
        case let error as KuraError: return error
        default: return KuraError(.wrongType, "\(error)")
        }
    }
}

/// A checked text and where its parts are: one node a value, in the order of the text; an object's members are pairs of name and value.
final class WireDocument {
    struct Node {
        var start: Int32
        var end: Int32
        /// The node behind this one and all that is in it.
        var next: Int32
        var kind: JSONKind
        var hasEscapes = false
    }

    let text: [UInt8]
    private(set) var nodes: ContiguousArray<Node> = []
    private static let maximumDepth = 512

    init(_ text: [UInt8]) throws(JSONFault) {
        self.text = text
        guard text.count <= JSONDocument.maximumBytes else {
            throw JSONFault(reason: .unexpectedEnd, offset: text.count)
        }
        nodes.reserveCapacity(min(64, text.count / 8 + 1))
        var fault: JSONFault?
        text.withBytes { bytes in
            var reader = JSONReader(bytes, grammar: .rfc8259, maximumDepth: Self.maximumDepth, names: NameStack())
            do throws(JSONFault) {
                try take(&reader)
                try reader.expectEnd()
            } catch { fault = error }
        }
        if let fault { throw fault }
    }

    private func take(_ reader: inout JSONReader) throws(JSONFault) {
        let first = reader.peek()
        guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else {
            let value = try reader.value()
            add(value.start, value.end, value.kind)
            return
        }
        let own = nodes.count
        let isObject = first == UInt8(ascii: "{")
        let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        add(Int32(truncatingIfNeeded: reader.index), 0, isObject ? .object : .array)
        try reader.descend()
        if !reader.take(close) {
            while true {
                if isObject {
                    let name = try reader.name()
                    add(name.start - 1, name.end + 1, .string)
                    nodes[nodes.count - 1].hasEscapes = name.hasEscapes
                }
                try take(&reader)
                if reader.take(UInt8(ascii: ",")) { continue }
                try reader.expect(close)
                break
            }
        }
        reader.ascend()
        nodes[own].end = Int32(truncatingIfNeeded: reader.index)
        nodes[own].next = Int32(truncatingIfNeeded: nodes.count)
    }

    private func add(_ start: Int32, _ end: Int32, _ kind: JSONKind) {
        nodes.append(Node(start: start, end: end, next: Int32(truncatingIfNeeded: nodes.count + 1), kind: kind))
    }

    /// What a string's node stands for.
    func string(_ node: Node) -> String {
        let inside = text[Int(node.start) + 1..<Int(node.end) - 1]
        return inside.withBytes { bytes in
            guard bytes.contains(UInt8(ascii: "\\")) else { return String(decoding: bytes, as: UTF8.self) }
            var output = ByteBuffer()
            JSONText.unescape(bytes, into: &output)
            return String(decoding: output.bytes, as: UTF8.self)
        }
    }

    /// Whether a name's node is that name.
    func isName(_ node: Node, _ name: String) -> Bool {
        if node.hasEscapes { return string(node) == name }
        let utf8 = name.utf8
        guard utf8.count == Int(node.end - node.start) - 2 else { return false }
        return text[Int(node.start) + 1..<Int(node.end) - 1].elementsEqual(utf8)
    }
}

/// One value of a document.
struct WireValue {
    let document: WireDocument
    let position: Int

    init(_ document: WireDocument, _ position: Int) {
        self.document = document
        self.position = position
    }

    var node: WireDocument.Node { document.nodes[position] }
    var text: ArraySlice<UInt8> { document.text[Int(node.start)..<Int(node.end)] }
    var isNull: Bool { node.kind == .null }

    private var found: String {
        switch node.kind {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "the number \(String(decoding: text.prefix(40), as: UTF8.self))"
        case .true, .false: "true or false"
        case .null: "null"
        }
    }

    func mismatch(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
        .typeMismatch(
            type, DecodingError.Context(codingPath: path, debugDescription: "\(found), where \(type) is expected"))
    }

    func decode<T: Decodable>(_ type: T.Type, path: @autoclosure () -> [any CodingKey]) throws -> T {
        if type == String.self { return try string(path()) as! T }
        if type == Int.self { return try integer(Int.self, path()) as! T }
        if type == RawJSON.self { return RawJSON(checked: Array(text)) as! T }
        if type == [UInt8].self { return try bytes(path()) as! T }
        return try T(from: WireNodeDecoder(value: self, codingPath: path()))
    }

    func string(_ path: @autoclosure () -> [any CodingKey]) throws -> String {
        guard node.kind == .string else { throw mismatch(String.self, path()) }
        return document.string(node)
    }

    func boolean(_ path: @autoclosure () -> [any CodingKey]) throws -> Bool {
        switch node.kind {
        case .true: true
        case .false: false
        default: throw mismatch(Bool.self, path())
        }
    }

    func integer<T: FixedWidthInteger>(_ type: T.Type, _ path: @autoclosure () -> [any CodingKey]) throws -> T {
        guard node.kind == .number else { throw mismatch(type, path()) }
        if let value = text.withBytes({ JSONNumber.integer($0) }), let value = T(exactly: value) { return value }
        // Beyond 2^63 − 1.
        if let value = UInt64(String(decoding: text, as: UTF8.self)), let value = T(exactly: value) { return value }
        throw mismatch(type, path())
    }

    func number<T: LosslessStringConvertible & BinaryFloatingPoint>(
        _ type: T.Type, _ path: @autoclosure () -> [any CodingKey]
    ) throws -> T {
        // One that is too large would be infinite.
        guard node.kind == .number, let value = T(String(decoding: text, as: UTF8.self)), value.isFinite else {
            throw mismatch(type, path())
        }
        return value
    }

    private func bytes(_ path: @autoclosure () -> [any CodingKey]) throws -> [UInt8] {
        if node.kind == .array {
            var elements = WireElements(self)
            var bytes: [UInt8] = []
            while let element = elements.next() { bytes.append(try element.integer(UInt8.self, path())) }
            return bytes
        }
        var output = ByteBuffer()
        let isGood = Array(try string(path()).utf8).withBytes { Base64.decode($0, into: &output) }
        guard isGood else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: path(), debugDescription: "a text that is no base64, where bytes are expected"))
        }
        return Array(output.bytes)
    }
}

/// The elements of an array, one after the other.
struct WireElements {
    let document: WireDocument
    private(set) var position: Int
    let end: Int

    init(_ array: WireValue) {
        document = array.document
        position = array.position + 1
        end = Int(array.node.next)
    }

    var current: WireValue? { position < end ? WireValue(document, position) : nil }

    mutating func next() -> WireValue? {
        guard let value = current else { return nil }
        position = Int(value.node.next)
        return value
    }
}
