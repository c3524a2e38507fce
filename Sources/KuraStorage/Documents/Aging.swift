import KuraBytes
import SQLite

/// What goes by itself: tombstones after their collection's `tombstoneDays`, documents after its `retainDays`, and what documents were before after
/// the `days` of its history, or `retainDays` if they are fewer.
///
/// Once in a while each collection that has one of these is gone through. Documents are deleted as a client would delete them, some a
/// turn, as long as nobody has changed them since: subscribers are told, and they leave tombstones. Belongs to the loop.
final class Aging {
    /// What a round wants done elsewhere.
    enum Job {
        case query(AgedDocuments)
        case purge(Purge)
    }

    private let ledger: Ledger
    private let configurations: ConfigurationStore
    private let documents: DocumentsStore
    /// When the next round begins.
    private(set) var nextAt: UInt64 = 0
    private var found: AgedDocuments?
    private var position = 0
    private var failures = 0
    /// Of the queries that are under way.
    private var tickets: Set<UInt64> = []
    /// Applications that have started: their collections have a round of their own.
    private var hastened: [ApplicationScopes] = []

    /// Nanoseconds between two rounds.
    static let interval: UInt64 = 3_600_000_000_000
    /// Deletions a turn.
    static let batch = 64

    init(ledger: Ledger, configurations: ConfigurationStore, documents: DocumentsStore) {
        self.ledger = ledger
        self.configurations = configurations
        self.documents = documents
    }

    /// Whether a round begins: it is time, and the one before is through with its queries.
    func mayBegin(_ time: UInt64) -> Bool {
        (time >= nextAt || !hastened.isEmpty) && found == nil && tickets.isEmpty
    }

    /// Begins a round if it may begin.
    func begin(_ time: UInt64, now: Int64) -> [Job] {
        guard mayBegin(time) else { return [] }
        let isDue = time >= nextAt
        if isDue { nextAt = time + Self.interval }
        let applications = hastened
        hastened = []
        var jobs: [Job] = []
        for scope in ledger.scopes.all where scope.store == .documents && scope.annex != nil && scope.lastRev > 0 {
            guard isDue || applications.contains(where: { $0.contains(scope.name) }) else { continue }
            if let days = days(scope, ConfigurationStore.tombstoneDays) {
                jobs.append(.purge(Purge(ticket: 0, collection: scope.id, before: now - days * 86_400_000)))
            }
            let retained = days(scope, ConfigurationStore.retainDays)
            if let days = retained {
                jobs.append(.query(AgedDocuments(scope, before: now - days * 86_400_000)))
            }
            if let history = scope.collection.history,
                let days = [history.days, retained.map(Int.init)].compactMap(\.self).min()
            {
                jobs.append(
                    .purge(
                        Purge(
                            ticket: 0, collection: scope.id, before: now - Int64(days) * 86_400_000, kind: .history)))
            }
        }
        return jobs
    }

    /// Its configuration has changed, or something else that may be worth a round.
    func hasten() { nextAt = 0 }

    /// An application has started: what has aged of its collections goes.
    func hasten(_ application: ApplicationScopes) { hastened.append(application) }

    private func days(_ scope: Scope, _ key: StaticString) -> Int64? {
        scope.withName { name in
            configurations.get(.documents, name, key).item.flatMap { ConfiguredValue.days($0.value) }
        }
    }

    /// Whether documents wait to be deleted.
    var hasFound: Bool { found != nil }

    /// A query is under way with this ticket.
    func begun(_ ticket: UInt64) { tickets.insert(ticket) }

    /// Takes the answers out that are its own.
    func takeOwn(of answers: inout [QueryAnswer]) {
        guard !tickets.isEmpty else { return }
        for answer in answers where tickets.remove(answer.ticket) != nil {
            if let query = answer.query as? AgedDocuments { take(query) }
        }
        answers.removeAll { $0.query is AgedDocuments }
    }

    /// Takes in what a query has found.
    func take(_ query: AgedDocuments) {
        guard !query.found.isEmpty else { return }
        (found, position, failures) = (query, 0, 0)
    }

    /// Deletes some of what was found.
    /// - Returns: the query to go on with, when there may be more.
    func deleteSome() -> AgedDocuments? {
        guard let query = found else { return nil }
        let scope = ledger.scopes.known(query.scope)
        guard let scope, !scope.isDropped else {
            found = nil
            return nil
        }
        let end = min(position + Self.batch, query.found.count)
        while position < end {
            let document = query.found[position]
            do throws(DocumentsError) {
                try scope.name.withBytes { (name) throws(DocumentsError) in
                    try document.id.withBytes { (id) throws(DocumentsError) in
                        _ = try documents.delete(name, id, ifRev: document.rev, by: .daemon)
                    }
                }
            } catch {
                // Changed meanwhile: it is young again. Everything else is tried again, and left to the next round at last.
                switch error {
                case .engine(.conflict): break
                // It stays as long as others refer to it, or too much would go with it.
                case .referenced, .unfit, .tooManyDocuments: break
                case .engine, .query, .absent, .uniqueViolation, .referencesBuilding, .attachmentsFull, .migrating:
                    failures += 1
                    if failures > 100 { found = nil }
                    return nil
                }
            }
            position += 1
        }
        guard position == query.found.count else { return nil }
        found = nil
        return query.isAtEnd ? nil : query.next
    }
}

/// The documents of a collection that have not been changed since a moment: some of them at a time.
final class AgedDocuments: TableQuery, @unchecked Sendable {
    // Used by one thread at a time: the pool hands it over under its lock.

    let foldedTo: UInt64
    let scope: UInt32
    private let before: Int64
    private var row: Int64
    private(set) var found: [(id: [UInt8], rev: UInt64)] = []
    private(set) var isAtEnd = false

    private static let limit = 1000

    init(_ scope: Scope, before: Int64) {
        self.scope = scope.id
        self.before = before
        foldedTo = scope.lastRev
        row = Int64(scope.id) << 40
    }

    private init(_ query: AgedDocuments) {
        (scope, before, foldedTo, row) = (query.scope, query.before, query.foldedTo, query.row)
    }

    /// What follows.
    var next: AgedDocuments { AgedDocuments(self) }

    func run(_ tables: TableReader) throws(QueryError) {
        do throws(EngineError) {
            while !isAtEnd, found.count < Self.limit {
                try tables.snapshot { (snapshot) throws(SQLiteError) in try step(tables, snapshot) }
            }
        } catch { throw .engine(error) }
    }

    private func step(_ tables: TableReader, _ snapshot: TableReader.Snapshot) throws(SQLiteError) {
        let select = try tables.connection.prepare(
            "SELECT row, id, rev, isDeleted, updatedAt FROM documents WHERE row > ?1 AND row < ?2 ORDER BY row")
        try select.bind(1, row)
        try select.bind(2, (Int64(scope) + 1) << 40)
        var seen = 0
        while found.count < Self.limit {
            guard try select.step() else {
                isAtEnd = true
                return
            }
            row = select.int64(0)
            if select.int64(3) == 0, select.int64(4) < before {
                found.append((Array(select.bytes(1)), UInt64(select.int64(2))))
            }
            seen += 1
            if seen % 256 == 0, snapshot.isStale { return }
        }
    }
}
