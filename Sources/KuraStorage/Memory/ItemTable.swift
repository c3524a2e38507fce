import CSyscalls
import Glibc

/// All items in memory by (scope, key): the overlay's changes, every setting, and the documents read lately.
///
/// A chained hash table that grows by moving a few buckets at each insertion, so that no single write pays for a large
/// move. Belongs to the loop.
final class ItemTable {
    private var buckets: UnsafeMutablePointer<ItemRef?>
    private var mask: Int
    /// While the table grows: the smaller one, of which buckets below `moved` are empty.
    private var previous: UnsafeMutablePointer<ItemRef?>?
    private var previousMask = 0
    private var moved = 0
    private(set) var count = 0
    private let seed = UInt64.random(in: 0...UInt64.max)

    init(minimumBuckets: Int = 1024) {
        var size = 16
        while size < minimumBuckets { size *= 2 }
        buckets = calloc(size, MemoryLayout<ItemRef?>.stride)!.bindMemory(to: ItemRef?.self, capacity: size)
        mask = size - 1
    }

    deinit {
        free(buckets)
        free(previous)
    }

    func hash(scope: UInt32, key: Bytes) -> UInt64 {
        KeyHash.hash(key, seed: seed &+ UInt64(scope) &* 0x9E37_79B9_7F4A_7C15)
    }

    func find(scope: UInt32, key: Bytes, hash: UInt64) -> ItemRef? {
        var candidate = bucket(of: hash).pointee
        while let item = candidate {
            // Head, key and value lie in neighbouring lines: they are fetched side by side, not one after the other.
            csys_prefetch(UnsafeRawPointer(item) + 64)
            csys_prefetch(UnsafeRawPointer(item) + 128)
            if item.pointee.hash == hash, item.pointee.scope == scope, item.key.equals(key) { return item }
            candidate = item.pointee.chain
        }
        return nil
    }

    /// Puts in an item whose (scope, key) is not in the table; takes over the caller's reference.
    func insert(_ item: ItemRef) {
        // Half full at most: a look-up mostly touches one item only.
        if count * 2 > mask, previous == nil { grow() }
        moveSome()
        let slot = bucket(of: item.pointee.hash)
        item.pointee.chain = slot.pointee
        slot.pointee = item
        count += 1
    }

    /// Puts `new` in the place of `old`. The table's reference to `old` passes to the caller, the caller's to `new` to the
    /// table.
    func replace(_ old: ItemRef, with new: ItemRef) {
        var link = bucket(of: old.pointee.hash)
        while let item = link.pointee {
            if item == old {
                new.pointee.chain = old.pointee.chain
                old.pointee.chain = nil
                link.pointee = new
                return
            }
            link = Self.chain(of: item)
        }
        preconditionFailure("the item is not in the table")
    }

    /// Takes an item out; the table's reference passes to the caller.
    func remove(_ old: ItemRef) {
        var link = bucket(of: old.pointee.hash)
        while let item = link.pointee {
            if item == old {
                link.pointee = old.pointee.chain
                old.pointee.chain = nil
                count -= 1
                return
            }
            link = Self.chain(of: item)
        }
        preconditionFailure("the item is not in the table")
    }

    /// Where an item's link to the next one of its bucket lies.
    private static func chain(of item: ItemRef) -> UnsafeMutablePointer<ItemRef?> {
        (UnsafeMutableRawPointer(item) + chainOffset).assumingMemoryBound(to: ItemRef?.self)
    }
    private static let chainOffset = MemoryLayout<Item>.offset(of: \.chain)!

    private func bucket(of hash: UInt64) -> UnsafeMutablePointer<ItemRef?> {
        if let previous {
            let index = Int(truncatingIfNeeded: hash) & previousMask
            if index >= moved { return previous + index }
        }
        return buckets + (Int(truncatingIfNeeded: hash) & mask)
    }

    private func grow() {
        previous = buckets
        previousMask = mask
        moved = 0
        let size = (mask + 1) * 2
        // calloc hands out untouched zero pages for large sizes: nil everywhere without writing to them.
        let memory = calloc(size, MemoryLayout<ItemRef?>.stride)!
        if size >= 1 << 18 {
            let page = UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: memory) + 4095) & ~4095)
            _ = madvise(page, size * MemoryLayout<ItemRef?>.stride - 4096, MADV_HUGEPAGE)
        }
        buckets = memory.bindMemory(to: ItemRef?.self, capacity: size)
        mask = size - 1
    }

    private func moveSome() {
        guard let old = previous else { return }
        let stop = min(moved + 8, previousMask + 1)
        while moved < stop {
            var candidate = old[moved]
            old[moved] = nil
            moved += 1
            while let item = candidate {
                candidate = item.pointee.chain
                let slot = buckets + (Int(truncatingIfNeeded: item.pointee.hash) & mask)
                item.pointee.chain = slot.pointee
                slot.pointee = item
            }
        }
        if moved > previousMask {
            free(old)
            previous = nil
        }
    }
}

/// Seeded hash of keys, by folded multiplication (the construction of wyhash, Wang Yi, 2019).
enum KeyHash {
    static func hash(_ bytes: Bytes, seed: UInt64) -> UInt64 {
        var state = seed ^ 0x9E37_79B9_7F4A_7C15 ^ UInt64(truncatingIfNeeded: bytes.count)
        guard var cursor = bytes.baseAddress else { return fold(state, 0xD6E8_FEB8_6659_FD93) }
        var left = bytes.count
        while left >= 8 {
            state = fold(state ^ cursor.loadUnaligned(as: UInt64.self), 0xA076_1D64_78BD_642F)
            cursor += 8
            left -= 8
        }
        return fold(state ^ tail(cursor, left), 0xE703_7ED1_A0B4_28DB)
    }

    /// The last `count` bytes, fewer than eight, as one number.
    @inline(__always)
    private static func tail(_ bytes: UnsafeRawPointer, _ count: Int) -> UInt64 {
        if count >= 4 {
            let low = bytes.loadUnaligned(as: UInt32.self)
            let high = bytes.loadUnaligned(fromByteOffset: count - 4, as: UInt32.self)
            return UInt64(low) | UInt64(high) << 32
        }
        guard count > 0 else { return 0 }
        let first = bytes.load(as: UInt8.self)
        let middle = bytes.load(fromByteOffset: count / 2, as: UInt8.self)
        let last = bytes.load(fromByteOffset: count - 1, as: UInt8.self)
        return UInt64(first) | UInt64(middle) << 8 | UInt64(last) << 16
    }

    @inline(__always)
    private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
