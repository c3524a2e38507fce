import KuraBytes
import KuraClient

/// What `kura top` shows of two moments of a daemon: lines of text, none wider than the terminal.
struct TopScreen {
    let now: DaemonNumbers
    /// An earlier moment of the same daemon; nil: since it began to serve.
    let before: DaemonNumbers?
    let socket: String

    /// `height`: lines at most; methods that have no room are left out.
    func lines(width: Int, height: Int, style: Style) -> [String] {
        var lines = [heading(width, style)]
        for (title, text) in [
            ("requests", requestsLine), ("waiting", waitingLine), ("commits", commitsLine), ("syncs", syncsLine),
            ("tables", tablesLine), ("disk", diskLine), ("caches", cachesLine),
        ] {
            let cut = Visible.truncated(text, to: max(width - 10, 1))
            lines.append(style.bold(Visible.padded(title, to: 10)) + cut)
        }
        lines.append("")
        return Array((lines + methods(width: width, room: height - lines.count - 1, style)).prefix(max(height, 1)))
    }

    // MARK: Rates

    /// Between the two moments, or since the daemon began to serve.
    var seconds: Double {
        let end = now.daemon.integer("uptimeMilliseconds") ?? 0
        return Double(max(1, end - (earlier?.daemon.integer("uptimeMilliseconds") ?? 0))) / 1000
    }

    /// nil also when the daemon has been started anew in between.
    private var earlier: DaemonNumbers? {
        guard let before, before.status.string("startedAt") == now.status.string("startedAt") else { return nil }
        return before
    }

    private func difference(_ value: (DaemonNumbers) -> Int64) -> Int64 { value(now) - (earlier.map(value) ?? 0) }

    private func rate(_ value: (DaemonNumbers) -> Int64) -> String { Self.rate(difference(value), seconds) }

    private func measured(_ member: String, _ name: String) -> DaemonNumbers.Measured {
        let all = now.measured(member, name)
        return earlier.map { all.since($0.measured(member, name)) } ?? all
    }

    // MARK: Lines

    private func heading(_ width: Int, _ style: Style) -> String {
        let version = now.status.string("version") ?? "?"
        let up = (now.daemon.integer("uptimeMilliseconds") ?? 0) / 1000
        let span = earlier == nil ? "since its start" : "in the last \(Self.tenths(seconds)) s"
        let text = "kurad \(version), up \(StatusSummary.duration(up)), \(span)  \(Visible.line(socket))"
        return style.bold(Visible.truncated(text, to: width))
    }

    private var requestsLine: String {
        let total = rate { $0.status("connections", "requests") }
        let refused = rate { numbers in
            DaemonNumbers.numbers(numbers.daemon.object("refusals")).reduce(Int64(0)) { $0.plus($1.value) }
        }
        return
            "\(total)/s, \(refused) refused/s; \(now.status("connections", "open")) connections, "
            + "\(now.status("connections", "subscriptions")) subscriptions; \(difference { $0.daemon.object("slow")?.integer("count") ?? 0 }) slow"
    }

    private var waitingLine: String {
        let waiting = DaemonNumbers.numbers(now.daemon.object("queues")).filter { $0.value > 0 }
        guard !waiting.isEmpty else { return "nobody" }
        return waiting.map { "\($0.name) \($0.value)" }.joined(separator: ", ")
    }

    private var commitsLine: String {
        let commits = measured("commits", "changes")
        guard commits.count > 0 else { return "none" }
        return
            "\(Self.rate(commits.count, seconds))/s of \(Self.mean(commits)) changes, \(Self.count(commits.value(perMille: 990))) at p99"
    }

    private var syncsLine: String {
        let (times, revs) = (measured("syncs", "time"), measured("syncs", "revisions"))
        guard times.count > 0 else { return "none" }
        return
            "\(Self.rate(times.count, seconds))/s of \(Self.mean(revs)) revisions; p50 \(Self.time(times.value(perMille: 500))), "
            + "p99 \(Self.time(times.value(perMille: 990)))"
    }

    private var tablesLine: String {
        let (folds, points) = (measured("folds", "time"), measured("checkpoints", "time"))
        return
            "\(folds.count) folds, p99 \(Self.time(folds.value(perMille: 990))); \(points.count) checkpoints; "
            + "WAL \(ByteText.size(now.daemon.integer("walBytes") ?? 0)), overlay \(ByteText.size(now.status("overlay", "bytes")))"
    }

    private var diskLine: String {
        let bytes = difference { numbers in
            let disk = numbers.status.object("disk")
            return (disk?.names ?? []).reduce(Int64(0)) { $0.plus(disk?.object($1)?.integer("bytesWritten") ?? 0) }
        }
        return
            "\(ByteText.size(Self.whole(Double(bytes) / seconds)))/s written; log \(ByteText.size(now.status("log", "bytes"))), "
            + "\(ByteText.size(now.status("space", "free"))) free"
    }

    private var cachesLine: String {
        let hits = difference { $0.daemon.object("documents")?.integer("hits") ?? 0 }
        let misses = difference { $0.daemon.object("documents")?.integer("misses") ?? 0 }
        var parts = ["documents \(Self.share(hits, of: hits + misses))"]
        for store in ["models", "blobs"] {
            let hits = max(0, difference { $0.lookups(store).hits + $0.lookups(store).stale })
            let misses = max(0, difference { $0.lookups(store).misses })
            parts.append("\(store) \(Self.share(hits, of: hits + misses))")
        }
        return parts.joined(separator: ", ")
            + " found; \(ByteText.size(now.status("cache", "bytes"))) in memory"
    }

    // MARK: Methods

    private func methods(width: Int, room: Int, _ style: Style) -> [String] {
        let rows = now.requests.map { entry in
            let old = earlier?.requests.first { $0.method == entry.method }
            return (
                method: entry.method, latency: old.map { entry.latency.since($0.latency) } ?? entry.latency,
                refused: entry.refused - (old?.refused ?? 0)
            )
        }.filter { $0.latency.count > 0 || $0.refused > 0 }
            .sorted { ($0.latency.count, $1.method) > ($1.latency.count, $0.method) }
        let columns = [("p50", 9), ("p90", 9), ("p99", 9), ("longest", 9), ("refused/s", 10)]
        let nameWidth = max(12, width - 11 - columns.reduce(0) { $0 + $1.1 })
        var heading = Visible.padded("method", to: nameWidth) + Self.right("requests/s", 11)
        for (name, size) in columns { heading += Self.right(name, size) }
        var lines = [style.bold(Visible.truncated(heading, to: width))]
        for row in rows.prefix(max(0, room)) {
            var line = Visible.padded(Visible.truncated(Visible.line(row.method), to: nameWidth), to: nameWidth)
            line += Self.right(Self.rate(row.latency.count, seconds), 11)
            for perMille: Int64 in [500, 900, 990, 1000] {
                line += Self.right(Self.time(row.latency.value(perMille: perMille)), 9)
            }
            line += Self.right(Self.rate(row.refused, seconds), 10)
            lines.append(Visible.truncated(line, to: width))
        }
        if rows.isEmpty { lines.append("nobody has asked for anything") }
        return lines
    }

    // MARK: Texts

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - Visible.width(text))) + text
    }

    /// So many in so many seconds, a second: with a digit behind the point below ten.
    static func rate(_ count: Int64, _ seconds: Double) -> String {
        let rate = Double(count) / seconds
        return rate > 0 && rate < 10 ? tenths(rate) : grouped(whole(rate.rounded()))
    }

    /// The value without its fraction, within ±10^18: a rate over a very short time may exceed every integer.
    private static func whole(_ value: Double) -> Int64 { Int64(min(max(value, -1e18), 1e18)) }

    static func tenths(_ value: Double) -> String {
        let tenths = whole((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    /// 12345 is `12,345`.
    static func grouped(_ value: Int64) -> String {
        var text = ""
        for (position, digit) in String(value.magnitude).reversed().enumerated() {
            if position > 0, position % 3 == 0 { text = "," + text }
            text = String(digit) + text
        }
        return value < 0 ? "-" + text : text
    }

    /// Nanoseconds in the unit that leaves at least one, with a digit behind the point below a hundred.
    static func time(_ nanoseconds: Int64?) -> String {
        guard let nanoseconds else { return "–" }
        var value = Double(nanoseconds)
        for unit in ["ns", "µs", "ms"] {
            if value < 999.5 {
                return (value < 99.95 && unit != "ns" ? tenths(value) : grouped(Int64(value.rounded()))) + " " + unit
            }
            value /= 1000
        }
        return tenths(value) + " s"
    }

    private static func mean(_ measured: DaemonNumbers.Measured) -> String {
        measured.count > 0 ? tenths(Double(measured.sum) / Double(measured.count)) : "0"
    }

    private static func count(_ value: Int64?) -> String { value.map(grouped) ?? "–" }

    private static func share(_ part: Int64, of whole: Int64) -> String {
        whole > 0 ? "\(part * 100 / whole) %" : "–"
    }
}
