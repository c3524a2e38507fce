import Glibc
import KuraBytes

/// The write bill of the last minutes, hours and days: rings, of which hours and days outlive the process.
public struct BillHistory: Sendable {
    public enum Grain: Int64, CaseIterable, Sendable {
        case minute = 60
        case hour = 3600
        case day = 86_400

        /// So many are kept.
        public var limit: Int {
            switch self {
            case .minute: 60
            case .hour: 48
            case .day: 90
            }
        }
    }

    /// Oldest first; the last one is not over.
    public private(set) var intervals: [Grain: [BillInterval]] = [:]

    public init() {}

    /// Adds what has been written lately, `at` the time when it was, to the minute, the hour and the day.
    mutating func add(_ interval: BillInterval, at seconds: Int64) {
        for grain in Grain.allCases {
            let start = seconds / grain.rawValue * grain.rawValue
            var ring = intervals[grain] ?? []
            // A clock that has been put back goes on in the interval that was begun.
            if ring.last.map({ $0.startedAt < start }) ?? true { ring.append(BillInterval(startedAt: start)) }
            ring[ring.count - 1].add(interval)
            if ring.count > grain.limit { ring.removeFirst(ring.count - grain.limit) }
            intervals[grain] = ring
        }
    }

    /// The intervals from `since` on.
    public func since(_ since: Int64, _ grain: Grain) -> [BillInterval] {
        (intervals[grain] ?? []).filter { $0.startedAt + grain.rawValue > since }
    }

    // MARK: The file

    private static let magic: StaticString = "kura bill 3\n"
    /// Without `blockBytes` and `logBytes`.
    private static let olderMagic: StaticString = "kura bill 2\n"

    /// What is kept over a stop: the history, and reports that are open.
    func encoded(with reports: [WriteReport] = [], _ forgiven: [ForgivenWrites] = []) -> [UInt8] {
        var out = ByteBuffer()
        out.append(Self.magic)
        for grain in [Grain.hour, .day] {
            let ring = intervals[grain] ?? []
            out.append(littleEndian: UInt32(ring.count))
            for interval in ring { Self.append(interval, to: &out) }
        }
        out.append(littleEndian: UInt32(reports.count))
        for report in reports { report.append(to: &out) }
        // Earlier versions end here, and read no further.
        out.append(littleEndian: UInt32(forgiven.count))
        for one in forgiven { one.append(to: &out) }
        out.append(littleEndian: LastingHash.bytes(out.bytes, seed: 0))
        return Array(out.bytes)
    }

    private static func append(_ interval: BillInterval, to out: inout ByteBuffer) {
        out.append(littleEndian: interval.startedAt)
        out.append(littleEndian: interval.seconds)
        out.append(littleEndian: Int64(interval.noOpWrites))
        let used = interval.files.indices.filter { interval.files[$0] != BillInterval.Disk() }
        out.append(UInt8(used.count))
        for kind in used {
            let disk = interval.files[kind]
            out.append(UInt8(kind))
            for number in [
                disk.bytes, disk.writes, disk.syncs, disk.creates, disk.renames, disk.deletes, disk.blockBytes,
            ] {
                out.append(littleEndian: Int64(number))
            }
        }
        out.append(littleEndian: UInt32(interval.groups.count))
        for (group, tally) in interval.groups {
            for name in [group.client, Array(group.operation.utf8)] {
                out.append(littleEndian: UInt16(min(name.count, 1024)))
                out.append(Array(name.prefix(1024)))
            }
            out.append(littleEndian: group.user)
            out.append(group.store.rawValue)
            for number in [tally.changes, tally.bytes, tally.requests, tally.noOps, tally.logBytes] {
                out.append(littleEndian: Int64(number))
            }
        }
    }

    /// Nil when the bytes are not what `encoded` has made: then there is no history, and nothing else is lost.
    init?(_ bytes: [UInt8]) {
        var reports: [WriteReport] = []
        var forgiven: [ForgivenWrites] = []
        self.init(bytes, &reports, &forgiven)
    }

    /// The same, with the reports that were open, and what had been forgiven.
    init?(_ bytes: [UInt8], _ reports: inout [WriteReport], _ forgiven: inout [ForgivenWrites]) {
        var reader = BillReader(bytes: bytes)
        guard bytes.count > 8 else { return nil }
        let isOlder = bytes.starts(with: Array(Bytes(Self.olderMagic)))
        guard isOlder || bytes.starts(with: Array(Bytes(Self.magic))) else { return nil }
        let sum = bytes.dropLast(8).withBytes { LastingHash.bytes($0, seed: 0) }
        reader.position = bytes.count - 8
        guard reader.integer(UInt64.self) == sum else { return nil }
        reader.position = Bytes(Self.magic).count
        for grain in [Grain.hour, .day] {
            guard let count = reader.integer(UInt32.self), count <= grain.limit else { return nil }
            var ring: [BillInterval] = []
            for _ in 0..<count {
                guard let interval = reader.interval(isOlder: isOlder) else { return nil }
                ring.append(interval)
            }
            intervals[grain] = ring
        }
        guard let count = reader.integer(UInt32.self), count <= WriteBudgets.reportLimit else { return nil }
        for _ in 0..<count {
            guard let report = WriteReport(&reader) else { return nil }
            reports.append(report)
        }
        guard reader.position < bytes.count - 8 else { return }
        guard let count = reader.integer(UInt32.self) else { return nil }
        for _ in 0..<count {
            guard let one = ForgivenWrites(&reader) else { return nil }
            forgiven.append(one)
        }
    }
}

/// Reads what the bill's file has.
struct BillReader {
    let bytes: [UInt8]
    var position = 0

    mutating func integer<T: FixedWidthInteger>(_: T.Type) -> T? {
        let size = MemoryLayout<T>.size
        guard bytes.count - position >= size else { return nil }
        var value: T = 0
        for index in (0..<size).reversed() { value = value << 8 | T(truncatingIfNeeded: bytes[position + index]) }
        position += size
        return value
    }

    mutating func name() -> [UInt8]? {
        guard let count = integer(UInt16.self), bytes.count - position >= Int(count) else { return nil }
        defer { position += Int(count) }
        return Array(bytes[position..<position + Int(count)])
    }

    mutating func number() -> Int? { integer(Int64.self).map { max(0, Int($0)) } }

    /// `isOlder`: of the format before this one.
    mutating func interval(isOlder: Bool) -> BillInterval? {
        guard let startedAt = integer(Int64.self), let seconds = integer(Int64.self), let noOps = number(),
            let used = integer(UInt8.self)
        else {
            return nil
        }
        var interval = BillInterval(startedAt: startedAt, seconds: seconds)
        interval.noOpWrites = noOps
        for _ in 0..<used {
            guard let kind = integer(UInt8.self).map(Int.init), interval.files.indices.contains(kind),
                let bytes = number(), let writes = number(), let syncs = number(), let creates = number(),
                let renames = number(), let deletes = number(), let blockBytes = isOlder ? 0 : number()
            else { return nil }
            interval.files[kind].bytes = bytes
            interval.files[kind].blockBytes = blockBytes
            interval.files[kind].writes = writes
            interval.files[kind].syncs = syncs
            interval.files[kind].creates = creates
            interval.files[kind].renames = renames
            interval.files[kind].deletes = deletes
        }
        guard let count = integer(UInt32.self), count <= BillInterval.groupLimit else { return nil }
        for _ in 0..<count {
            guard let client = name(), let operation = name(), let user = integer(UInt32.self),
                let store = integer(UInt8.self).flatMap({ BilledStore(rawValue: $0) }), let changes = number(),
                let bytes = number(), let requests = number(), let noOps = number(),
                let logBytes = isOlder ? 0 : number()
            else { return nil }
            let group = BillInterval.Group(
                client: client, user: user, operation: String(decoding: operation, as: UTF8.self), store: store)
            interval.groups[group] = WriteTally(
                changes: changes, bytes: bytes, requests: requests, noOps: noOps, logBytes: logBytes)
        }
        return interval
    }
}
