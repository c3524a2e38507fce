import KuraBytes
import KuraJSON
import SQLite

/// Runs migrations: reader threads look through the documents and work out what becomes of them, the loop stores that in slices, as
/// a client would, as long as nobody has written the document since.
///
/// Each slice is one revision, and how far the run has come is part of it. One collection after the other. Belongs to the loop.
final class Migrations {
    private let ledger: Ledger
    private let configurations: ConfigurationStore
    private let documents: DocumentsStore
    /// What has been looked at; the documents up to `position` are done with.
    private var found: MigrationScan?
    private var position = 0
    /// Of the scan that is under way.
    private var ticket: UInt64?
    /// Gives what a collection's documents are held against; it gets the last one, to be used again.
    var makeJudge: (@Sendable (Bytes, (any DocumentJudge)?, isolated Storage) -> (any DocumentJudge)?)?
    private var lastJudge: (any DocumentJudge)?
    /// When the next slice may be stored.
    private var nextAt: UInt64 = 0
    private var startedAt: UInt64 = 0

    /// Documents and bytes of a slice.
    private static let batch = 64
    private static let batchBytes = 64 << 10
    /// Nanoseconds between two slices, which others have for themselves, and after one that could not be stored.
    private static let interval: UInt64 = 1_000_000
    private static let pause: UInt64 = 50_000_000

    init(ledger: Ledger, configurations: ConfigurationStore, documents: DocumentsStore) {
        self.ledger = ledger
        self.configurations = configurations
        self.documents = documents
    }

    /// Whether documents wait to be stored.
    var hasFound: Bool { found != nil }

    /// The collection whose turn it is, when nothing is being looked for or stored.
    private func collectionToScan() -> Scope? {
        guard found == nil, ticket == nil else { return nil }
        while let number = documents.collections.migrating.min() {
            if let scope = ledger.scopes.known(number), !scope.isDropped, scope.collection.migrations?.isRunning == true
            {
                // What was configured in this turn may still be taken back.
                return scope.collection.migrations!.progress!.rev <= ledger.committedRev ? scope : nil
            }
            documents.collections.migrating.remove(number)
        }
        return nil
    }

    /// Begins to look for documents to migrate, when it is time.
    /// `judge`: gives what the collection's documents are held against; it gets the last one.
    /// `submit`: has the scan run, and gives the ticket that it comes back with.
    func scan(
        _ time: UInt64, judge: (Bytes, (any DocumentJudge)?) -> (any DocumentJudge)?, submit: (MigrationScan) -> UInt64
    ) {
        guard time >= nextAt, let scope = collectionToScan() else { return }
        lastJudge = scope.withName { judge($0, lastJudge) }
        guard let migrations = scope.collection.migrations, let progress = migrations.progress else { return }
        if startedAt == 0 { startedAt = ledger.clock.monotonic }
        ticket = submit(
            MigrationScan(scope, migrations, rev: progress.rev, after: progress.row, judge: lastJudge))
    }

    /// Takes the answer out that is its own, and what the scan has found in.
    func takeOwn(of answers: inout [QueryAnswer]) {
        guard let ticket, let position = answers.firstIndex(where: { $0.ticket == ticket }) else { return }
        let answer = answers.remove(at: position)
        let time = ledger.clock.monotonic
        self.ticket = nil
        self.position = 0
        found = answer.error == nil ? answer.query as? MigrationScan : nil
        nextAt = answer.error == nil ? time : time + Self.pause
    }

    /// When the next piece of a run is due; nil when none is under way.
    func nextPiece(_ time: UInt64, admitsBulk: Bool) -> UInt64? {
        if hasFound { return admitsBulk ? max(nextAt, time) : time + 1_000_000 }
        return documents.collections.migrating.isEmpty || ticket != nil ? nil : max(nextAt, time)
    }

    /// The turn was taken back: what was stored in it is looked for anew.
    func takeBack() {
        found = nil
        nextAt = ledger.clock.monotonic + Self.pause
    }

    /// Stores some of what was found, when it is time.
    /// - Returns: when a run has ended, a line for the operator, and whether every document could be migrated.
    /// - Throws: `.cold`, when a page has to be read in first. Then, as always, what is stored is whole.
    func storeSome(_ time: UInt64) throws(EngineError) -> (line: String, isWhole: Bool)? {
        guard time >= nextAt, let scan = found else { return nil }
        guard let scope = ledger.scopes.known(scan.scope), !scope.isDropped,
            let migrations = scope.collection.migrations,
            migrations.isRunning, var progress = migrations.progress, progress.rev == scan.rev
        else {
            // Dropped, or begun anew with another migration.
            found = nil
            return nil
        }
        _ = FaultPoints.hit(.migrateSlice)
        nextAt = time + Self.interval
        var next = position
        var cold = false
        do throws(DocumentsError) {
            _ = try ledger.transaction(by: .daemon) { () throws(DocumentsError) in
                next = try stage(scan, scope, &progress, &cold)
                if next == scan.found.count, !cold {
                    progress.row = scan.row
                    progress.isDone = scan.isAtEnd
                }
                do throws(EngineError) { try put(progress, scope) } catch { throw .engine(error) }
            }
        } catch {
            // No room now: the same again later.
            nextAt = time + Self.pause
            return nil
        }
        position = next
        if position == scan.found.count, !cold { found = nil }
        if cold { throw .cold }
        guard progress.isDone else { return nil }
        let took = (time - startedAt) / 1_000_000
        startedAt = 0
        let name = scope.name.withBytes { String($0) }
        let line =
            "collection \(name) is migrated from version \(progress.from) to \(progress.to): "
            + "\(progress.changed) documents changed, \(progress.failed) left as they were, in \(took) ms"
        return (line, progress.failed == 0)
    }

    private func put(_ progress: MigrationProgress, _ scope: Scope) throws(EngineError) {
        try scope.name.withBytes { (name) throws(EngineError) in
            try progress.text.withBytes { (text) throws(EngineError) in
                _ = try configurations.put(.documents, name, ConfigurationStore.migration, text, by: .daemon)
            }
        }
    }

    /// - Returns: up to where documents are done with.
    private func stage(
        _ scan: MigrationScan, _ scope: Scope, _ progress: inout MigrationProgress, _ isCold: inout Bool
    ) throws(DocumentsError) -> Int {
        let end = min(position + Self.batch, scan.found.count)
        var bytes = 0
        var next = position
        while next < end, bytes < Self.batchBytes {
            let document = scan.found[next]
            if let failure = document.failure {
                do throws(EngineError) {
                    if try isCurrent(document, scope, &isCold) { progress.note(failure) }
                } catch { throw .engine(error) }
            } else {
                bytes += document.text.count
                do throws(DocumentsError) {
                    if try store(document, scan.texts.bytes(document.text), scope) { progress.changed += 1 }
                } catch {
                    switch error {
                    case .engine(.cold): isCold = true
                    case .uniqueViolation(let violation):
                        progress.note(
                            MigrationFailure(
                                id: document.id,
                                reason: "another document has the same values in the unique index "
                                    + violation.index.withBytes { String($0) }))
                    case .engine, .query, .absent, .referenced, .unfit, .tooManyDocuments, .referencesBuilding,
                        .attachmentsFull, .migrating:
                        throw error
                    }
                }
            }
            if isCold { return next }
            progress.row = document.row
            next += 1
        }
        return next
    }

    /// Whether nobody has written the document since it was looked at.
    private func isCurrent(_ document: MigrationScan.Found, _ scope: Scope, _ isCold: inout Bool) throws(EngineError)
        -> Bool
    {
        do throws(EngineError) {
            return try document.id.withBytes { (id) throws(EngineError) in
                guard let item = try documents.find(scope, id) else { return false }
                return !item.isTombstone && item.pointee.rev == document.rev
            }
        } catch {
            guard error == .cold else { throw error }
            isCold = true
            return false
        }
    }

    private func store(_ document: MigrationScan.Found, _ text: Bytes, _ scope: Scope) throws(DocumentsError) -> Bool {
        try document.id.withBytes { (id) throws(DocumentsError) in
            guard let old = try documents.existing(scope, id), !old.isTombstone, old.pointee.rev == document.rev else {
                return false
            }
            try documents.stage(scope, id, text, old: old)
            return true
        }
    }
}
