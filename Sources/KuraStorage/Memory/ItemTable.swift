import CSyscalls
import Glibc
import KuraBytes

/// All items in memory by (scope, key): the overlay's changes, every setting, and the documents read lately.
///
/// A chained hash table that grows by moving a few buckets at each insertion, so that no single write pays for a large
/// move. Belongs to the loop.
///
/// Safety: `buckets` has `mask` + 1 places, `previous`, while it is there, `previousMask` + 1; a hash is cut down by
/// the mask before it leads to a place. Both come from `calloc`: zeros are nil. Items are in the table with a
/// reference of its own.
@safe
final class ItemTable {
    private var buckets: UnsafeMutablePointer<ItemRef?>
    private var mask: Int
    /// While the table grows: the smaller one, of which buckets below `moved` are empty.
    private var previous: UnsafeMutablePointer<ItemRef?>?
    private var previousMask = 0
    private var moved = 0
    private(set) var count = 0
    let rows: RowTable
    private let seed = UInt64.random(in: 0...UInt64.max)

    /// `rows`: about how many of the items will be documents.
    init(minimumBuckets: Int = 1024, rows: Int = 0) {
        self.rows = RowTable(minimumBuckets: rows)
        var size = 16
        while size < minimumBuckets { size *= 2 }
        unsafe buckets = unsafe calloc(size, MemoryLayout<ItemRef?>.stride)!.bindMemory(
            to: ItemRef?.self, capacity: size)
        mask = size - 1
    }

    deinit {
        unsafe free(buckets)
        unsafe free(previous)
    }

    func hash(scope: UInt32, key: Bytes) -> UInt64 {
        Hash.bytes(key, seed: seed &+ UInt64(scope) &* 0x9E37_79B9_7F4A_7C15)
    }

    func find(scope: UInt32, key: Bytes, hash: UInt64) -> ItemRef? {
        var candidate = unsafe bucket(of: hash).pointee
        while let item = candidate {
            // Side by side with the head, not one after the other.
            item.prefetch()
            if item.pointee.hash == hash, item.pointee.scope == scope, item.key.equals(key) { return item }
            candidate = item.pointee.chain
        }
        return nil
    }

    // What is looked up soon is fetched from memory meanwhile: the bucket, then the first item of it, then the rest of a large one.

    func prefetchBucket(_ hash: UInt64) { unsafe csys_prefetch(bucket(of: hash)) }

    func prefetchEntry(_ hash: UInt64) {
        guard let item = unsafe bucket(of: hash).pointee else { return }
        item.prefetchHead()
        item.prefetch()
    }

    func prefetchContents(_ hash: UInt64) {
        guard let item = unsafe bucket(of: hash).pointee, item.pointee.hash == hash else { return }
        item.prefetchBody()
    }

    /// Puts in an item whose (scope, key) is not in the table; takes over the caller's reference. Its row does not change from now on.
    func insert(_ item: ItemRef) {
        // Half full at most: a look-up mostly touches one item only.
        if count * 2 > mask, unsafe previous == nil { grow() }
        moveSome()
        let slot = unsafe bucket(of: item.pointee.hash)
        item.pointee.chain = unsafe slot.pointee
        unsafe slot.pointee = item
        count += 1
        if item.pointee.row != 0 { rows.insert(item) }
    }

    /// Puts `new` in the place of `old`. The table's reference to `old` passes to the caller, the caller's to `new` to the
    /// table.
    func replace(_ old: ItemRef, with new: ItemRef) {
        var link = unsafe bucket(of: old.pointee.hash)
        while let item = unsafe link.pointee {
            if item == old {
                new.pointee.chain = old.pointee.chain
                old.pointee.chain = nil
                unsafe link.pointee = new
                if old.pointee.row != 0 { rows.remove(old) }
                if new.pointee.row != 0 { rows.insert(new) }
                return
            }
            unsafe link = unsafe item.chainAddress
        }
        preconditionFailure("the item is not in the table")
    }

    /// Takes an item out; the table's reference passes to the caller.
    func remove(_ old: ItemRef) {
        var link = unsafe bucket(of: old.pointee.hash)
        while let item = unsafe link.pointee {
            if item == old {
                unsafe link.pointee = old.pointee.chain
                old.pointee.chain = nil
                count -= 1
                if old.pointee.row != 0 { rows.remove(old) }
                return
            }
            unsafe link = unsafe item.chainAddress
        }
        preconditionFailure("the item is not in the table")
    }

    private func bucket(of hash: UInt64) -> UnsafeMutablePointer<ItemRef?> {
        if let previous = unsafe previous {
            let index = Int(truncatingIfNeeded: hash) & previousMask
            if index >= moved { return unsafe previous + index }
        }
        return unsafe buckets + (Int(truncatingIfNeeded: hash) & mask)
    }

    private func grow() {
        unsafe previous = unsafe buckets
        previousMask = mask
        moved = 0
        let size = (mask + 1) * 2
        // calloc hands out untouched zero pages for large sizes: nil everywhere without writing to them.
        let memory = unsafe calloc(size, MemoryLayout<ItemRef?>.stride)!
        if size >= 1 << 18 {
            let page = unsafe UnsafeMutableRawPointer(bitPattern: (UInt(bitPattern: memory) + 4095) & ~4095)
            _ = unsafe madvise(page, size * MemoryLayout<ItemRef?>.stride - 4096, MADV_HUGEPAGE)
        }
        unsafe buckets = unsafe memory.bindMemory(to: ItemRef?.self, capacity: size)
        mask = size - 1
    }

    private func moveSome() {
        guard let old = unsafe previous else { return }
        let stop = min(moved + 8, previousMask + 1)
        while moved < stop {
            var candidate = unsafe old[moved]
            unsafe old[moved] = nil
            moved += 1
            while let item = candidate {
                candidate = item.pointee.chain
                let slot = unsafe buckets + (Int(truncatingIfNeeded: item.pointee.hash) & mask)
                item.pointee.chain = unsafe slot.pointee
                unsafe slot.pointee = item
            }
        }
        if moved > previousMask {
            unsafe free(old)
            unsafe previous = nil
        }
    }
}
