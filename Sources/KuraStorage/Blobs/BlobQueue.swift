/// The blobs of a namespace in the order of their coming, and which of them goes next (`SieveHand`).
struct BlobQueue {
    private var newest = nowhere
    private var oldest = nowhere
    private var hand = SieveHand<BlobPlace>()

    mutating func append(_ place: BlobPlace, _ index: BlobIndex) {
        index[place].queue = BlobLinks(next: nowhere, previous: newest)
        if newest != nowhere { index[newest].queue.next = place } else { oldest = place }
        newest = place
    }

    mutating func remove(_ place: BlobPlace, _ index: BlobIndex) {
        let (newer, older) = (index[place].queue.next, index[place].queue.previous)
        hand.leaves(place, newer: Self.known(newer))
        if newer != nowhere { index[newer].queue.previous = older } else { newest = older }
        if older != nowhere { index[older].queue.next = newer } else { oldest = newer }
    }

    /// How many the hand passes over at most: then whoever is there goes, though it was read, so that no turn is held up.
    private static let looks = 256

    /// Who is to go; it stays in the queue until it is removed. Nil when there is nobody.
    mutating func next(_ index: BlobIndex) -> BlobPlace? {
        var looks = Self.looks
        return hand.pass(
            from: Self.known(oldest), looks: &looks,
            takeVisit: { place in
                guard index[place].isVisited else { return false }
                index[place].isVisited = false
                return true
            }
        ) { Self.known(index[$0].queue.next) }
    }

    private static func known(_ place: BlobPlace) -> BlobPlace? { place == nowhere ? nil : place }
}
