import KuraBytes
import KuraClient

/// A replay's result as text and as JSON.
extension ReplayTally {
    /// By how many requests there were, then by name.
    private var sorted: [(method: String, line: Line)] {
        lines.map { ($0.key, $0.value) }.sorted {
            ($1.line.requests, $0.method) < ($0.line.requests, $1.method)
        }
    }

    /// By how many there are of each, then by where the first one stands.
    private static func sorted(_ line: Line) -> [(difference: Difference, calls: [Int])] {
        line.differences.map { ($0.key, $0.value) }.sorted {
            ($1.calls.count, $0.calls[0]) < ($0.calls.count, $1.calls[0])
        }
    }

    // MARK: For people

    /// A table and what differs; `listsAll`: every difference, not one of each kind.
    func text(width: Int, style: Style, listsAll: Bool = false) -> String {
        let seconds = Self.fixed(nanoseconds, per: 1_000_000_000)
        return table(within: width).rendered(width: width, style: style)
            + "\(Self.count(requests, "request")) in \(seconds) s; times in milliseconds\n"
            + "in: within the recorded daemon, from a line read to its reply ready; trip: here, from a line sent to its reply read\n"
            + differencesText(listsAll) + verdict
    }

    /// With as many of the times as leave the methods' names whole.
    private func table(within width: Int) -> Table {
        let kinds = ["p50", "p99", "max"]
        var table = Table(columns: [])
        for count in [3, 2, 1] {
            let kept = kinds.prefix(count)
            table = Table(columns: ["method", "requests"] + kept.map { "\($0) in" } + kept.map { "\($0) trip" })
            for (method, line) in sorted {
                let times = Self.times(line.recorded).prefix(count) + Self.times(line.replayed).prefix(count)
                table.add(
                    [JSONParts.string(method), Self.number(line.requests)]
                        + times.map { $0.isEmpty ? nil : Array($0.utf8) })
            }
            if table.wholeWidth <= width { break }
        }
        return table
    }

    private func differencesText(_ listsAll: Bool) -> String {
        guard differences > 0 else { return "" }
        let rows = sorted.flatMap { method, line in
            Self.sorted(line).map { difference, calls in
                "  \(method): \(difference.recorded), now \(difference.replayed): "
                    + (listsAll
                        ? "\(calls.count)\n" + calls.map { "    \(place(of: $0))\n" }.joined()
                        : "\(calls.count), such as \(place(of: calls[0]))\n")
            }
        }
        return "\(Self.count(differences, "request")) \(differences == 1 ? "was" : "were") answered otherwise:\n"
            + rows.joined()
    }

    private var verdict: String {
        guard let shortfall else { return differences > 0 ? "" : "all were answered as in the recording, by kind\n" }
        if compared == 0 { return "\(shortfall): nothing was compared\n" }
        return shortfall
            + (differences > 0
                ? "\n"
                : "; \(compared) of \(Self.count(traffic.calls.count, "request")) compared, all by kind as then\n")
    }

    private func place(of number: Int) -> String {
        let call = traffic.calls[number]
        let id = call.id.map { "id \(Visible.line(String(decoding: $0.prefix(64), as: UTF8.self)))" } ?? "no id"
        return "line \(call.line), connection \(call.connection), \(id), at \(Self.fixed(call.at, per: 1_000_000)) s"
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    // MARK: For programs

    /// One line of JSON. `run` counts from 1; `listsAll`: every difference, not one of each kind.
    func json(run: Int, listsAll: Bool = false) -> [UInt8] {
        let methods = sorted.map { method, line in
            JSONParts.object([
                ("method", JSONParts.string(method)), ("requests", Self.number(line.requests)),
                ("recorded", Self.json(line.recorded)), ("replayed", Self.json(line.replayed)),
                (
                    "differences",
                    JSONElements.array(Self.sorted(line).map { json($0.difference, $0.calls, listsAll) })
                ),
            ])
        }
        return JSONParts.object([
            ("run", Self.number(run)), ("requests", Self.number(requests)), ("compared", Self.number(compared)),
            ("differences", Self.number(differences)), ("same", Array("\(isSame)".utf8)),
            ("shortfall", shortfall.map(JSONParts.string) ?? Array("null".utf8)),
            ("microseconds", Self.number(Int(nanoseconds / 1000))), ("methods", JSONElements.array(methods)),
        ])
    }

    private func json(_ difference: Difference, _ calls: [Int], _ listsAll: Bool) -> [UInt8] {
        let examples = calls.prefix(listsAll ? calls.count : 1).map { number in
            let call = traffic.calls[number]
            return JSONParts.object([
                ("line", Self.number(call.line)), ("connection", Self.number(Int(call.connection))),
                ("id", call.id ?? Array("null".utf8)), ("at", Self.number(Int(call.at))),
            ])
        }
        return JSONParts.object([
            ("recorded", JSONParts.string(difference.recorded)), ("replayed", JSONParts.string(difference.replayed)),
            ("count", Self.number(calls.count)), ("requests", JSONElements.array(examples)),
        ])
    }

    private static func number(_ value: Int) -> [UInt8] { Array("\(value)".utf8) }

    private static func json(_ histogram: Histogram) -> [UInt8] {
        JSONParts.object([
            ("count", number(Int(histogram.count))),
            ("p50Microseconds", number(Int(histogram.value(perMille: 500) / 1000))),
            ("p99Microseconds", number(Int(histogram.value(perMille: 990) / 1000))),
            ("maxMicroseconds", number(Int(histogram.max / 1000))),
        ])
    }

    private static func times(_ histogram: Histogram) -> [String] {
        guard histogram.count > 0 else { return ["", "", ""] }
        return [histogram.value(perMille: 500), histogram.value(perMille: 990), histogram.max].map {
            fixed($0, per: 1_000_000)
        }
    }

    /// With three digits behind the point.
    private static func fixed(_ value: UInt64, per unit: UInt64) -> String {
        let thousandths = value / (unit / 1000)
        let digits = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
}
