import KuraBytes
import KuraJSON
import KuraProtocol
import KuraStorage

/// All live queries, by their collections. Belongs to the loop.
final class LiveQueries {
    private var collections: [[UInt8]: LiveCollection] = [:]
    /// Live queries whose documents are being read anew, by ticket.
    private var readings: [UInt64: LiveSubscription] = [:]
    private(set) var matcher: LiveMatcher!
    /// Takes the log's changes in before they are copied.
    let scratch = ChangePage()
    private var pruneAt = 16

    /// `wake`: makes the loop take another turn; on any thread.
    func start(wake: @escaping @Sendable () -> Void) { matcher = LiveMatcher(wake: wake) }

    func stop() { matcher?.stop() }

    /// The one object that stands for a collection.
    func collection(_ name: Bytes) -> LiveCollection {
        let name = Array(name)
        if let found = collections[name] { return found }
        // Queries may have been refused.
        if collections.count >= pruneAt {
            measure()
            pruneAt = collections.count * 2 + 16
        }
        let collection = LiveCollection(name)
        collections[name] = collection
        return collection
    }

    /// Bytes that pages of changes take, as of the last `measure`.
    private(set) var footprint = 0

    /// Live queries have been served, or have gone.
    func measure() {
        if collections.values.contains(where: { $0.users == 0 }) {
            collections = collections.filter { $0.value.users > 0 }
        }
        footprint = collections.values.reduce(0) { $0 + $1.footprint }
    }

    // MARK: What comes from other threads

    /// - Returns: whether something has come.
    func takeMatched() -> Bool {
        guard let outcomes = matcher.takeDone() else { return false }
        for outcome in outcomes {
            for collection in collections.values where collection.take(outcome) { break }
        }
        return true
    }

    func await(_ ticket: UInt64, _ live: LiveSubscription) {
        readings[ticket] = live
        live.phase = .reading(ticket: ticket)
    }

    /// - Returns: whether the answer is to one of the live queries.
    func take(_ answer: QueryAnswer, at time: UInt64) -> Bool {
        guard let live = readings.removeValue(forKey: answer.ticket) else { return false }
        guard answer.error == nil, let snapshot = answer.query as? LiveSnapshot else {
            live.failed(answer.error, at: time)
            return true
        }
        live.take(snapshot)
        return true
    }
}

extension LiveSubscription {
    /// Its documents could not be read anew: tried again, a few times.
    func failed(_ error: QueryError?, at time: UInt64) {
        failures += 1
        switch error {
        case .liveQueryTooLarge(let limit, let isBytes)?: ending = .error(.liveQueryTooLarge(limit, isBytes: isBytes))
        case .patternTooComplex?: ending = .error(.tooComplex)
        case .engine(.noSpace)?, .engine(.overloaded)?: break
        case .engine?, .timeout?, .indexGone?, .searchNotDeclared?, .searchBuilding?, .indexNeeded?, .tooManyGroups?,
            .unresponsive?, .hanging?, .compacted?, nil:
            if failures >= Self.mostFailures {
                ending = .error(RPCError(.overloaded, hint: "its documents could not be read again"))
            }
        }
        phase = .wanting(since: time + UInt64(min(failures, 10)) * 500_000_000)
    }

    private static let mostFailures = 5
}

extension RPCError {
    static func liveQueryTooLarge(_ limit: Int, isBytes: Bool) -> RPCError {
        RPCError(
            .liveQueryTooLarge,
            hint: isBytes ? "bytes that a live query may keep" : "documents that a live query without a limit may have",
            limit: limit)
    }

    static let tooComplex = RPCError(.invalidParams, hint: "a $regex takes too long on a document that has come")
}
