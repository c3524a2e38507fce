import KuraBytes
import SQLite

/// Folds during a start, a piece at a time, while nobody else uses the tables: memory holds no more of a long log than of a short one.
final class FoldAhead {
    private let tables: String
    private let ledger: Ledger
    private let folder: Folder
    private let reported = Semaphore()

    /// `writer`: belongs to the fold's thread until `stop` returns.
    init(_ configuration: StorageConfiguration, _ ledger: Ledger, writer: Connection) throws(StorageFault) {
        (tables, self.ledger) = (configuration.tablesPath, ledger)
        // Safety: as said above.
        nonisolated(unsafe) let writer = writer
        folder = try unsafe Folder(
            connection: writer, configuration: configuration, foldedRev: ledger.foldedRev, tends: false,
            wake: { [reported] in reported.signal() })
    }

    func stop() { folder.stop() }

    /// Folds what is in memory.
    func fold() throws(StorageFault) {
        guard let slice = ledger.cutSlice(syncedRev: ledger.revisions.synced, log: nil) else { return }
        var failure = outcome { folder.submit(slice) }.error
        if let error = failure, error.isFull {
            // The tables' WAL may have grown as far as it can: it starts over.
            _ = outcome { folder.checkpoint() }
            failure = outcome { folder.submit(slice) }.error
        }
        if let failure { throw .database(failure, file: tables) }
        while !ledger.settle(slice, budget: 100_000) {}
        ledger.trimCache()
    }

    /// - Returns: the revision that the tables' own file is as of.
    func checkpoint() throws(StorageFault) -> UInt64 {
        let outcome = outcome { folder.checkpoint() }
        if let error = outcome.error { throw .database(error, file: tables) }
        return outcome.durableRev
    }

    /// Hands the fold thread a job and waits for its outcome.
    private func outcome(of job: () -> Void) -> Folder.Outcome {
        job()
        while true {
            reported.wait()
            if let outcome = folder.outcomes()?.last { return outcome }
        }
    }
}
