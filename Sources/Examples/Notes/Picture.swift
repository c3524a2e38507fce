/// Pictures of texts: a pixel a character, as PBM (https://netpbm.sourceforge.net/doc/pbm.html), which needs no library.
enum Picture {
    static let contentType = "image/x-portable-bitmap"
    static let width = 48, height = 64

    /// A page of text as it looks from far away: an empty row between lines.
    static func of(_ text: String) -> [UInt8] {
        let blank = String(repeating: "0", count: width)
        var rows: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).prefix(height / 2) {
            let pixels = line.prefix(width).map { $0.isWhitespace ? "0" : "1" }.joined()
            rows += [pixels + blank.dropFirst(pixels.count), blank]
        }
        rows += Array(repeating: blank, count: height - rows.count)
        return Array("P1\n\(width) \(height)\n\(rows.joined(separator: "\n"))\n".utf8)
    }

    /// The first two lines of text in a picture, as blocks for a terminal; its size when it is of another kind.
    static func preview(_ bytes: [UInt8]) -> String {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        guard lines.count >= 5, lines[0] == "P1", lines[1] == "\(width) \(height)" else {
            return "\(bytes.count) bytes"
        }
        let blocks = zip(lines[2], lines[4]).map { upper, lower in
            switch (upper, lower) {
            case ("1", "1"): "█"
            case ("1", _): "▀"
            case (_, "1"): "▄"
            default: " "
            }
        }
        return blocks.prefix(width / 2).joined()
    }
}
