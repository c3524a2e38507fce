import KuraBytes
public import KuraJSON
import SQLite

/// What a migration would do: all of a collection's documents are gone through, and nothing is changed.
public final class MigrationTrial: TableQuery, @unchecked Sendable {
    // Used by one thread at a time: the pool hands it over under its lock.

    public let foldedTo: UInt64
    /// The tables were as of this revision at first.
    public private(set) var rev: UInt64 = 0
    /// Documents, those that would be changed, those that would be left as they are for a failure.
    public private(set) var documents = 0
    public private(set) var changed = 0
    public private(set) var failed = 0
    /// The first few that fail, or have a value that cannot be converted.
    public private(set) var failures: [MigrationFailure] = []
    public let from: Int
    public let to: Int
    private let scope: UInt32
    /// The last row that was looked at.
    private var row: Int64
    private let recorded: [RecordedMigration]
    private let plan: MigrationPlan
    private let judge: (any DocumentJudge)?
    public let control: QueryControl

    /// What each of the steps would do that have not been configured yet.
    public var steps: ArraySlice<MigrationPlan.Count> { plan.counts[(plan.counts.count - newSteps)...] }
    private let newSteps: Int

    init(
        _ scope: Scope, foldedTo: UInt64, _ migrations: [Migration], from: Int, to: Int, judge: (any DocumentJudge)?,
        control: QueryControl
    ) {
        self.scope = scope.id
        row = Int64(scope.id) << 40
        (self.from, self.to, self.judge, self.control) = (from, to, judge, control)
        self.foldedTo = foldedTo
        recorded = scope.collection.migrations?.recorded ?? []
        newSteps = migrations.reduce(0) { $0 + $1.steps.count }
        plan = MigrationPlan(
            recorded.map(\.migration) + migrations, limits: MigrationLimits(resultBytes: DocumentsStore.valueLimit))
    }

    public var isLong: Bool { true }
    public func stop() { control.stop() }

    public func run(_ tables: TableReader) throws(QueryError) {
        _ = FaultPoints.hit(.migrateScan)
        var isAtEnd = false
        while !isAtEnd {
            do throws(EngineError) {
                try tables.snapshot { (snapshot) throws(SQLiteError) in
                    if rev == 0 { rev = snapshot.rev }
                    isAtEnd = true
                    guard try tables.hasCollection(scope) else { return }
                    isAtEnd = try look(through: tables.documents.byRow, snapshot)
                }
            } catch { throw .engine(error) }
            if let fault = control.fault, !isAtEnd { throw fault }
        }
    }

    /// - Returns: false when there is more, for another snapshot or because it is to end.
    private func look(
        through select: borrowing Statement, _ snapshot: TableReader.Snapshot
    ) throws(SQLiteError) -> Bool {
        defer { select.reset() }
        try select.bind(1, row)
        try select.bind(2, (Int64(scope) + 1) << 40)
        var seen = 0
        while try select.step() {
            row = select.int64(0)
            if select.int64(3) == 0 {
                look(at: select.bytes(4), id: select.bytes(1), rev: UInt64(select.int64(2)))
            }
            seen += 1
            if seen % 32 == 0, control.fault != nil || snapshot.isStale { return false }
        }
        return true
    }

    private func look(at document: Bytes, id: Bytes, rev: UInt64) {
        documents += 1
        do throws(MigrationFault) {
            let text = try plan.apply(to: document, from: recorded.firstIndex { $0.rev > rev } ?? recorded.count)
            if let fault = plan.unconverted { note(MigrationFailure(id: Array(id), fault)) }
            guard let text else { return }
            if let fault = judge?.fault(of: text) {
                failed += 1
                note(MigrationFailure(id: Array(id), pointer: Array(fault.pointer.utf8), reason: fault.message))
            } else {
                changed += 1
            }
        } catch {
            failed += 1
            note(MigrationFailure(id: Array(id), error))
        }
    }

    private func note(_ failure: MigrationFailure) {
        if failures.count < MigrationProgress.failureLimit { failures.append(failure) }
    }
}
