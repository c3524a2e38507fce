import KuraBytes

/// What happens when the buffers of all connections together are full: who is not read from, when those are read from again, and when and
/// from whom memory is taken because nobody gives any back.
///
/// Decides without I/O; the server reads, refuses and closes.
struct MemoryRelief {
    private let budget: BufferBudget
    /// Connections that are not read from for want of memory.
    private(set) var starved: ContiguousArray<Connection> = []
    /// Connections that were closed in this turn and still have memory.
    private var closed: ContiguousArray<Connection> = []
    /// When memory is taken from somebody; nil while there is enough.
    private var reclaimAt: UInt64?
    /// Bytes of all buffers when it was looked last who may be read from again.
    private var usedWhenLooked = 0
    /// Connections that were in a later turn than this one have moved since memory was taken last.
    private var turnAtReclaim: UInt32 = 0
    /// Most bytes of all buffers since the heap was trimmed, and when it will be.
    private var highWater = 0
    private var trimAt: UInt64?
    private var log = LogThrottle()

    /// Nanoseconds after which memory is taken from somebody when nobody has given any back, and until more is taken.
    static let patience: UInt64 = 200_000_000
    static let patienceBetween: UInt64 = 5_000_000
    /// Most connections that lose something in one turn.
    static let mostAtOnce = 128
    /// Bytes of all buffers from which on the heap is trimmed when they are gone.
    static let trimBytes = 16 << 20
    /// Nanoseconds that they have been gone for then.
    static let trimPause: UInt64 = 500_000_000

    init(_ budget: BufferBudget) { self.budget = budget }

    /// When there is something to do; `UInt64.max`: never.
    var next: UInt64 { min(reclaimAt ?? .max, trimAt ?? .max) }

    // MARK: Starving

    /// The connection is not read from before others have given memory back.
    /// - Returns: how often that has happened since the log was told, when it is time to tell it again.
    mutating func starve(_ connection: Connection, turn: UInt32, _ clock: Clock) -> Int? {
        guard !connection.crowd.isStarved else { return nil }
        connection.crowd.isStarved = true
        budget.pauses += 1
        starved.append(connection)
        let time = clock.monotonic
        if reclaimAt == nil { plan(turn: turn, at: time) }
        return log.note(at: time)
    }

    /// The connection needs none any more: what it was sending has been given up.
    mutating func feed(_ connection: Connection) {
        guard connection.crowd.isStarved else { return }
        connection.crowd.isStarved = false
        starved.removeAll { $0 === connection }
    }

    private mutating func plan(turn: UInt32, at time: UInt64) {
        reclaimAt = time + Self.patience
        turnAtReclaim = turn
        usedWhenLooked = .max
    }

    // MARK: Relief

    /// `isShort` has something to look at: in most turns it has not, and no clock is asked.
    var mayBeShort: Bool { !starved.isEmpty || reclaimAt != nil || budget.isFull }

    /// Memory is short, and has to be found. To be asked at the end of a turn.
    mutating func isShort(turn: UInt32, _ clock: Clock) -> Bool {
        guard !starved.isEmpty || budget.isFull else {
            reclaimAt = nil
            return false
        }
        if reclaimAt == nil { plan(turn: turn, at: clock.monotonic) }
        return true
    }

    /// Somebody has given memory back since it was looked last.
    var hasLessInUse: Bool { budget.used < usedWhenLooked }

    /// Takes those out for whom there is room: they are read from again.
    mutating func takeFed(_ clock: Clock) -> ContiguousArray<Connection> {
        let budget = budget
        usedWhenLooked = budget.used
        let isRelaxed = budget.used <= budget.relaxed
        let before = starved.count
        var expected = 0
        var fed: ContiguousArray<Connection> = []
        starved.removeAll { connection in
            guard !connection.phase.isClosed else { return true }
            let next = max(connection.input.count, 16 << 10)
            guard isRelaxed || connection.footprint + next <= BufferBudget.small,
                budget.admits(next + expected, holding: connection.footprint)
            else { return false }
            expected += next
            connection.crowd.isStarved = false
            fed.append(connection)
            return true
        }
        if starved.count < before { reclaimAt = clock.monotonic + Self.patience }
        return fed
    }

    /// Nobody has given anything back in time.
    func isReclaimDue(_ clock: Clock) -> Bool {
        guard let reclaimAt else { return false }
        return clock.monotonic >= reclaimAt
    }

    /// Those from whom something is taken, in their order and at most `mostAtOnce`: first those that have not moved, the biggest first.
    func losers(among connections: ContiguousArray<Connection>) -> ArraySlice<Connection> {
        var candidates: [(connection: Connection, isStarved: Bool, bytes: Int)] = []
        for connection in connections {
            let isStarved = connection.crowd.isStarved
            let hasMoved = Int32(bitPattern: connection.crowd.turn &- turnAtReclaim) > 0
            guard isStarved || !hasMoved, connection.hasPartialLine || connection.isBlocked else { continue }
            candidates.append((connection, isStarved, connection.footprint))
        }
        candidates.sort { $0.isStarved != $1.isStarved ? !$0.isStarved : $0.bytes > $1.bytes }
        return candidates.map(\.connection).prefix(Self.mostAtOnce)
    }

    /// Memory has been taken: from now on it is seen who moves.
    mutating func endReclaim(turn: UInt32, _ clock: Clock) {
        turnAtReclaim = turn
        reclaimAt = clock.monotonic + (budget.used > budget.relaxed ? Self.patienceBetween : Self.patience)
    }

    // MARK: Memory that is left over

    /// The connection is closed. It may be in a list for a while yet, but not its memory, which is not counted any more.
    mutating func close(_ connection: Connection) { closed.append(connection) }

    mutating func releaseClosed() {
        guard !closed.isEmpty else { return }
        for connection in closed { connection.releaseMemory(budget.pool) }
        closed.removeAll(keepingCapacity: closed.count <= 64)
    }

    /// `isTrimDue` has something to look at or to note.
    var mayTrim: Bool { highWater > Self.trimBytes || budget.used > highWater }

    /// A crowd has gone: what the heap has kept of it goes back to the system. Once, and when all is quiet, since it takes a
    /// few milliseconds.
    mutating func isTrimDue(_ clock: Clock) -> Bool {
        let used = budget.used
        highWater = max(highWater, used)
        guard highWater > Self.trimBytes, used < highWater / 4 else {
            trimAt = nil
            return false
        }
        let time = clock.monotonic
        guard let at = trimAt else {
            trimAt = time + Self.trimPause
            return false
        }
        guard time >= at else { return false }
        trimAt = nil
        highWater = used
        return true
    }
}
