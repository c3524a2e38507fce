public import KuraBytes

/// The kinds of JSON values, in the order in which values of different kinds sort (CouchDB's and MongoDB's alike).
public enum ValueKind: UInt8, Sendable, Comparable, BitwiseCopyable {
    case null, `false`, `true`, number, string, array, object

    public static func < (left: ValueKind, right: ValueKind) -> Bool { left.rawValue < right.rawValue }
}

/// A JSON value as the stores keep it: text that was checked when it came in, without white space between its tokens.
///
/// Nothing is checked again: looking into a value only looks for where its parts end, which is several times as fast as
/// reading it. Text that is no JSON gives wrong parts, never a place outside of its bytes.
public struct StoredValue {
    /// The value's text, strings with their quotes.
    public let text: Bytes

    public init(_ text: Bytes) {
        self.text = text
    }

    public var kind: ValueKind {
        switch text.first {
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "f"): .false
        case UInt8(ascii: "t"): .true
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "{"): .object
        default: .number
        }
    }

    /// The inside of a string, escapes as they stand.
    public var quoted: Bytes { text.count < 2 ? Bytes() : text.extracting(1..<text.count - 1) }

    /// The members of an object, the elements of an array.
    public var members: Members { Members(text) }
    public var elements: Elements { Elements(text) }

    /// A member of an object.
    public struct Member {
        /// The inside of its name, escapes as they stand.
        public var name: Bytes
        public var value: StoredValue
        /// Its name with the quotes: a string of its own.
        public var quotedName: Bytes

        public var nameHasEscapes: Bool { name.contains(UInt8(ascii: "\\")) }
    }

    /// Walks over an object's members in the order of the text; over anything else, over none.
    public struct Members: IteratorProtocol, Sequence {
        private let text: Bytes
        private var index: Int

        init(_ text: Bytes) {
            self.text = text
            index = text.first == UInt8(ascii: "{") ? 1 : text.count
        }

        public mutating func next() -> Member? {
            guard index < text.count, text[index] == UInt8(ascii: "\"") else { return nil }
            let behindName = StoredValue.endOfString(text, index)
            let end = StoredValue.end(text, behindName + 1)
            guard end <= text.count, behindName < end else { return nil }
            defer { index = end + 1 }
            return Member(
                name: text.extracting(index + 1..<behindName - 1),
                value: StoredValue(text.extracting(behindName + 1..<end)),
                quotedName: text.extracting(index..<behindName))
        }
    }

    /// Walks over an array's elements; over anything else, over none.
    public struct Elements: IteratorProtocol, Sequence {
        private let text: Bytes
        private var index: Int

        init(_ text: Bytes) {
            self.text = text
            index = text.first == UInt8(ascii: "[") && text.count > 2 ? 1 : text.count
        }

        public mutating func next() -> StoredValue? {
            guard index < text.count - 1 else { return nil }
            let end = StoredValue.end(text, index)
            defer { index = end + 1 }
            return StoredValue(text.extracting(index..<end))
        }
    }

    /// The place behind the value that begins at `start`.
    static func end(_ text: Bytes, _ start: Int) -> Int {
        guard start < text.count else { return text.count }
        switch text[start] {
        case UInt8(ascii: "\""): return endOfString(text, start)
        case UInt8(ascii: "{"), UInt8(ascii: "["): return endOfContainer(text, start)
        default: return endOfWord(text, start)
        }
    }

    /// Of a number or a word: up to what can stand behind one.
    private static func endOfWord(_ text: Bytes, _ start: Int) -> Int {
        var index = start
        while index < text.count {
            // Safety: the loop has compared the place with the number of bytes.
            switch unsafe text[unchecked: index] {
            case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"): return index
            default: index += 1
            }
        }
        return index
    }

    private static func endOfContainer(_ text: Bytes, _ start: Int) -> Int {
        var depth = 0
        var index = start
        while index < text.count {
            // Safety: the loop has compared the place with the number of bytes.
            switch unsafe text[unchecked: index] {
            case UInt8(ascii: "\""):
                index = endOfString(text, index)
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
                if depth == 0 { return index }
            default:
                index += 1
            }
        }
        return text.count
    }

    /// Behind the closing quote. Eight bytes at a time are looked through for quotes and backslashes.
    static func endOfString(_ text: Bytes, _ start: Int) -> Int {
        var index = start + 1
        while index < text.count {
            while text.count - index >= 8 {
                // Safety: there are eight bytes behind `index`.
                let word = unsafe text.loadUnaligned(uncheckedByteOffset: index, as: UInt64.self).littleEndian
                let found = zeroBytes(word ^ 0x2222_2222_2222_2222) | zeroBytes(word ^ 0x5C5C_5C5C_5C5C_5C5C)
                guard found == 0 else {
                    index += found.trailingZeroBitCount >> 3
                    break
                }
                index += 8
            }
            guard index < text.count else { break }
            switch text[index] {
            case UInt8(ascii: "\""): return index + 1
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        return text.count
    }

    /// The high bit of each byte that is zero; the lowest that is set is right, others may follow it.
    @inline(__always)
    private static func zeroBytes(_ word: UInt64) -> UInt64 {
        (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080
    }
}
