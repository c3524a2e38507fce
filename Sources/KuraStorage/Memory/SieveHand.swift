/// The hand of SIEVE, which says who of a queue goes next: it walks from the oldest to the newest, spares whoever was read since it last passed,
/// and stops at the first who was not.
///
/// Source: Zhang et al., "SIEVE is Simpler than LRU" (NSDI 2024).
struct SieveHand<Place: Equatable> {
    /// Where it stands; nil: at the oldest.
    private var place: Place?

    /// Someone leaves the queue.
    @inline(__always)
    mutating func leaves(_ other: Place, newer: @autoclosure () -> Place?) { if place == other { place = newer() } }

    /// Passes over those who were read.
    /// `looks`: how many of them at most; afterwards as many as are left.
    /// `takeVisit`: whether someone was read since this was asked last.
    /// - Returns: where the hand stands; nil when the queue is empty.
    @inline(__always)
    mutating func pass(
        from oldest: Place?, looks: inout Int, takeVisit: (Place) -> Bool, newer: (Place) -> Place?
    ) -> Place? {
        while looks > 0, let next = place ?? oldest, takeVisit(next) {
            looks -= 1
            place = newer(next)
        }
        return place ?? oldest
    }
}
