import KuraBytes
import KuraClient

/// Rows under headings, no wider than the terminal: the widest columns give way first, and what is cut ends with an ellipsis. What
/// does not fit even so is a block of lines for each row.
struct Table {
    private let columns: [String]
    private var rows: [[String]] = []
    /// Columns of numbers stand to the right.
    private var isNumeric: [Bool]
    private static let gap = 2
    private static let narrowest = 8
    private static let comfortable = 12

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

    /// Columns that it takes when nothing of it is cut.
    var wholeWidth: Int { widest.reduce(0, +) + Self.gap * (columns.count - 1) }

    func rendered(width: Int, style: Style) -> String {
        if let widths = fitted(to: width, least: .max) { return drawn(widths, style) }
        // Cut off, a moment would say less than to the minute, or the day.
        for (digits, least) in [(16, Self.comfortable), (10, Self.comfortable), (10, Self.narrowest)] {
            var shorter = self
            shorter.rows = rows.map { $0.map { Self.isMoment($0) ? $0.prefix(digits) + (digits > 10 ? "Z" : "") : $0 } }
            if let widths = shorter.fitted(to: width, least: least) { return shorter.drawn(widths, style) }
        }
        return blocks(width: width, style: style)
    }

    /// A line for each cell that has something in it, since the rows would not fit.
    private func blocks(width: Int, style: Style) -> String {
        let widest = columns.map(Visible.width).max() ?? 0
        return rows.map { row in
            zip(columns, row).filter { !$0.1.isEmpty }.map { name, cell in
                let room = max(Self.narrowest, width - widest - Self.gap)
                return style.bold(Visible.padded(name, to: widest)) + String(repeating: " ", count: Self.gap)
                    + Visible.truncated(cell, to: room) + "\n"
            }.joined()
        }.joined(separator: "\n")
    }

    /// `2026-01-01T00:00:00.000Z`
    private static func isMoment(_ cell: String) -> Bool {
        let form = Array("0000-00-00T00:00:00.000Z".utf8)
        return cell.utf8.count == form.count
            && zip(cell.utf8, form).allSatisfy { $1 == 0x30 ? (0x30...0x39).contains($0) : $0 == $1 }
    }

    /// `2026-01-01T00:00Z`, or the day alone.
    private static func isShortMoment(_ cell: String) -> Bool {
        guard [10, 17].contains(cell.utf8.count) else { return false }
        return isMoment(String(cell.prefix(16)) + (cell.utf8.count == 10 ? "T00:00:00.000Z" : ":00.000Z"))
    }

    private func drawn(_ widths: [Int], _ style: Style) -> String {
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

    /// Each column's width: its widest cell's, or what is left of the line for the columns that do not fit. Numbers and moments are
    /// never cut: they would be others.
    /// - Parameters:
    ///   - width: of the line.
    ///   - least: how narrow a column may become.
    /// - Returns: nil when that does not do.
    private func fitted(to width: Int, least: Int) -> [Int]? {
        var widths = widest
        let room = width - Self.gap * (columns.count - 1)
        let mayShrink = columns.indices.map { column in
            !isNumeric[column] && !rows.contains { Self.isMoment($0[column]) || Self.isShortMoment($0[column]) }
        }
        while true {
            let excess = widths.reduce(0, +) - room
            if excess <= 0 { return widths }
            let open = widths.indices.filter { mayShrink[$0] && widths[$0] > least }
            guard let widest = open.map({ widths[$0] }).max() else { return nil }
            // Down to the next narrower one, or as far as it takes, shared among the widest.
            let sharing = open.filter { widths[$0] == widest }
            let next = max(open.map { widths[$0] }.filter { $0 < widest }.max() ?? 0, least)
            let target = max(next, widest - (excess + sharing.count - 1) / sharing.count)
            for column in sharing { widths[column] = target }
        }
    }
}
