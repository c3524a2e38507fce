import KuraBytes

/// Requests that wait, each with a ticket, for what the loop itself brings about: a value without I/O.
///
/// Each way that a wait can end does so once: what it waits for has come or its time is over (`settle`), its query can be run
/// (`takeFolded`), somebody has its answer (`answer`), it cannot come for now (`refuse`) or at all (`giveUp`), it is called off (`cancel`,
/// `abandon`), its client is gone (`forget`).
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
        /// The tables are as of the revision that a query must see.
        case folded
        /// Nothing is left on the disk of what was destroyed up to this revision.
        case scrubbed(UInt64)

        /// Nothing is being done for the one who waits: he can leave.
        fileprivate var isIdle: Bool {
            switch self {
            case .index, .settled, .modelsKnown, .blobsKnown, .folded: true
            case .rewrapped, .purged, .scrubbed: false
            }
        }

        /// It is waited for so long at most, and answered with how far it is then.
        fileprivate var isBounded: Bool {
            switch self {
            case .settled, .rewrapped: true
            case .index, .modelsKnown, .blobsKnown, .purged, .folded, .scrubbed: false
            }
        }

        /// Who cannot bring it about for now says so to all who wait for him; nil: it comes, or the time is over.
        fileprivate var source: Source? {
            switch self {
            case .folded, .index, .purged: .fold
            case .scrubbed: .scrub
            case .settled, .rewrapped, .modelsKnown, .blobsKnown: nil
            }
        }
    }
    enum Source { case fold, scrub }

    private struct Wait {
        /// What it is answered with, or runs then.
        var answer: QueryAnswer
        /// When it is answered in any case, nanoseconds.
        var deadline: UInt64
        /// When it is told how far that is.
        var tellAt: UInt64
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
    /// The daemon stops: nobody begins to wait for so long at most.
    private(set) var isEnding = false

    var isEmpty: Bool { causes.isEmpty && done.isEmpty }
    var hasDone: Bool { !done.isEmpty }

    /// Nanoseconds between two times that somebody is told how far it is.
    static let telling: UInt64 = 500_000_000

    /// `tellAt`: when it is told how far it is. `rev`: up to which the tables have to be written before it can come.
    mutating func add(
        _ ticket: UInt64, _ cause: Cause, until deadline: UInt64 = .max, tellAt: UInt64 = .max, rev: UInt64 = 0,
        _ query: any TableQuery = WaitOver()
    ) {
        let answer = QueryAnswer(ticket: ticket, query: query)
        waits[cause, default: []].append(Wait(answer: answer, deadline: deadline, tellAt: tellAt, rev: rev))
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
                end(cause, cause == .folded ? .interrupted : nil) { time >= $0.deadline }
            }
        }
        return done.isEmpty ? nextDeadline == .max ? nil : nextDeadline : time
    }

    /// The tables are as of `rev`.
    /// - Returns: the queries that can be run now, which answer their tickets.
    mutating func takeFolded(to rev: UInt64) -> [QueryAnswer] { take(.folded) { $0.rev <= rev } }

    /// - Returns: whether somebody has waited with this ticket.
    @discardableResult
    mutating func answer(_ ticket: UInt64, with query: any TableQuery) -> Bool {
        guard forget(ticket) else { return false }
        done.append(QueryAnswer(ticket: ticket, query: query))
        return true
    }

    /// What `source` brings about does not come for now.
    mutating func refuse(_ source: Source, _ error: StoreError) {
        for cause in Array(waits.keys) where cause.source == source { end(cause, error) { _ in true } }
    }

    /// The wait ends: a query is not run any more, and who waits for secrets is told how far that is.
    /// - Returns: whether it was one that can be.
    mutating func cancel(_ ticket: UInt64) -> Bool {
        guard let cause = causes[ticket], let position = waits[cause]?.firstIndex(where: { $0.answer.ticket == ticket })
        else { return false }
        switch cause {
        case .rewrapped, .folded: break
        case .index, .settled, .modelsKnown, .blobsKnown, .purged, .scrubbed: return false
        }
        waits[cause]?[position].deadline = 0
        nextDeadline = 0
        return true
    }

    /// The daemon stops: the time of those who wait for so long at most is over.
    mutating func beginEnding() {
        isEnding = true
        for cause in Array(waits.keys) where cause.isBounded {
            for position in waits[cause]!.indices { waits[cause]![position].deadline = 0 }
            nextDeadline = 0
        }
    }

    /// What is waited for with this ticket does not come.
    /// - Returns: the answer that says so; nil when nobody waits with it.
    mutating func giveUp(_ ticket: UInt64) -> QueryAnswer? {
        guard let cause = causes[ticket], var answer = take(cause, { $0.answer.ticket == ticket }).first else {
            return nil
        }
        answer.error = .cancelled
        return answer
    }

    /// Nobody waits with this ticket any more, if nothing is being done for it.
    /// - Returns: whether somebody did.
    mutating func abandon(_ ticket: UInt64) -> Bool { causes[ticket]?.isIdle == true && forget(ticket) }

    /// Whoever waits with this ticket is gone.
    /// - Returns: whether somebody did.
    @discardableResult
    mutating func forget(_ ticket: UInt64) -> Bool {
        guard let cause = causes[ticket] else { return false }
        return !take(cause) { $0.answer.ticket == ticket }.isEmpty
    }

    /// Those who wait for secrets and are to be told now how far that is; then after a pause again.
    mutating func takeUntold(at time: UInt64) -> [UInt64] {
        var untold: [UInt64] = []
        for (cause, all) in waits {
            guard case .rewrapped = cause else { continue }
            for (position, wait) in all.enumerated() where wait.tellAt <= time {
                waits[cause]?[position].tellAt = time + Self.telling
                untold.append(wait.answer.ticket)
            }
        }
        return untold
    }

    mutating func takeDone() -> [QueryAnswer] {
        defer { done = [] }
        return done
    }

    private mutating func end(_ cause: Cause, _ error: StoreError?, _ isOver: (Wait) -> Bool) {
        for var answer in take(cause, isOver) {
            answer.error = error
            done.append(answer)
        }
    }

    private mutating func take(_ cause: Cause, _ isOver: (Wait) -> Bool) -> [QueryAnswer] {
        var left = waits.removeValue(forKey: cause) ?? []
        var taken: [QueryAnswer] = []
        left.removeAll { wait in
            guard isOver(wait) else { return false }
            causes[wait.answer.ticket] = nil
            taken.append(wait.answer)
            return true
        }
        if !left.isEmpty { waits[cause] = left }
        look()
        return taken
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
            case .scrubbed(let rev): scrub.phase == .done && rev <= scrub.target
            case .purged, .folded: false
            }
        }
    }
}
