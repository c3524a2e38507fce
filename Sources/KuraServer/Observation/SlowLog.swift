import Glibc
import KuraBytes
import KuraProtocol
import KuraTransport

/// Requests that took long, the newest so many: who asked for what method, when, for how long, and what for it waited. Nothing of their parameters.
/// Belongs to the loop.
struct SlowLog {
    struct Entry {
        /// Counts all that were ever noted, from 1 on.
        var number: UInt64
        /// Milliseconds since 1970 when the reply left.
        var at: Int64
        var method: Int
        /// Requests of the same method that came and left together.
        var count: UInt64
        var nanoseconds: UInt64
        var waits: Waits
        /// What the client called itself, and who it is.
        var client: [UInt8]
        var user: UInt32
        var role: String
    }

    static let capacity = 128
    /// Nanoseconds from which on a request is slow; `UInt64.max`: none is.
    var threshold: UInt64
    private(set) var entries: ContiguousArray<Entry> = []
    private(set) var count: UInt64 = 0
    /// Methods whose work is long by nature.
    private let isExempt: ContiguousArray<Bool>
    private var throttle = LogThrottle()
    /// How many are to be told in one line of the daemon's log, of which this is the newest; 0: there is nothing to tell.
    private(set) var untold = 0
    private var newest: Entry?

    init(_ table: MethodTable) {
        threshold = .max
        isExempt = ContiguousArray(table.methods.map(\.isOutOfBand))
    }

    /// Milliseconds, as the configuration says; 0: no request is slow.
    var milliseconds: Int {
        get { threshold == .max ? 0 : Int(threshold / 1_000_000) }
        set { threshold = newValue == 0 ? .max : .nanoseconds(milliseconds: newValue) }
    }

    mutating func note(_ run: UnsentReplies.Run, _ nanoseconds: UInt64, _ connection: Connection, at time: Int64) {
        guard !isExempt[run.method] else { return }
        count += run.count
        let entry = Entry(
            number: count, at: time, method: run.method, count: run.count, nanoseconds: nanoseconds,
            waits: run.waits, client: connection.client.name, user: connection.client.uid,
            role: connection.client.admission.role)
        if entries.count < Self.capacity {
            entries.append(entry)
        } else {
            entries[oldest] = entry
            oldest = (oldest + 1) % Self.capacity
        }
        if let number = throttle.note(at: run.since &+ nanoseconds) {
            untold = number
            newest = entry
        }
    }

    /// Where the oldest is once they are full.
    private var oldest = 0

    /// The newest first.
    func newest(_ limit: Int) -> [Entry] {
        let ordered = entries[oldest...] + entries[..<oldest]
        return Array(ordered.reversed().prefix(limit))
    }

    /// What is to be told in the daemon's log: at most one line a second, which says how many there were since the last.
    mutating func takeUntold() -> Entry? {
        untold = 0
        return newest.take()
    }
}

extension Server {
    /// Tells of slow requests in the daemon's log.
    func tellSlow() {
        let count = facts.latencies.slow.untold
        guard let entry = facts.latencies.slow.takeUntold() else { return }
        var fields = [
            ("method", reader.table.methods[entry.method].name),
            ("milliseconds", String(entry.nanoseconds / 1_000_000)),
            ("client", String(decoding: entry.client, as: UTF8.self)),
            ("user", entry.user == .max ? "" : String(entry.user)), ("role", entry.role),
        ]
        if count > 1 { fields.append(("slowSince", String(count))) }
        journal.log(.warning, "slow request", fields)
    }
}
