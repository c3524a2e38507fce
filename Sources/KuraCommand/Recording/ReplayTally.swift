import KuraBytes
import KuraClient
import KuraProtocol

/// The result of a replay: for each method the latencies in the recording and now, and the outcomes that differ.
struct ReplayTally {
    enum Outcome: Equatable {
        case result
        case error(String)
        /// The daemon closed the connection, or said nothing.
        case unanswered

        var word: String {
            switch self {
            case .result: "a result"
            case .error(let kind): kind
            case .unanswered: "no reply"
            }
        }
    }

    struct Line {
        var requests = 0
        var recorded = Histogram()
        var replayed = Histogram()
        var differences: [Difference: (count: Int, example: Int)] = [:]
    }

    struct Difference: Hashable {
        let recorded: String
        let replayed: String
    }

    private let traffic: RecordedTraffic
    private(set) var lines: [String: Line] = [:]
    var nanoseconds: UInt64 = 0
    var isInterrupted = false

    init(_ traffic: RecordedTraffic) { self.traffic = traffic }

    var requests: Int { lines.values.reduce(0) { $0 + $1.requests } }
    var differences: Int { lines.values.reduce(0) { $0 + $1.differences.values.reduce(0) { $0 + $1.count } } }

    mutating func sent(_ call: Int) { lines[traffic.calls[call].method, default: Line()].requests += 1 }

    /// - Parameters:
    ///   - call: which.
    ///   - outcome: what it was answered.
    ///   - nanoseconds: how long that took.
    mutating func note(_ call: Int, _ outcome: Outcome, nanoseconds: UInt64?) {
        let recorded = traffic.calls[call]
        var line = lines[recorded.method, default: Line()]
        defer { lines[recorded.method] = line }
        if let nanoseconds { line.replayed.record(nanoseconds) }
        // What was under way when the recording ended is compared with nothing.
        guard let reply = recorded.reply else { return }
        if nanoseconds != nil { line.recorded.record((reply.at - min(reply.at, recorded.at)) * 1000) }
        let then = reply.error.map(Outcome.error) ?? .result
        guard then != outcome else { return }
        let difference = Difference(recorded: then.word, replayed: outcome.word)
        line.differences[difference, default: (0, call)].count += 1
    }

    // MARK: Telling

    /// By how many requests there were, then by name.
    private var sorted: [(method: String, line: Line)] {
        lines.map { ($0.key, $0.value) }.sorted {
            ($1.line.requests, $0.method) < ($0.line.requests, $1.method)
        }
    }

    func text(width: Int, style: Style) -> String {
        var table = Table(columns: ["method", "requests", "p50 then", "p99 then", "max then", "p50", "p99", "max"])
        for (method, line) in sorted {
            let times = Self.times(line.recorded) + Self.times(line.replayed)
            table.add(
                [JSONParts.string(method), Array("\(line.requests)".utf8)]
                    + times.map { $0.isEmpty ? nil : Array($0.utf8) })
        }
        let seconds = Self.fixed(nanoseconds, per: 1_000_000_000)
        return table.rendered(width: width, style: style)
            + "\(requests) requests in \(seconds) s; times in milliseconds, of the recording and of this run\n"
            + differencesText
    }

    private var differencesText: String {
        guard differences > 0 else { return "all were answered as in the recording, by kind\n" }
        let rows = sorted.flatMap { method, line in
            line.differences.sorted { ($1.value.count, $0.value.example) < ($0.value.count, $1.value.example) }.map {
                "  \(method): \($0.key.recorded), now \($0.key.replayed): \($0.value.count), such as id "
                    + "\(Visible.line(id(of: $0.value.example))) at \(Self.fixed(traffic.calls[$0.value.example].at, per: 1_000_000)) s\n"
            }
        }
        return "\(differences) were answered otherwise:\n" + rows.joined()
    }

    private func id(of call: Int) -> String {
        String(decoding: (traffic.calls[call].id ?? []).prefix(64), as: UTF8.self)
    }

    /// One line of JSON.
    var json: [UInt8] {
        let methods = sorted.map { method, line in
            let differences = line.differences.map { difference, found in
                JSONParts.object([
                    ("recorded", JSONParts.string(difference.recorded)),
                    ("replayed", JSONParts.string(difference.replayed)), ("count", Self.number(found.count)),
                    ("exampleId", traffic.calls[found.example].id ?? Array("null".utf8)),
                    ("exampleAt", Self.number(Int(traffic.calls[found.example].at))),
                ])
            }
            return JSONParts.object([
                ("method", JSONParts.string(method)), ("requests", Self.number(line.requests)),
                ("recorded", Self.json(line.recorded)), ("replayed", Self.json(line.replayed)),
                ("differences", JSONElements.array(differences)),
            ])
        }
        return JSONParts.object([
            ("requests", Self.number(requests)), ("differences", Self.number(differences)),
            ("microseconds", Self.number(Int(nanoseconds / 1000))), ("methods", JSONElements.array(methods)),
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
