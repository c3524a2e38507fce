import KuraBytes
import KuraProtocol

/// A value of a JSON text, as a place in it.
struct Node {
    /// The text's bytes; of a string the inside, without quotes.
    var start: Int32
    var end: Int32
    /// The first node behind this one and all that is inside of it.
    var next: Int32
    /// Elements of an array, members of an object.
    var count: Int32 = 0
    /// Of a string with escapes: where its resolved bytes are. -1 without.
    var resolved: Int32 = -1
    var resolvedCount: Int32 = 0
    var kind: JSONKind
}

enum TapeFault: Error {
    case json(JSONFault)
    case tooManyNodes
}

/// A JSON text as a run of nodes in the text's order: an object is followed by name, value, name, value, … and an array by its
/// elements. One block of memory, used again from text to text.
struct Tape: ~Copyable {
    private var nodes = GrowingRow<Node>()
    private var resolved = ByteBuffer()
    private let names = NameStack()

    init() {}

    /// Reads `text`, which must stay where it is as long as the view is used.
    mutating func read(
        _ text: Bytes, grammar: JSONGrammar, maximumDepth: Int, maximumNodes: Int
    ) throws(TapeFault) -> TapeView {
        nodes.truncate(to: 0)
        resolved.removeAll()
        names.truncate(to: 0)
        var reader = JSONReader(text, grammar: grammar, maximumDepth: maximumDepth, names: names)
        try add(&reader, maximumNodes)
        do { try reader.expectEnd() } catch { throw .json(error) }
        return TapeView(nodes: nodes.values(), text: text, resolved: resolved.bytes)
    }

    /// Gives back what one large value has made it grow to.
    mutating func trim() {
        if nodes.capacity > 1024 { nodes.releaseMemory() }
        if resolved.capacity > 16_384 { resolved.releaseMemory() }
    }

    private mutating func add(_ reader: inout JSONReader, _ limit: Int) throws(TapeFault) {
        switch reader.peek() {
        case UInt8(ascii: "{"):
            let node = try open(&reader, .object, limit)
            let mark = names.count
            var members: Int32 = 0
            if !reader.take(UInt8(ascii: "}")) {
                repeat {
                    let name: JSONString
                    do { name = try reader.name() } catch { throw .json(error) }
                    try append(string: name.start, name.end, name.hasEscapes, in: reader.text, limit)
                    try add(&reader, limit)
                    members += 1
                } while reader.take(UInt8(ascii: ","))
                do { try reader.expect(UInt8(ascii: "}")) } catch { throw .json(error) }
            }
            do { try reader.closeNames(from: mark) } catch { throw .json(error) }
            close(&reader, node, members)
        case UInt8(ascii: "["):
            let node = try open(&reader, .array, limit)
            var elements: Int32 = 0
            if !reader.take(UInt8(ascii: "]")) {
                repeat {
                    try add(&reader, limit)
                    elements += 1
                } while reader.take(UInt8(ascii: ","))
                do { try reader.expect(UInt8(ascii: "]")) } catch { throw .json(error) }
            }
            close(&reader, node, elements)
        default:
            let value: JSONValue
            do { value = try reader.value() } catch { throw .json(error) }
            guard value.kind == .string else {
                try append(
                    Node(start: value.start, end: value.end, next: Int32(nodes.count + 1), kind: value.kind), limit)
                return
            }
            let (start, end) = (value.start + 1, value.end - 1)
            let hasEscapes = reader.text.extracting(Int(start)..<Int(end)).contains(0x5C)
            try append(string: start, end, hasEscapes, in: reader.text, limit)
        }
    }

    private mutating func open(_ reader: inout JSONReader, _ kind: JSONKind, _ limit: Int) throws(TapeFault) -> Int {
        try append(Node(start: Int32(reader.index), end: 0, next: 0, kind: kind), limit)
        do { try reader.descend() } catch { throw .json(error) }
        return nodes.count - 1
    }

    private mutating func close(_ reader: inout JSONReader, _ node: Int, _ inside: Int32) {
        reader.ascend()
        nodes[node].end = Int32(reader.index)
        nodes[node].next = Int32(nodes.count)
        nodes[node].count = inside
    }

    private mutating func append(
        string start: Int32, _ end: Int32, _ hasEscapes: Bool, in text: Bytes, _ limit: Int
    ) throws(TapeFault) {
        var node = Node(start: start, end: end, next: Int32(nodes.count + 1), kind: .string)
        if hasEscapes {
            node.resolved = Int32(resolved.count)
            JSONText.unescape(text.extracting(Int(start)..<Int(end)), into: &resolved)
            node.resolvedCount = Int32(resolved.count) - node.resolved
        }
        try append(node, limit)
    }

    private mutating func append(_ node: Node, _ limit: Int) throws(TapeFault) {
        guard nodes.count < nodes.capacity || nodes.count < limit else { throw .tooManyNodes }
        nodes.append(node)
    }
}

/// What a tape holds, for reading: good until the tape reads another text.
struct TapeView {
    let nodes: BorrowedRow<Node>
    let text: Bytes
    let resolved: Bytes

    @inline(__always)
    subscript(_ node: Int32) -> Node { nodes[Int(node)] }

    /// The bytes of a string, escapes resolved; of anything else its text.
    @inline(__always)
    func bytes(_ node: Int32) -> Bytes {
        let place = nodes[Int(node)]
        if place.resolved >= 0 {
            return resolved.extracting(Int(place.resolved)..<Int(place.resolved + place.resolvedCount))
        }
        return text.extracting(Int(place.start)..<Int(place.end))
    }

    /// The JSON text as it stands.
    func source(_ node: Int32) -> Bytes {
        let place = nodes[Int(node)]
        let quote: Int32 = place.kind == .string ? 1 : 0
        return text.extracting(Int(place.start - quote)..<Int(place.end + quote))
    }

    func string(_ node: Int32) -> String { String(decoding: bytes(node), as: UTF8.self) }

    func isSame(_ node: Int32, _ other: Bytes) -> Bool { bytes(node).equals(other) }

    /// The value of an object's member; nil without one of that name.
    func member(_ name: Bytes, of object: Int32) -> Int32? {
        var at = object + 1
        let end = self[object].next
        while at < end {
            if isSame(at, name) { return at + 1 }
            at = self[at + 1].next
        }
        return nil
    }
}
