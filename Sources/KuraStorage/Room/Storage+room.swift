/// Room on the disk: what the loop does about it, as `RoomKeeper` wishes.
extension Storage {
    public func roomStatus() -> RoomStatus { room.status() }

    private var written: RoomKeeper.Written { (log.segments.bytesAppended, folder.waitingBytes) }

    func keepRoom(_ time: UInt64) {
        guard room.mustKeep(time, appended: log.segments.bytesAppended) else { return }
        let mayCheckpoint = folding.isIdle && !folding.isCheckpointing
        fulfil(room.keep(time, written, isFolding: folding.hasSlice, mayCheckpoint: mayCheckpoint))
    }

    private func fulfil(_ wishes: RoomKeeper.Wishes) {
        if wishes.contains(.checkpoint) { checkpoint() }
        if wishes.contains(.shrunkenCaches) { caches.noticeFullDisk() }
        if wishes.contains(.hastenedFold) { folding.hasten() }
    }

    /// A commit has found no room.
    func noticeFullLog() { fulfil(room.noteFullLog(written)) }

    /// The fold has found no room. Whoever waits for what the fold thread does is answered, unless it goes on at once: nobody knows when
    /// there is room.
    /// - Returns: nanoseconds until it is to be tried again.
    func noticeFullTables(_ time: UInt64) -> UInt64 {
        let (pause, wishes) = room.noteFullTables(time)
        fulfil(wishes)
        guard pause > 0 else { return 0 }
        desk.waits.refuse(.fold, .noSpace)
        desk.waits.refuse(.scrub, .noSpace)
        return pause
    }

    /// While the disk is full the active segment may have grown for want of another, and only a closed one can be let go:
    /// when all of it is folded, a small one takes over, in the reserve's room if there is no other.
    func turnLogOver(_ time: UInt64, _ hasNoNext: Bool) {
        guard log.segments.active.used >= 16 * Segment.leastCapacity, log.segments.active.lastRev <= ledger.foldedRev
        else { return }
        let hasRoomNow = hasNoNext && room.reserve.give(16 * Segment.leastCapacity)
        if hasRoomNow { room.refuse(time) }
        // After a failure it is tried again a second later, or at once when there is room now.
        log.segments.prepareNext(now: hasRoomNow ? .max : time, capacity: Segment.leastCapacity)
        log.segments.turnOver()
    }
}
