public import SQLite

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
        /// What the device is given besides, since it takes whole blocks.
        public var blockBytes = 0
        public var writes = 0
        public var syncs = 0
        public var creates = 0
        public var renames = 0
        public var deletes = 0

        public init() {}

        init(_ count: WriteCounts.Count) {
            bytes = count.bytesWritten
            blockBytes = count.blockBytes
            writes = count.writes
            syncs = count.syncs
            creates = count.creates
            renames = count.renames
            deletes = count.deletes
        }

        public static func += (left: inout Self, right: Self) {
            left.bytes += right.bytes
            left.blockBytes += right.blockBytes
            left.writes += right.writes
            left.syncs += right.syncs
            left.creates += right.creates
            left.renames += right.renames
            left.deletes += right.deletes
        }

        /// What making, renaming and removing files costs the file system's own blocks, about: 16 KiB each, 8 KiB for a removal, after Apple's
        /// "Reducing disk writes".
        public var metadataBytes: Int { (creates + renames) * 16_384 + deletes * 8192 }
    }

    /// Seconds since 1970.
    public var startedAt: Int64
    public var seconds: Int64
    /// By role and part, in the order of these.
    var files = [Disk](repeating: Disk(), count: fileKinds)
    public var groups: [Group: WriteTally] = [:]
    public var noOpWrites = 0

    static let fileKinds = FileRole.allCases.count * FilePart.allCases.count
    /// Groups that an interval keeps; those that asked for least are one.
    static let groupLimit = 64

    public init(startedAt: Int64, seconds: Int64 = 0) {
        self.startedAt = startedAt
        self.seconds = seconds
    }

    /// What the disk was given of one kind of file.
    public subscript(role: FileRole, part: FilePart) -> Disk {
        get { files[role.rawValue * FilePart.allCases.count + part.rawValue] }
        set { files[role.rawValue * FilePart.allCases.count + part.rawValue] = newValue }
    }

    /// The same of all files of a role.
    public subscript(role: FileRole) -> Disk {
        FilePart.allCases.reduce(into: Disk()) { $0 += self[role, $1] }
    }

    /// Bytes of the log that are zeros, written in advance for changes to come.
    public var roomBytes: Int { self[.log, .room].bytes }

    public var total: Disk { files.reduce(into: Disk()) { $0 += $1 } }

    public var asked: WriteTally { groups.values.reduce(into: WriteTally()) { $0 += $1 } }

    mutating func add(_ other: BillInterval) {
        add(whole: other)
        bound()
    }

    /// The same, with all of its groups.
    public mutating func add(whole other: BillInterval) {
        seconds += other.seconds
        for kind in files.indices { files[kind] += other.files[kind] }
        for (group, tally) in other.groups { groups[group, default: WriteTally()] += tally }
        noOpWrites += other.noOpWrites
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
    /// what was asked of caches. Of the log it is what its seconds have cost, as far as that is known.
    public func share(of tally: WriteTally, _ store: BilledStore) -> Int {
        guard store.isDurable else { return part(of: tally, in: self[.cache].bytes, isDurable: false) }
        let known = groups.reduce(0) { $0 + ($1.key.store.isDurable ? $1.value.logBytes : 0) }
        return tally.logBytes + part(of: tally, in: max(0, durableBytes - known), isDurable: true)
    }

    /// The same of a part of what a group has asked for, as if all had cost the same.
    func share(byWeightOf tally: WriteTally, _ store: BilledStore) -> Int {
        part(of: tally, in: store.isDurable ? durableBytes : self[.cache].bytes, isDurable: store.isDurable)
    }

    private func part(of tally: WriteTally, in bytes: Int, isDurable: Bool) -> Int {
        let all = groups.reduce(0) { $0 + ($1.key.store.isDurable == isDurable ? $1.value.weight : 0) }
        return all > 0 ? Int(Double(bytes) * Double(tally.weight) / Double(all)) : 0
    }

    /// Of the weight of all that was asked of durable rooms.
    var durableWeight: Int { groups.reduce(0) { $0 + ($1.key.store.isDurable ? $1.value.weight : 0) } }

    private var durableBytes: Int {
        self[.log].bytes - roomBytes + self[.durable].bytes
    }

    /// What nobody asked for in this while: the log's room, checkpoints, folds and sweeps of what came before, temporary files.
    public var upkeepBytes: Int {
        var bytes = self[.other].bytes + roomBytes
        if !groups.contains(where: { $0.key.store.isDurable && $0.value.changes > 0 }) { bytes += durableBytes }
        if !groups.contains(where: { !$0.key.store.isDurable && $0.value.changes > 0 }) { bytes += self[.cache].bytes }
        return bytes
    }
}
