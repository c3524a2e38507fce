import Glibc
import KuraBytes

@testable import KuraStorage

/// The parts of a storage without its actor, wired as `Storage` wires them. The loop's part is played by whoever calls, the threads are the
/// real ones.
final class PartsHarness {
    let configuration: StorageConfiguration
    let host: StorageHost
    let start: StorageStart
    let recovery: Recovery
    let log: LogKeeper
    let configurations: ConfigurationStore
    let caches: Caches
    let desk: TicketDesk
    let tables: TablesKeeper
    let tender: SecretsTender
    let bill: BillKeeper
    let chores: Chores
    private var isStopped = false
    var ledger: Ledger { recovery.ledger }
    var scrub: SecretsScrub { tender.scrub }

    /// Nothing is run on it.
    private final class NoLoop: SerialExecutor {
        func enqueue(_ job: consuming ExecutorJob) {}
    }

    init(_ configuration: StorageConfiguration) throws {
        self.configuration = configuration
        host = StorageHost(executor: NoLoop(), wake: {}, remark: { _ in }, report: { _ in })
        let opened = try StorageStart.open(configuration, host)
        (start, recovery) = (opened.start, opened.recovery)
        log = LogKeeper(recovery, start, host)
        configurations = ConfigurationStore(ledger: recovery.ledger)
        let keys = KeyKeeper(recovery.ledger, start, host)
        let secrets = SecretsStore(recovery, keys.ring, start, host)
        caches = Caches(
            configuration, tables: [ModelsStore.tables, BlobsStore.tables], housekeeper: start.housekeeper, wake: {},
            report: { _ in })
        desk = TicketDesk(configuration, log.history, recovery.documents, secrets.rows, host)
        tables = TablesKeeper(recovery, opened.folder, caches, log, desk, start, host)
        let scrub = SecretsScrub(secrets.scrubNote, recovery.ledger, log, tables, desk, start, host)
        tender = SecretsTender(secrets, keys, scrub, log, desk, clock: configuration.clock, report: { _ in })
        bill = BillKeeper(configuration, recovery.ledger, caches, start.housekeeper, report: { _ in })
        chores = Chores(recovery.documents, configurations, bill, tender, tables, desk, host)
        try log.begin()
        try caches.begin()
        try desk.begin()
    }

    deinit { stop() }

    func stop() {
        guard !isStopped else { return }
        isStopped = true
        desk.stop()
        tables.attachments.stop()
        tender.keys.stop()
        caches.stop()
        log.stop()
        tables.folder.stop()
        start.housekeeper.stop()
        start.letGo()
    }

    /// Puts a document, and has it in the log.
    /// - Returns: its revision.
    @discardableResult
    func commit(_ id: String) throws -> UInt64 {
        let rev = try with("c", id, "1") { (collection, id, value) throws(DocumentsError) in
            try recovery.documents.put(collection, id, value, isNewID: false, ifRev: nil).rev
        }
        guard case .committed = ledger.commit(to: log.segments, syncedRev: log.syncedRev) else {
            throw StorageFault.damagedLog
        }
        tables.noteUnfolded()
        return rev
    }

    /// Has what is in the log synced, as a turn would.
    func sync() {
        log.sync(inline: true)
        ledger.revisions.synced = log.syncedRev
    }
}
