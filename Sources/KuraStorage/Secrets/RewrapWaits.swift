public import KuraBytes

/// Requests that wait until what an older key has sealed is sealed anew. Belongs to the loop.
struct RewrapWaits {
    private struct Wait {
        var ticket: UInt64
        /// The service whose key it is; nil: the root key, and everything.
        var service: NameHash?
        /// When it is answered in any case.
        var deadline: UInt64
    }
    private var waits: [Wait] = []
    private var done: [QueryAnswer] = []

    var isEmpty: Bool { waits.isEmpty && done.isEmpty }

    mutating func add(_ ticket: UInt64, _ service: NameHash?, until deadline: UInt64) {
        waits.append(Wait(ticket: ticket, service: service, deadline: deadline))
    }

    /// The wait ends: its request is told how far it is.
    mutating func cancel(_ ticket: UInt64) -> Bool {
        guard let position = waits.firstIndex(where: { $0.ticket == ticket }) else { return false }
        waits[position].deadline = 0
        return true
    }

    /// Ends the waits that are over.
    /// - Returns: when the next one ends in any case.
    mutating func settle(_ secrets: SecretsStore, _ time: UInt64) -> UInt64 {
        waits.removeAll { wait in
            guard !secrets.isRewrapping(wait.service) || time >= wait.deadline else { return false }
            done.append(QueryAnswer(ticket: wait.ticket, query: RewrapDone()))
            return true
        }
        return done.isEmpty ? waits.map(\.deadline).min() ?? .max : time
    }

    mutating func takeDone() -> [QueryAnswer] {
        guard !done.isEmpty else { return [] }
        defer { done = [] }
        return done
    }
}

/// The answer to having waited: look how far it is.
public final class RewrapDone: TableQuery {
    public let foldedTo: UInt64 = 0

    public func run(_ tables: TableReader) {}
}

extension Storage {
    /// Waits until nothing is sealed with older keys any more, so long at most.
    /// - Parameters:
    ///   - service: whose key it is about; nil: the root key.
    ///   - milliseconds: how long.
    /// - Returns: a ticket that `takeAnswers` gives back; nil when there is nothing to wait for.
    public func awaitRewrapping(service: Bytes?, milliseconds: Int) -> UInt64? {
        let hash = service.flatMap { secrets.nameHash(service: $0) }
        guard secrets.isRewrapping(hash) else { return nil }
        let ticket = takeTicket()
        rewrapWaits.add(ticket, hash, until: clock.deadline(milliseconds: milliseconds).at)
        return ticket
    }

    /// Whether something is still to be sealed anew.
    public func hasToRewrap(service: Bytes?) -> Bool {
        secrets.isRewrapping(service.flatMap { secrets.nameHash(service: $0) })
    }
}

extension SecretsStore {
    /// - Returns: nil while sealed.
    func nameHash(service: Bytes) -> NameHash? {
        guard ring.isUnlocked, let sealer = try? sealer() else { return nil }
        return NameHash(service: service, key: sealer.names, &scratch)
    }

    /// Whether something of the service, or of anything, is to be sealed anew; not while nobody can.
    func isRewrapping(_ service: NameHash?) -> Bool {
        guard ring.isUnlocked else { return false }
        guard let service else {
            guard !ring.retiredEpochs.isEmpty else { return false }
            guard let rewrapping = vault?.rewrapping, rewrapping.isPlanned else { return true }
            // An older key that could not be let go, or that something needs which does not open, stays until the next unlocking.
            return !rewrapping.queue.isEmpty || rewrapping.retiresAt != nil
        }
        return vault?.rewrapping.queue.contains(service) ?? false
    }
}
