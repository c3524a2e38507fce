import Glibc
import KuraBytes
import SQLite

/// What the storage knows of the room on its disk.
struct RoomState {
    /// Free bytes at the last look, and what the log had been given by then.
    var free = Int.max / 4
    var appended: UInt64 = 0
    /// What it had been given when the room was judged last.
    var judged = UInt64.max
    var lookAt: UInt64 = 0
    /// The disk was found full and has not been found otherwise since.
    var isFull = false
    /// Not before this time is it taken for otherwise.
    var fullUntil: UInt64 = 0
    /// Changes are refused, and somebody has been told.
    var isToldFull = false
    var tellAgainAt: UInt64 = 0
    /// When it may be told again that nothing can be folded.
    var tellFoldAt: UInt64 = 0
    /// Looks in a row that found no room with everything folded.
    var stuck = 0
    /// When what takes the room is looked at again.
    var measureAt: UInt64 = 0
    /// Bytes of changes that are folded at once; nil for all there are.
    var slice: Int?
}

/// Room on the disk: how much changes may take, what is given up when there is none, and what happens as it comes back.
extension Storage {
    var isDiskFull: Bool { room.isFull }

    /// Bytes of changes at which a fold begins.
    var foldBytes: Int { min(configuration.foldBytes, ledger.overlayLimit / 2) }

    /// Bytes of folded segments that are kept for the feed.
    var keptBytes: Int {
        if room.isFull { return 0 }
        return ledger.isRoomBounded ? min(configuration.retentionBytes, room.free / 2) : configuration.retentionBytes
    }

    /// Bytes of folded segments at which they are worth a checkpoint that lets them go.
    var awaitedBytes: Int {
        if room.isFull { return 0 }
        let usual = max(configuration.retentionBytes / 2, configuration.segmentBytes)
        return ledger.isRoomBounded ? min(usual, room.free / 4) : usual
    }

    /// Bytes that the next segment has in advance; nil for all.
    var nextCapacity: Int? {
        guard ledger.isRoomBounded else { return nil }
        return max(Segment.leastCapacity, min(configuration.segmentBytes, room.free / 8))
    }

    private func facts() -> RoomRule.Facts {
        let appended = log.bytesAppended - room.appended
        let free = appended < UInt64(room.free) ? room.free - Int(appended) : 0
        return .init(free: free, overlay: ledger.overlayBytes, wal: folder.waitingBytes)
    }

    private func lookAtRoom(_ time: UInt64) {
        let appended = log.bytesAppended - room.appended
        guard time >= room.lookAt || appended > UInt64(room.free / 8) else { return }
        guard let found = FileSystem.room(configuration.dataDirectory) else { return }
        room.free = Int(found.f_bavail) * Int(found.f_frsize)
        room.appended = log.bytesAppended
        room.lookAt = time + (ledger.isRoomBounded ? 5_000_000 : 100_000_000)
        if ledger.isOverlayFull, ledger.overlayItems == 0, folder.waitingBytes == 0 {
            room.stuck += 1
        } else {
            room.stuck = 0
        }
    }

    /// Bounds what changes may take, has the reserve grow or shrink, and refuses changes while there is no room.
    func keepRoom(_ time: UInt64) {
        // Far from full, only what is written brings it nearer: a turn that reads has nothing to judge.
        if time < room.lookAt, log.bytesAppended == room.judged, reserve.isThere, !room.isFull, !ledger.isRoomBounded,
            !ledger.isRefusingForReserve, !ledger.isOverlayFull
        {
            return
        }
        room.judged = log.bytesAppended
        lookAtRoom(time)
        let facts = facts()
        let limit = roomRule.bound(ledger, facts, held: reserve.heldBytes)
        let isRefusing = ledger.isRefusingForReserve
        folder.pace.set(
            checkpointBytes: limit == nil
                ? configuration.checkpointBytes : min(configuration.checkpointBytes, roomRule.walLimit(facts)),
            isShort: limit != nil, isFull: isRefusing || limit.map { $0 < roomRule.deletions } ?? false)
        room.slice = limit.map { min(room.slice ?? .max, roomRule.slice($0)) }
        if let limit, limit > 0, !isRefusing { room.slice = roomRule.slice(limit) }
        // Nobody may wait for room that a checkpoint would give.
        if ledger.isOverlayFull, facts.wal > 0, folding.isIdle, !folding.isCheckpointing { checkpoint() }
        if isRefusing { whileRefusing(facts, time) } else { whileAdmitting(facts, time) }
    }

    private func whileAdmitting(_ facts: RoomRule.Facts, _ time: UInt64) {
        if room.stuck >= 3 { noticeFullDisk() }
        // A second: what is let go of, or given up by caches, takes a moment to come back.
        if room.stuck >= 100 { refuseChanges(time) }
        if room.isFull, !ledger.isFoldOutOfSpace, time >= room.fullUntil { room.isFull = false }
        // What was given up, or was never there.
        guard !reserve.isThere, time >= room.fullUntil else { return }
        let growth = roomRule.growth(facts.free - facts.wal - ledger.overlayBytes, held: reserve.heldBytes)
        guard growth > 0 else { return }
        room.fullUntil = time + 250_000_000
        reserve.grow(by: growth, housekeeper, wake: wake)
    }

    private func whileRefusing(_ facts: RoomRule.Facts, _ time: UInt64) {
        let held = reserve.heldBytes
        if roomRule.admits(facts.free, held: held), !ledger.isFoldOutOfSpace {
            ledger.isRefusingForReserve = false
            (room.isFull, room.stuck, room.slice) = (false, 0, nil)
            caches.space.need(0)
            if room.isToldFull {
                room.isToldFull = false
                report("space is back: \(facts.free) bytes are free, changes are accepted again")
            }
            return
        }
        // What is refused never comes to the write that would find no room: nobody else has the caches look at the space.
        caches.space.need(roomRule.missing(facts.free, held: held) + facts.free)
        caches.noticeFullDisk()
        guard time >= room.fullUntil else { return }
        if facts.free < roomRule.deletions / 2 {
            if reserve.give(roomRule.deletions) { room.lookAt = 0 }
            room.fullUntil = time + 20_000_000
        } else {
            // A grain: not each block of a file that grows by itself.
            let growth = roomRule.growth(facts.free, held: held)
            if growth >= min(roomRule.margin, roomRule.reserve - held), !ledger.hasUnfolded, !folding.hasSlice,
                growth > 0
            {
                reserve.grow(by: growth, housekeeper, wake: wake)
                (room.lookAt, room.fullUntil) = (0, time + 20_000_000)
            }
        }
    }

    /// From now on only what takes something away is done.
    func refuseChanges(_ time: UInt64) {
        guard !ledger.isRefusingForReserve else { return }
        ledger.isRefusingForReserve = true
        room.lookAt = 0
        tellFull(time)
        // Who asks what takes the room is told the state before.
        housekeeper.submit { [gauge, configuration] in gauge.measure(configuration) }
    }

    private func tellFull(_ time: UInt64) {
        guard time >= room.tellAgainAt else { return }
        room.tellAgainAt = time + 10_000_000_000
        room.isToldFull = true
        report("disk full: changes are refused until there is space; deletions, drops and storage.compact make some")
    }

    /// The disk is full: what the log keeps for the feed goes, and caches give up what they hold.
    func noticeFullDisk() {
        let time = clock.monotonic
        room.isFull = true
        room.fullUntil = time + 250_000_000
        caches.noticeFullDisk()
        // Folded at once: what is folded can leave the log.
        folding.hasten()
    }

    /// A commit has found no room.
    func noticeFullLog() {
        noticeFullDisk()
        room.lookAt = 0
        let time = clock.monotonic
        lookAtRoom(time)
        tellFull(time)
        // Else it may have been another one's, or a moment's.
        if room.free < roomRule.deletions {
            refuseChanges(time)
            _ = reserve.give(roomRule.deletions)
        }
    }

    /// The fold has found no room: it goes on in smaller slices, in the reserve's.
    /// - Returns: nanoseconds until it is to be tried again.
    func noticeFullTables(_ time: UInt64) -> UInt64 {
        noticeFullDisk()
        refuseChanges(time)
        let gave = reserve.give(max(roomRule.deletions, reserve.bytes / 4))
        room.slice = max(RoomRule.leastSlice, (room.slice ?? 4 * configuration.reserveBytes) / 8)
        // At once while there is a reserve: others who write to the disk would take its room.
        if gave { return 0 }
        if time >= room.tellFoldAt {
            room.tellFoldAt = time + 10_000_000_000
            report(
                "no space to fold \(ledger.overlayBytes) bytes of changes, which are in the log: it is tried again until there is some"
            )
        }
        refuseWaiting()
        return 50_000_000
    }

    /// Answers everybody who waits for what the fold thread does: it goes on when there is room, and nobody knows when that is.
    private func refuseWaiting() {
        queries.refuseParked(.noSpace)
        scrub.refuseWaiting()
        waits.refuse(.noSpace)
    }

    /// While the disk is full the active segment may have grown for want of another, and only a closed one can be let go:
    /// when all of it is folded, a small one takes over, in the reserve's room if there is no other.
    func turnLogOver(_ time: UInt64, _ hasNoNext: Bool) {
        guard log.active.used >= 16 * Segment.leastCapacity, log.active.lastRev <= ledger.foldedRev else { return }
        let hasRoomNow = hasNoNext && reserve.give(16 * Segment.leastCapacity)
        if hasRoomNow { refuseChanges(time) }
        // After a failure it is tried again a second later, or at once when there is room now.
        log.prepareNext(now: hasRoomNow ? .max : time, capacity: Segment.leastCapacity)
        log.turnOver()
    }
}

extension RoomRule {
    /// Bounds what changes may take.
    /// - Returns: most bytes of unfolded changes; nil when the room sets no bound.
    @discardableResult
    func bound(_ ledger: Ledger, _ facts: Facts, held: Int) -> Int? {
        let limit = overlayLimit(facts)
        ledger.overlayLimit = limit ?? overlay
        ledger.transactionEnd = transactionEnd(facts)
        ledger.removalPages = removalPages(facts, held: held)
        ledger.removalsEnd = limit == nil ? overlay : removalsEnd(facts, held: held)
        ledger.isRoomBounded = limit != nil
        return limit
    }

    /// Whether a start finds what a full disk has left of the reserve, and no room for the rest, or hardly any beside it: changes were
    /// refused, and still are.
    func isShort(_ reserve: Reserve, _ configuration: StorageConfiguration) -> Bool {
        guard let found = FileSystem.room(configuration.dataDirectory) else { return false }
        let (free, held) = (Int(found.f_bavail) * Int(found.f_frsize), reserve.heldBytes)
        return reserve.isThere ? !admits(free, held: held) : growth(free, held: held) < reserve.bytes - held
    }
}
