import SQLite

/// What was written in a while, and for whom.
public struct BillInterval: Sendable {
    /// Who asked, for what, in which room. Names, not numbers: it outlives the process.
    public struct Group: Hashable, Sendable {
        public var client: [UInt8]
        public var user: UInt32
        public var operation: String
        public var store: BilledStore
    }

    /// What the disk was given, of one kind of file.
    public struct Disk: Equatable, Sendable {
        public var bytes = 0
        public var writes = 0
        public var syncs = 0
        public var creates = 0
        public var deletes = 0

        public init() {}

        init(_ count: WriteCounts.Count) {
            bytes = count.bytesWritten
            writes = count.writes
            syncs = count.syncs
            creates = count.creates
            deletes = count.deletes
        }

        public static func += (left: inout Self, right: Self) {
            left.bytes += right.bytes
            left.writes += right.writes
            left.syncs += right.syncs
            left.creates += right.creates
            left.deletes += right.deletes
        }

        /// What making and removing files costs the file system's own blocks, about: 16 KiB and 8 KiB each, as Apple's
        /// "Reducing disk writes" prices them.
        public var metadataBytes: Int { creates * 16_384 + deletes * 8192 }
    }

    /// Seconds since 1970.
    public var startedAt: Int64
    public var seconds: Int64
    /// By `FileRole`: log, tables, caches, other.
    public var disk = [Disk](repeating: Disk(), count: FileRole.allCases.count)
    public var groups: [Group: WriteTally] = [:]
    public var noOpWrites = 0
    /// Bytes of the log that are zeros, written in advance for changes to come.
    public var roomBytes = 0

    /// Groups that an interval keeps; those that asked for least are one.
    static let groupLimit = 64

    public init(startedAt: Int64, seconds: Int64 = 0) {
        self.startedAt = startedAt
        self.seconds = seconds
    }

    public var total: Disk { disk.reduce(into: Disk()) { $0 += $1 } }

    public var asked: WriteTally { groups.values.reduce(into: WriteTally()) { $0 += $1 } }

    mutating func add(_ other: BillInterval) {
        add(whole: other)
        bound()
    }

    /// The same, with all of its groups.
    public mutating func add(whole other: BillInterval) {
        seconds += other.seconds
        for role in disk.indices { disk[role] += other.disk[role] }
        for (group, tally) in other.groups { groups[group, default: WriteTally()] += tally }
        noOpWrites += other.noOpWrites
        roomBytes += other.roomBytes
    }

    /// Keeps what counts.
    mutating func bound() {
        guard groups.count > Self.groupLimit else { return }
        let most = groups.sorted { $0.value.weight > $1.value.weight }
        groups = Dictionary(
            uniqueKeysWithValues: most.prefix(Self.groupLimit - BilledStore.allCases.count).map { ($0.key, $0.value) })
        for (group, tally) in most.dropFirst(Self.groupLimit - BilledStore.allCases.count) {
            let rest = Group(client: [], user: .max, operation: "", store: group.store)
            groups[rest, default: WriteTally()] += tally
        }
    }

    /// A group's part of what the disk was given: the log and the tables are shared by what was asked of durable rooms, the caches' files by
    /// what was asked of caches.
    public func share(of tally: WriteTally, _ store: BilledStore) -> Int {
        let all = groups.reduce(0) { $0 + ($1.key.store.isDurable == store.isDurable ? $1.value.weight : 0) }
        guard all > 0 else { return 0 }
        let bytes = store.isDurable ? durableBytes : disk[FileRole.cache.rawValue].bytes
        return Int(Double(bytes) * Double(tally.weight) / Double(all))
    }

    private var durableBytes: Int {
        disk[FileRole.log.rawValue].bytes - roomBytes + disk[FileRole.durable.rawValue].bytes
    }

    /// What nobody asked for in this while: the log's room, checkpoints, folds and sweeps of what came before, temporary files.
    public var upkeepBytes: Int {
        var bytes = disk[FileRole.other.rawValue].bytes + roomBytes
        if !groups.keys.contains(where: { $0.store.isDurable }) { bytes += durableBytes }
        if !groups.keys.contains(where: { !$0.store.isDurable }) { bytes += disk[FileRole.cache.rawValue].bytes }
        return bytes
    }
}
