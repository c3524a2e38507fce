import KuraBytes

/// What follows a backslash, and what stands in square brackets.
extension PatternSyntax {
    // MARK: Escapes

    mutating func escape() throws(PatternError) {
        guard let byte = next else { throw fault("nothing follows the last backslash") }
        isAtom = true
        switch byte {
        case UInt8(ascii: "b"), UInt8(ascii: "B"):
            index += 1
            emit("\\" + String(UnicodeScalar(byte)))
            isAtom = false
        case UInt8(ascii: "k"):
            index += 1
            guard take("<") else { throw fault("a group's name is missing") }
            emit("\\k<" + (try groupName()) + ">")
        case UInt8(ascii: "1")...UInt8(ascii: "9"):
            var number = 0
            while let digit = next, Self.isDigit(digit), number <= groups {
                number = number * 10 + Int(digit - UInt8(ascii: "0"))
                index += 1
            }
            guard number <= groups else { throw fault("there is no group of this number") }
            emit("\\g{\(number)}")
        default:
            if let set = try classEscape() {
                emit(set.isInClass ? "[" + set.text + "]" : set.text)
            } else {
                emit(scalar: try characterEscape())
            }
        }
    }

    /// `\d`, `\s`, `\p{…}` and the like; nil when the escape stands for one character. Steps over it when not nil.
    private mutating func classEscape() throws(PatternError) -> (text: String, isInClass: Bool)? {
        guard let byte = next else { return nil }
        switch byte {
        case UInt8(ascii: "d"), UInt8(ascii: "D"), UInt8(ascii: "w"), UInt8(ascii: "W"):
            index += 1
            // Without PCRE2's UCP option these are ASCII's, as ECMA wants them.
            return ("\\" + String(UnicodeScalar(byte)), false)
        case UInt8(ascii: "s"):
            index += 1
            return (Self.spaces, true)
        case UInt8(ascii: "S"):
            index += 1
            return (Self.notSpaces, true)
        case UInt8(ascii: "p"), UInt8(ascii: "P"):
            index += 1
            return ("\\" + String(UnicodeScalar(byte)) + "{" + (try property()) + "}", false)
        default: return nil
        }
    }

    private static let spaces =
        "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"
    private static let notSpaces =
        "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
        + "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"

    private mutating func property() throws(PatternError) -> String {
        guard take("{") else { throw fault("a property's name in braces must follow") }
        var name = ""
        while let byte = next, byte != UInt8(ascii: "}") {
            guard Self.isWord(byte) || byte == UInt8(ascii: "=") else { throw fault("this is no property's name") }
            name.unicodeScalars.append(UnicodeScalar(byte))
            index += 1
        }
        guard take("}"), !name.isEmpty else { throw fault("a property's name in braces must follow") }
        let parts = name.split(separator: "=", omittingEmptySubsequences: false)
        switch (parts.first, parts.count) {
        case ("Script", 2), ("sc", 2): return "sc:" + parts[1]
        case ("Script_Extensions", 2), ("scx", 2): return "scx:" + parts[1]
        case ("General_Category", 2), ("gc", 2): return Self.category(String(parts[1]))
        case (_, 1): return Self.category(name)
        default: throw fault("this is no property's name")
        }
    }

    /// PCRE2 knows general categories by their short names only.
    private static func category(_ name: String) -> String {
        switch name {
        case "Letter": "L"
        case "Uppercase_Letter": "Lu"
        case "Lowercase_Letter": "Ll"
        case "Titlecase_Letter": "Lt"
        case "Modifier_Letter": "Lm"
        case "Other_Letter": "Lo"
        case "Mark", "Combining_Mark": "M"
        case "Number": "N"
        case "Decimal_Number", "digit": "Nd"
        case "Letter_Number": "Nl"
        case "Other_Number": "No"
        case "Punctuation", "punct": "P"
        case "Symbol": "S"
        case "Currency_Symbol": "Sc"
        case "Math_Symbol": "Sm"
        case "Separator": "Z"
        case "Space_Separator": "Zs"
        case "Other": "C"
        case "Control", "cntrl": "Cc"
        case "Format": "Cf"
        case "Unassigned": "Cn"
        default: name
        }
    }

    /// One character, of which the backslash has been read.
    private mutating func characterEscape() throws(PatternError) -> UInt32 {
        guard let byte = next else { throw fault("nothing follows the last backslash") }
        index += 1
        switch byte {
        case UInt8(ascii: "t"): return 9
        case UInt8(ascii: "n"): return 10
        case UInt8(ascii: "v"): return 11
        case UInt8(ascii: "f"): return 12
        case UInt8(ascii: "r"): return 13
        case UInt8(ascii: "0"):
            if let digit = next, Self.isDigit(digit) { throw fault("octal escapes are not ECMA 262's") }
            return 0
        case UInt8(ascii: "c"):
            guard let letter = next, Self.isWord(letter), !Self.isDigit(letter), letter != UInt8(ascii: "_") else {
                throw fault("a letter must follow \\c")
            }
            index += 1
            return UInt32(letter & 31)
        case UInt8(ascii: "x"): return try hex(2)
        case UInt8(ascii: "u"): return try unicode()
        default:
            guard byte < 0x80, !Self.isWord(byte) || byte == UInt8(ascii: "_") else {
                throw fault("ECMA 262 has no such escape")
            }
            return UInt32(byte)
        }
    }

    private mutating func unicode() throws(PatternError) -> UInt32 {
        if take("{") {
            var value: UInt32 = 0
            var count = 0
            while let byte = next, let digit = Self.hexDigit(byte), value <= 0x10FFFF {
                value = value << 4 | digit
                count += 1
                index += 1
            }
            guard take("}"), count > 0, UnicodeScalar(value) != nil else { throw fault("this is no code point") }
            return value
        }
        let unit = try hex(4)
        guard unit & 0xF800 == 0xD800 else { return unit }
        guard unit < 0xDC00, take("\\u") else { throw fault("a surrogate comes as a pair") }
        let low = try hex(4)
        guard low & 0xFC00 == 0xDC00 else { throw fault("a surrogate comes as a pair") }
        return 0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF
    }

    private mutating func hex(_ count: Int) throws(PatternError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<count {
            guard let byte = next, let digit = Self.hexDigit(byte) else {
                throw fault("\(count) hex digits must follow")
            }
            value = value << 4 | digit
            index += 1
        }
        return value
    }

    // MARK: Classes

    mutating func characterClass() throws(PatternError) {
        emit(take("^") ? "[^" : "[")
        while !take("]") {
            let member = index
            let first = try classAtom()
            guard index + 1 < source.count, source[index] == UInt8(ascii: "-"), source[index + 1] != UInt8(ascii: "]")
            else {
                continue
            }
            index += 1
            // A set cannot begin or end a range: the dash then stands for itself.
            guard let first else {
                emit(scalar: UInt32(UInt8(ascii: "-")))
                continue
            }
            emit("-")
            guard let last = try classAtom() else {
                throw PatternError(message: "a range cannot end in a set", offset: member)
            }
            guard first <= last else { throw PatternError(message: "a range is out of order", offset: member) }
        }
        emit("]")
    }

    /// Writes one member of a class; nil when it is a set.
    private mutating func classAtom() throws(PatternError) -> UInt32? {
        guard let byte = next else { throw fault("a class is not closed") }
        if byte == UInt8(ascii: "\\") {
            index += 1
            if let set = try classEscape() {
                emit(set.text)
                return nil
            }
            let scalar: UInt32
            if take("b") { scalar = 8 } else { scalar = try characterEscape() }
            emit(scalar: scalar)
            return scalar
        }
        index += 1
        var scalar = UInt32(byte)
        if byte >= 0x80 {
            scalar &= byte < 0xE0 ? 0x1F : byte < 0xF0 ? 0x0F : 0x07
            while let more = next, more & 0xC0 == 0x80 {
                scalar = scalar << 6 | UInt32(more & 0x3F)
                index += 1
            }
        }
        emit(scalar: scalar)
        return scalar
    }
}
