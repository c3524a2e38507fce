import KuraBytes
import KuraTransport

/// What keeps the many from each other's way, on the loop: who gets how much of it, and lists of those who stand back.
struct Crowd: ~Copyable {
    var slices = Slices()
    var memory: MemoryRelief
    var stalls: StallWatch
    var doors: Doors
    /// Those who have written more than their budget.
    private var writes = WriteThrottle()

    var users = UserShares()
    var descriptorLog = LogThrottle()
    var cutOffLog = LogThrottle()
    /// Room for what is thrown away.
    var scratch = ByteBuffer(capacity: 256 << 10)

    init(_ sockets: [DaemonSocket], _ budget: BufferBudget, stallSeconds: Int) {
        doors = Doors(sockets)
        memory = MemoryRelief(budget)
        stalls = StallWatch(seconds: stallSeconds)
    }

    /// Whether writes that are held back may be answered in this turn.
    mutating func opensWrites(_ clock: Clock) -> Bool { writes.opens(turn: slices.turn, clock) }

    func timeToWrites(at time: UInt64) -> UInt64 { writes.timeToNext(at: time) }

    /// Reads on in the sockets of refused clients.
    mutating func drainLingering(_ loop: EventLoop, _ clock: Clock) { doors.drainLingering(&scratch, loop, clock) }

    /// Nanoseconds until there is something to do.
    func timeToNext(at time: UInt64) -> UInt64? {
        if slices.nextDeferred == .max, memory.next == .max, !stalls.isWatching, doors.isQuiet { return nil }
        // Not of four at once: that makes an array.
        let next = min(min(slices.nextDeferred, memory.next), min(stalls.next, doors.next(at: time)))
        return next == .max ? nil : next > time ? next - time : 0
    }
}
