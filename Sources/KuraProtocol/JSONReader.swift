public import KuraBytes

/// Which texts are JSON.
///
/// Noncharacters (U+FFFE, U+FDD0, …) pass in both: RFC 7493 would forbid them, but Unicode's Corrigendum 9 says that they may
/// be interchanged, and a value is kept as it came.
public enum JSONGrammar: Sendable {
    /// RFC 8259 as it stands: lone surrogate escapes and repeated names pass.
    case rfc8259
    /// The wire's (RFC 7493, I-JSON): lone surrogate escapes and repeated names, escaped-equal ones too, are refused.
    case wire
}

public enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case object, array, string, number, `true`, `false`, null
}

/// Why a text is not JSON. `offset` counts bytes from the start of the text.
public struct JSONFault: Error, Equatable, Sendable {
    public enum Reason: UInt8, Sendable {
        case unexpectedEnd, unexpectedByte, badNumber, badEscape, controlCharacter, badUTF8, loneSurrogate
        case duplicateName, tooDeep, trailingBytes
    }
    public var reason: Reason
    public var offset: Int

    public init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }
}

/// A string as it stands in the text, without its quotes.
public struct JSONString: Sendable, BitwiseCopyable {
    public var start: Int32 = 0
    public var end: Int32 = 0
    public var hasEscapes = false
    public var count: Int { Int(end - start) }
}

/// A value as it stands in the text.
public struct JSONValue: Sendable {
    public var start: Int32 = 0
    public var end: Int32 = 0
    public var kind = JSONKind.null
    /// White space stands between its tokens: it must be taken out before the value is kept.
    public var hasWhitespace = false
    public var count: Int { Int(end - start) }
}

/// Walks over one JSON text in memory: checks it and says where things stand. It builds no tree and copies nothing.
///
/// Nesting is limited to `maximumDepth` levels (so recursion is bounded), texts to 2 GiB (offsets are 32 bits).
/// Source: RFC 8259, RFC 7493, RFC 3629.
public struct JSONReader {
    public let text: Bytes
    public var end: Int { text.count }
    public private(set) var index: Int
    let grammar: JSONGrammar
    let maximumDepth: Int
    /// Names of the objects that are open, for finding repeated ones.
    let names: NameStack
    var depth = 0
    var sawWhitespace = false

    public static let defaultMaximumDepth = 128

    /// `bytes` must stay where they are as long as the reader and what it returns are used. `names` is scratch that is used
    /// again from text to text; nobody else uses it meanwhile.
    public init(
        _ bytes: Bytes, from start: Int = 0, grammar: JSONGrammar = .wire,
        maximumDepth: Int = JSONReader.defaultMaximumDepth, names: NameStack
    ) {
        text = bytes
        index = start
        self.grammar = grammar
        self.maximumDepth = maximumDepth
        self.names = names
    }

    /// The byte at a position that has been compared with `end`.
    ///
    /// Safety: every caller looks whether its position is below `end`, the number of the text's bytes, and none is below 0:
    /// `index` only grows. Debug builds, with which all tests run, look again; in release builds a second look would cost a
    /// twentieth of a request.
    @inline(__always)
    private func byte(_ position: Int) -> UInt8 {
        assert(position >= 0 && position < end)
        return unsafe text[unchecked: position]
    }

    func fault(_ reason: JSONFault.Reason) -> JSONFault { JSONFault(reason: reason, offset: index) }

    // MARK: Tokens

    /// The next byte that is not white space, not consumed; nil at the end.
    @inline(__always)
    public mutating func peek() -> UInt8? {
        skipWhitespace()
        return index < end ? byte(index) : nil
    }

    @inline(__always)
    mutating func skipWhitespace() {
        guard index < end, byte(index) <= 0x20 else { return }
        skipSpaces()
    }

    private mutating func skipSpaces() {
        while index < end {
            switch byte(index) {
            case 0x20, 0x09, 0x0A, 0x0D:
                index += 1
                sawWhitespace = true
            default: return
            }
        }
    }

    /// Consumes `byte` after white space.
    @inline(__always)
    public mutating func expect(_ byte: UInt8) throws(JSONFault) {
        guard let next = peek() else { throw fault(.unexpectedEnd) }
        guard next == byte else { throw fault(.unexpectedByte) }
        index += 1
    }

    /// Consumes `byte` when it comes next.
    @inline(__always)
    public mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        index += 1
        return true
    }

    /// The text must be over (white space aside).
    public mutating func expectEnd() throws(JSONFault) {
        guard peek() == nil else { throw fault(.trailingBytes) }
    }

    // MARK: Values

    /// Checks one value and returns its place.
    @inline(__always)
    public mutating func value() throws(JSONFault) -> JSONValue {
        guard let first = peek() else { throw fault(.unexpectedEnd) }
        let outer = sawWhitespace
        sawWhitespace = false
        var result = JSONValue(start: Int32(truncatingIfNeeded: index))
        result.kind = try skip(first)
        result.end = Int32(truncatingIfNeeded: index)
        result.hasWhitespace = sawWhitespace
        sawWhitespace = sawWhitespace || outer
        return result
    }

    private mutating func skip(_ first: UInt8) throws(JSONFault) -> JSONKind {
        switch first {
        case UInt8(ascii: "\""):
            _ = try string()
            return .string
        case UInt8(ascii: "{"):
            try skipObject()
            return .object
        case UInt8(ascii: "["):
            try skipArray()
            return .array
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            try skipNumber()
            return .number
        case UInt8(ascii: "t"):
            try skipWord("true")
            return .true
        case UInt8(ascii: "f"):
            try skipWord("false")
            return .false
        case UInt8(ascii: "n"):
            try skipWord("null")
            return .null
        default:
            throw fault(.unexpectedByte)
        }
    }

    private mutating func skipWord(_ word: StaticString) throws(JSONFault) {
        let count = word.utf8CodeUnitCount
        guard end - index >= count else { throw fault(.unexpectedEnd) }
        guard text.extracting(index..<index + count).equals(word) else { throw fault(.unexpectedByte) }
        index += count
    }

    private mutating func skipNumber() throws(JSONFault) {
        if byte(index) == UInt8(ascii: "-") { index += 1 }
        guard index < end else { throw fault(.unexpectedEnd) }
        if byte(index) == UInt8(ascii: "0") {
            index += 1
        } else {
            try skipDigits()
        }
        if index < end, byte(index) == UInt8(ascii: ".") {
            index += 1
            try skipDigits()
        }
        if index < end, byte(index) | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < end, byte(index) == UInt8(ascii: "+") || byte(index) == UInt8(ascii: "-") { index += 1 }
            try skipDigits()
        }
    }

    private mutating func skipDigits() throws(JSONFault) {
        let start = index
        while index < end, byte(index) &- UInt8(ascii: "0") < 10 { index += 1 }
        guard index > start else { throw index < end ? fault(.badNumber) : fault(.unexpectedEnd) }
    }

    private mutating func skipArray() throws(JSONFault) {
        try descend()
        if !take(UInt8(ascii: "]")) {
            while true {
                guard let first = peek() else { throw fault(.unexpectedEnd) }
                _ = try skip(first)
                if take(UInt8(ascii: ",")) { continue }
                try expect(UInt8(ascii: "]"))
                break
            }
        }
        depth -= 1
    }

    private mutating func skipObject() throws(JSONFault) {
        try descend()
        let mark = names.count
        if !take(UInt8(ascii: "}")) {
            while true {
                _ = try name()
                guard let first = peek() else { throw fault(.unexpectedEnd) }
                _ = try skip(first)
                if take(UInt8(ascii: ",")) { continue }
                try expect(UInt8(ascii: "}"))
                break
            }
        }
        try closeNames(from: mark)
        depth -= 1
    }

    /// Steps over an opening bracket; every one counts one level.
    public mutating func descend() throws(JSONFault) {
        guard depth < maximumDepth else { throw fault(.tooDeep) }
        depth += 1
        index += 1
    }

    /// Steps out of what `descend` opened.
    public mutating func ascend() { depth -= 1 }

    // MARK: Names

    /// A member's name and its colon.
    public mutating func name() throws(JSONFault) -> JSONString {
        let result = try unnotedName()
        note(name: result)
        return result
    }

    /// The same for a caller that finds repeated names by itself.
    @inline(__always)
    mutating func unnotedName() throws(JSONFault) -> JSONString {
        guard let quote = peek() else { throw fault(.unexpectedEnd) }
        guard quote == UInt8(ascii: "\"") else { throw fault(.unexpectedByte) }
        let result = try string()
        try expect(UInt8(ascii: ":"))
        return result
    }

    /// The name belongs to the object that is open.
    @inline(__always)
    func note(name: JSONString) {
        if grammar == .wire { names.push(name) }
    }

    /// The names pushed since `mark` belong to an object that ends here: none may come twice.
    public func closeNames(from mark: Int) throws(JSONFault) {
        guard grammar == .wire, names.count > mark else { return }
        if names.hasDuplicate(from: mark, in: text) { throw fault(.duplicateName) }
        names.truncate(to: mark)
    }

    // MARK: Strings

    /// A string with its quotes; the place returned leaves them out.
    mutating func string() throws(JSONFault) -> JSONString {
        index += 1
        var result = JSONString(start: Int32(truncatingIfNeeded: index))
        while true {
            index = text.plainEnd(from: index)
            guard index < end else { throw fault(.unexpectedEnd) }
            switch byte(index) {
            case UInt8(ascii: "\""):
                result.end = Int32(truncatingIfNeeded: index)
                index += 1
                return result
            case UInt8(ascii: "\\"):
                result.hasEscapes = true
                try skipEscape()
            case 0..<0x20:
                throw fault(.controlCharacter)
            case 0x7F:
                index += 1
            default:
                guard UTF8Check.sequence(text, &index, end) else { throw fault(.badUTF8) }
            }
        }
    }

    private mutating func skipEscape() throws(JSONFault) {
        guard index + 1 < end else { throw fault(.unexpectedEnd) }
        switch byte(index + 1) {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        case UInt8(ascii: "u"):
            guard let unit = JSONText.hexUnit(text, at: index + 2, end: end) else { throw fault(.badEscape) }
            index += 6
            guard grammar == .wire, unit & 0xF800 == 0xD800 else { return }
            // RFC 7493, 2.1: a surrogate comes as a pair, high half first.
            guard unit < 0xDC00, index + 1 < end, byte(index) == UInt8(ascii: "\\"),
                byte(index + 1) == UInt8(ascii: "u"),
                let low = JSONText.hexUnit(text, at: index + 2, end: end), low & 0xFC00 == 0xDC00
            else { throw fault(.loneSurrogate) }
            index += 6
        default:
            throw fault(.badEscape)
        }
    }
}
