import KuraClient

/// What `storage.diskWrites` finds besides the numbers: kinds of files, budgets, reports of those that were exceeded, and what could be written less.
struct WriteBillFindings {
    struct Files {
        var name: String
        /// Bytes, writes, syncs, files made, renamed and removed, the file system's own bytes.
        var numbers: [Int64]
    }

    struct Budget {
        var target: String
        var limit: Int64
        var bytes: Int64
        var isThrottled: Bool
    }

    struct Report {
        var id: Int64
        var target: String
        /// When it was opened: the day.
        var since: String
        var lines: [(String, String)]
    }

    struct Advice {
        var kind: String
        var cost: String
        var what: String
        var fix: String
    }

    static let fileColumns = ["files", "written", "writes", "syncs", "made", "renamed", "removed", "file system's own"]

    let files: [Files]
    let budgets: [Budget]
    let reports: [Report]
    let advice: [Advice]

    /// A daemon that is older has none of it.
    init(_ object: JSONObject) {
        func objects(_ name: String) -> [JSONObject] {
            (object[name].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }
        }
        files = objects("files").map { file in
            Files(
                name: "\(file.string("group") ?? "") \(file.string("kind") ?? "")",
                numbers: ["bytes", "writes", "syncs", "creates", "renames", "deletes", "metadataBytes"].map {
                    file.integer($0) ?? 0
                })
        }
        budgets = objects("budgets").map { budget in
            Budget(
                target: Self.target(budget), limit: budget.integer("diskWriteBudget") ?? 0,
                bytes: budget.integer("bytes") ?? 0, isThrottled: budget.boolean("throttled") ?? false)
        }
        reports = objects("reports").map(Self.report)
        advice = objects("advice").map { advice in
            Advice(
                kind: advice.string("kind") ?? "",
                cost: advice.integer("documents").map { "\($0) documents" }
                    ?? advice.integer("bytes").map { ByteText.size($0) } ?? "",
                what: advice.string("what") ?? "", fix: advice.string("fix") ?? "")
        }
    }

    private static func target(_ object: JSONObject) -> String {
        object.string("store").map { "store \($0)" } ?? "client \(object.string("client") ?? "")"
    }

    private static func report(_ report: JSONObject) -> Report {
        func list(_ name: String, _ text: (JSONObject) -> String) -> String {
            (report[name].flatMap(JSONElements.read) ?? []).compactMap { JSONObject($0) }.map(text)
                .joined(separator: ", ")
        }
        func part(_ part: JSONObject) -> String {
            "\(WriteBillView.name(part.string("name") ?? "")) (\(ByteText.size(part.integer("bytes") ?? 0)), \(part.integer("changes") ?? 0) changes)"
        }
        let sizes = (report["batchSizes"].flatMap(JSONElements.read) ?? []).map { String(decoding: $0, as: UTF8.self) }
        let days = report.integer("count") ?? 0
        let lines = [
            (
                "written",
                "\(ByteText.size(report.integer("bytes") ?? 0)) in a day, \(ByteText.size(report.integer("diskWriteBudget") ?? 0)) are allowed; "
                    + "\(report.integer("share") ?? 0) % of all; over it on \(days) day\(days == 1 ? "" : "s")"
            ),
            ("by", list("clients", part)), ("with", list("methods", part)),
            (
                "keys",
                list("keys") {
                    "\($0.string("scope") ?? "")/\($0.string("key") ?? "") (\($0.integer("changes") ?? 0) times)"
                }
            ),
            ("changes in a request", sizes.joined(separator: " ")),
        ]
        return Report(
            id: report.integer("id") ?? 0, target: target(report),
            since: String((report.string("openedAt") ?? "").prefix(10)), lines: lines.filter { !$0.1.isEmpty })
    }

    // MARK: The terminal

    func text(width: Int, style: Style) -> String {
        var text = ""
        if !budgets.isEmpty {
            var table = Table(columns: ["budget", "written today", "allowed", ""])
            for budget in budgets { table.add(Self.cells(budget).map(JSONParts.string)) }
            text += "\n" + table.rendered(width: width, style: style)
        }
        for report in reports {
            text +=
                "\n"
                + style.bold(
                    "report \(report.id): \(Visible.line(report.target)) is over budget, since \(report.since)") + "\n"
            text += Layout.definitions(report.lines.map { ($0.0, Visible.line($0.1)) }, width: width)
        }
        if !reports.isEmpty { text += "kura storage resolve-report ID closes a report\n" }
        if !advice.isEmpty {
            text += "\n" + style.bold("what could be written less") + "\n"
            text += Layout.definitions(
                advice.map { (Visible.line($0.cost), Visible.line("\($0.what). Better: \($0.fix).")) }, width: width)
        }
        return text
    }

    private static func cells(_ budget: Budget) -> [String] {
        [
            budget.target, ByteText.size(budget.bytes), ByteText.size(budget.limit),
            budget.isThrottled ? "throttled" : budget.bytes > budget.limit ? "over" : "",
        ]
    }

    // MARK: The page

    /// Reports, budgets and advice.
    var html: String {
        var parts: [String] = []
        for report in reports {
            let lines = report.lines.map { "<dt>\(Self.escaped($0.0))</dt><dd>\(Self.escaped($0.1))</dd>" }.joined()
            parts.append(
                "<section class=\"report\"><h2>Report \(report.id): \(Self.escaped(report.target)) is over budget, since \(Self.escaped(report.since))</h2>"
                    + "<dl>\(lines)</dl></section>")
        }
        if !budgets.isEmpty {
            parts.append(
                Self.table(
                    "Budgets", ["budget", "written today", "allowed", ""], budgets.map(Self.cells), numeric: [1, 2]))
        }
        if !advice.isEmpty {
            parts.append(
                Self.table(
                    "What could be written less", ["cost", "what", "better"],
                    advice.map { [$0.cost, $0.what, $0.fix] },
                    numeric: []))
        }
        return parts.joined(separator: "\n")
    }

    var filesHTML: String {
        guard !files.isEmpty else { return "" }
        let rows = files.map { file in
            [file.name, ByteText.size(file.numbers[0])] + file.numbers[1...5].map(String.init)
                + [ByteText.size(file.numbers[6])]
        }
        return Self.table("By kind of file", Self.fileColumns, rows, numeric: Set(1...7))
    }

    private static func table(_ title: String, _ heads: [String], _ rows: [[String]], numeric: Set<Int>) -> String {
        func row(_ cells: [String], _ tag: String) -> String {
            "<tr>"
                + cells.enumerated().map { index, cell in
                    "<\(tag)\(numeric.contains(index) ? " class=\"n\"" : "")>\(escaped(cell))</\(tag)>"
                }.joined() + "</tr>"
        }
        return "<h2>\(escaped(title))</h2>\n<table>\(row(heads, "th"))\n"
            + rows.map { row($0, "td") }.joined(separator: "\n") + "</table>"
    }

    private static func escaped(_ text: String) -> String { DiskWritesPage.escaped(text) }
}
