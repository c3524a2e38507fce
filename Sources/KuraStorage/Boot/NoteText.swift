import Glibc
import KuraBytes
import KuraJSON
import SQLite

/// Small files of our own that say how things stand: one JSON object each, for people to read and for the next start.
///
/// Whoever reads one believes nothing that has another form; what is missing is 0, or empty.
struct NoteReader {
    private let text: Bytes

    /// - Returns: nil for what is no object from its first byte to its last, white space aside.
    init?(_ text: Bytes) {
        var end = text.count
        while end > 0, text[end - 1] == 0x20 || text[end - 1] == 0x0A { end -= 1 }
        guard end > 1, text[0] == UInt8(ascii: "{"), text[end - 1] == UInt8(ascii: "}") else { return nil }
        self.text = text.extracting(0..<end)
        guard number("format") == Int64(Self.newestFormat) else { return nil }
    }

    private init(member: Bytes) { text = member }

    /// A text of any format.
    static func newer(_ text: Bytes) -> NoteReader? {
        guard text.count > 2, text[0] == UInt8(ascii: "{"), text[text.count - 2] == UInt8(ascii: "}") else {
            return nil
        }
        return NoteReader(member: text.extracting(0..<text.count - 1))
    }

    static let newestFormat = 1

    /// The number of a text's format; nil when it says none.
    static func format(of text: [UInt8]) -> Int? {
        text.withBytes { text in
            guard text.count > 2, text[0] == UInt8(ascii: "{"), text[text.count - 2] == UInt8(ascii: "}") else {
                return nil
            }
            let number = NoteReader(member: text.extracting(0..<text.count - 1)).count("format")
            return number > 0 ? number : nil
        }
    }

    private func value(_ name: StaticString) -> StoredValue? {
        StoredValue(text).members.first { $0.name.equals(name) }?.value
    }

    func text(_ name: StaticString) -> String {
        guard let value = value(name), value.kind == .string else { return "" }
        return String(decoding: Array(ResolvedText(value.quoted)), as: UTF8.self)
    }

    func number(_ name: StaticString) -> Int64 {
        guard let value = value(name), value.kind == .number else { return 0 }
        return Int64(String(decoding: value.text, as: UTF8.self)) ?? 0
    }

    /// The same for what cannot be negative.
    func count(_ name: StaticString) -> Int { Int(max(0, min(number(name), Int64(Int32.max)))) }

    func rev(_ name: StaticString) -> UInt64 { UInt64(max(0, number(name))) }

    func flag(_ name: StaticString) -> Bool { value(name)?.kind == .true }

    func texts(_ name: StaticString) -> [String] {
        guard let value = value(name) else { return [] }
        return value.elements.filter { $0.kind == .string }
            .map { String(decoding: Array(ResolvedText($0.quoted)), as: UTF8.self) }
    }

    func objects(_ name: StaticString) -> [NoteReader] {
        guard let value = value(name) else { return [] }
        return value.elements.filter { $0.kind == .object }.map { NoteReader(member: $0.text) }
    }
}

extension ByteBuffer {
    /// `,"name":"text"`.
    mutating func append(note name: StaticString, _ text: String) {
        append(noteName: name)
        append(noteText: text)
    }

    mutating func append(note name: StaticString, _ number: Int64) {
        append(noteName: name)
        append(text: String(number))
    }

    mutating func append(note name: StaticString, _ flag: Bool) {
        append(noteName: name)
        append(flag ? "true" : "false")
    }

    mutating func append(note name: StaticString, _ texts: [String]) {
        append(noteName: name)
        append("[")
        for (position, text) in texts.enumerated() {
            if position > 0 { append(",") }
            append(noteText: text)
        }
        append("]")
    }

    mutating func append(noteName name: StaticString) {
        append(",\"")
        append(name)
        append("\":")
    }

    private mutating func append(noteText text: String) {
        // A reason may have several lines.
        text.utf8.map { $0 < 0x20 ? 0x20 : $0 }.withBytes { append(quotedName: $0) }
    }
}

extension FileSystem {
    /// The bytes of a small file; nil when there is none.
    static func contents(_ path: String, atMost limit: Int = 1 << 20) throws(StorageFault) -> [UInt8]? {
        guard exists(path) else { return nil }
        let descriptor = try openRegular(path)
        defer { close(descriptor) }
        var buffer = ByteBuffer()
        while buffer.count < limit {
            let count = try read(
                descriptor, atMost: limit - buffer.count, at: buffer.count, into: &buffer, path: path)
            if count == 0 { break }
        }
        return Array(buffer.bytes)
    }

    /// Puts a file in the place of another, durably: whatever happens, one of the two is there whole.
    static func replace(_ path: String, with text: Bytes, in directory: String) throws(StorageFault) {
        let fresh = path + ".new"
        do throws(StorageFault) {
            let descriptor = try open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
            defer { close(descriptor) }
            try write(descriptor, text, at: 0, path: fresh, isBilled: true)
            CountingVFS.count(path: fresh, syncs: 1)
            guard fsync(descriptor) == 0 else { throw fail("fsync", fresh) }
        } catch {
            tryToRemove(fresh)
            throw error
        }
        try rename(fresh, path)
        try syncDirectory(directory)
    }
}
