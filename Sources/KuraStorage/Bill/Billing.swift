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
    /// What requests are called, by the numbers that the server gives them.
    var operations: [String] = []

    private static let interval: UInt64 = 60_000_000_000

    init(_ configuration: StorageConfiguration) {
        history = BillHistory()
        if let descriptor = try? FileSystem.open(configuration.billPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) {
            var bytes = ByteBuffer()
            let size = min(FileSystem.size(configuration.billPath), 16 << 20)
            if let count = try? FileSystem.read(
                descriptor, atMost: size, at: 0, into: &bytes, path: configuration.billPath), count == size
            {
                history = BillHistory(Array(bytes.bytes)) ?? history
            }
            close(descriptor)
        }
        counted = WriteCounts()
        noOpWrites = 0
        takenAt = nowMilliseconds() / 1000
        savedHour = takenAt / 3600
        nextAt = monotonicNanoseconds() + Self.interval
    }

    /// What has been written since the last interval was taken.
    func current(_ bill: WriteBill, _ ledger: Ledger, isTaken: [(key: WriteBill.Key, tally: WriteTally)])
        -> BillInterval
    {
        let now = max(takenAt, nowMilliseconds() / 1000)
        var interval = BillInterval(startedAt: takenAt, seconds: now - takenAt)
        let since = CountingVFS.snapshot() - counted
        for role in FileRole.allCases { interval.disk[role.rawValue] = BillInterval.Disk(since[role]) }
        for (key, tally) in isTaken {
            let writer = bill.writers[Int(key.writer)]
            let name = Int(key.operation) < operations.count ? operations[Int(key.operation)] : ""
            let group = BillInterval.Group(client: writer.name, user: writer.user, operation: name, store: key.store)
            interval.groups[group, default: WriteTally()] += tally
        }
        interval.roomBytes = since[.log, .room].bytesWritten
        interval.noOpWrites = Int(clamping: ledger.noOpWrites &- noOpWrites)
        interval.bound()
        return interval
    }

    /// The history with what is not in it yet.
    func upToNow(_ bill: WriteBill, _ ledger: Ledger) -> BillHistory {
        var history = history
        let interval = current(bill, ledger, isTaken: bill.untaken)
        history.add(interval, at: interval.startedAt + interval.seconds)
        return history
    }

    /// - Returns: what is to be written to the file now; nil when it is not time.
    mutating func take(_ bill: WriteBill, _ ledger: Ledger, at time: UInt64, isLast: Bool = false) -> [UInt8]? {
        guard time >= nextAt || isLast else { return nil }
        nextAt = time + Self.interval
        let interval = current(bill, ledger, isTaken: bill.take())
        counted = CountingVFS.snapshot()
        noOpWrites = ledger.noOpWrites
        takenAt = interval.startedAt + interval.seconds
        history.add(interval, at: takenAt)
        let hour = takenAt / 3600
        guard hour != savedHour || isLast else { return nil }
        if hour != savedHour { bill.fade() }
        savedHour = hour
        return history.encoded()
    }

    /// Puts the file in the place of the old one. What fails is tried again with the next.
    static func save(_ bytes: [UInt8], _ configuration: StorageConfiguration) {
        let draft = configuration.billPath + ".new"
        guard let descriptor = try? FileSystem.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW) else {
            return
        }
        let isWritten =
            (try? bytes.withBytes { (bytes) throws(StorageFault) in
                try FileSystem.write(descriptor, bytes, at: 0, path: draft)
            }) != nil
        close(descriptor)
        if isWritten { FileSystem.tryToRename(draft, configuration.billPath) } else { FileSystem.tryToRemove(draft) }
    }
}

extension Caches {
    /// An entry is to be written, for the write bill.
    func note(_ store: BilledStore, _ namespace: [UInt8], _ key: Bytes, bytes: Int) {
        namespace.withBytes { bill?.note(store, scope: $0, key: key, bytes: bytes) }
    }
}

extension Storage {
    /// The write bill of the last minutes, hours and days, up to now.
    public func writeHistory() -> BillHistory { billing.upToNow(ledger.bill, ledger) }

    /// Scopes and keys that were written most in the last hour or two, about.
    public func writtenMost() -> (scopes: HeavyHitters, keys: HeavyHitters) {
        (ledger.bill.scopes, ledger.bill.hotKeys)
    }

    /// What requests are called on the bill: by the numbers that `WriteBill.operation` gets.
    public func setBilledOperations(_ names: [String]) { billing.operations = names }

    /// The number of a program on the bill.
    public func billNumber(of client: [UInt8], user: UInt32) -> UInt16 { ledger.bill.number(of: client, user: user) }

    /// What the changes that follow are for, by its number in `setBilledOperations`.
    public func setOperation(_ number: Int) { ledger.bill.operation = UInt16(truncatingIfNeeded: number) }

    /// - Returns: when it wants to be called again, by the monotonic clock.
    func keepBill(_ time: UInt64) -> UInt64 {
        if let bytes = billing.take(ledger.bill, ledger, at: time) {
            let configuration = configuration
            housekeeper.submit { Billing.save(bytes, configuration) }
        }
        return billing.nextAt
    }

    /// The last one, at a stop.
    func closeBill() {
        if let bytes = billing.take(ledger.bill, ledger, at: monotonicNanoseconds(), isLast: true) {
            Billing.save(bytes, configuration)
        }
    }
}
