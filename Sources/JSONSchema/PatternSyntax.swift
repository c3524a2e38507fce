import KuraBytes

/// Checks a regular expression by ECMA 262's grammar and rewrites it for PCRE2, so that what the two dialects read differently
/// means what ECMA says, and what only PCRE2 knows (verbs, recursion, options, possessive quantifiers, `\Q`, `\Z`, …) is refused.
///
/// It is the grammar with the `u` flag, but for braces and square brackets that open nothing, and escaped punctuation: those
/// stand for themselves, as web browsers have it. Groups inside of a repeated group keep what they took in the round before,
/// where ECMA would forget it. Source: ECMA-262 (2023), 22.2.1 and annex B.1.2.
struct PatternSyntax {
    /// The pattern for PCRE2, in its UTF mode.
    private(set) var text: [UInt8] = []
    /// For each byte of `text`, the offset that it comes from.
    private(set) var origins: [Int32] = []

    let source: Bytes
    var index = 0
    /// Where the token began that is being read.
    var start = 0
    private var openGroups: [Int] = []
    /// Whether a quantifier may come next.
    var isAtom = false
    let groups: Int

    /// `.` is any character.
    private var dotIsAny = false

    static func translate(_ source: Bytes, dotIsAny: Bool = false) throws(PatternError) -> PatternSyntax {
        var syntax = PatternSyntax(source)
        syntax.dotIsAny = dotIsAny
        try syntax.run()
        return syntax
    }

    private init(_ source: Bytes) {
        self.source = source
        groups = Self.countGroups(source)
    }

    private static func countGroups(_ source: Bytes) -> Int {
        var count = 0
        var index = 0
        var inClass = false
        while index < source.count {
            switch source[index] {
            case UInt8(ascii: "\\"): index += 1
            case UInt8(ascii: "["): inClass = true
            case UInt8(ascii: "]"): inClass = false
            case UInt8(ascii: "(") where !inClass:
                let rest = source[(index + 1)...].prefix(3).map { $0 }
                let isNamed =
                    rest.starts(with: "?<".utf8) && !rest.starts(with: "?<=".utf8) && !rest.starts(with: "?<!".utf8)
                if rest.first != UInt8(ascii: "?") || isNamed { count += 1 }
            default: break
            }
            index += 1
        }
        return count
    }

    // MARK: Reading

    var next: UInt8? { index < source.count ? source[index] : nil }

    mutating func take(_ word: StaticString) -> Bool {
        guard source.extracting(index..<source.count).starts(with: Bytes(word)) else { return false }
        index += word.utf8CodeUnitCount
        return true
    }

    func fault(_ message: String) -> PatternError { PatternError(message: message, offset: start) }

    mutating func emit(_ word: String) {
        for byte in word.utf8 { emit(byte) }
    }

    mutating func emit(_ byte: UInt8) {
        text.append(byte)
        origins.append(Int32(start))
    }

    /// A character that stands for itself, inside of classes too.
    mutating func emit(scalar: UInt32) {
        emit("\\x{" + String(scalar, radix: 16) + "}")
    }

    // MARK: Terms

    mutating func run() throws(PatternError) {
        while let byte = next {
            start = index
            try term(byte)
        }
        if let open = openGroups.last { throw PatternError(message: "a group is not closed", offset: open) }
    }

    mutating func term(_ byte: UInt8) throws(PatternError) {
        index += 1
        switch byte {
        case UInt8(ascii: "^"), UInt8(ascii: "$"), UInt8(ascii: "|"):
            emit(byte)
            isAtom = false
        case UInt8(ascii: "("): try openGroup()
        case UInt8(ascii: ")"):
            guard openGroups.popLast() != nil else { throw fault("there is no group to close") }
            emit(byte)
            isAtom = !lookarounds.remove(at: lookarounds.count - 1)
        case UInt8(ascii: "."):
            emit(dotIsAny ? "(?s:.)" : "[^\\n\\r\\x{2028}\\x{2029}]")
            isAtom = true
        case UInt8(ascii: "["):
            try characterClass()
            isAtom = true
        case UInt8(ascii: "\\"): try escape()
        case UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "?"): try quantifier(String(UnicodeScalar(byte)))
        case UInt8(ascii: "{"):
            if let braces = counts() { try quantifier(braces) } else { literal(byte) }
        default: literal(byte)
        }
    }

    /// One flag a group that is open: whether it looks around, which nothing may repeat.
    var lookarounds: [Bool] = []

    mutating func openGroup() throws(PatternError) {
        var isLookaround = false
        if take("?:") {
            emit("(?:")
        } else if take("?=") {
            emit("(?=")
            isLookaround = true
        } else if take("?!") {
            emit("(?!")
            isLookaround = true
        } else if take("?<=") {
            emit("(?<=")
            isLookaround = true
        } else if take("?<!") {
            emit("(?<!")
            isLookaround = true
        } else if take("?<") {
            emit("(?<" + (try groupName()) + ">")
        } else if next == UInt8(ascii: "?") {
            throw fault("ECMA 262 has no group of this kind")
        } else {
            emit("(")
        }
        openGroups.append(start)
        lookarounds.append(isLookaround)
        isAtom = false
    }

    mutating func groupName() throws(PatternError) -> String {
        var name = ""
        while let byte = next, byte != UInt8(ascii: ">") {
            guard Self.isWord(byte), !(name.isEmpty && Self.isDigit(byte)) else {
                throw fault("a group's name is of ASCII letters, digits and _")
            }
            name.unicodeScalars.append(UnicodeScalar(byte))
            index += 1
        }
        guard next != nil, !name.isEmpty else { throw fault("a group's name is missing") }
        index += 1
        return name
    }

    mutating func quantifier(_ text: String) throws(PatternError) {
        guard isAtom else { throw fault("there is nothing to repeat") }
        emit(text)
        if take("?") { emit("?") }
        isAtom = false
    }

    /// What stands in braces after the opening one, when it is a quantifier.
    mutating func counts() -> String? {
        let mark = index
        var result = "{"
        while let byte = next, Self.isDigit(byte) || byte == UInt8(ascii: ",") {
            result.unicodeScalars.append(UnicodeScalar(byte))
            index += 1
        }
        let parts = result.dropFirst().split(separator: ",", omittingEmptySubsequences: false)
        guard take("}"), parts.count <= 2, parts.first?.isEmpty == false else {
            index = mark
            return nil
        }
        return result + "}"
    }

    mutating func literal(_ byte: UInt8) {
        isAtom = true
        if byte >= 0x80 || Self.isWord(byte) {
            emit(byte)
            while let more = next, more & 0xC0 == 0x80, byte >= 0x80 {
                emit(more)
                index += 1
            }
        } else {
            emit(scalar: UInt32(byte))
        }
    }

    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    static func isWord(_ byte: UInt8) -> Bool {
        isDigit(byte) || (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "_")
    }

    static func hexDigit(_ byte: UInt8) -> UInt32? {
        UnicodeScalar(byte).properties.isASCIIHexDigit ? UInt32(String(UnicodeScalar(byte)), radix: 16) : nil
    }
}
