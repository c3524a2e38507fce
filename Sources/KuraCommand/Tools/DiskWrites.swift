import KuraBytes
import KuraClient
import KuraProtocol

/// `kura disk-writes`: the write bill, as a chart and a table on the terminal, or as a page.
enum DiskWrites {
    static let tool = Tool(
        noun: nil, word: "disk-writes", arguments: [],
        options: [
            Tool.Option(
                name: "window", value: "hour|day|week|month", summary: "How far to look back; the day without it."),
            Tool.Option(
                name: "by", value: "store|method|client|user|scope|key",
                summary: "What the table's rows are; the store without it."),
            Tool.Option(name: "limit", value: "N", summary: "Rows of the table at most; 20 without it."),
            Tool.Option(
                name: "html", value: "FILE",
                summary: "Write a page with charts and tables instead: one file that needs no other."),
            .replace("The page's FILE"),
        ],
        summary: "Show what was written to the disk, when and for whom.",
        explanation: [
            "Bytes are counted where they leave for the disk, file by file, and shared out by what was asked for: the log and the tables among "
                + "\(Method.Store.durable.words.listed()), the caches' files among \(Method.Store.caches.words.listed()). What nobody asked for meanwhile is upkeep.",
            "Budgets that the configuration has, reports of those that were exceeded, and advice on what could be written less follow.",
            "On a terminal it draws a chart; elsewhere, and with --json, it prints what storage.diskWrites answers.",
        ],
        examples: [
            "kura disk-writes", "kura disk-writes --window hour --by method", "kura disk-writes --by key --limit 5",
            "kura disk-writes --window month --html writes.html",
        ])

    static func run(
        _ arguments: ToolArguments, _ options: GlobalOptions, _ console: Console, _ catalogue: Catalogue
    ) throws(Failure) -> ExitCode {
        try arguments.check(least: 0, most: 0)
        let page = arguments.value("html")
        if arguments.has("replace"), page == nil { throw .usage("--replace is for the FILE of --html") }
        // Before anything is asked: a file that is there is not written.
        let draft = try DraftFile(page ?? "-", replaces: arguments.has("replace"))
        var session = try Session.open(options, console)
        let method = try catalogue.method(named: "storage.diskWrites")
        if let page {
            var bills: [WriteBillView] = []
            for grouping in ["store", "method", "client", "key"] {
                let (_, bill) = try ask(&session, method, arguments, by: grouping)
                bills.append(bill)
            }
            try console.write(Array(DiskWritesPage(bills).html.utf8), to: draft)
            if !draft.isStandardOutput { console.remark("written to \(page)") }
            return .done
        }
        let (result, bill) = try ask(&session, method, arguments, by: arguments.value("by"))
        guard !console.isQuiet else { return .done }
        if options.form == .standard, console.output.isTerminal {
            console.print(bill.text(width: console.width, style: console.style))
        } else {
            console.print(line: result)
        }
        return .done
    }

    private static func ask(
        _ session: inout Session, _ method: Method, _ arguments: ToolArguments, by grouping: String?
    ) throws(Failure) -> ([UInt8], WriteBillView) {
        var params: [(name: String, value: [UInt8])] = []
        if let window = arguments.value("window") { params.append(("window", JSONParts.string(window))) }
        if let grouping { params.append(("by", JSONParts.string(grouping))) }
        if let limit = arguments.value("limit") {
            guard let number = Int(limit) else {
                throw .usage("--limit is a number", hint: "usage: kura \(tool.usage)")
            }
            params.append(("limit", Array("\(number)".utf8)))
        }
        let result = try session.result(method, JSONParts.object(params))
        guard let object = JSONObject(result), let bill = WriteBillView(object) else {
            throw Failure(status: .noDaemon, message: "the answer is none of storage.diskWrites")
        }
        return (result, bill)
    }
}

/// What `storage.diskWrites` answers.
struct WriteBillView {
    struct Group {
        var name: String
        var place: String
        var changes: Int64
        var logicalBytes: Int64
        /// Nil of scopes and keys.
        var bytes: Int64?
    }

    struct Interval {
        /// RFC 3339.
        var startedAt: String
        var bytes: Int64
        var parts: [(name: String, bytes: Int64)]
    }

    let window: String
    let grouping: String
    let totals: JSONObject
    let days: JSONObject
    let groups: [Group]
    let series: [Interval]
    let findings: WriteBillFindings

    init?(_ object: JSONObject) {
        guard let window = object.string("window"), let grouping = object.string("by"),
            let totals = object.object("totals"), let days = object.object("days"),
            let groups = object["groups"].flatMap(JSONElements.read),
            let series = object["series"].flatMap(JSONElements.read)
        else { return nil }
        self.window = window
        self.grouping = grouping
        self.totals = totals
        findings = WriteBillFindings(object)
        self.days = days
        self.groups = groups.compactMap { JSONObject($0) }.map { group in
            Group(
                name: group.string("name") ?? "",
                place: [group.string("store"), group.string("scope")].compactMap(\.self).joined(separator: " "),
                changes: group.integer("changes") ?? 0, logicalBytes: group.integer("logicalBytes") ?? 0,
                bytes: group.integer("bytes"))
        }
        self.series = series.compactMap { JSONObject($0) }.map { interval in
            Interval(
                startedAt: interval.string("startedAt") ?? "", bytes: interval.integer("bytes") ?? 0,
                parts: (interval.object("byStore")?.entries ?? []).map { part in
                    (part.name, JSONObject.integer(part.value) ?? 0)
                })
        }
    }

    func total(_ name: String) -> Int64 { totals.integer(name) ?? 0 }

    /// What an interval is called: its minute or hour, or its day.
    func label(_ interval: Interval) -> String {
        let isDay = window == "week" || window == "month"
        return isDay ? String(interval.startedAt.prefix(10)) : String(interval.startedAt.dropFirst(11).prefix(5))
    }

    /// Bytes that reached the disk for each that was asked to be kept: `2.4`; nil when nothing was asked for.
    var bytesPerLogicalByte: String? {
        let asked = total("logicalBytes")
        guard asked > 0 else { return nil }
        let hundredths = total("bytes") * 100 / asked
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }

    /// The lines on the whole.
    var facts: [(String, String)] {
        var facts = [
            (
                "written",
                "\(ByteText.size(total("bytes"))): log \(ByteText.size(total("log"))), tables \(ByteText.size(total("tables"))), caches \(ByteText.size(total("caches"))), other \(ByteText.size(total("other")))"
            ),
            (
                "asked for",
                "\(total("changes")) changes of \(ByteText.size(total("logicalBytes")))"
                    + (bytesPerLogicalByte.map { "; \($0) bytes written for each byte" } ?? "")
            ),
            (
                "upkeep",
                "\(ByteText.size(total("upkeepBytes"))) of it that nobody asked for: room for the log, checkpoints"
            ),
            (
                "syncs",
                "\(total("syncs")); \(total("syncsSaved")) saved by syncing together"
                    + (total("blockBytes") > 0
                        ? "; \(ByteText.size(total("blockBytes"))) besides, since the device takes whole blocks" : "")
            ),
            ("spared", "\(total("noOpWrites")) writes that changed nothing"),
            (
                "files",
                "\(total("creates")) made, \(total("renames")) renamed, \(total("deletes")) removed, about \(ByteText.size(total("metadataBytes"))) of the file system's own"
            ),
        ]
        if let count = days.integer("count"), count > 0 {
            let trend = days.integer("trend") ?? 0
            facts.append(
                (
                    "days",
                    "\(count) known: median \(ByteText.size(days.integer("p50") ?? 0)), one in ten over \(ByteText.size(days.integer("p90") ?? 0)), \(trend < 0 ? "falling" : "growing") by \(ByteText.size(abs(trend))) a day"
                ))
        }
        return facts
    }

    // MARK: The terminal

    func text(width: Int, style: Style) -> String {
        style.bold("written in the last \(window)") + "\n" + Layout.definitions(facts, width: width) + "\n"
            + chart(width: width, style: style) + "\n" + table.rendered(width: width, style: style)
            + findings.text(width: width, style: style)
    }

    private func chart(width: Int, style: Style) -> String {
        let most = series.map(\.bytes).max() ?? 0
        let labels = series.map(label)
        let column = labels.map(\.count).max() ?? 0
        let room = max(10, width - column - 14)
        return zip(series, labels).map { interval, label in
            let bar = Self.bar(interval.bytes, of: most, width: room)
            let space = String(repeating: " ", count: column - label.count)
            return "\(label)\(space)  \(style.green(bar))\(bar.isEmpty ? "" : " ")\(ByteText.size(interval.bytes))\n"
        }
        .joined()
    }

    /// A bar of so many columns at most, to an eighth of a column.
    static func bar(_ value: Int64, of most: Int64, width: Int) -> String {
        guard most > 0, value > 0 else { return "" }
        let eighths = max(1, Int(Double(value) / Double(most) * Double(width * 8)))
        let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8]
        return String(repeating: "█", count: eighths / 8) + part
    }

    private var table: Table {
        let isSketch = grouping == "scope" || grouping == "key"
        var table = Table(
            columns: isSketch
                ? [grouping, "in", "changes", "asked for"] : [grouping, "changes", "asked for", "written", "share"])
        let all = max(1, total("bytes"))
        for group in groups {
            let changes = Array("\(group.changes)".utf8)
            let asked = JSONParts.string(ByteText.size(group.logicalBytes))
            let name = JSONParts.string(Self.name(group.name))
            guard !isSketch else {
                table.add([name, JSONParts.string(group.place), changes, asked])
                continue
            }
            let bytes = group.bytes ?? 0
            table.add([
                name, changes, asked, JSONParts.string(ByteText.size(bytes)),
                JSONParts.string("\(bytes * 100 / all) %"),
            ])
        }
        return table
    }

    static func name(_ name: String) -> String { name.isEmpty ? "(unnamed)" : name }
}
