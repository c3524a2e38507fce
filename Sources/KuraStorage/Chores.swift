import KuraBytes

/// What is done by and by, a piece after each turn: what has aged goes, migrations run, applications that have started are followed up, the write bill is
/// kept, secrets are tended. Belongs to the loop.
final class Chores {
    let aging: Aging
    let migrations: Migrations
    let launches = Launches()
    let bill: BillKeeper
    let secrets: SecretsTender
    private let ledger: Ledger
    private let documents: DocumentsStore
    private let tables: TablesKeeper
    private let desk: TicketDesk
    private let host: StorageHost
    private let clock: Clock
    /// When what need not be looked at in every turn was, and when it is due.
    private var tended: (at: UInt64, nextAt: UInt64) = (0, 0)

    /// Nanoseconds in which nothing is looked at again, unless it is due.
    private static let interval: UInt64 = 1_000_000

    init(
        _ documents: DocumentsStore, _ configurations: ConfigurationStore, _ bill: BillKeeper, _ secrets: SecretsTender,
        _ tables: TablesKeeper, _ desk: TicketDesk, _ host: StorageHost
    ) {
        ledger = documents.ledger
        clock = ledger.clock
        aging = Aging(ledger: ledger, configurations: configurations, documents: documents)
        migrations = Migrations(ledger: ledger, configurations: configurations, documents: documents)
        (self.documents, self.bill, self.tables) = (documents, bill, tables)
        (self.secrets, self.desk, self.host) = (secrets, desk, host)
    }

    /// Changes that nobody's request asks for, a few at the beginning of each turn.
    func beginTurn() {
        if migrations.hasFound { storeMigrated() }
        secrets.beginTurn()
        if aging.hasFound { deleteAged() }
    }

    // MARK: When

    /// When it is to be looked at again; nil for now. A look would be a tenth of a read.
    func rest(_ time: UInt64) -> UInt64? {
        guard time < tended.nextAt, time - tended.at < Self.interval else { return nil }
        return min(tended.nextAt, tended.at + Self.interval)
    }

    /// Everything was looked at; the next of it is due at `due`.
    func noteTended(_ time: UInt64, due: UInt64) { tended = (time, due) }

    /// An application has started: what is due then is done by and by.
    func launched(_ client: [UInt8]) {
        launches.note(client)
        tended.nextAt = 0
    }

    // MARK: Aging

    /// Begins to look for what ages out, when it is time.
    func age(_ time: UInt64) {
        guard aging.mayBegin(time) else { return }
        for job in aging.begin(time, now: clock.wall) {
            switch job {
            case .query(let query): aging.begun(tables.submit(query))
            case .purge(let purge): tables.folder.submit(purge)
            }
        }
    }

    /// Deletes some of what was found, when there is room for a bulk of changes.
    private func deleteAged() {
        if ledger.admitsBulk, let next = aging.deleteSome() { aging.begun(tables.submit(next)) }
    }

    // MARK: Migrating

    /// Looks for documents to migrate, when it is time.
    /// `judge`: gives what a collection's documents are held against; it gets the last one.
    func migrate(_ time: UInt64, judge: (Bytes, (any DocumentJudge)?) -> (any DocumentJudge)?) {
        guard !documents.collections.migrating.isEmpty else { return }
        migrations.scan(time, judge: judge, submit: { tables.submit($0) })
    }

    /// Stores some of the documents that were found, when it is time.
    private func storeMigrated() {
        guard ledger.admitsBulk else { return }
        do throws(EngineError) {
            guard let ended = try migrations.storeSome(clock.monotonic) else { return }
            if ended.isWhole { host.remark(ended.line) } else { host.report(ended.line) }
        } catch {
            // Nobody waits for it: it is tried again.
            _ = desk.warm()
        }
    }

    /// Keeps the answers to itself that it has asked for.
    func takeOwn(of answers: inout [QueryAnswer]) {
        migrations.takeOwn(of: &answers)
        aging.takeOwn(of: &answers)
    }
}
