public import SQLite

extension Storage {
    /// How the storage stands, for `storage.status`. Sizes in bytes.
    public struct Status: Sendable {
        public var rev: UInt64
        public var syncedRev: UInt64
        public var foldedRev: UInt64
        public var durableRev: UInt64
        public var segments: Int
        public var logBytes: Int
        public var commits: UInt64
        public var syncs: UInt64
        public var overlayItems: Int
        public var overlayBytes: Int
        public var overlayPeak: Int
        public var cacheItems: Int
        public var cacheBytes: Int
        public var noOpWrites: UInt64
        public var disk: WriteCounts
        /// Bytes of caches that are still to be written, about; 0: none are.
        public var unwrittenCaches: Int
    }

    public func status() -> Status {
        Status(
            rev: ledger.rev, syncedRev: syncedRev.rev, foldedRev: ledger.foldedRev, durableRev: tables.durableRev,
            segments: log.segments.segments, logBytes: log.segments.bytes, commits: log.segments.commits,
            syncs: log.syncs,
            overlayItems: ledger.overlay.items, overlayBytes: ledger.overlay.bytes, overlayPeak: ledger.overlay.peak,
            cacheItems: ledger.cache.count, cacheBytes: ledger.cache.bytes, noOpWrites: ledger.counts.noOps,
            disk: CountingVFS.snapshot(),
            unwrittenCaches: caches.writer.waiting + models.unwrittenBytes + blobs.unwrittenBytes)
    }

    /// What a store has: its scopes, their items, and the bytes of these.
    public func totals(of store: Store) -> (scopes: Int, items: Int, bytes: Int) {
        ledger.scopes.all.reduce(into: (0, 0, 0)) { sum, scope in
            guard scope.store == store, scope.lastRev > 0 else { return }
            sum = (sum.0 + 1, sum.1 + scope.count, sum.2 + scope.bytes)
        }
    }

    /// Somebody is to write once a second only.
    public var isThrottling: Bool { bill.isThrottling }

    /// Most items that one transaction surely may remove, for the room on the disk.
    public var removals: Int { ledger.room.removalPages / (2 * RoomRule.pages) }
    /// Changes are refused for want of space.
    public var isOutOfSpace: Bool {
        tables.room.isFull || ledger.room.isFoldOutOfSpace || ledger.room.isRefusingForReserve
    }

    /// Whether a bulk of changes may come: while the overlay is three quarters full the rest is for everybody else.
    public var admitsBulk: Bool { ledger.admitsBulk }

    public func roomStatus() -> RoomStatus { tables.room.status() }
}
