import KuraBytes
import KuraProtocol
import KuraStorage
import SQLite

/// Answers `storage.diskWrites`, the write bill.
extension StorageHandlers {
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

    static func diskWrites(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        // Words of the table's: there are no others.
        let window =
            call.has(StorageDiskWrites.window) ? Window(rawValue: String(call[StorageDiskWrites.window]))! : .day
        let grouping = call.has(StorageDiskWrites.by) ? Grouping(rawValue: String(call[StorageDiskWrites.by]))! : .store
        let limit = Int(call[StorageDiskWrites.limit] ?? 20)
        let history = storage.bill.history()
        let now = storage.now / 1000
        let grain = window.grain
        let since = now / grain.rawValue * grain.rawValue - (window.count - 1) * grain.rawValue
        let intervals = history.since(since, grain)
        var total = BillInterval(startedAt: intervals.first?.startedAt ?? now)
        for interval in intervals { total.add(whole: interval) }

        out.openObject()
        out.append(.window, window.rawValue)
        out.append(.by, grouping.rawValue)
        out.append(.startedAt, .milliseconds(seconds: total.startedAt))
        out.append(.seconds, total.seconds)
        append(totals: total, intervals, to: &out)
        switch grouping {
        case .scope: append(storage.bill.writtenMost().scopes.top(limit), isKeys: false, to: &out)
        case .key: append(storage.bill.writtenMost().keys.top(limit), isKeys: true, to: &out)
        default: append(groups(intervals, grouping), limit, to: &out)
        }
        out.openList(.series)
        for interval in intervals { append(interval, to: &out) }
        out.closeList()
        append(days: history.since(0, .day).filter { $0.startedAt < now / 86_400 * 86_400 }, to: &out)
        append(files: total, to: &out)
        DiskWritesReports.append(storage.bill.budgets, to: &out)
        DiskWritesReports.append(storage.bill.reports, to: &out)
        DiskWritesReports.append(storage.bill.advice(), to: &out)
        out.closeObject()
    }

    static func resolveReport(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.openObject()
        out.append(.resolved, storage.bill.resolveReports(call[StorageResolveReport.id].map(Int.init)))
        out.closeObject()
    }

    /// What kinds of files are called on the wire.
    static let groups: [(name: String, role: FileRole)] = [
        ("log", .log), ("tables", .durable), ("caches", .cache), ("other", .other),
    ]

    private static func append(files interval: BillInterval, to out: inout ByteBuffer) {
        out.openList(.files)
        for group in groups {
            for part in FilePart.allCases {
                let disk = interval[group.role, part]
                guard disk != BillInterval.Disk() else { continue }
                out.openObject()
                out.append(.group, group.name)
                out.append(.kind, "\(part)")
                out.append(.bytes, disk.bytes)
                out.append(.writes, disk.writes)
                out.append(.syncs, disk.syncs)
                out.append(.creates, disk.creates)
                out.append(.renames, disk.renames)
                out.append(.deletes, disk.deletes)
                out.append(.metadataBytes, disk.metadataBytes)
                out.append(.blockBytes, disk.blockBytes)
                out.closeObject()
            }
        }
        out.closeList()
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
        let most = groups.sorted {
            ($0.value.bytes, $0.value.tally.bytes, $1.key) > ($1.value.bytes, $1.value.tally.bytes, $0.key)
        }
        out.openList(.groups)
        for group in most.prefix(limit) {
            out.openObject()
            out.append(.name, group.key)
            out.append(.changes, group.value.tally.changes)
            out.append(.logicalBytes, group.value.tally.bytes)
            out.append(.bytes, group.value.bytes)
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(_ most: [HeavyHitters.Entry], isKeys: Bool, to out: inout ByteBuffer) {
        out.openList(.groups)
        for entry in most {
            out.openObject()
            out.append(.name, String(decoding: isKeys ? entry.key : entry.scope, as: UTF8.self))
            out.append(.store, "\(entry.store)")
            if isKeys { out.append(.scope, String(decoding: entry.scope, as: UTF8.self)) }
            out.append(.changes, entry.tally.changes)
            out.append(.logicalBytes, entry.tally.bytes)
            out.closeObject()
        }
        out.closeList()
    }

    private static func append(numbers interval: BillInterval, to out: inout ByteBuffer) {
        let asked = interval.asked
        out.append(.bytes, interval.total.bytes)
        out.append(.log, interval[.log].bytes)
        out.append(.tables, interval[.durable].bytes)
        out.append(.caches, interval[.cache].bytes)
        out.append(.other, interval[.other].bytes)
        out.append(.syncs, interval.total.syncs)
        out.append(.changes, asked.changes)
        out.append(.logicalBytes, asked.bytes)
    }

    private static func append(totals: BillInterval, _ intervals: [BillInterval], to out: inout ByteBuffer) {
        out.openObject(.totals)
        append(numbers: totals, to: &out)
        let durable = totals.groups.reduce(0) { $0 + ($1.key.store.isDurable ? $1.value.changes : 0) }
        out.append(.writes, totals.total.writes)
        out.append(.creates, totals.total.creates)
        out.append(.renames, totals.total.renames)
        out.append(.deletes, totals.total.deletes)
        out.append(.metadataBytes, totals.total.metadataBytes)
        out.append(.blockBytes, totals.total.blockBytes)
        out.append(.upkeepBytes, intervals.reduce(0) { $0 + $1.upkeepBytes })
        out.append(.noOpWrites, totals.noOpWrites)
        out.append(.syncsSaved, max(0, durable - totals[.log].syncs))
        out.closeObject()
    }

    private static func append(_ interval: BillInterval, to out: inout ByteBuffer) {
        out.openObject()
        out.append(.startedAt, .milliseconds(seconds: interval.startedAt))
        out.append(.seconds, interval.seconds)
        append(numbers: interval, to: &out)
        var parts: [BilledStore: Int] = [:]
        for (group, tally) in interval.groups where tally.changes > 0 {
            parts[group.store, default: 0] += interval.share(of: tally, group.store)
        }
        out.openObject(.byStore)
        for store in BilledStore.allCases {
            if let bytes = parts[store] { out.append(key: "\(store)", bytes) }
        }
        out.append(.upkeep, interval.upkeepBytes)
        out.closeObject()
        out.closeObject()
    }

    private static func append(days: [BillInterval], to out: inout ByteBuffer) {
        let bytes = days.map(\.total.bytes)
        let sorted = bytes.sorted()
        func percentile(_ percent: Int) -> Int {
            sorted.isEmpty
                ? 0 : sorted[min(sorted.count - 1, (sorted.count * percent + 99) / 100 - (percent == 0 ? 0 : 1))]
        }
        out.openObject(.days)
        out.append(.count, days.count)
        out.append(.p50, percentile(50))
        out.append(.p90, percentile(90))
        out.append(.trend, trend(of: Array(days.suffix(14))))
        out.closeObject()
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
