import CSyscalls
import KuraBytes

/// One durable item as it lies in memory: a fixed head, then the key's bytes, then the value's.
///
/// An item never changes once it is in the table: a write makes a new one that supersedes it. So the fold thread may read
/// `rev`, `scope`, the times, key and value of the items in its slice while the loop goes on; links, flags and counts are
/// the loop's alone. Items are counted by hand (`references`), on the loop: the table holds one, the fold queue another.
///
/// It is a record of many fields and no more: what keeps them right are the owners of the links (`ItemTable`, `RowTable`, `ItemList`) and the
/// ledger. Their order is the layout: the first line has what a look-up asks for, bytes that belong to different owners lie side by side where
/// a group of each would be padded, and the whole is 112 bytes, of which there are hundreds of thousands.
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
    private var facts: Facts = []
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
    /// Next item of the same bucket in `RowTable`.
    var rowChain: ItemRef?
    /// Neighbours in the list that the item is in: a domain's settings, or the cache's clean documents.
    var newer: ItemRef?
    var older: ItemRef?

    /// What the fold thread may read while the loop changes `flags`.
    private struct Facts: OptionSet {
        var rawValue: UInt8
        static let deleted = Facts(rawValue: 1)
        static let writesBody = Facts(rawValue: 2)
        static let hollow = Facts(rawValue: 4)

        subscript(fact: Facts) -> Bool {
            get { contains(fact) }
            set { if newValue { insert(fact) } else { remove(fact) } }
        }
    }

    /// The item is deleted. A document's tombstone may still carry its last body, for the tables.
    var isDeleted: Bool {
        get { facts[.deleted] }
        set { facts[.deleted] = newValue }
    }
    /// A tombstone whose body the tables may not have: what it deletes was not folded.
    var writesBody: Bool {
        get { facts[.writesBody] }
        set { facts[.writesBody] = newValue }
    }
    /// The value is freed: a newer change of the same item is synced, and is folded instead.
    var isHollow: Bool {
        get { facts[.hollow] }
        set { facts[.hollow] = newValue }
    }

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
        /// It holds keys of unique indexes (`UniqueClaims`).
        static let claiming = Flags(rawValue: 32)
        /// It stands for the dropping of its scope: it is in the fold queue and nowhere else.
        static let drop = Flags(rawValue: 64)
    }
}

/// Where an item lies.
///
/// Safety: an address comes from `make` and from nowhere else, and is good while the item has references, which the loop
/// counts: whoever keeps an address holds a reference (the table, the fold queue, a staged change) or is kept by one who does
/// (the links between items, which go when the item leaves the table). Key and value lie behind the head, as long as it says,
/// in the memory that was asked for with both. AddressSanitizer sees each item as a block of its own.
@safe
struct ItemRef: Hashable {
    private let address: UnsafeMutablePointer<Item>

    private init(_ address: UnsafeMutablePointer<Item>) {
        unsafe self.address = address
    }

    /// A new item with one reference; its key and value are copied in.
    static func make(key: Bytes, value: Bytes) -> ItemRef {
        let size = MemoryLayout<Item>.stride + key.count + value.count
        let item = unsafe ItemArena.allocate(size).bindMemory(to: Item.self, capacity: 1)
        unsafe item.initialize(to: Item())
        unsafe item.pointee.keyLength = UInt32(key.count)
        unsafe item.pointee.valueLength = UInt32(value.count)
        unsafe item.pointee.references = 1
        let tail = unsafe UnsafeMutableRawPointer(item) + MemoryLayout<Item>.stride
        if let source = unsafe key.baseAddress { unsafe tail.copyMemory(from: source, byteCount: key.count) }
        if let source = unsafe value.baseAddress {
            unsafe (tail + key.count).copyMemory(from: source, byteCount: value.count)
        }
        return unsafe ItemRef(item)
    }

    /// A copy without the value, which takes the item's place in the fold queue.
    static func make(hollow item: ItemRef) -> ItemRef {
        let hollow = make(key: item.key, value: Bytes())
        hollow.pointee = item.pointee
        hollow.pointee.isHollow = true
        hollow.pointee.valueLength = 0
        hollow.pointee.references = 1
        (hollow.pointee.chain, hollow.pointee.rowChain) = (nil, nil)
        return hollow
    }

    static func == (left: ItemRef, right: ItemRef) -> Bool { unsafe left.address == right.address }

    func hash(into hasher: inout Hasher) { unsafe hasher.combine(address) }

    var pointee: Item {
        unsafeAddress { unsafe UnsafePointer(address) }
        nonmutating unsafeMutableAddress { unsafe address }
    }

    var key: Bytes { unsafe Bytes(start: tail, count: Int(pointee.keyLength)) }

    var value: Bytes { unsafe Bytes(start: tail + Int(pointee.keyLength), count: Int(pointee.valueLength)) }

    private var tail: UnsafeRawPointer { unsafe UnsafeRawPointer(address) + MemoryLayout<Item>.stride }

    /// Has key and value fetched while the head is looked at: they lie in the neighbouring lines.
    func prefetch() {
        unsafe csys_prefetch(UnsafeRawPointer(address) + 64)
        unsafe csys_prefetch(UnsafeRawPointer(address) + 128)
    }

    /// Has the head fetched, which is looked at soon.
    func prefetchHead() {
        unsafe csys_prefetch(UnsafeRawPointer(address))
        unsafe csys_prefetch(UnsafeRawPointer(address) + 64)
    }

    /// Has key and value fetched, as far as the processor does not find out by itself that it is read on. The head is there.
    func prefetchBody() {
        var offset = 128
        let end = min(size, 1024)
        while offset < end {
            unsafe csys_prefetch(UnsafeRawPointer(address) + offset)
            offset += 64
        }
    }

    /// Where the item's link to the next one of its bucket lies.
    var chainAddress: UnsafeMutablePointer<ItemRef?> {
        unsafe (UnsafeMutableRawPointer(address) + Self.chainOffset).assumingMemoryBound(to: ItemRef?.self)
    }
    private static let chainOffset = MemoryLayout<Item>.offset(of: \.chain)!

    private var size: Int { MemoryLayout<Item>.stride + Int(pointee.keyLength) + Int(pointee.valueLength) }

    /// Bytes that the item takes.
    var footprint: Int { ItemArena.footprint(size) }

    var isTombstone: Bool { pointee.isDeleted }
    /// A deleted document whose last value was given up for its room.
    var hasGivenUpValue: Bool {
        isTombstone && pointee.store == .documents && value.elementsEqual(DocumentsStore.givenUp)
    }
    var isRelaxed: Bool { pointee.flags.contains(.relaxed) }
    var isDirty: Bool { pointee.flags.contains(.dirty) }

    /// Moves this change's share in its scope's sums to another change.
    func moveDeltas(to other: ItemRef) {
        other.pointee.countDelta += pointee.countDelta
        other.pointee.bytesDelta += pointee.bytesDelta
        (pointee.countDelta, pointee.bytesDelta) = (0, 0)
    }

    func retain() { pointee.references += 1 }

    func release() {
        pointee.references -= 1
        if pointee.references == 0 { unsafe ItemArena.release(address, size) }
    }
}
