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
    }
}
