package import KuraBytes
import KuraJSON
import Synchronization

/// Reads the versions of one item that the log has, and of a document those that its collection keeps.
///
/// The log may still have what a drop or a purge has destroyed. An item that comes to be after those counts its versions anew, so as many of the
/// newest are its own as it counts, and none is shown of an item that nobody knows any more.
public final class ItemVersions: RowSearch, @unchecked Sendable {
    // The housekeeper fills it in while the loop waits for the ticket: never both at once.

    /// One change of the item.
    public struct Version: Sendable {
        public let rev: UInt64
        /// Milliseconds since 1970.
        public let at: Int64
        public let isDeleted: Bool
        /// What the client that made the change called itself; empty when it did not.
        public let client: [UInt8]
        /// As `ChangedMembers`; nil where all members may differ from the version before.
        public let members: [UInt8]?
        /// JSON text; nil when it is deleted, and where it is not wanted.
        public let value: [UInt8]?
        /// Bytes of the value.
        public let bytes: Int
        /// Which of the item's changes in the log it is, counted from 1; 0 where the log has it no more.
        let ordinal: Int
    }

    /// The item, and which of its versions.
    public struct Wanted: Sendable {
        var store: Store
        var scope: [UInt8]
        var key: [UInt8]
        /// Versions that the item counts now, deletions among them; 0 when nobody knows it.
        var count: Int
        /// Those up to this revision.
        var upTo: UInt64
        /// The newest so many, and so many bytes of their values together, of which the newest is kept in any case.
        var most: Int
        var mostBytes: Int
        /// The values come along.
        var values: Bool
        /// The present version, if it is not newer than `upTo`: it may be older than the log.
        var current: Version?
        /// The document's row, when its collection keeps former versions.
        var row: Int64?
    }

    /// What the item was at `upTo`.
    public enum State {
        case version(Version)
        case absent
        /// The log does not reach back so far.
        case unknown
    }

    public let foldedTo: UInt64 = 0
    let wanted: Wanted
    /// In the order of revisions.
    public internal(set) var versions: ContiguousArray<Version> = []
    /// The newest one that was left out, since too many were found; 0 for none.
    private var omitted = 0
    private var bytes = 0
    /// Changes of the item that were found, and the revision of the first.
    private var found = 0
    private(set) var firstFound: UInt64?
    /// What the tables have had.
    var kept = KeptVersions()
    /// Rows up to here have been looked through.
    package private(set) var reached: UInt64 = 0
    private let isStopped = Atomic<Bool>(false)

    init(_ wanted: Wanted) {
        self.wanted = wanted
    }

    public func stop() { isStopped.store(true, ordering: .relaxed) }
    package var mustStop: Bool { isStopped.load(ordering: .relaxed) }
    public var footprint: Int { bytes + versions.count * 128 }

    /// Older ones are known and were left out.
    public var hasMore: Bool { omitted > max(0, found - wanted.count) || kept.hasMore }

    /// All versions of the item are known.
    public var hasAll: Bool { found >= wanted.count || kept.hasFirst }

    public var state: State {
        if kept.misses { return .unknown }
        if let last = versions.last { return last.isDeleted ? .absent : .version(last) }
        return hasAll ? .absent : .unknown
    }

    package var wantsTables: Bool {
        // `get` asks for one version: the tables are read only when the log has none. A list also says whether there are more.
        wanted.row != nil && found < wanted.count && omitted == 0 && (wanted.mostBytes > 0 || versions.isEmpty)
    }

    /// How many more versions are wanted.
    var room: Int { wanted.most - versions.count }

    /// How many more bytes of values are wanted.
    var roomOfBytes: Int { wanted.mostBytes - bytes }

    /// Puts a version before all others.
    func prepend(_ version: Version) {
        versions.insert(version, at: 0)
        bytes += version.value?.count ?? 0
    }

    package func take(_ records: Bytes, rev: UInt64, previous: UInt64, at: Int64) throws(StorageFault) {
        // Nobody knows what is missing, so nothing before it can be told apart.
        if previous > reached { forget() }
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            guard record.rev > reached, record.store == wanted.store, wanted.key.withBytes({ record.key.equals($0) }),
                wanted.scope.withBytes({ record.scope.equals($0) })
            else { continue }
            found += 1
            firstFound = firstFound ?? record.rev
            if record.rev <= wanted.upTo { take(record, at) }
        }
        reached = max(reached, rev)
    }

    private func take(_ record: LogRecord, _ at: Int64) {
        // The last change of a transaction counts.
        if versions.last?.rev == record.rev { bytes -= versions.removeLast().value?.count ?? 0 }
        let value = wanted.values && !record.isTombstone ? Array(record.value) : nil
        versions.append(
            Version(
                rev: record.rev, at: at, isDeleted: record.isTombstone, client: Array(record.writer),
                members: record.members.map { Array($0.text) }, value: value,
                bytes: record.isTombstone ? 0 : record.value.count, ordinal: found))
        bytes += value?.count ?? 0
        while versions.count > wanted.most || versions.count > 1 && bytes > wanted.mostBytes {
            let oldest = versions.removeFirst()
            bytes -= oldest.value?.count ?? 0
            omitted = oldest.ordinal
        }
    }

    private func forget() {
        versions.removeAll()
        (found, bytes, omitted, firstFound) = (0, 0, 0, nil)
    }

    /// All rows have been looked through: what is another item's of the same name goes.
    package func finish() {
        let own = found - wanted.count
        let others = versions.prefix { $0.ordinal <= own }.count
        for version in versions.prefix(others) { bytes -= version.value?.count ?? 0 }
        versions.removeFirst(others)
        if versions.isEmpty, let current = wanted.current { versions = [current] }
    }
}
