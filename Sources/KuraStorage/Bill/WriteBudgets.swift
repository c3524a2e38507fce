/// A budget, and what of it is used today.
public struct WriteBudgetState: Sendable {
    public var budget: WriteBudget
    public var spent: Int
    public var isThrottled: Bool
}

/// What of their budgets rooms and programs have used today, and the reports of those that used more.
struct WriteBudgets {
    private struct Account {
        var budget: WriteBudget
        var groups: [BillInterval.Group: Sum] = [:]
        var spent = 0
        /// What had been spent when its report was resolved: that much is forgiven.
        var forgiven = 0
        var isExceeded: Bool { spent - forgiven > budget.bytesPerDay }
    }

    private struct Sum {
        var tally = WriteTally()
        var bytes = 0

        static func += (left: inout Sum, right: Sum) {
            left.tally += right.tally
            left.bytes += right.bytes
        }
    }

    static let reportLimit = 64
    private static let day: Int64 = 86_400

    private var accounts: [Account] = []
    /// Open ones, the oldest first.
    private(set) var reports: [WriteReport] = []
    /// Whom to let write once a second.
    private(set) var throttled: [WriteBudget.Target] = []
    /// The day that is counted, in days since 1970, and all that was written on it.
    private var today: Int64 = 0
    private var total = 0

    private var lastID: Int
    /// What an earlier run has forgiven, until budgets are set.
    private var inherited: [ForgivenWrites]

    init(reports: [WriteReport] = [], forgiven: [ForgivenWrites] = []) {
        self.reports = reports
        inherited = forgiven
        lastID = reports.map(\.id).max() ?? 0
    }

    /// What is forgiven, for the next run.
    var forgiven: [ForgivenWrites] {
        inherited
            + accounts.filter { $0.forgiven > 0 }
            .map { ForgivenWrites($0.budget.target, on: today, bytes: $0.forgiven, spent: $0.spent) }
    }

    var isEmpty: Bool { accounts.isEmpty }

    var states: [WriteBudgetState] {
        accounts.map {
            WriteBudgetState(
                budget: $0.budget, spent: $0.spent, isThrottled: throttled.contains($0.budget.target))
        }
    }

    /// These hold from now on. What was written today counts, as far as the history knows.
    mutating func set(_ budgets: [WriteBudget], _ history: BillHistory, at seconds: Int64) {
        let old = accounts
        accounts = budgets.map { Account(budget: $0) }
        today = seconds / Self.day
        total = 0
        for hour in history.since(today * Self.day, .hour) { add(hour) }
        for place in accounts.indices {
            if let known = old.first(where: { $0.budget.target == accounts[place].budget.target }) {
                accounts[place].forgiven = min(known.forgiven, accounts[place].spent)
            }
            for known in inherited where known.target == accounts[place].budget.target && known.day == today {
                // The history shares out by the hour, and may lack the last one: what was forgiven was counted otherwise.
                accounts[place].spent = max(known.spent, known.bytes)
                accounts[place].forgiven = known.bytes
            }
        }
        inherited = []
        findThrottled()
    }

    /// So much was written lately.
    mutating func add(_ interval: BillInterval, at seconds: Int64) {
        guard !accounts.isEmpty else { return }
        turnOver(seconds)
        add(interval)
    }

    private mutating func add(_ interval: BillInterval) {
        total += interval.total.bytes
        for (group, tally) in interval.groups {
            let sum = Sum(tally: tally, bytes: interval.share(of: tally, group.store))
            for place in accounts.indices where accounts[place].budget.target.concerns(group) {
                accounts[place].spent += sum.bytes
                guard accounts[place].groups[group] != nil || accounts[place].groups.count < BillInterval.groupLimit
                else { continue }
                accounts[place].groups[group, default: Sum()] += sum
            }
        }
    }

    private mutating func turnOver(_ seconds: Int64) {
        guard seconds / Self.day > today else { return }
        today = seconds / Self.day
        total = 0
        accounts = accounts.map { Account(budget: $0.budget) }
    }

    /// Looks who has used more than the budget.
    /// Returns: reports that were opened.
    mutating func judge(_ bill: WriteBill, at milliseconds: Int64) -> [WriteReport] {
        guard !accounts.isEmpty else { return [] }
        turnOver(milliseconds / 1000)
        var opened: [WriteReport] = []
        for place in accounts.indices {
            guard accounts[place].isExceeded else { continue }
            let budget = accounts[place].budget
            let known = reports.firstIndex { $0.target == budget.target }
            if known == nil { lastID += 1 }
            var report = known.map { reports[$0] } ?? WriteReport(id: lastID, budget, at: milliseconds)
            let isNewDay = report.days == 0 || report.lastAt / 1000 / Self.day < today
            if isNewDay { report.days += 1 }
            report.bytesPerDay = budget.bytesPerDay
            report.lastAt = milliseconds
            report.bytes = accounts[place].spent
            report.totalBytes = total
            fill(&report, accounts[place].groups, bill)
            if let known {
                reports[known] = report
            } else {
                if reports.count >= Self.reportLimit { reports.removeFirst() }
                reports.append(report)
                opened.append(report)
            }
        }
        findThrottled()
        return opened
    }

    private func fill(_ report: inout WriteReport, _ groups: [BillInterval.Group: Sum], _ bill: WriteBill) {
        func parts(_ name: (BillInterval.Group) -> [UInt8]) -> [WriteReport.Part] {
            var sums: [[UInt8]: Sum] = [:]
            for (group, sum) in groups { sums[name(group), default: Sum()] += sum }
            return sums.map { WriteReport.Part(name: $0, changes: $1.tally.changes, bytes: $1.bytes) }
                .sorted { $0.bytes > $1.bytes }.prefix(WriteReport.partLimit).map(\.self)
        }
        report.clients = parts(\.client)
        report.methods = parts { Array($0.operation.utf8) }
        let target = report.target
        let writers = bill.writers
        let keys = bill.hotKeys.top(.max)
            .filter { entry in
                if case .store(let store) = target { return entry.store == store }
                return target.concerns(client: writers[Int(entry.writer)].name)
            }
            .prefix(WriteReport.partLimit)
            .map { WriteReport.Key(store: $0.store, scope: $0.scope, key: $0.key, changes: $0.tally.changes) }
        let sizes = bill.batchSizes { number in
            if case .store = target { return report.clients.contains { $0.name == writers[number].name } }
            return target.concerns(client: writers[number].name)
        }
        // A run that has just begun knows none of them.
        if !keys.isEmpty { report.keys = Array(keys) }
        if !sizes.isEmpty { report.batchSizes = sizes }
    }

    private mutating func findThrottled() {
        throttled = accounts.filter { $0.budget.throttles && $0.isExceeded }.map(\.budget.target)
    }

    /// Closes a report, or all: its budget is whole again for the rest of the day.
    /// Returns: how many there were.
    mutating func resolve(_ id: Int?) -> Int {
        let gone = reports.filter { id == nil || $0.id == id }
        reports.removeAll { id == nil || $0.id == id }
        for report in gone {
            for place in accounts.indices where accounts[place].budget.target == report.target {
                accounts[place].forgiven = accounts[place].spent
            }
        }
        findThrottled()
        return gone.count
    }
}
