/// The blobs of a namespace in the order of their coming, and which of them goes next: those that were read since the hand came by last
/// are passed over.
///
/// Source: Zhang et al., "SIEVE is Simpler than LRU" (NSDI 2024).
struct BlobQueue {
    private var newest = nowhere
    private var oldest = nowhere
    private var hand = nowhere

    mutating func append(_ place: BlobPlace, _ index: BlobIndex) {
        index[place].older = newest
        index[place].newer = nowhere
        if newest != nowhere { index[newest].newer = place } else { oldest = place }
        newest = place
    }

    mutating func remove(_ place: BlobPlace, _ index: BlobIndex) {
        let row = index[place]
        if hand == place { hand = row.newer }
        if row.newer != nowhere { index[row.newer].older = row.older } else { newest = row.older }
        if row.older != nowhere { index[row.older].newer = row.newer } else { oldest = row.newer }
    }

    /// How many the hand passes over at most: then whoever is there goes, though it was read, so that no turn is held up.
    private static let looks = 256

    /// Who is to go; it stays in the queue until it is removed. Nil when there is nobody.
    mutating func next(_ index: BlobIndex) -> BlobPlace? {
        guard oldest != nowhere else { return nil }
        var place = hand == nowhere ? oldest : hand
        for _ in 0..<Self.looks where index[place].isVisited {
            index[place].isVisited = false
            place = index[place].newer == nowhere ? oldest : index[place].newer
        }
        hand = place
        return place
    }
}
