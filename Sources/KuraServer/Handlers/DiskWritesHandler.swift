import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// Answers `storage.diskWrites`, the write bill.
enum DiskWritesHandler {
    static let all: [String: Handler] = ["storage.diskWrites": answer, "storage.resolveReport": resolve]

    private enum Window: String {
        case hour, day, week, month

        var grain: BillHistory.Grain {
            switch self {
            case .hour: .minute
            case .day: .hour
            case .week, .month: .day
            }
        }

        var count: Int64 {
            switch self {
            case .hour: 60
            case .day: 24
            case .week: 7
            case .month: 30
            }
        }
    }

    private enum Grouping: String {
        case store, method, client, user, scope, key
    }

    private struct Sum {
        var tally = WriteTally()
        var bytes = 0
    }

    static func answer(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        // Words of the table's: there are no others.
        let window =
            call.has(StorageDiskWrites.window) ? Window(rawValue: String(call[StorageDiskWrites.window]))! : .day
        let grouping = call.has(StorageDiskWrites.by) ? Grouping(rawValue: String(call[StorageDiskWrites.by]))! : .store
        let limit = Int(call[StorageDiskWrites.limit] ?? 20)
        let history = storage.writeHistory()
        let now = storage.now / 1000
        let grain = window.grain
        let since = now / grain.rawValue * grain.rawValue - (window.count - 1) * grain.rawValue
        let intervals = history.since(since, grain)
        var total = BillInterval(startedAt: intervals.first?.startedAt ?? now)
        for interval in intervals { total.add(whole: interval) }

        var object = ObjectWriter(&out)
        object.text("window", window.rawValue, &out)
        object.text("by", grouping.rawValue, &out)
        object.name("startedAt", &out)
        out.append(timestamp: .milliseconds(seconds: total.startedAt))
        object.number("seconds", Int(total.seconds), &out)
        object.name("totals", &out)
        append(totals: total, intervals, to: &out)
        object.name("groups", &out)
        switch grouping {
        case .scope: append(storage.writtenMost().scopes.top(limit), isKeys: false, to: &out)
        case .key: append(storage.writtenMost().keys.top(limit), isKeys: true, to: &out)
        default: append(groups(intervals, grouping), limit, to: &out)
        }
        object.name("series", &out)
        out.append("[")
        for (position, interval) in intervals.enumerated() {
            if position > 0 { out.append(",") }
            append(interval, to: &out)
        }
        out.append("]")
        object.name("days", &out)
        append(days: history.since(0, .day).filter { $0.startedAt < now / 86_400 * 86_400 }, to: &out)
        object.name("files", &out)
        append(files: total, to: &out)
        object.name("budgets", &out)
        DiskWritesReports.append(storage.writeBudgets, to: &out)
        object.name("reports", &out)
        DiskWritesReports.append(storage.writeReports, to: &out)
        object.name("advice", &out)
        DiskWritesReports.append(storage.writeAdvice(), to: &out)
        out.append("}")
    }

    static func resolve(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.append("{\"resolved\":")
        out.append(integer: Int64(storage.resolveWriteReports(call[StorageResolveReport.id].map(Int.init))))
        out.append("}")
    }

    /// What kinds of files are called on the wire.
    static let groups: [(name: String, role: FileRole)] = [
        ("log", .log), ("tables", .durable), ("caches", .cache), ("other", .other),
    ]

    private static func append(files interval: BillInterval, to out: inout ByteBuffer) {
        out.append("[")
        var isFirst = true
        for group in groups {
            for part in FilePart.allCases {
                let disk = interval[group.role, part]
                guard disk != BillInterval.Disk() else { continue }
                if !isFirst { out.append(",") }
                isFirst = false
                var object = ObjectWriter(&out)
                object.text("group", group.name, &out)
                object.text("kind", "\(part)", &out)
                for (name, value) in [
                    ("bytes", disk.bytes), ("writes", disk.writes), ("syncs", disk.syncs), ("creates", disk.creates),
                    ("renames", disk.renames), ("deletes", disk.deletes), ("metadataBytes", disk.metadataBytes),
                    ("blockBytes", disk.blockBytes),
                ] { object.number(name, value, &out) }
                out.append("}")
            }
        }
        out.append("]")
    }

    /// What each group asked for and what that cost, interval by interval: a byte cost more in some than in others.
    private static func groups(_ intervals: [BillInterval], _ grouping: Grouping) -> [String: Sum] {
        var sums: [String: Sum] = [:]
        for interval in intervals {
            for (group, tally) in interval.groups where tally.changes > 0 {
                let name =
                    switch grouping {
                    case .method: group.operation
                    case .client: String(decoding: group.client, as: UTF8.self)
                    case .user: group.user == .max ? "" : String(group.user)
                    case .store, .scope, .key: "\(group.store)"
                    }
                var sum = sums[name] ?? Sum()
                sum.tally += tally
                sum.bytes += interval.share(of: tally, group.store)
                sums[name] = sum
            }
        }
        return sums
    }

    private static func append(_ groups: [String: Sum], _ limit: Int, to out: inout ByteBuffer) {
        out.append("[")
        let most = groups.sorted {
            ($0.value.bytes, $0.value.tally.bytes, $1.key) > ($1.value.bytes, $1.value.tally.bytes, $0.key)
        }
        for (position, group) in most.prefix(limit).enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.text("name", group.key, &out)
            object.number("changes", group.value.tally.changes, &out)
            object.number("logicalBytes", group.value.tally.bytes, &out)
            object.number("bytes", group.value.bytes, &out)
            out.append("}")
        }
        out.append("]")
    }

    private static func append(_ most: [HeavyHitters.Entry], isKeys: Bool, to out: inout ByteBuffer) {
        out.append("[")
        for (position, entry) in most.enumerated() {
            if position > 0 { out.append(",") }
            var object = ObjectWriter(&out)
            object.text("name", String(decoding: isKeys ? entry.key : entry.scope, as: UTF8.self), &out)
            object.text("store", "\(entry.store)", &out)
            if isKeys { object.text("scope", String(decoding: entry.scope, as: UTF8.self), &out) }
            object.number("changes", entry.tally.changes, &out)
            object.number("logicalBytes", entry.tally.bytes, &out)
            out.append("}")
        }
        out.append("]")
    }

    private static func append(numbers interval: BillInterval, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        let asked = interval.asked
        for (name, value) in [
            ("bytes", interval.total.bytes), ("log", interval[.log].bytes),
            ("tables", interval[.durable].bytes), ("caches", interval[.cache].bytes),
            ("other", interval[.other].bytes), ("syncs", interval.total.syncs), ("changes", asked.changes),
            ("logicalBytes", asked.bytes),
        ] { object.number(name, value, &out) }
    }

    private static func append(totals: BillInterval, _ intervals: [BillInterval], to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        append(numbers: totals, to: &object, &out)
        let durable = totals.groups.reduce(0) { $0 + ($1.key.store.isDurable ? $1.value.changes : 0) }
        for (name, value) in [
            ("writes", totals.total.writes), ("creates", totals.total.creates), ("renames", totals.total.renames),
            ("deletes", totals.total.deletes),
            ("metadataBytes", totals.total.metadataBytes), ("blockBytes", totals.total.blockBytes),
            ("upkeepBytes", intervals.reduce(0) { $0 + $1.upkeepBytes }), ("noOpWrites", totals.noOpWrites),
            ("syncsSaved", max(0, durable - totals[.log].syncs)),
        ] { object.number(name, value, &out) }
        out.append("}")
    }

    private static func append(_ interval: BillInterval, to out: inout ByteBuffer) {
        var object = ObjectWriter(&out)
        object.name("startedAt", &out)
        out.append(timestamp: .milliseconds(seconds: interval.startedAt))
        object.number("seconds", Int(interval.seconds), &out)
        append(numbers: interval, to: &object, &out)
        var parts: [BilledStore: Int] = [:]
        for (group, tally) in interval.groups where tally.changes > 0 {
            parts[group.store, default: 0] += interval.share(of: tally, group.store)
        }
        object.numbers(
            "byStore",
            BilledStore.allCases.compactMap { store in parts[store].map { ("\(store)", $0) } }
                + [("upkeep", interval.upkeepBytes)], &out)
        out.append("}")
    }

    private static func append(days: [BillInterval], to out: inout ByteBuffer) {
        let bytes = days.map(\.total.bytes)
        let sorted = bytes.sorted()
        func percentile(_ percent: Int) -> Int {
            sorted.isEmpty
                ? 0 : sorted[min(sorted.count - 1, (sorted.count * percent + 99) / 100 - (percent == 0 ? 0 : 1))]
        }
        var object = ObjectWriter(&out)
        object.number("count", days.count, &out)
        object.number("p50", percentile(50), &out)
        object.number("p90", percentile(90), &out)
        object.number("trend", trend(of: Array(days.suffix(14))), &out)
        out.append("}")
    }

    /// The slope of the line through the days' bytes that fits best; 0 for fewer than three days.
    private static func trend(of days: [BillInterval]) -> Int {
        guard days.count >= 3 else { return 0 }
        let x = days.map { Double($0.startedAt / 86_400) }
        let y = days.map { Double($0.total.bytes) }
        let (meanX, meanY) = (x.reduce(0, +) / Double(x.count), y.reduce(0, +) / Double(y.count))
        let over = zip(x, y).reduce(0.0) { $0 + ($1.0 - meanX) * ($1.1 - meanY) }
        let under = x.reduce(0.0) { $0 + ($1 - meanX) * ($1 - meanX) }
        return under > 0 ? Int(over / under) : 0
    }
}
