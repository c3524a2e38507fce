import KuraBytes
import KuraJSON

/// The text of a document's search fields: for each field all strings at its path and below, in their order, one a line. Names of
/// members, numbers and other values are no text.
struct SearchText: ~Copyable {
    private var text = ByteBuffer()
    private var ends: [Int] = []

    /// There is nothing to be found.
    var isEmpty: Bool { text.isEmpty }
    var count: Int { text.count }

    /// Takes the text of a document in, in place of what was there.
    mutating func read(_ document: StoredValue, _ definition: SearchDefinition) {
        clear()
        let limit = definition.tokenizer.textBytes
        for field in definition.fields {
            if let value = field.path.find(in: document) { append(value, from: text.count, limit) }
            ends.append(text.count)
        }
    }

    mutating func clear() {
        text.removeAll()
        ends.removeAll(keepingCapacity: true)
    }

    subscript(field: Int) -> Bytes { text.bytes((field == 0 ? 0 : ends[field - 1])..<ends[field]) }

    func equals(_ other: borrowing SearchText) -> Bool { ends == other.ends && text.bytes.equals(other.text.bytes) }

    private mutating func append(_ value: StoredValue, from start: Int, _ limit: Int) {
        guard text.count < limit else { return }
        switch value.kind {
        case .string:
            guard !value.quoted.isEmpty else { return }
            if text.count > start { text.append("\n") }
            append(value.quoted)
            cut(limit)
        case .array: for element in value.elements { append(element, from: start, limit) }
        case .object: for member in value.members { append(member.value, from: start, limit) }
        case .null, .false, .true, .number: break
        }
    }

    /// Control characters become spaces: some of them mark what was found (`SnippetMaker`), and 0 would end the text.
    private mutating func append(_ quoted: Bytes) {
        guard quoted.contains(UInt8(ascii: "\\")) else { return text.append(quoted) }
        for byte in ResolvedText(quoted) { text.append(byte < 0x20 && byte != 0x0A ? 0x20 : byte) }
    }

    /// Leaves so many bytes at most, and no part of a character.
    private mutating func cut(_ limit: Int) {
        guard text.count > limit else { return }
        var end = limit
        while end > 0, text.bytes[end] & 0xC0 == 0x80 { end -= 1 }
        text.truncate(to: end)
    }
}
