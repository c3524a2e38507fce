public import KuraBytes
import KuraJSON
import SQLite

/// Says what a document that a migration has changed breaks. One thread at a time uses it.
public protocol DocumentJudge: AnyObject, Sendable {
    /// - Returns: the place as a JSON pointer, and the reason; nil when nothing is wrong.
    func fault(of document: Bytes) -> (pointer: String, message: String)?
}

/// Looks through some documents of a collection that is being migrated, in the order of their rows, and works out what becomes of
/// those that are of an older version.
final class MigrationScan: TableQuery, @unchecked Sendable {
    // Used by one thread at a time: the pool hands it over under its lock.

    /// A document that is to be changed, or cannot be.
    struct Found {
        var row: Int64
        var id: [UInt8]
        var rev: UInt64
        /// Where its new text lies in `texts`.
        var text: Range<Int>
        var failure: MigrationFailure?
    }

    let foldedTo: UInt64
    let scope: UInt32
    let rev: UInt64
    private let migrations: [RecordedMigration]
    private let plan: MigrationPlan
    private let judge: (any DocumentJudge)?
    private(set) var found: [Found] = []
    private(set) var texts = ByteBuffer()
    /// The last row that it has looked at.
    private(set) var row: Int64
    private(set) var isAtEnd = false

    /// Bounds of a piece.
    private static let textBytes = 256 << 10
    private static let foundLimit = 512
    private static let rowLimit = 8192

    /// `rev`: the revision that began the run. `row`: where to go on.
    init(_ scope: Scope, _ migrations: CollectionMigrations, rev: UInt64, after row: Int64, judge: (any DocumentJudge)?)
    {
        self.scope = scope.id
        self.rev = rev
        // What is older than the last migration is in the tables then, or newer than they are.
        foldedTo = rev
        self.migrations = migrations.recorded
        // Of a restored collection it names the row under another number of the collection.
        self.row = Int64(scope.id) << BackupRecord.rowBits | row & BackupRecord.rowMask
        self.judge = judge
        plan = MigrationPlan(
            migrations.recorded.map(\.migration), limits: MigrationLimits(resultBytes: DocumentsStore.valueLimit))
    }

    /// A piece is short, but they follow one another.
    var isLong: Bool { true }

    func run(_ tables: TableReader) throws(QueryError) {
        _ = FaultPoints.hit(.migrateScan)
        do throws(EngineError) {
            try tables.snapshot { (snapshot) throws(SQLiteError) in try step(tables, snapshot) }
            // The loop looks them up by their ids, and does not wait for the disk.
            guard !found.isEmpty else { return }
            try tables.warm(documentsOf: scope) { visit in
                for document in found where document.failure == nil { document.id.withBytes { visit($0) } }
            }
        } catch { throw .engine(error) }
    }

    private func step(_ tables: TableReader, _ snapshot: TableReader.Snapshot) throws(SQLiteError) {
        guard try tables.hasCollection(scope) else {
            isAtEnd = true
            return
        }
        try look(through: tables.documents.byRow, snapshot)
    }

    private func look(through select: borrowing Statement, _ snapshot: TableReader.Snapshot) throws(SQLiteError) {
        defer { select.reset() }
        try select.bind(1, row)
        try select.bind(2, (Int64(scope) + 1) << 40)
        var seen = 0
        while texts.count < Self.textBytes, found.count < Self.foundLimit, seen < Self.rowLimit {
            guard try select.step() else {
                isAtEnd = true
                return
            }
            row = select.int64(0)
            let rev = UInt64(select.int64(2))
            if select.int64(3) == 0, let first = migrations.firstIndex(where: { $0.rev > rev }) {
                look(at: select.bytes(4), id: select.bytes(1), rev: rev, first)
            }
            seen += 1
            if seen % 32 == 0, snapshot.isStale { return }
        }
    }

    private func look(at document: Bytes, id: Bytes, rev: UInt64, _ first: Int) {
        let start = texts.count
        var failure: MigrationFailure?
        do throws(MigrationFault) {
            guard let text = try plan.apply(to: document, from: first) else { return }
            if let fault = judge?.fault(of: text) {
                failure = MigrationFailure(
                    id: Array(id), pointer: Array(fault.pointer.utf8), reason: fault.message)
            } else {
                texts.append(text)
            }
        } catch { failure = MigrationFailure(id: Array(id), error) }
        found.append(
            Found(row: row, id: Array(id), rev: rev, text: start..<texts.count, failure: failure))
    }
}
