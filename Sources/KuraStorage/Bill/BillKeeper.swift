public import KuraBytes

/// Keeps the write bill: takes its intervals when they are due, has the history written, and tells of budgets that are exceeded.
///
/// The ledger's `WriteBill` counts the current interval; `Billing` keeps the intervals that have ended. Belongs to the loop.
public final class BillKeeper {
    private var billing: Billing
    private let ledger: Ledger
    private let caches: Caches
    private let housekeeper: Housekeeper
    private let configuration: StorageConfiguration
    private let report: @Sendable (String) -> Void

    /// `caches`: have who makes what written, and tell those who watch.
    /// `report`: takes lines for the operator.
    init(
        _ configuration: StorageConfiguration, _ ledger: Ledger, _ caches: Caches, _ housekeeper: Housekeeper,
        report: @escaping @Sendable (String) -> Void
    ) {
        billing = Billing(configuration)
        (self.ledger, self.caches, self.housekeeper) = (ledger, caches, housekeeper)
        (self.configuration, self.report) = (configuration, report)
        caches.bill = ledger.bill
    }

    /// The write bill of the last minutes, hours and days, up to now.
    public func history() -> BillHistory { billing.upToNow(ledger.bill, ledger) }

    /// Scopes and keys that were written most in the last hour or two, about.
    public func writtenMost() -> (scopes: HeavyHitters, keys: HeavyHitters) {
        (ledger.bill.scopes, ledger.bill.hotKeys)
    }

    /// What requests are called on the bill: by the numbers that authors have.
    public func setOperations(_ names: [String]) { billing.operations = names }

    // MARK: Budgets and advice

    /// These budgets hold from now on, and no others.
    public func setBudgets(_ budgets: [WriteBudget]) {
        billing.setBudgets(budgets, ledger.bill)
        ledger.bill.hasNews = true
    }

    public var budgets: [WriteBudgetState] { billing.budgets.states }

    /// Budgets that were exceeded, and nobody has resolved that.
    public var reports: [WriteReport] { billing.budgets.reports }

    /// Closes a report, or all of them, and tells those who watch.
    /// Returns: how many there were.
    public func resolveReports(_ id: Int?) -> Int {
        let count = billing.budgets.resolve(id)
        if count > 0 {
            save(billing.encoded)
            tellBudgets()
        }
        return count
    }

    /// What could be written less, in the last day of this run.
    public func advice() -> [WriteAdvice] { billing.advice(ledger.bill, ledger) }

    /// A query has looked at every document: `remedy` says what would help.
    public func noteScan(of collection: Bytes, documents: Int, remedy: String) {
        ledger.bill.advice.noteScan(Array(collection), documents: documents, remedy: remedy, at: ledger.now)
    }

    /// Somebody is to write once a second only.
    var isThrottling: Bool { !billing.budgets.throttled.isEmpty }

    /// Whether this program is.
    public func isThrottled(_ program: Author.Program) -> Bool {
        // As the bill knows it: what it does not tell apart has no name there.
        let name = ledger.bill.writers[Int(program.number)].name
        return billing.budgets.throttled.contains { $0.concerns(client: name) }
    }

    /// Tells those who watch whether reports are open. Also whenever somebody begins to watch while there are any.
    public func tellBudgets() {
        caches.tell(
            .storage,
            CacheChange(
                target: .init(source: .storage, extent: .whole, scope: [], name: Array("budget".utf8)),
                event: reports.isEmpty ? .withinBudget : .overBudget))
    }

    // MARK: Keeping

    private func save(_ bytes: [UInt8]) { housekeeper.submit { [configuration] in Billing.save(bytes, configuration) } }

    /// - Returns: when it wants to be called again, by the monotonic clock.
    func tend(_ time: UInt64) -> UInt64 {
        if let bytes = billing.take(ledger.bill, ledger, at: time) { save(bytes) }
        let judged = billing.judge(ledger.bill, at: time)
        for opened in judged.opened {
            let most = opened.methods.first.map { ", most of it by \(String(decoding: $0.name, as: UTF8.self))" } ?? ""
            report(
                "disk writes: \(opened.target.text) has had \(opened.bytes) bytes written today, over its budget of "
                    + "\(opened.bytesPerDay)\(most); report \(opened.id) of storage.diskWrites tells more")
        }
        if !judged.opened.isEmpty {
            save(billing.encoded)
            tellBudgets()
        }
        return min(billing.nextAt, judged.next ?? .max)
    }

    /// The last interval, at a stop: whatever else writes has ended.
    func close() {
        if let bytes = billing.take(ledger.bill, ledger, at: configuration.clock.monotonic, isLast: true) {
            Billing.save(bytes, configuration)
        }
    }
}
