import KuraBytes
import KuraClient
import KuraProtocol

/// Prints a subscription's notifications as they come.
///
/// A notification that carries a list of objects is printed item by item: lines of JSON in a pipe, rows on a terminal. Others, which
/// say something about the subscription itself, are printed whole, method and all; `--json` prints all of them so.
struct StreamView {
    let form: GlobalOptions.Form
    let console: Console
    /// Of what is told item by item; all when empty.
    private let wanted: [String]
    /// Of the rows printed last, with their widths so far.
    private var columns: [(name: String, width: Int)] = []

    init(form: GlobalOptions.Form, console: Console, wanted: [String] = []) {
        self.form = form
        self.console = console
        self.wanted = wanted
    }

    /// The reply that opened the subscription.
    func begin(_ result: [UInt8]) {
        if form == .json {
            if !console.isQuiet { console.print(line: result) }
            return
        }
        let rev = JSONObject(result)?.integer("rev").map { " from revision \($0)" } ?? ""
        console.remark("watching\(rev); ^C ends it")
    }

    /// The reply that opened it again, on another connection.
    func resume(_ result: [UInt8]) {
        if form == .json {
            if !console.isQuiet { console.print(line: result) }
            return
        }
        console.remark("connected again" + (JSONObject(result)?.integer("rev").map { ", from revision \($0)" } ?? ""))
    }

    /// - Parameters:
    ///   - notice: what has come.
    ///   - most: no more lines than these; nil: all.
    /// - Returns: how many lines it made; with `-q` those that it would have made.
    mutating func show(_ notice: Notice, most: Int? = nil) -> Int {
        guard form != .json, let items = Self.items(of: notice) else {
            if !console.isQuiet { showWhole(notice) }
            return 1
        }
        let told = items.prefix(most ?? items.count)
        guard !console.isQuiet else { return told.count }
        for item in told {
            if form == .standard, console.output.isTerminal, let object = JSONObject(item) {
                show(row: object)
            } else {
                console.print(line: wanted.isEmpty ? item : Listing.picked(wanted, of: item))
            }
        }
        return told.count
    }

    /// The list of objects that it carries; nil when it carries none.
    private static func items(of notice: Notice) -> [[UInt8]]? {
        for (_, value) in JSONObject(notice.params)?.entries ?? [] {
            guard let elements = JSONElements.read(value) else { continue }
            if elements.allSatisfy({ $0.first == UInt8(ascii: "{") }) { return elements }
        }
        return nil
    }

    private func showWhole(_ notice: Notice) {
        let params = notice.params.isEmpty ? Array("{}".utf8) : notice.params
        console.print(line: JSONParts.object([("method", JSONParts.string(notice.method)), ("params", params)]))
    }

    /// A heading whenever the columns are others than before; widths only grow.
    private mutating func show(row object: JSONObject) {
        let entries =
            wanted.isEmpty
            ? object.entries : wanted.compactMap { name in Listing.cell(object, name).map { (name: name, value: $0) } }
        let known = columns.map(\.name)
        let added = (wanted.isEmpty ? entries.map(\.name) : wanted).filter { !known.contains($0) }
        let cells = { (name: String) in entries.first { $0.name == name }.map { Table.cell($0.value) } ?? "" }
        columns += added.map { ($0, Visible.width($0)) }
        for index in columns.indices {
            let width = Visible.width(cells(columns[index].name))
            columns[index].width = min(max(columns[index].width, width), max(12, console.width / 3))
        }
        if !added.isEmpty { console.print(console.style.bold(line(columns.map(\.name))) + "\n") }
        console.print(line(columns.map { cells($0.name) }) + "\n")
    }

    private func line(_ cells: [String]) -> String {
        var text = ""
        for (cell, column) in zip(cells, columns) {
            let isLast = column.name == columns.last?.name
            let room = isLast ? max(6, console.width - Visible.width(text)) : column.width
            let cut = Visible.truncated(cell, to: room)
            text += isLast ? cut : Visible.padded(cut, to: column.width) + "  "
        }
        while text.last == " " { text.removeLast() }
        return Visible.truncated(text, to: console.width)
    }
}
