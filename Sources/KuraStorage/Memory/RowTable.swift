import CSyscalls
import Glibc

/// Documents in memory by the numbers of their rows, by which indexes name them. Belongs to the loop, as a part of `ItemTable`.
///
/// Chained, and of one size: what it holds is bounded by the cache and the overlay, so there is nothing to grow for. Neighbouring rows
/// lie in neighbouring buckets.
///
/// Safety: `buckets` has `mask` + 1 places, all from `calloc`: zeros are nil. A row is cut down by the mask before it leads to a
/// place. Items are in it while they are in the item table, which holds the reference.
@safe
final class RowTable {
    private let buckets: UnsafeMutablePointer<ItemRef?>
    private let mask: Int

    /// `minimumBuckets`: about as many as there will be documents.
    init(minimumBuckets: Int) {
        var size = 1024
        while size < minimumBuckets { size *= 2 }
        unsafe buckets = unsafe calloc(size, MemoryLayout<ItemRef?>.stride)!.bindMemory(
            to: ItemRef?.self, capacity: size)
        mask = size - 1
    }

    deinit {
        unsafe free(buckets)
    }

    func find(_ row: Int64) -> ItemRef? {
        var candidate = unsafe bucket(of: row).pointee
        while let item = candidate {
            if item.pointee.row == row { return item }
            candidate = item.pointee.rowChain
        }
        return nil
    }

    /// The first of two steps that have a document fetched from memory before it is looked for, while others are.
    func prefetchBucket(of row: Int64) { unsafe csys_prefetch(bucket(of: row)) }

    /// The second one.
    func prefetchHead(of row: Int64) { unsafe bucket(of: row).pointee?.prefetchHead() }

    /// Puts in an item that has a row.
    func insert(_ item: ItemRef) {
        let slot = unsafe bucket(of: item.pointee.row)
        item.pointee.rowChain = unsafe slot.pointee
        unsafe slot.pointee = item
    }

    /// Takes an item out that is in it.
    func remove(_ old: ItemRef) {
        let slot = unsafe bucket(of: old.pointee.row)
        guard let first = unsafe slot.pointee else { preconditionFailure("the row is not in the table") }
        if first == old {
            unsafe slot.pointee = old.pointee.rowChain
        } else {
            var before = first
            while let item = before.pointee.rowChain, item != old { before = item }
            before.pointee.rowChain = old.pointee.rowChain
        }
        old.pointee.rowChain = nil
    }

    private func bucket(of row: Int64) -> UnsafeMutablePointer<ItemRef?> {
        // Collections begin at buckets of their own.
        let index = row &+ (row >> 40) &* 0x9E37_79B1
        return unsafe buckets + (Int(truncatingIfNeeded: index) & mask)
    }
}
