import KuraBytes

/// Requests that wait, each with a ticket, for what the loop itself brings about: a value without I/O.
///
/// Each way that a wait can end answers its ticket once: what it waits for has come or its time is over (`settle`), somebody has its
/// answer (`answer`), it cannot come for now (`refuse`), it is told how far that is (`cancel`), nobody waits any more (`abandon`).
struct TicketWaits {
    enum Cause: Equatable {
        /// An index of a collection is built.
        case index(collection: [UInt8], name: [UInt8])
        /// No index of the collection is being built, and no migration is under way.
        case settled(collection: [UInt8])
        /// Nothing is sealed any more with older keys of a service; nil: the root key, and everything.
        case rewrapped(NameHash?)
        /// All that the caches' files have is known.
        case modelsKnown
        case blobsKnown
        /// A collection's tombstones are purged.
        case purged

        /// Nothing is being done for the one who waits: he can leave.
        fileprivate var isIdle: Bool {
            switch self {
            case .index, .settled, .modelsKnown, .blobsKnown: true
            case .rewrapped, .purged: false
            }
        }
    }

    private struct Wait {
        var ticket: UInt64
        var cause: Cause
        /// When it is answered in any case, nanoseconds.
        var deadline: UInt64
        /// As of which the tables have what is waited for.
        var rev: UInt64
    }
    private var waits: [Wait] = []
    private var done: [QueryAnswer] = []

    var isEmpty: Bool { waits.isEmpty && done.isEmpty }
    var hasDone: Bool { !done.isEmpty }

    /// `rev`: up to which the tables have to be written before it can come.
    mutating func add(_ ticket: UInt64, _ cause: Cause, until deadline: UInt64 = .max, rev: UInt64 = 0) {
        waits.append(Wait(ticket: ticket, cause: cause, deadline: deadline, rev: rev))
    }

    /// The revision up to which they want the tables; 0 when nobody does.
    var wantedRev: UInt64 { waits.reduce(0) { max($0, $1.rev) } }

    /// Answers those whose time is over, and those for whom `isOver`.
    /// - Returns: when the next one is answered in any case; nil for nobody.
    mutating func settle(_ time: UInt64, _ isOver: (Cause) -> Bool) -> UInt64? {
        if !waits.isEmpty { end(nil) { time >= $0.deadline || isOver($0.cause) } }
        guard done.isEmpty else { return time }
        let next = waits.reduce(UInt64.max) { min($0, $1.deadline) }
        return next == .max ? nil : next
    }

    /// - Returns: whether somebody has waited with this ticket.
    @discardableResult
    mutating func answer(_ ticket: UInt64, with query: any TableQuery) -> Bool {
        guard let position = waits.firstIndex(where: { $0.ticket == ticket }) else { return false }
        waits.remove(at: position)
        done.append(QueryAnswer(ticket: ticket, query: query))
        return true
    }

    /// What the fold brings about does not come for now. Who has said how long to wait at most waits on.
    mutating func refuse(_ error: StoreError) {
        end(error) { wait in
            switch wait.cause {
            case .index, .purged: true
            case .settled, .rewrapped, .modelsKnown, .blobsKnown: false
            }
        }
    }

    /// The wait ends, and its request is told how far that is.
    /// - Returns: whether it was one that can be.
    mutating func cancel(_ ticket: UInt64) -> Bool {
        guard let position = waits.firstIndex(where: { $0.ticket == ticket }), case .rewrapped = waits[position].cause
        else { return false }
        waits[position].deadline = 0
        return true
    }

    /// Nobody waits with this ticket any more.
    /// - Returns: whether somebody did, for whom nothing is being done.
    mutating func abandon(_ ticket: UInt64) -> Bool {
        guard let position = waits.firstIndex(where: { $0.ticket == ticket && $0.cause.isIdle }) else { return false }
        waits.remove(at: position)
        return true
    }

    mutating func takeDone() -> [QueryAnswer] {
        defer { done = [] }
        return done
    }

    private mutating func end(_ error: StoreError?, _ isOver: (Wait) -> Bool) {
        waits.removeAll { wait in
            guard isOver(wait) else { return false }
            done.append(QueryAnswer(ticket: wait.ticket, query: WaitOver(), error: error))
            return true
        }
    }
}

/// The answer to having waited: look again.
final class WaitOver: TableQuery {
    let foldedTo: UInt64 = 0

    func run(_ tables: TableReader) {}
}

extension Storage {
    /// Answers those whose wait is over.
    /// - Returns: when it is to be asked again.
    func settleWaits(_ time: UInt64) -> UInt64? {
        guard !waits.isEmpty else { return nil }
        return waits.settle(time) { cause in
            switch cause {
            case .index(let collection, let name): !documents.isBuilding(collection, name)
            case .settled(let collection): collection.withBytes { documents.isSettled($0) }
            case .rewrapped(let service): !secrets.isRewrapping(service)
            case .modelsKnown: models.isLoaded
            case .blobsKnown: blobs.isReady
            case .purged: false
            }
        }
    }
}
