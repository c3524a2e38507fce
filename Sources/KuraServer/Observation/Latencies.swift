import KuraBytes
import KuraProtocol

/// What requests take, by method: from the moment at which the loop saw their last bytes to the moment at which the socket had taken the
/// last byte of their replies. What they wait for is in it: others' turns, pages, queries, the sync. What has not been read from the socket yet is not.
///
/// Not measured: requests that wait for something to happen (`changes.wait`, a value that another client fetches), lines that name no method,
/// and those whose client went before the reply left. Belongs to the loop.
final class Latencies {
    /// Nanoseconds, in the order of the method table.
    private(set) var methods: ContiguousArray<Histogram>
    /// Refusals in the same order.
    private(set) var refusals: ContiguousArray<UInt64>
    /// Refusals by their kind, of lines that name no method too.
    private(set) var kinds: ContiguousArray<UInt64>
    var slow: SlowLog
    let startedAt: UInt64

    init(_ table: MethodTable, startedAt: UInt64) {
        self.startedAt = startedAt
        methods = ContiguousArray(repeating: Histogram(), count: table.methods.count)
        refusals = ContiguousArray(repeating: 0, count: table.methods.count)
        kinds = ContiguousArray(repeating: 0, count: ErrorKind.allCases.count)
        slow = SlowLog(table)
    }

    /// Replies have left.
    func record(_ run: UnsentReplies.Run, at time: UInt64, _ connection: Connection, _ clock: Clock) {
        let elapsed = time &- run.since
        methods[run.method].record(elapsed, times: run.count)
        if elapsed >= slow.threshold { slow.note(run, elapsed, connection, at: clock.wall) }
    }

    /// A request was refused; `method` is nil when it names none.
    func refused(_ kind: ErrorKind, _ method: Int?) {
        kinds[Int(kind.rawValue)] += 1
        if let method { refusals[method] += 1 }
    }
}

extension Server {
    /// Measures the replies that have left.
    func measure(_ connection: Connection) {
        let time = clock.monotonic
        connection.times.unsent.take(upTo: connection.gone) { facts.latencies.record($0, at: time, connection, clock) }
        if facts.latencies.slow.untold > 0 { tellSlow() }
    }
}
