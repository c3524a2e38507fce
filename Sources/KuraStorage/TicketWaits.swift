import KuraBytes

/// Requests that wait, each with a ticket, for what the loop itself brings about: a value without I/O.
///
/// Each way that a wait can end answers its ticket once: what it waits for has come or its time is over (`settle`), somebody has its
/// answer (`answer`), it cannot come for now (`refuse`), it is told how far that is (`cancel`), nobody waits any more (`abandon`).
struct TicketWaits {
    enum Cause: Hashable {
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
        /// When it is answered in any case, nanoseconds.
        var deadline: UInt64
        /// As of which the tables have what is waited for.
        var rev: UInt64
    }
    /// By what they wait for: it is asked for once, however many wait.
    private var waits: [Cause: [Wait]] = [:]
    private var causes: [UInt64: Cause] = [:]
    private var done: [QueryAnswer] = []
    /// Nobody's time is over before this.
    private var nextDeadline: UInt64 = .max
    /// The revision up to which they want the tables; 0 when nobody does.
    private(set) var wantedRev: UInt64 = 0

    var isEmpty: Bool { causes.isEmpty && done.isEmpty }
    var hasDone: Bool { !done.isEmpty }

    /// `rev`: up to which the tables have to be written before it can come.
    mutating func add(_ ticket: UInt64, _ cause: Cause, until deadline: UInt64 = .max, rev: UInt64 = 0) {
        waits[cause, default: []].append(Wait(ticket: ticket, deadline: deadline, rev: rev))
        causes[ticket] = cause
        nextDeadline = min(nextDeadline, deadline)
        wantedRev = max(wantedRev, rev)
    }

    /// Answers those whose time is over, and those for whom `isOver`.
    /// - Returns: when the next one is answered in any case; nil for nobody.
    mutating func settle(_ time: UInt64, _ isOver: (Cause) -> Bool) -> UInt64? {
        let isTimeOver = time >= nextDeadline
        for cause in Array(waits.keys) {
            if isOver(cause) {
                end(cause, nil) { _ in true }
            } else if isTimeOver {
                end(cause, nil) { time >= $0.deadline }
            }
        }
        return done.isEmpty ? nextDeadline == .max ? nil : nextDeadline : time
    }

    /// - Returns: whether somebody has waited with this ticket.
    @discardableResult
    mutating func answer(_ ticket: UInt64, with query: any TableQuery) -> Bool {
        guard remove(ticket) else { return false }
        done.append(QueryAnswer(ticket: ticket, query: query))
        return true
    }

    /// What the fold brings about does not come for now. Who has said how long to wait at most waits on.
    mutating func refuse(_ error: StoreError) {
        for cause in Array(waits.keys) {
            switch cause {
            case .index, .purged: end(cause, error) { _ in true }
            case .settled, .rewrapped, .modelsKnown, .blobsKnown: break
            }
        }
    }

    /// The wait ends, and its request is told how far that is.
    /// - Returns: whether it was one that can be.
    mutating func cancel(_ ticket: UInt64) -> Bool {
        guard let cause = causes[ticket], case .rewrapped = cause,
            let position = waits[cause]?.firstIndex(where: { $0.ticket == ticket })
        else { return false }
        waits[cause]?[position].deadline = 0
        nextDeadline = 0
        return true
    }

    /// Nobody waits with this ticket any more.
    /// - Returns: whether somebody did, for whom nothing is being done.
    mutating func abandon(_ ticket: UInt64) -> Bool { causes[ticket]?.isIdle == true && remove(ticket) }

    mutating func takeDone() -> [QueryAnswer] {
        defer { done = [] }
        return done
    }

    private mutating func remove(_ ticket: UInt64) -> Bool {
        guard let cause = causes.removeValue(forKey: ticket) else { return false }
        waits[cause]?.removeAll { $0.ticket == ticket }
        if waits[cause]?.isEmpty == true { waits[cause] = nil }
        look()
        return true
    }

    private mutating func end(_ cause: Cause, _ error: StoreError?, _ isOver: (Wait) -> Bool) {
        var left = waits.removeValue(forKey: cause) ?? []
        left.removeAll { wait in
            guard isOver(wait) else { return false }
            causes[wait.ticket] = nil
            done.append(QueryAnswer(ticket: wait.ticket, query: WaitOver(), error: error))
            return true
        }
        if !left.isEmpty { waits[cause] = left }
        look()
    }

    /// Some have left: what the others want is looked for again.
    private mutating func look() {
        (nextDeadline, wantedRev) = (.max, 0)
        for wait in waits.values.joined() {
            nextDeadline = min(nextDeadline, wait.deadline)
            wantedRev = max(wantedRev, wait.rev)
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
