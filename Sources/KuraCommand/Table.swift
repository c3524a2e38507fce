import KuraBytes
import KuraClient

/// Rows under headings, no wider than the terminal: the widest columns give way first, and what is cut ends with an ellipsis.
struct Table {
    private let columns: [String]
    private var rows: [[String]] = []
    /// Columns of numbers stand to the right.
    private var isNumeric: [Bool]
    private static let gap = 2
    private static let narrowest = 6

    init(columns: [String]) {
        self.columns = columns
        isNumeric = columns.map { _ in true }
    }

    var isEmpty: Bool { rows.isEmpty }

    /// - Parameter cells: each column's JSON text; nil where there is nothing.
    mutating func add(_ cells: [[UInt8]?]) {
        rows.append(
            cells.enumerated().map { index, cell in
                guard let cell else { return "" }
                if cell.first.map({ $0 == 0x2D || (0x30...0x39).contains($0) }) != true { isNumeric[index] = false }
                return Self.cell(cell)
            })
    }

    /// A string's text, other values as JSON, on one line. No terminal is wider than what is kept.
    static func cell(_ json: [UInt8]) -> String {
        Visible.line(JSONObject.string(json) ?? String(decoding: json.prefix(4096), as: UTF8.self))
    }

    func rendered(width: Int, style: Style) -> String {
        if needed > width {
            // Moments to the minute: cut off they would say less.
            var shorter = self
            shorter.rows = rows.map { $0.map { Self.isMoment($0) ? $0.prefix(16) + "Z" : $0 } }
            return shorter.drawn(width: width, style: style)
        }
        return drawn(width: width, style: style)
    }

    /// `2026-01-01T00:00:00.000Z`
    private static func isMoment(_ cell: String) -> Bool {
        let form = Array("0000-00-00T00:00:00.000Z".utf8)
        return cell.utf8.count == form.count
            && zip(cell.utf8, form).allSatisfy { $1 == 0x30 ? (0x30...0x39).contains($0) : $0 == $1 }
    }

    private func drawn(width: Int, style: Style) -> String {
        let widths = fitted(to: width)
        let heading = line(columns, widths) { style.bold($0) }
        return heading + rows.map { line($0, widths) { $0 } }.joined()
    }

    private func line(_ cells: [String], _ widths: [Int], _ dress: (String) -> String) -> String {
        var result = ""
        for (index, cell) in cells.enumerated() {
            let text = Visible.truncated(cell, to: widths[index])
            let space = String(repeating: " ", count: max(0, widths[index] - Visible.width(text)))
            let isLast = index == cells.count - 1
            result += isNumeric[index] ? space + dress(text) : dress(text) + (isLast ? "" : space)
            if !isLast { result += String(repeating: " ", count: Self.gap) }
        }
        return result + "\n"
    }

    /// Each column's widest cell's width.
    private var widest: [Int] {
        columns.enumerated().map { index, name in
            rows.reduce(Visible.width(name)) { max($0, Visible.width($1[index])) }
        }
    }

    /// What all of it would take.
    private var needed: Int { widest.reduce(0, +) + Self.gap * (columns.count - 1) }

    /// Each column's width: its widest cell's, or what is left of the line for the columns that do not fit.
    private func fitted(to width: Int) -> [Int] {
        var widths = widest
        let room = width - Self.gap * (columns.count - 1)
        while widths.reduce(0, +) > room, let widest = widths.max(), widest > Self.narrowest {
            // Down to the next narrower one, or as far as it takes, shared among the widest.
            let sharing = widths.filter { $0 == widest }.count
            let next = max(widths.filter { $0 < widest }.max() ?? 0, Self.narrowest)
            let excess = widths.reduce(0, +) - room
            let target = max(next, widest - (excess + sharing - 1) / sharing)
            widths = widths.map { $0 == widest ? target : $0 }
        }
        return widths
    }
}
