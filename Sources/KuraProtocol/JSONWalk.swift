public import KuraBytes

/// Walks over the members of an object or the elements of an array inside a request that has already been checked.
public struct JSONWalk {
    private var reader: JSONReader
    private var isFirst = true
    private let close: UInt8
    private let scratch: Scratch

    /// `container` is an object's or array's text, already checked, brackets included.
    public init(_ container: Bytes, storage: WalkStorage) {
        reader = JSONReader(container, grammar: .rfc8259, names: storage.names)
        close = container.first == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: "]")
        scratch = storage.scratch
        reader.open()
    }

    /// The next element's text; nil at the end.
    public mutating func nextElement() -> Bytes? {
        guard hasNext() else { return nil }
        return valueBytes()
    }

    /// The next member: its name with escapes resolved (good until the next call) and its value's text.
    public mutating func nextMember() -> (name: Bytes, value: Bytes)? {
        guard hasNext(), let name = try? reader.name() else { return nil }
        let raw = reader.text.extracting(Int(name.start)..<Int(name.end))
        let resolved = name.hasEscapes ? scratch.unescape(raw) : raw
        guard let value = valueBytes() else { return nil }
        return (resolved, value)
    }

    private mutating func hasNext() -> Bool {
        if isFirst {
            isFirst = false
            return reader.peek() != close
        }
        return reader.take(UInt8(ascii: ","))
    }

    private mutating func valueBytes() -> Bytes? {
        guard let value = try? reader.value() else { return nil }
        return reader.text.extracting(Int(value.start)..<Int(value.end))
    }

    /// The bytes of a string's text with quotes, escapes resolved into `storage`; nil when the text is no string. Good until
    /// `storage` is used for another string, or let go of.
    public static func string(_ text: Bytes, storage: WalkStorage) -> Bytes? {
        guard text.count >= 2, text[0] == UInt8(ascii: "\"") else { return nil }
        let raw = Bytes(rebasing: text[1..<text.count - 1])
        return raw.contains(UInt8(ascii: "\\")) ? storage.text.unescape(raw) : raw
    }

    /// Whether bytes can be a name of at most `limit` bytes: UTF-8, not empty, no control characters.
    public static func isName(_ bytes: Bytes, limit: Int) -> Bool {
        !bytes.isEmpty && bytes.count <= limit && !RequestReader.hasControls(bytes) && UTF8Check.isWhole(bytes)
    }

    public static func isUTF8(_ bytes: Bytes) -> Bool { UTF8Check.isWhole(bytes) }
}

/// Scratch of one level of walking; one for each walk that is under way at the same time.
public final class WalkStorage {
    let names = NameStack()
    let scratch = Scratch()
    let text = Scratch()

    public init() {}

    /// Overwrites with zeros what names and texts were resolved into.
    public func wipe() {
        scratch.wipe()
        text.wipe()
    }
}

extension JSONReader {
    /// Steps inside the bracket that comes next.
    mutating func open() {
        if peek() != nil { try? descend() }
    }
}
