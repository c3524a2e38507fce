import KuraBytes

/// Which changes that are not folded hold which keys of unique indexes: a hash leads to the changes that may. What the tables
/// have is found in the tables; between the two nothing is missed, since a change leaves here after it is there.
///
/// A change that has been superseded stays until it is folded or taken back, and holds nothing while it is. Belongs to the loop.
final class UniqueClaims {
    private struct Claim {
        var item: ItemRef
        var hash: UInt64
        /// The next one with the same hash, and the next one of the same item; -1 at the end.
        var nextOfHash: Int32
        var nextOfItem: Int32
    }
    private var claims: ContiguousArray<Claim> = []
    private var free: [Int32] = []
    private var byHash: [UInt64: Int32] = [:]
    private var byItem: [ItemRef: Int32] = [:]

    var isEmpty: Bool { byItem.isEmpty }

    /// The change holds a key of this hash until it is removed.
    func add(_ item: ItemRef, _ hash: UInt64) {
        let claim = Claim(
            item: item, hash: hash, nextOfHash: byHash[hash] ?? -1, nextOfItem: byItem[item] ?? -1)
        let position: Int32
        if let known = free.popLast() {
            position = known
            claims[Int(position)] = claim
        } else {
            position = Int32(claims.count)
            claims.append(claim)
        }
        byHash[hash] = position
        byItem[item] = position
        item.pointee.flags.insert(.claiming)
    }

    /// The change is folded, or was taken back.
    func remove(_ item: ItemRef) {
        item.pointee.flags.remove(.claiming)
        var next = byItem.removeValue(forKey: item) ?? -1
        while next >= 0 {
            let position = next
            next = claims[Int(position)].nextOfItem
            unlink(position)
            free.append(position)
        }
        if byItem.isEmpty { (claims, free, byHash) = ([], [], [:]) }
    }

    private func unlink(_ position: Int32) {
        let claim = claims[Int(position)]
        guard var known = byHash[claim.hash] else { return }
        guard known != position else {
            byHash[claim.hash] = claim.nextOfHash >= 0 ? claim.nextOfHash : nil
            return
        }
        while claims[Int(known)].nextOfHash != position { known = claims[Int(known)].nextOfHash }
        claims[Int(known)].nextOfHash = claim.nextOfHash
    }

    /// Offers the changes that may hold a key of this hash and are the newest of their documents.
    func forEach(_ hash: UInt64, _ body: (ItemRef) -> Void) {
        var next = byHash[hash] ?? -1
        while next >= 0 {
            let claim = claims[Int(next)]
            if claim.item.pointee.supersededBy == 0 { body(claim.item) }
            next = claim.nextOfHash
        }
    }

    /// The changes that may hold a key of this hash and are the newest of their documents.
    func holders(_ hash: UInt64, where holds: (ItemRef) -> Bool) -> ItemRef? {
        var next = byHash[hash] ?? -1
        while next >= 0 {
            let claim = claims[Int(next)]
            if claim.item.pointee.supersededBy == 0, holds(claim.item) { return claim.item }
            next = claim.nextOfHash
        }
        return nil
    }
}
