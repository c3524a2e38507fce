import KuraBytes
import SQLite

/// What is known of the room on the disk. Times are of the monotonic clock, in nanoseconds.
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

/// Keeps what is written within the room on the disk: bounds what changes may take in the ledger, gives the reserve up where there is no
/// room, refuses changes, and admits them again as room comes back. What others are to do about it, it returns. Belongs to the loop.
final class RoomKeeper {
    /// What the loop does besides.
    struct Wishes: OptionSet {
        let rawValue: UInt8
        /// Caches give up what they hold.
        static let shrunkenCaches = Self(rawValue: 1)
        /// What is not folded is folded at once: then it can leave the log.
        static let hastenedFold = Self(rawValue: 2)
        /// The WAL is checkpointed: nobody may wait for the room that this gives.
        static let checkpoint = Self(rawValue: 4)
    }
    /// Bytes that the log was given since the start, and of the tables' WAL that are not in their file yet.
    typealias Written = (appended: UInt64, wal: Int)
    let rule: RoomRule
    let reserve: Reserve
    private let gauge = RoomGauge()
    private let configuration: StorageConfiguration
    private let ledger: Ledger
    private let pace: FoldPace
    private let space: FreeSpace
    private let housekeeper: Housekeeper
    private let wake: @Sendable () -> Void
    private let report: @Sendable (String) -> Void
    /// Bytes left on the file system for this user; nil when that cannot be learnt.
    private let look: @Sendable () -> Int?
    private var state = RoomState()

    /// `pace`: how the fold thread uses the room.
    /// `space`: the room of the caches, which is wanted when changes wait for room.
    /// `wake`: called when the reserve has grown.
    /// `report`: takes lines for the operator.
    init(
        _ ledger: Ledger, pace: FoldPace, space: FreeSpace, housekeeper: Housekeeper,
        wake: @escaping @Sendable () -> Void, report: @escaping @Sendable (String) -> Void,
        look: @escaping @Sendable () -> Int?
    ) {
        (self.ledger, self.pace, self.space, self.housekeeper) = (ledger, pace, space, housekeeper)
        (self.wake, self.report, self.look) = (wake, report, look)
        configuration = ledger.configuration
        reserve = Reserve(configuration)
        rule = RoomRule(reserve: reserve.bytes, overlay: configuration.fold.overlayBytes)
    }

    /// The daemon has started. `wasFull`: room had to be made for that.
    func begin(wasFull: Bool, wal: Int) {
        measure()
        let free = look()
        if wasFull || free.map({ rule.isShort(reserve, free: $0) }) ?? false {
            // What room there is belongs to the fold, until the reserve is back.
            (state.isFull, state.isToldFull) = (true, true)
            ledger.room.isRefusingForReserve = true
        }
        guard let free else { return }
        rule.bound(ledger, .init(free: free, overlay: ledger.overlay.bytes, wal: wal), held: reserve.heldBytes)
    }

    // MARK: Bounds

    var isFull: Bool { state.isFull }
    /// Bytes of changes that are folded at once; nil for all there are.
    var slice: Int? { state.slice }

    /// Bytes of changes at which a fold begins.
    var foldBytes: Int { min(configuration.fold.bytes, ledger.room.overlayLimit / 2) }

    /// Bytes of folded segments that are kept for the feed.
    var keptBytes: Int {
        if state.isFull { return 0 }
        return ledger.room.isBounded
            ? min(configuration.log.retentionBytes, state.free / 2) : configuration.log.retentionBytes
    }

    /// Bytes of folded segments at which they are worth a checkpoint that lets them go.
    var awaitedBytes: Int {
        if state.isFull { return 0 }
        let usual = max(configuration.log.retentionBytes / 2, configuration.log.segmentBytes)
        return ledger.room.isBounded ? min(usual, state.free / 4) : usual
    }

    /// Bytes that the next segment has in advance; nil for all.
    var nextCapacity: Int? {
        guard ledger.room.isBounded else { return nil }
        return max(Segment.leastCapacity, min(configuration.log.segmentBytes, state.free / 8))
    }

    // MARK: Looking

    private func facts(_ written: Written) -> RoomRule.Facts {
        let appended = written.appended - state.appended
        let free = appended < UInt64(state.free) ? state.free - Int(appended) : 0
        return .init(free: free, overlay: ledger.overlay.bytes, wal: written.wal)
    }

    private func look(_ written: Written, _ time: UInt64) {
        let appended = written.appended - state.appended
        guard time >= state.lookAt || appended > UInt64(state.free / 8), let free = look() else { return }
        state.free = free
        state.appended = written.appended
        state.lookAt = time + (ledger.room.isBounded ? 5_000_000 : 100_000_000)
        let isStuck = ledger.isOverlayFull && ledger.overlay.items == 0 && written.wal == 0
        state.stuck = isStuck ? state.stuck + 1 : 0
    }

    /// Whether there is something to judge: far from full, only what is written brings it nearer, and a turn that reads does not.
    func mustKeep(_ time: UInt64, appended: UInt64) -> Bool {
        time >= state.lookAt || appended != state.judged || !reserve.isThere || state.isFull || ledger.room.isBounded
            || ledger.room.isRefusingForReserve || ledger.isOverlayFull
    }

    /// Bounds what changes may take, has the reserve grow or shrink, and refuses changes while there is no room.
    /// `isFolding`: a slice is on its way to the tables. `mayCheckpoint`: nothing is, nor is there a checkpoint under way.
    func keep(_ time: UInt64, _ written: Written, isFolding: Bool, mayCheckpoint: Bool) -> Wishes {
        state.judged = written.appended
        look(written, time)
        let facts = facts(written)
        let limit = rule.bound(ledger, facts, held: reserve.heldBytes)
        let isRefusing = ledger.room.isRefusingForReserve
        pace.set(
            checkpointBytes: limit == nil
                ? configuration.fold.checkpointBytes : min(configuration.fold.checkpointBytes, rule.walLimit(facts)),
            isShort: limit != nil, isFull: isRefusing || limit.map { $0 < rule.deletions } ?? false)
        state.slice = limit.map { min(state.slice ?? .max, rule.slice($0)) }
        if let limit, limit > 0, !isRefusing { state.slice = rule.slice(limit) }
        let wishes: Wishes = ledger.isOverlayFull && facts.wal > 0 && mayCheckpoint ? .checkpoint : []
        return wishes.union(isRefusing ? whileRefusing(facts, time, isFolding) : whileAdmitting(facts, time))
    }

    private func whileAdmitting(_ facts: RoomRule.Facts, _ time: UInt64) -> Wishes {
        var wishes: Wishes = []
        if state.stuck >= 3 { wishes = noteFull() }
        // A second: what is let go of, or given up by caches, takes a moment to come back.
        if state.stuck >= 100 { refuse(time) }
        if state.isFull, !ledger.room.isFoldOutOfSpace, time >= state.fullUntil { state.isFull = false }
        // What was given up, or was never there.
        guard !reserve.isThere, time >= state.fullUntil else { return wishes }
        let growth = rule.growth(facts.free - facts.wal - ledger.overlay.bytes, held: reserve.heldBytes)
        guard growth > 0 else { return wishes }
        state.fullUntil = time + 250_000_000
        reserve.grow(by: growth, housekeeper, wake: wake)
        return wishes
    }

    private func whileRefusing(_ facts: RoomRule.Facts, _ time: UInt64, _ isFolding: Bool) -> Wishes {
        let held = reserve.heldBytes
        // While a fault fills the disk on demand, space freed by an unfinished file must not count as room.
        if rule.admits(facts.free, held: held), !ledger.room.isFoldOutOfSpace, !DiskLimit.isFilled {
            ledger.room.isRefusingForReserve = false
            (state.isFull, state.stuck, state.slice) = (false, 0, nil)
            space.need(0)
            if state.isToldFull {
                state.isToldFull = false
                report("space is back: \(facts.free) bytes are free, changes are accepted again")
            }
            return []
        }
        // What is refused never comes to the write that would find no room: nobody else has the caches look at the space.
        space.need(rule.missing(facts.free, held: held) + facts.free)
        guard time >= state.fullUntil else { return .shrunkenCaches }
        if facts.free < rule.deletions / 2 {
            if reserve.give(rule.deletions) { state.lookAt = 0 }
            state.fullUntil = time + 20_000_000
        } else {
            // A grain: not each block of a file that grows by itself.
            let growth = rule.growth(facts.free, held: held)
            if growth >= min(rule.margin, rule.reserve - held), !ledger.hasUnfolded, !isFolding, growth > 0 {
                reserve.grow(by: growth, housekeeper, wake: wake)
                (state.lookAt, state.fullUntil) = (0, time + 20_000_000)
            }
        }
        return .shrunkenCaches
    }

    // MARK: No room

    /// From now on only what takes something away is done.
    func refuse(_ time: UInt64) {
        guard !ledger.room.isRefusingForReserve else { return }
        ledger.room.isRefusingForReserve = true
        state.lookAt = 0
        tellFull(time)
        // Who asks what takes the room is told the state before.
        measure()
    }

    private func tellFull(_ time: UInt64) {
        guard time >= state.tellAgainAt else { return }
        state.tellAgainAt = time + 10_000_000_000
        state.isToldFull = true
        report("disk full: changes are refused until there is space; deletions, drops and storage.compact make some")
    }

    /// The disk is full: what the log keeps for the feed goes.
    private func noteFull() -> Wishes {
        state.isFull = true
        state.fullUntil = configuration.clock.monotonic + 250_000_000
        return [.shrunkenCaches, .hastenedFold]
    }

    /// Whoever has filled the disk has given it back: nobody is to wait until that is noticed.
    func lookAgain() { (state.lookAt, state.fullUntil) = (0, 0) }

    /// A commit has found no room.
    func noteFullLog(_ written: Written) -> Wishes {
        let wishes = noteFull()
        state.lookAt = 0
        let time = configuration.clock.monotonic
        look(written, time)
        tellFull(time)
        // Else it may have been another one's, or a moment's.
        if state.free < rule.deletions || DiskLimit.isFilled {
            refuse(time)
            _ = reserve.give(rule.deletions)
        }
        return wishes
    }

    /// The fold has found no room: it goes on in smaller slices, in the reserve's.
    /// - Returns: nanoseconds until it is to be tried again, 0 while there is a reserve, since others who write to the disk would take its room.
    func noteFullTables(_ time: UInt64) -> (pause: UInt64, Wishes) {
        let wishes = noteFull()
        refuse(time)
        let gave = reserve.give(max(rule.deletions, reserve.bytes / 4))
        state.slice = max(RoomRule.leastSlice, (state.slice ?? 4 * configuration.reserveBytes) / 8)
        if gave { return (0, wishes) }
        if time >= state.tellFoldAt {
            state.tellFoldAt = time + 10_000_000_000
            report(
                "no space to fold \(ledger.overlay.bytes) bytes of changes, which are in the log: it is tried again until there is some"
            )
        }
        return (50_000_000, wishes)
    }

    // MARK: Status

    private func measure() {
        housekeeper.submit { [gauge, configuration] in gauge.measure(configuration) }
    }

    func status() -> RoomStatus {
        let time = configuration.clock.monotonic
        if time >= state.measureAt {
            state.measureAt = time + 1_000_000_000
            measure()
        }
        let isFull = ledger.room.isRefusingForReserve
        return RoomStatus(
            free: look() ?? 0, isFull: isFull,
            missing: isFull ? rule.missing(state.free, held: reserve.heldBytes) : 0, usage: gauge.usage)
    }
}

extension RoomRule {
    /// Bounds what changes may take.
    /// - Returns: most bytes of unfolded changes; nil when the room sets no bound.
    @discardableResult
    func bound(_ ledger: Ledger, _ facts: Facts, held: Int) -> Int? {
        let limit = overlayLimit(facts)
        ledger.room.overlayLimit = limit ?? overlay
        ledger.room.transactionEnd = transactionEnd(facts)
        ledger.room.removalPages = removalPages(facts, held: held)
        ledger.room.removalsEnd = limit == nil ? overlay : removalsEnd(facts, held: held)
        ledger.room.isBounded = limit != nil
        return limit
    }

    /// Whether a start finds what a full disk has left of the reserve, and no room for the rest, or hardly any beside it: changes were
    /// refused, and still are.
    func isShort(_ reserve: Reserve, free: Int) -> Bool {
        let held = reserve.heldBytes
        return reserve.isThere ? !admits(free, held: held) : growth(free, held: held) < reserve.bytes - held
    }
}
