import KuraBytes
import KuraProtocol
import KuraStorage

/// Holds back the writes of those who have written more to the disk than their budget: they come once a second, all of them in one turn, and so in
/// one commit.
///
/// What is held back has not been begun, and its reply comes when it has been done as any other: nothing that was acknowledged depends on
/// it. Requests behind it keep their order.
struct WriteThrottle {
    /// When the next turn is open to them.
    private(set) var nextAt: UInt64 = 0
    private var openTurn: UInt32 = 0

    private static let interval: UInt64 = 1_000_000_000

    /// Whether this turn is open, or becomes so now.
    mutating func opens(turn: UInt32, _ clock: Clock) -> Bool {
        if nextAt > 0, openTurn == turn { return true }
        let time = clock.monotonic
        guard time >= nextAt else { return false }
        nextAt = time + Self.interval
        openTurn = turn
        return true
    }

    func timeToNext(at time: UInt64) -> UInt64 { nextAt > time ? nextAt - time : 0 }
}

extension Server {
    /// Whether the request that has just been read is held back. One that has been begun, and has what it waited for, is not.
    func isHeldBack(_ connection: Connection, _ storage: isolated Storage) -> Bool {
        guard !drain.hasBegun, call.begun?.isUnderWay != true, connection.state.gathering == nil,
            storage.bill.isThrottled(connection.client.program(storage))
        else { return false }
        let method = MethodTable.standard.methods[reader.methodIndex]
        guard method.access == .write, method.store != .storage, method.store != .backups, method.store != .fault
        else { return false }
        return !crowd.opensWrites(clock)
    }

    /// Lets those go on that were held back, when it is time.
    func wakeHeldBack() {
        guard waits.awaits(.slot), drain.hasBegun || crowd.opensWrites(clock) else { return }
        wakeAll(.slot)
    }
}
