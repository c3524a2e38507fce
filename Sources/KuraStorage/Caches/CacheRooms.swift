/// The rooms whose data may be lost, and what is asked of all of them. Belongs to the loop.
final class CacheRooms {
    /// Those that give way first come first.
    private var all: [any CacheRoom] = []
    /// Requests that wait for a sweep to end.
    private var tickets: [UInt64] = []

    func add(_ room: any CacheRoom) {
        all.append(room)
        all.sort { $0.purgeRank < $1.purgeRank }
    }

    /// Those whose files are still being read.
    var unread: [CacheStore] {
        CacheStore.allCases.filter { store in all.contains { $0.store == store && !$0.isRead } }
    }

    /// They are asked for nothing any more.
    func removeAll() { all = [] }

    /// These files are empty now.
    func filesDropped(_ names: [String]) { for room in all { room.filesDropped(names) } }

    /// A job has been run, which is one room's.
    func take(_ outcome: CacheOutcome) { for room in all where room.take(outcome) { break } }

    /// Gives up about so many bytes of the disk, of the first room that has any.
    /// - Returns: bytes that were given up; 0 when nobody has any left.
    func purge(bytes: Int) -> Int {
        for room in all {
            let given = room.purge(bytes: bytes)
            if given != 0 { return given }
        }
        return 0
    }

    func purgeEnded() { for room in all { room.purgeEnded() } }

    /// - Returns: nanoseconds until one of them wants to be called again.
    func upkeep(_ time: UInt64) -> UInt64? { all.compactMap { $0.upkeep(time) }.min() }

    func close() { for room in all { room.close() } }

    // MARK: Sweeping

    /// How the sweep stands that is under way, or how the last one ended; all rooms together.
    var sweep: CacheSweep {
        all.reduce(into: CacheSweep()) { sum, room in
            let one = room.sweepProgress
            if one.isRunning { sum.isRunning = true }
            sum.done += one.done
            sum.total += one.total
            sum.removed += one.removed
            sum.bytes += one.bytes
        }
    }

    func beginSweep(_ ticket: UInt64) {
        for room in all { room.beginSweep() }
        tickets.append(ticket)
    }

    func beginSweep(of application: ApplicationScopes) { for room in all { room.beginSweep(of: application) } }

    /// The requests that waited for a sweep which has ended.
    func takeSwept() -> [UInt64] {
        guard !tickets.isEmpty, !sweep.isRunning else { return [] }
        defer { tickets = [] }
        return tickets
    }
}
