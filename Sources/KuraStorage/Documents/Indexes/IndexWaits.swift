import KuraBytes

/// Requests that wait until one index of a collection is built, or all are and its documents migrated. Belongs to the loop.
struct IndexWaits {
    private struct Wait {
        var ticket: UInt64
        var collection: [UInt8]
        /// The index's name; nil for everything.
        var index: [UInt8]?
        /// When it is answered in any case.
        var deadline: UInt64
        /// As of which the tables have what the index is built of.
        var rev: UInt64
    }
    private var waits: [Wait] = []
    private var done: [QueryAnswer] = []

    mutating func add(
        _ ticket: UInt64, _ collection: [UInt8], index: [UInt8]?, until deadline: UInt64, rev: UInt64
    ) {
        waits.append(Wait(ticket: ticket, collection: collection, index: index, deadline: deadline, rev: rev))
    }

    /// The revision up to which they want the tables, since building begins there; 0 when nobody waits.
    var wantedRev: UInt64 { waits.reduce(0) { max($0, $1.rev) } }

    /// Ends the waits that are over.
    /// - Returns: when the next one ends in any case.
    mutating func settle(_ documents: DocumentsStore, _ time: UInt64) -> UInt64? {
        guard !waits.isEmpty else { return nil }
        waits.removeAll { wait in
            let isSettled =
                wait.index.map { !documents.isBuilding(wait.collection, $0) }
                ?? wait.collection.withBytes { documents.isSettled($0) }
            guard isSettled || time >= wait.deadline else { return false }
            done.append(QueryAnswer(ticket: wait.ticket, query: IndexesSettled()))
            return true
        }
        return done.isEmpty ? waits.map(\.deadline).min() : time
    }

    /// Nobody waits for this ticket any more.
    /// - Returns: whether somebody did.
    mutating func remove(_ ticket: UInt64) -> Bool {
        guard let position = waits.firstIndex(where: { $0.ticket == ticket }) else { return false }
        waits.remove(at: position)
        return true
    }

    /// What is waited for does not come for now. Who has said how long to wait at most waits on.
    mutating func refuse(_ error: StoreError) {
        for wait in waits where wait.index != nil {
            done.append(QueryAnswer(ticket: wait.ticket, query: IndexesSettled(), error: error))
        }
        waits.removeAll { $0.index != nil }
    }

    var hasDone: Bool { !done.isEmpty }

    mutating func takeDone() -> [QueryAnswer] {
        defer { done = [] }
        return done
    }
}

/// The answer to having waited: look again.
public final class IndexesSettled: TableQuery {
    public let foldedTo: UInt64 = 0

    public func run(_ tables: TableReader) {}
}
