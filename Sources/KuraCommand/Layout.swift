import KuraBytes

/// Running text for a terminal's width.
enum Layout {
    /// Words in lines of at most `width` columns.
    static func wrapped(_ text: String, width: Int) -> [String] {
        wrapped(words: text.split(separator: " ").map(String.init), width: width)
    }

    /// The same for words that may hold spaces, where no line ends.
    static func wrapped(words: [String], width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in words {
            if !line.isEmpty, Visible.width(line) + 1 + Visible.width(word) > width {
                lines.append(line)
                line = ""
            }
            line += (line.isEmpty ? "" : " ") + word
        }
        return lines + [line]
    }

    /// The words of a text; what stands between single quotes is one.
    static func pieces(of text: String) -> [String] {
        var pieces: [String] = []
        var isOpen = false
        for word in text.split(separator: " ", omittingEmptySubsequences: false).map(String.init) {
            if isOpen { pieces[pieces.count - 1] += " " + word } else { pieces.append(word) }
            if word.count(where: { $0 == "'" }) % 2 == 1 { isOpen.toggle() }
        }
        // A quote that nothing closes is an apostrophe.
        return isOpen ? text.split(separator: " ").map(String.init) : pieces
    }

    /// A paragraph whose lines but the first are indented.
    static func paragraph(_ text: String, width: Int, indent: Int = 0) -> String {
        paragraph(words: text.split(separator: " ").map(String.init), width: width, indent: indent)
    }

    static func paragraph(words: [String], width: Int, indent: Int = 0) -> String {
        let lines = wrapped(words: words, width: max(20, width - indent))
        return lines.joined(separator: "\n" + String(repeating: " ", count: indent)) + "\n"
    }

    /// Terms on the left, what they mean on the right, wrapped; a term too long for its column has a line of its own.
    static func definitions(
        _ rows: [(term: String, meaning: String)], indent: Int = 2, width: Int, style: Style = Style(isOn: false)
    ) -> String {
        let widest = min(max(12, width * 2 / 5), rows.map { Visible.width($0.term) }.max() ?? 0)
        let margin = String(repeating: " ", count: indent)
        let column = indent + widest + 2
        return rows.map { term, meaning in
            let lines = wrapped(meaning, width: max(20, width - column))
            let fits = Visible.width(term) <= widest
            let left = style.bold(term) + String(repeating: " ", count: max(0, widest - Visible.width(term)))
            let next = "\n" + String(repeating: " ", count: column)
            return margin + left + (fits ? "  " : next) + lines.joined(separator: next) + "\n"
        }.joined()
    }
}
