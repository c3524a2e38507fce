import KuraBytes
import KuraClient
import KuraProtocol

/// Prints results: for people on a terminal, for programs elsewhere, and as `--json` and `--ndjson` say.
struct ResultView {
    let method: Method
    let form: GlobalOptions.Form
    let console: Console
    /// Of a list; all when empty.
    var columns: [String] = []

    /// Prints one result.
    /// - Parameters:
    ///   - result: an object's JSON text.
    ///   - asked: the request's parameters.
    /// - Returns: `absent` when a value was asked for that is not there, and nobody was told to make it; what a shortfall says, which is told
    ///   besides.
    func show(_ result: [UInt8], asked: Parameters) -> ExitCode {
        let object = JSONObject(result)
        let shortfall = object.flatMap { Shortfall(method, $0, asked: asked) }
        let status = isAbsent(object, asked) ? .absent : shortfall?.status ?? health(object)
        if console.isQuiet { return status }
        // For programs, the reply says it.
        defer { if form == .standard, let shortfall { console.tell(shortfall) } }
        if form == .standard, status == .absent, !asked.hasFlag {
            console.remark("nothing is there")
        } else if form == .standard, showsBareValue, !asked.hasFlag, let value = object?["value"] {
            show(value: value)
            if object?.string("state") == "stale" { console.remark("stale: --json tells its age") }
        } else if form == .standard, method.result.first?.name == "count", let count = object?["count"] {
            console.print(line: count)
        } else if form != .json, let listing = Listing(method), let object {
            show(listing.items(of: object), listing)
            for remark in listing.remarks(on: object, method: method, asked: asked) { console.remark(remark) }
            if object["cursor"] != nil {
                console.remark("there is more: --all follows to the end, --json tells the cursor")
            } else if object.boolean("hasMore") == true {
                console.remark("there is more: --json tells where to go on")
            }
        } else if form == .standard, console.output.isTerminal {
            console.print(record(result, object))
        } else {
            console.print(line: result)
        }
        return status
    }

    /// Whether what a `get` asked for is not there, as its result says it: without a value, or with `found: false`.
    func isMiss(_ result: JSONObject) -> Bool {
        if showsBareValue { return result["value"] == nil }
        return ["get", "stat"].contains(method.verb) && result.boolean("found") == false
    }

    /// A miss that brings the token to make the value is no miss: the token was asked for.
    private func isAbsent(_ result: JSONObject?, _ asked: Parameters) -> Bool {
        guard let result, isMiss(result) else { return false }
        return result["token"] == nil || asked["claim"] != Array("true".utf8)
    }

    /// `storage health` is asked by those that only look at the status.
    private func health(_ result: JSONObject?) -> ExitCode {
        method.name == "storage.health" && result?.boolean("ready") == false ? .tryAgain : .done
    }

    /// A value is what the result is about: what else it has tells of the value.
    private var showsBareValue: Bool {
        method.result.first?.name == "value"
            || method.verb == "get" && method.result.contains { $0.name == "value" }
    }

    /// The bare value: text as it is, other values as JSON.
    private func show(value: [UInt8]) {
        guard console.output.isTerminal else {
            return console.print(line: JSONObject.string(value).map { Array($0.utf8) } ?? value)
        }
        if let text = JSONObject.string(value) {
            console.print(Visible.text(text) + "\n")
        } else {
            console.print(Self.readable(value))
        }
    }

    /// A page of a list, or all of it.
    func show(_ items: [[UInt8]], _ listing: Listing) {
        guard form == .standard, console.output.isTerminal else {
            for item in items { console.print(line: columns.isEmpty ? item : Listing.picked(columns, of: item)) }
            return
        }
        if items.isEmpty { return console.remark("none") }
        console.print(listing.table(of: items, columns: columns).rendered(width: console.width, style: console.style))
    }

    /// Names and values beside each other when all values are short; else indented JSON.
    private func record(_ result: [UInt8], _ object: JSONObject?) -> String {
        let entries = object?.entries ?? []
        let isFlat = entries.allSatisfy { $0.value.first != UInt8(ascii: "{") && $0.value.first != UInt8(ascii: "[") }
        guard isFlat, !entries.isEmpty else { return Self.readable(result) }
        let widest = entries.map { Visible.width($0.name) }.max() ?? 0
        return entries.map { name, value in
            let name = Visible.padded(Visible.line(name), to: widest)
            return "\(console.style.dim(name))  \(Table.cell(value))\n"
        }.joined()
    }

    /// Indented JSON, which may hold no control characters but C1 and DEL as they are.
    private static func readable(_ json: [UInt8]) -> String {
        Visible.text(String(decoding: JSONDocument.indented(json), as: UTF8.self)) + "\n"
    }
}
