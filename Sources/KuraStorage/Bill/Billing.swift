import Glibc
import KuraBytes
import SQLite

/// The write bill as it is kept: once a minute what has been asked and what the disk was given are put together, and once an hour the history
/// is written to a small file, which is not synced: what a power cut costs is an hour of statistics.
struct Billing {
    private(set) var history: BillHistory
    private var counted: WriteCounts
    private var noOpWrites: UInt64
    private var takenAt: Int64
    private var savedHour: Int64
    /// When the next interval is to be taken, by the monotonic clock.
    private(set) var nextAt: UInt64
    /// When budgets are looked at next, if something is written until then.
    private var judgeAt: UInt64 = 0
    var budgets = WriteBudgets()
    /// What budgets have been told of, of the minute that is not over.
    private var judged: (disk: WriteCounts, tallies: [WriteBill.Key: WriteTally]) = (WriteCounts(), [:])
    private var shares = LogShares()
    private let clock: Clock
    /// What requests are called, by the numbers that the server gives them.
    var operations: [String] = []

    private static let interval: UInt64 = 60_000_000_000
    private static let judgeInterval: UInt64 = 1_000_000_000

    init(_ configuration: StorageConfiguration) {
        clock = configuration.clock
        history = BillHistory()
        if let descriptor = try? FileSystem.openRegular(configuration.billPath) {
            var bytes = ByteBuffer()
            let size = min(FileSystem.size(configuration.billPath), 16 << 20)
            if let count = try? FileSystem.read(
                descriptor, atMost: size, at: 0, into: &bytes, path: configuration.billPath), count == size
            {
                var reports: [WriteReport] = []
                var forgiven: [ForgivenWrites] = []
                if let known = BillHistory(Array(bytes.bytes), &reports, &forgiven) {
                    history = known
                    budgets = WriteBudgets(reports: reports, forgiven: forgiven)
                }
            }
            close(descriptor)
        }
        counted = WriteCounts()
        noOpWrites = 0
        takenAt = clock.wall / 1000
        savedHour = takenAt / 3600
        nextAt = clock.monotonic + Self.interval
    }

    /// What has been written since the last interval was taken.
    func current(_ bill: WriteBill, _ ledger: Ledger, isTaken: [(key: WriteBill.Key, tally: WriteTally)])
        -> BillInterval
    {
        let now = max(takenAt, clock.wall / 1000)
        var interval = interval(bill, CountingVFS.snapshot() - counted, isTaken, shares.parts)
        interval.startedAt = takenAt
        interval.seconds = now - takenAt
        interval.noOpWrites = Int(clamping: ledger.counts.noOps &- noOpWrites)
        return interval
    }

    /// `parts`: of the log, by who has asked.
    private func interval(
        _ bill: WriteBill, _ since: WriteCounts, _ asked: [(key: WriteBill.Key, tally: WriteTally)],
        _ parts: [WriteBill.Key: Int] = [:]
    ) -> BillInterval {
        var interval = BillInterval(startedAt: 0)
        for role in FileRole.allCases {
            for part in FilePart.allCases { interval[role, part] = BillInterval.Disk(since[role, part]) }
        }
        for (key, tally) in asked {
            let writer = bill.writers[Int(key.writer)]
            let name = Int(key.operation) < operations.count ? operations[Int(key.operation)] : ""
            let group = BillInterval.Group(client: writer.name, user: writer.user, operation: name, store: key.store)
            interval.groups[group, default: WriteTally()] += tally
            interval.groups[group]!.logBytes += parts[key] ?? 0
        }
        interval.bound()
        return interval
    }

    /// The history with what is not in it yet.
    func upToNow(_ bill: WriteBill, _ ledger: Ledger) -> BillHistory {
        var (history, latest) = (history, self)
        latest.shares.look(bytes: LogShares.written, bill.untaken)
        let interval = latest.current(bill, ledger, isTaken: bill.untaken)
        history.add(interval, at: interval.startedAt + interval.seconds)
        return history
    }

    /// - Returns: what is to be written to the file now; nil when it is not time.
    mutating func take(_ bill: WriteBill, _ ledger: Ledger, at time: UInt64, isLast: Bool = false) -> [UInt8]? {
        guard time >= nextAt || isLast else { return nil }
        nextAt = time + Self.interval
        shares.look(bytes: LogShares.written, bill.untaken)
        let interval = current(bill, ledger, isTaken: bill.untaken)
        bill.advice.look(at: interval, bill.hotKeys, bill.writers)
        tellBudgets(bill)
        _ = bill.take()
        judged.tallies = [:]
        shares = LogShares(bytes: LogShares.written)
        counted = CountingVFS.snapshot()
        noOpWrites = ledger.counts.noOps
        takenAt = interval.startedAt + interval.seconds
        history.add(interval, at: takenAt)
        let hour = takenAt / 3600
        guard hour != savedHour || isLast else { return nil }
        if hour != savedHour { bill.fade() }
        savedHour = hour
        return encoded
    }

    /// What the file is to have.
    var encoded: [UInt8] { history.encoded(with: budgets.reports, budgets.forgiven) }

    /// Budgets are told of what was written since they were told last: in a second a byte costs about the same whoever sends it, in a minute one who
    /// writes much at once pays for those who write one by one.
    private mutating func tellBudgets(_ bill: WriteBill) {
        guard !budgets.isEmpty else { return }
        var news: [(key: WriteBill.Key, tally: WriteTally)] = []
        for (key, tally) in bill.untaken {
            news.append((key, tally - (judged.tallies[key] ?? WriteTally())))
            judged.tallies[key] = tally
        }
        let disk = CountingVFS.snapshot()
        budgets.add(interval(bill, disk - judged.disk, news), at: clock.wall / 1000)
        judged.disk = disk
    }

    /// These budgets hold from now on.
    mutating func setBudgets(_ list: [WriteBudget], _ bill: WriteBill) {
        budgets.set(list, history, at: clock.wall / 1000)
        // What of this minute is over is in no history yet.
        judged = (counted, [:])
        tellBudgets(bill)
    }

    /// Shares the log out and looks who is over budget, once a second while anything is written.
    /// - Returns: reports that were opened, and when to ask again.
    mutating func judge(_ bill: WriteBill, at time: UInt64) -> (opened: [WriteReport], next: UInt64?) {
        guard bill.hasNews else { return ([], nil) }
        guard time >= judgeAt else { return ([], judgeAt) }
        judgeAt = time + Self.judgeInterval
        bill.hasNews = false
        shares.look(bytes: LogShares.written, bill.untaken)
        guard !budgets.isEmpty else { return ([], nil) }
        tellBudgets(bill)
        return (budgets.judge(bill, at: clock.wall), nil)
    }

    /// What could be written less, as far as is known up to now.
    func advice(_ bill: WriteBill, _ ledger: Ledger) -> [WriteAdvice] {
        var book = bill.advice
        book.look(at: current(bill, ledger, isTaken: bill.untaken), bill.hotKeys, bill.writers)
        return book.list(now: clock.wall)
    }

    /// Puts the file in the place of the old one. What fails is tried again with the next.
    static func save(_ bytes: [UInt8], _ configuration: StorageConfiguration) {
        let draft = configuration.billPath + ".new"
        guard let descriptor = try? FileSystem.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW) else {
            return
        }
        let isWritten =
            (try? bytes.withBytes { (bytes) throws(StorageFault) in
                try FileSystem.write(descriptor, bytes, at: 0, path: draft, isBilled: true)
            }) != nil
        close(descriptor)
        if isWritten { FileSystem.tryToRename(draft, configuration.billPath) } else { FileSystem.tryToRemove(draft) }
    }
}

extension Caches {
    /// An entry is to be written, for the write bill.
    func note(_ store: BilledStore, _ namespace: [UInt8], _ key: Bytes, bytes: Int, by author: Author) {
        _ = namespace.withBytes { bill?.note(store, scope: $0, key: key, bytes: bytes, by: author.payer) }
    }

    /// A blob is being deleted that was stored less than a minute ago.
    func noteShortLife(_ namespace: [UInt8], bytes: Int, isFile: Bool, by author: Author) {
        bill?.noteShortLife(namespace, bytes: bytes, isFile: isFile, at: configuration.clock.wall, by: author.payer)
    }
}
