import Glibc

/// One durable item as it lies in memory: a fixed head, then the key's bytes, then the value's.
///
/// An item never changes once it is in the table: a write makes a new one that supersedes it. So the fold thread may read
/// `rev`, `scope`, the times, key and value of the items in its slice while the loop goes on; links, flags and counts are
/// the loop's alone. Items are counted by hand (`references`), on the loop: the table holds one, the fold queue another.
struct Item {
    // What a look-up reads comes first, in one cache line.
    var hash: UInt64 = 0
    /// Next item of the same bucket.
    var chain: ItemRef?
    var rev: UInt64 = 0
    var scope: UInt32 = 0
    var keyLength: UInt32 = 0
    var valueLength: UInt32 = 0
    var version: UInt32 = 0
    var store: Store = .settings
    /// The item is deleted. A document's tombstone may still carry its last body, for the tables. Apart from `flags`,
    /// which the loop changes while the fold thread reads this.
    var isDeleted = false
    var flags: Flags = []
    var references: UInt8 = 0
    /// How this change altered its scope's size and number of items; the fold adds them up.
    var countDelta: Int8 = 0
    var bytesDelta: Int32 = 0
    /// Revision of the item that took this one's place; 0 while it is the newest.
    var supersededBy: UInt64 = 0
    /// Milliseconds since 1970.
    var createdAt: Int64 = 0
    var updatedAt: Int64 = 0
    /// The row of a document in its table; 0 for settings.
    var row: Int64 = 0
    /// Neighbours in the list that the item is in: a domain's settings, or the cache's clean documents.
    var newer: ItemRef?
    var older: ItemRef?

    struct Flags: OptionSet {
        var rawValue: UInt8
        /// Not folded yet.
        static let dirty = Flags(rawValue: 2)
        /// Read since the cache's hand passed (SIEVE).
        static let visited = Flags(rawValue: 4)
        /// In the cache's list or a domain's list.
        static let linked = Flags(rawValue: 8)
        /// Acknowledged before it is synced, so that showing it waits for no sync.
        static let relaxed = Flags(rawValue: 16)
    }
}

typealias ItemRef = UnsafeMutablePointer<Item>

extension UnsafeMutablePointer where Pointee == Item {
    /// A new item with one reference; its key and value are copied in.
    static func make(key: Bytes, value: Bytes) -> ItemRef {
        let size = MemoryLayout<Item>.stride + key.count + value.count
        let item = ItemArena.allocate(size).bindMemory(to: Item.self, capacity: 1)
        item.initialize(to: Item())
        item.pointee.keyLength = UInt32(key.count)
        item.pointee.valueLength = UInt32(value.count)
        item.pointee.references = 1
        let tail = UnsafeMutableRawPointer(item) + MemoryLayout<Item>.stride
        if key.count > 0 { memcpy(tail, key.baseAddress!, key.count) }
        if value.count > 0 { memcpy(tail + key.count, value.baseAddress!, value.count) }
        return item
    }

    var key: Bytes {
        Bytes(start: UnsafeRawPointer(self) + MemoryLayout<Item>.stride, count: Int(pointee.keyLength))
    }

    var value: Bytes {
        Bytes(
            start: UnsafeRawPointer(self) + MemoryLayout<Item>.stride + Int(pointee.keyLength),
            count: Int(pointee.valueLength))
    }

    private var size: Int { MemoryLayout<Item>.stride + Int(pointee.keyLength) + Int(pointee.valueLength) }

    /// Bytes that the item takes.
    var footprint: Int { ItemArena.footprint(size) }

    var isTombstone: Bool { pointee.isDeleted }
    var isRelaxed: Bool { pointee.flags.contains(.relaxed) }
    var isDirty: Bool { pointee.flags.contains(.dirty) }

    func retain() { pointee.references += 1 }

    func release() {
        pointee.references -= 1
        if pointee.references == 0 { ItemArena.release(self, size) }
    }
}

/// Borrowed bytes: good only as long as whoever lends them says.
public typealias Bytes = UnsafeRawBufferPointer

extension Bytes {
    public func equals(_ other: Bytes) -> Bool {
        count == other.count && (count == 0 || memcmp(baseAddress!, other.baseAddress!, count) == 0)
    }

    /// Order of bytes, as SQLite's BINARY collation and BLOBs have it.
    public func precedes(_ other: Bytes) -> Bool {
        let shared = Swift.min(count, other.count)
        let order = shared == 0 ? 0 : memcmp(baseAddress!, other.baseAddress!, shared)
        return order != 0 ? order < 0 : count < other.count
    }

    public func starts(with prefix: Bytes) -> Bool {
        count >= prefix.count && (prefix.count == 0 || memcmp(baseAddress!, prefix.baseAddress!, prefix.count) == 0)
    }
}

/// The durable stores; raw values are on disk.
public enum Store: UInt8, Sendable {
    case settings = 1
    case documents = 2
    /// First results of writes that carried a `requestKey`.
    case requests = 3
    /// What rooms keep about their scopes: schemas, registered defaults.
    case configuration = 4

    /// Its items are in memory whole, and lie in the `settings` table.
    var isResident: Bool { self != .documents }
    /// Its changes are the clients' own, so that feeds show them.
    public var isPublic: Bool { self == .settings || self == .documents }
}
