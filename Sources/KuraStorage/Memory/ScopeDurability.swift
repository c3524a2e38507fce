/// When changes of a scope are on the disk: before they are acknowledged, or within some seconds.
struct ScopeDurability {
    /// Revision that made it so.
    private var since: UInt64 = 0
    /// Seconds after which changes are synced at the latest; 0 when they are durable before they are acknowledged.
    private(set) var flushSeconds: Int32 = 0

    mutating func relax(flushSeconds: Int32, since rev: UInt64) { (self.flushSeconds, since) = (flushSeconds, rev) }

    mutating func tighten() { flushSeconds = 0 }

    /// Whether changes are acknowledged before they are synced: not until what says so is on the disk itself.
    @inline(__always)
    func isRelaxed(_ synced: SyncedRev) -> Bool { flushSeconds > 0 && synced.has(since) }
}
