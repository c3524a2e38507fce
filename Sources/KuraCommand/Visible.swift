import KuraBytes

/// Text as it is shown: safe for a terminal, and as wide as it is there.
enum Visible {
    /// For one line: line ends and tabs are written as `\n` and `\t`.
    static func line(_ text: String) -> String { TerminalText.line(text) }

    /// Line ends and tabs stay.
    static func text(_ text: String) -> String { TerminalText.text(text) }

    // MARK: Width

    /// Columns that a terminal uses for the text, which has no control characters.
    static func width(_ text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width($1) }
    }

    private static func width(_ character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.isEmojiPresentation { return 2 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        // East Asian wide and fullwidth; source: Unicode's EastAsianWidth.txt, by block.
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }

    /// At most so many columns; what does not fit ends with an ellipsis.
    static func truncated(_ text: String, to columns: Int) -> String {
        // A column is at most a few bytes: what is much longer need not be measured to be cut.
        if text.utf8.count <= columns { return text }
        var used = 0
        var result = ""
        for character in text {
            used += width(character)
            if used > columns { break }
            result.append(character)
        }
        guard used > columns else { return text }
        while !result.isEmpty, width(result) > columns - 1 { result.removeLast() }
        return columns > 0 ? result + "…" : ""
    }

    static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }
}
