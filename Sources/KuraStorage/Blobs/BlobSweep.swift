/// A walk over all blobs for those that have expired: where it is, and when the next one begins.
struct BlobSweep {
    private(set) var place: BlobPlace = 0
    private(set) var at: UInt64 = 0
    /// Namespaces that it is about, and when the next of all is due; nil: it is about all.
    private var only: (namespaces: Set<Int32>, nextAt: UInt64)?
    private(set) var progress = CacheSweep()

    /// Rows that are looked at in one turn, and how often all are begun anew.
    private static let rows: BlobPlace = 4000
    private static let pause: UInt64 = 60_000_000_000

    /// `isReady`: there is something to be swept. `count`: blobs.
    mutating func begin(isReady: Bool, of count: Int) {
        (place, at, only) = (0, 0, nil)
        progress = CacheSweep(isRunning: isReady, done: 0, total: count, removed: 0, bytes: 0)
    }

    /// The same of some namespaces; of all when that is under way anyway. With no namespace there is nothing to be done.
    mutating func begin(isReady: Bool, of count: Int, only namespaces: Set<Int32>) {
        guard place == 0, !progress.isRunning else { return begin(isReady: isReady, of: count) }
        guard !namespaces.isEmpty else { return progress = CacheSweep() }
        let nextAt = at
        begin(isReady: isReady, of: count)
        only = (namespaces, nextAt)
    }

    /// Behind the last row that is looked at in this turn.
    /// `end`: behind the last row.
    func sliceEnd(_ end: BlobPlace) -> BlobPlace { min(place + Self.rows, end) }

    /// Whether it is about a namespace.
    func concerns(_ namespace: Int32) -> Bool { only?.namespaces.contains(namespace) ?? true }

    /// A blob is looked at.
    mutating func noteLook() { progress.done += 1 }

    mutating func pass() { place += 1 }

    mutating func noteRemoved(_ count: Int, bytes: Int) {
        progress.removed += count
        progress.bytes += bytes
    }

    /// It is through.
    /// - Returns: nanoseconds until the next one.
    mutating func end(_ time: UInt64) -> UInt64 {
        place = 0
        at = only?.nextAt ?? time + Self.pause
        only = nil
        progress.isRunning = false
        return at > time ? at - time : 0
    }
}
