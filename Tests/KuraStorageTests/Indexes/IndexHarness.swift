import Glibc
import KuraBytes
import KuraJSON
import SQLite

@testable import KuraStorage

/// A storage without its actor: the loop's part is played by whoever calls, the fold thread is the real one. It is let go of
/// as by a kill: what is not folded is in the log only.
final class IndexHarness {
    let configuration: StorageConfiguration
    private let housekeeper = try! Housekeeper()
    private let recovery: Recovery
    private let folder: Folder
    private let woken = Semaphore()
    private var isStopped = false
    let configurations: ConfigurationStore
    var ledger: Ledger { recovery.ledger }
    var documents: DocumentsStore { recovery.documents }

    init(_ configuration: StorageConfiguration) throws {
        self.configuration = configuration
        for path in [configuration.logDirectory, configuration.durableDirectory] {
            try FileSystem.makeDirectory(path)
        }
        recovery = try Recovery(configuration, housekeeper: housekeeper)
        configurations = ConfigurationStore(ledger: recovery.ledger)
        nonisolated(unsafe) let writer = recovery.writer
        folder = try Folder(
            connection: writer, configuration: configuration, foldedRev: recovery.ledger.foldedRev
        ) { [woken] in woken.signal() }
    }

    deinit { stop() }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        folder.stop()
        housekeeper.stop()
    }

    // MARK: Changes

    @discardableResult
    func put(_ id: String, _ value: String, in collection: String = "c") throws -> UInt64 {
        try with(collection, id, value) { (collection, id, value) throws(DocumentsError) in
            try documents.put(collection, id, value, isNewID: false, ifRev: nil).rev
        }
    }

    func delete(_ id: String, in collection: String = "c") throws {
        _ = try with(collection, id) { (collection, id) throws(DocumentsError) in
            try documents.delete(collection, id, ifRev: nil)
        }
    }

    /// `list`: JSON text of the definitions.
    func configure(_ list: String, in collection: String = "c") throws {
        let text = try with(list) { (list) throws(IndexDefinition.Fault) in
            IndexDefinition.text(of: try IndexDefinition.list(list))
        }
        try text.withBytes { text in
            _ = try with(collection) { (collection) throws(EngineError) in
                try configurations.put(.documents, collection, ConfigurationStore.indexes, text)
            }
        }
    }

    /// `list`: JSON text of the fields.
    func configure(searchFields list: String, in collection: String = "c") throws {
        let text = try with(list) { (list) throws(IndexDefinition.Fault) in
            try SearchDefinition(fields: list, tokenizer: .unicode61).text
        }
        try text.withBytes { text in
            _ = try with(collection) { (collection) throws(EngineError) in
                try configurations.put(.documents, collection, ConfigurationStore.search, text)
            }
        }
    }

    /// `list`: JSON text of the definitions; the collection's indexes are theirs alone.
    func configure(references list: String, in collection: String = "c") throws {
        let definitions = try with(list) { (list) throws(IndexDefinition.Fault) in try ReferenceDefinition.list(list) }
        for (key, text) in [
            (ConfigurationStore.references, ReferenceDefinition.text(of: definitions)),
            (ConfigurationStore.indexes, IndexDefinition.text(of: definitions.map(\.index))),
        ] {
            try text.withBytes { text in
                _ = try with(collection) { (collection) throws(EngineError) in
                    try configurations.put(.documents, collection, key, text)
                }
            }
        }
    }

    /// Everything staged is in the log, and counts as synced.
    func commit() throws {
        switch ledger.commit(to: recovery.log, syncedRev: SyncedRev(ledger.committedRev)) {
        case .committed, .nothing: ledger.revisions.synced = SyncedRev(ledger.committedRev)
        case .noSpace, .unknown: throw StorageFault.damagedLog
        }
    }

    // MARK: Folding

    /// Commits, folds, and takes in what the fold thread tells.
    func fold() throws {
        try commit()
        guard let slice = ledger.cutSlice(syncedRev: SyncedRev(ledger.committedRev), log: nil) else { return }
        if let error = try submit(slice) { throw error }
    }

    /// Has a slice folded.
    /// - Returns: why it was not.
    func submit(_ slice: FoldSlice) throws -> SQLiteError? {
        folder.submit(slice)
        var folded: SQLiteError??
        while folded == nil {
            woken.wait()
            for outcome in folder.outcomes() ?? [] {
                publish(outcome)
                if case .slice = outcome.work { folded = .some(outcome.error) }
            }
        }
        if folded == .some(nil) { while !ledger.settle(slice, budget: 1000) {} }
        return folded ?? nil
    }

    /// Has tombstones purged.
    /// - Returns: how many are gone.
    func purge(_ purge: Purge) throws -> Int {
        folder.submit(purge)
        while true {
            woken.wait()
            for outcome in folder.outcomes() ?? [] {
                for purge in outcome.purged {
                    ledger.scopes.known(purge.collection)?.rows.purge(before: purge.before)
                    return purge.removed
                }
            }
        }
    }

    /// Folds until no index is being built or removed.
    func settle() throws {
        let deadline = monotonicNanoseconds() + 60_000_000_000
        while monotonicNanoseconds() < deadline {
            try fold()
            if try isSettled() { return }
            usleep(1000)
            for outcome in folder.outcomes() ?? [] { publish(outcome) }
        }
        throw StorageFault.refused("indexes do not settle")
    }

    private func publish(_ outcome: Folder.Outcome) {
        let collections = ledger.part(CollectionLedger.self)
        for case let news as IndexNews in outcome.news {
            if let statuses = news.indexes { collections.publish(statuses) }
            if let statuses = news.searches { collections.publish(statuses) }
        }
    }

    private func isSettled() throws -> Bool {
        let collections = ledger.scopes.all.filter { $0.store == .documents }.map(\.collection)
        guard collections.allSatisfy({ $0.indexes?.isSettled ?? true && $0.search.current?.isReady ?? true }) else {
            return false
        }
        return try query("SELECT count(*) FROM indexes WHERE state IN (1, 2, 5)") { $0.int64(0) } == [0]
    }

    func indexes(of collection: String = "c") -> [CollectionIndex] {
        with(collection) { documents.indexes($0)?.all ?? [] }
    }

    // MARK: Looking

    func query<R>(_ sql: String, _ row: (borrowing Statement) -> R) throws -> [R] {
        let connection = try Connection(path: configuration.tablesPath, mode: .readOnly)
        let statement = try connection.prepare(sql)
        var rows: [R] = []
        while try statement.step() { rows.append(row(statement)) }
        return rows
    }

    /// How the index tables differ from what a walk over all documents makes out; nil when they do not.
    func difference() throws -> String? {
        for status in try IndexRow.all(try Connection(path: configuration.tablesPath, mode: .readOnly)) {
            guard status.status.state == .ready || status.status.state == .built else { continue }
            let number = status.status.number
            let found = try query("SELECT key, row FROM index_\(number) ORDER BY key, row") { statement in
                Entry(key: Array(statement.bytes(0)), row: statement.int64(1))
            }
            let expected = try entries(status)
            if found != expected {
                return "index_\(number): \(found.count) entries, not \(expected.count)"
            }
            let bytes = expected.reduce(0) { $0 + $1.key.count }
            if status.status.entries != expected.count || status.status.bytes != bytes {
                return "index_\(number): counts \(status.status.entries) and \(status.status.bytes)"
            }
        }
        return nil
    }

    private struct Entry: Comparable {
        var key: [UInt8]
        var row: Int64

        static func < (left: Entry, right: Entry) -> Bool {
            left.key == right.key ? left.row < right.row : left.key.lexicographicallyPrecedes(right.key)
        }
    }

    private func entries(_ index: IndexRow) throws -> [Entry] {
        let sql = "SELECT row, body FROM documents WHERE collection = \(index.status.collection) AND isDeleted = 0"
        return try query(sql) { statement -> Entry? in
            let document = StoredValue(statement.bytes(1))
            guard index.definition.covers(document) else { return nil }
            var key = ByteBuffer()
            _ = index.definition.appendKey(of: document, to: &key)
            return Entry(key: Array(key.bytes), row: statement.int64(0))
        }.compactMap(\.self).sorted()
    }
}
