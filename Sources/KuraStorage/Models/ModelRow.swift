import KuraBytes

/// One entry of the model cache as it lies in memory. Its block has the key, the entity tag, the numbers of its tags (four bytes each), and
/// the value when that is in memory too.
struct ModelRow: BitwiseCopyable {
    struct Flags: OptionSet, BitwiseCopyable {
        var rawValue: UInt8
        /// The value is in the block.
        static let resident = Flags(rawValue: 1)
        /// It is to be in the file, and is there when its batch is written.
        static let persisted = Flags(rawValue: 2)
        /// The last fetch failed: it lives on for as long as that was allowed.
        static let failed = Flags(rawValue: 4)
        /// Stale whatever its times say.
        static let stale = Flags(rawValue: 8)
        /// It is in memory, and in no batch yet: what is written over by then is written once.
        static let unsent = Flags(rawValue: 16)
        /// It came from a seed bundle.
        static let seeded = Flags(rawValue: 32)
        /// What files keep of them.
        static let kept: Flags = [.stale, .failed, .seeded]

        var isPersistedAndSent: Bool { contains(.persisted) && !contains(.unsent) }
    }

    // What a look-up reads comes first, in one cache line.
    var hash: UInt64 = 0
    var block = CacheBlock()
    /// Next row of the same bucket.
    var chain: UInt32 = 0
    /// 0: the row is free.
    var namespace: UInt32 = 0
    var keyCount: UInt16 = 0
    var etagCount: UInt16 = 0
    var tagCount: UInt8 = 0
    var flags: Flags = []
    var valueCount: UInt32 = 0
    /// What the store had come to when it was written last; marks of a higher number are about it.
    var sequence: UInt64 = 0
    /// Milliseconds since 1970.
    var storedAt: Int64 = 0
    var freshUntil: Int64 = 0
    var staleUntil: Int64 = 0
    var errorUntil: Int64 = 0
    /// The batch that has its value; 0 when none has.
    var batch: UInt64 = 0

    var key: Bytes { block.bytes(0..<Int(keyCount)) }
    var etag: Bytes { block.bytes(Int(keyCount)..<Int(keyCount) + Int(etagCount)) }
    var tags: Bytes { block.bytes(Int(keyCount) + Int(etagCount)..<headCount) }
    /// Calls `body` with the number of each tag.
    func forEachTag(_ body: (UInt32) -> Void) {
        let tags = tags
        var position = 0
        while position < tags.count {
            body(tags.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            position += 4
        }
    }
    /// Only while it is resident.
    var value: Bytes { block.bytes(headCount..<headCount + Int(valueCount)) }

    private var headCount: Int { Int(keyCount) + Int(etagCount) + Int(tagCount) * 4 }

    /// Bytes that it counts as: what it takes of the disk, about.
    var charge: Int { Self.charge(headCount + Int(valueCount)) }
    static func charge(_ bytes: Int) -> Int { overhead + bytes }

    /// Bytes of memory that it takes.
    var footprint: Int { Self.overhead + block.footprint }
    /// Of an entry besides its bytes: the row, its places in the orders and its bucket are 128 bytes, the rest is for its place in the file.
    static let overhead = 144

    /// The end of its time, come what may.
    var livesUntil: Int64 { flags.contains(.failed) ? max(staleUntil, errorUntil) : staleUntil }
}

/// Up to which sequence entries are stale, and gone: how a whole namespace, tag or prefix is invalidated at once.
struct ModelMarks: Equatable {
    var staleBefore: UInt64 = 0
    var dropBefore: UInt64 = 0

    mutating func set(_ mode: ModelsStore.Invalidation, _ sequence: UInt64) {
        switch mode {
        case .stale: staleBefore = sequence
        case .drop: dropBefore = sequence
        }
    }

    mutating func join(_ other: ModelMarks) {
        staleBefore = max(staleBefore, other.staleBefore)
        dropBefore = max(dropBefore, other.dropBefore)
    }

    var newest: UInt64 { max(staleBefore, dropBefore) }
}
