import KuraBytes
import KuraStorage

/// The requests that wait, one a connection, and who wakes them: a value without I/O.
///
/// The server enters a connection at the end of its turn (`set`). A wait ends once, and its connection leaves the table: one ticket
/// has come (`take`), a gate opens for all who wait at it (`open`), a deadline has passed (`takeOverdue`), or the connection closes or
/// is cancelled (`remove`).
struct WaitTable {
    /// Why a connection's request does not go on.
    enum Cause: Hashable {
        case none
        /// Too many changes wait to be folded, or the turn is full.
        case room
        /// The client has written more than its budget, and may write again in a moment.
        case slot
        /// It goes on at that moment, in nanoseconds on the monotonic clock, or a little later.
        case moment(UInt64)
        /// A page is being read in; the ticket comes back when it is there.
        case page(UInt64)
        /// A query is being run; the ticket comes back with its answer.
        case answer(UInt64)
        /// A transfer is under way in the request's place; the ticket is the server's own.
        case transfer(UInt64)

        /// How the slow log calls it.
        var kind: Waits {
            switch self {
            case .none, .slot, .moment: []
            case .room: .room
            case .page: .page
            case .answer: .query
            case .transfer: .transfer
            }
        }
    }

    struct Woken: Equatable {
        /// The connection's.
        var token: UInt64
        var cause: Cause
    }

    private struct Entry {
        var cause: Cause
        /// Nanoseconds on the monotonic clock; 0: it waits as long as it takes.
        var deadline: UInt64
    }
    private var entries: [UInt64: Entry] = [:]
    /// The one connection that waits for each ticket: of a page, an answer or a transfer.
    private var holders: [Cause: UInt64] = [:]
    /// The connections that wait at each gate, first come first: room for changes, and the second's slot for writes. `open` passes over
    /// those that have left.
    private var queues: [[UInt64]] = [[], []]
    /// When to look for those whose time is over; not before.
    private(set) var next: UInt64 = .max

    /// Nanoseconds between two looks: each goes through all, and many waits end in between.
    static let pause: UInt64 = 20_000_000

    var isEmpty: Bool { entries.isEmpty }

    func count(where isCounted: (Cause) -> Bool) -> Int { entries.values.count { isCounted($0.cause) } }

    /// Whether a connection waits at the gate; true as well when all have left and nobody has opened it since.
    func awaits(_ cause: Cause) -> Bool { !queues[cause == .room ? 0 : 1].isEmpty }

    /// The connection that waits for a ticket.
    func holder(of cause: Cause) -> UInt64? { holders[cause] }

    /// The connection's request waits for `cause` now, whatever it has waited for.
    mutating func set(_ token: UInt64, _ cause: Cause, until deadline: UInt64 = 0) {
        if entries[token]?.cause != cause {
            remove(token)
            switch cause {
            case .none: return
            case .room, .slot: queue(token, for: cause)
            case .moment: break
            case .page, .answer, .transfer: holders[cause] = token
            }
        }
        entries[token] = Entry(cause: cause, deadline: deadline)
        if deadline > 0 { next = min(next, deadline.later(by: Self.pause)) }
    }

    /// The connection waits no more.
    mutating func remove(_ token: UInt64) {
        guard let entry = entries.removeValue(forKey: token) else { return }
        switch entry.cause {
        case .room, .slot, .moment, .none: break
        case .page, .answer, .transfer: holders[entry.cause] = nil
        }
    }

    private mutating func queue(_ token: UInt64, for cause: Cause) {
        let queue = cause == .room ? 0 : 1
        // Who has left is passed over when it opens; those who come and go meanwhile take no more than those who stay.
        if queues[queue].count > 64 + 2 * entries.count { queues[queue].removeAll { entries[$0]?.cause != cause } }
        queues[queue].append(token)
    }

    /// A ticket has come.
    /// - Returns: its connection's token; nil when it has left.
    mutating func take(_ cause: Cause) -> UInt64? {
        guard let token = holders.removeValue(forKey: cause) else { return nil }
        entries[token] = nil
        return token
    }

    /// The gate opens.
    mutating func open(_ cause: Cause) -> [UInt64] {
        let queue = cause == .room ? 0 : 1
        let woken = queues[queue].filter { token in
            guard entries[token]?.cause == cause else { return false }
            entries[token] = nil
            return true
        }
        queues[queue].removeAll(keepingCapacity: true)
        return woken
    }

    /// Those whose time is over.
    mutating func takeOverdue(at time: UInt64) -> [Woken] {
        guard time >= next else { return [] }
        var overdue: [Woken] = []
        var least = UInt64.max
        for (token, entry) in entries where entry.deadline > 0 {
            if entry.deadline <= time {
                overdue.append(Woken(token: token, cause: entry.cause))
            } else {
                least = min(least, entry.deadline)
            }
        }
        for woken in overdue { remove(woken.token) }
        next = least == .max ? .max : least.later(by: Self.pause)
        return overdue
    }
}

extension Server {
    /// The turn is over for the connection: whoever wakes its request finds it.
    func noteWait(of connection: Connection) {
        guard !connection.phase.isClosed else { return }
        let cause = connection.wait
        if case .moment(let time) = cause { return waits.set(connection.token, cause, until: time) }
        // What comes from a thread is waited for so long; the rest comes by itself.
        let deadline = connection.begun?.ticket == nil ? 0 : connection.begun!.progress.patience.deadline
        waits.set(connection.token, cause, until: deadline)
    }

    /// The wait is over.
    /// - Returns: the connection, whose request goes on when it enters the turn; nil when it is gone.
    func wake(
        _ token: UInt64?, from cause: WaitTable.Cause, _ answer: QueryAnswer? = nil, _ outcome: TransferOutcome? = nil
    ) -> Connection? {
        guard let token, let connection = connections[token], connection.wait == cause else { return nil }
        connection.begun?.wake(answer, outcome)
        return connection
    }

    /// The requests go on that have waited for what is there for all at once.
    func wakeAll(_ cause: WaitTable.Cause) {
        for token in waits.open(cause) {
            if let connection = wake(token, from: cause) { enter(connection) }
        }
    }

    /// The requests go on whose time is over: they find that it is, and say so.
    func endOverdue(at time: UInt64, _ storage: isolated Storage) {
        for woken in waits.takeOverdue(at: time) {
            if case .answer(let ticket) = woken.cause { storage.forget(ticket) }
            if let connection = wake(woken.token, from: woken.cause) { enter(connection) }
        }
    }
}
