package import KuraBytes
import Synchronization

/// A revision that a client wants to undo: the items that it changed, and the values that they had before it.
///
/// The revision's own row says what it changed and whether it created that. The value before is the one that the item's last change before it wrote,
/// in a row that may lie anywhere before: `Storage.read` looks for it.
public final class UndoneRevision: RowSearch, @unchecked Sendable {
    // The housekeeper fills it in while the loop waits for the ticket: never both at once.

    public enum Effect: Sendable { case created, changed, deleted }

    public struct Item: Sendable {
        public let store: Store
        public let scope: [UInt8]
        public let key: [UInt8]
        /// What the revision did with it.
        public let effect: Effect
        /// The log is looked through for it.
        fileprivate var isSought = false
        /// The value before is looked for.
        public fileprivate(set) var wantsBefore = false
        /// Attachments came or went along with it.
        public fileprivate(set) var hasAttachments = false
        /// How many versions the document counts that has its name now; nil for settings, which count none.
        fileprivate var versions: Int?
        /// The document's row, when its collection keeps former versions.
        var row: Int64?
        /// The revisions behind this one that changed an item of its name: how many, and the newest.
        fileprivate var later = (count: 0, newest: UInt64(0))
        /// JSON text of the value before and its revision; nil where it was not looked for or is gone.
        public internal(set) var before: (value: [UInt8], rev: UInt64)?
        /// It was left out, since all together were too many bytes.
        var isOmitted = false
        /// The revision that it had when it was looked at; 0 when there is nothing of it.
        public fileprivate(set) var seenRev: UInt64?
        /// Where the revision's row has what it wrote.
        fileprivate let value: Range<Int>
    }

    /// A change in the revision that cannot be undone.
    public enum Lasting: Sendable { case dropped, sealed, attached, configured }

    /// So many items, and so many bytes of values.
    static let mostItems = 5000
    static let mostBytes = 64 << 20

    public let rev: UInt64
    /// Milliseconds since 1970.
    public let at: Int64
    /// What its writer called itself; empty when it did not.
    public private(set) var client: [UInt8] = []
    /// In the order in which they were changed.
    public internal(set) var items: ContiguousArray<Item> = []
    public private(set) var lasting: Lasting?
    /// It is more than one transaction may bring back.
    public private(set) var isTooLarge = false
    private var positions: [UInt64: [Int]] = [:]
    var bytes = 0
    /// Rows behind the revision are missing.
    private var misses = false
    package private(set) var reached: UInt64 = 0
    private let isStopped = Atomic<Bool>(false)

    /// The revision's row.
    private let chunk: ChangeChunk
    private let row: Int

    /// `row`: its position in the chunk.
    /// Throws: `StorageFault.damagedLog`.
    init(_ rev: UInt64, in chunk: ChangeChunk, _ row: Int) throws(StorageFault) {
        (self.rev, self.chunk, self.row, at) = (rev, chunk, row, chunk.rows[row].at)
        try takeRow()
    }

    public let foldedTo: UInt64 = 0
    public func stop() { isStopped.store(true, ordering: .relaxed) }
    package var mustStop: Bool { isStopped.load(ordering: .relaxed) }
    public var footprint: Int { bytes + items.count * 256 }

    // MARK: Reading the revision's row

    private func takeRow() throws(StorageFault) {
        let row = chunk.records(row)
        var lists: [LogRecord] = []
        var offset = 0
        while let record = try LogRecord.next(in: row, at: &offset) {
            guard record.rev == rev else { continue }
            if client.isEmpty { client = Array(record.writer) }
            if record.store.isPublic {
                if record.isDrop { lasting = .dropped } else { add(record, endingAt: offset) }
            } else if record.store.isSealed {
                lasting = .sealed
            } else if record.store.isPart {
                lists.append(record)
            } else if record.store.has(.configures) {
                lasting = lasting ?? .configured
            }
        }
        // Attachments come and go with their document; by themselves they do not come back.
        for list in lists {
            var document = list
            document.store = list.store.owner
            let position = position(of: document)
            if let position, items[position].effect != .changed {
                items[position].hasAttachments = true
            } else {
                lasting = lasting ?? .attached
            }
        }
    }

    private func add(_ record: LogRecord, endingAt end: Int) {
        guard position(of: record) == nil else { return }
        guard items.count < Self.mostItems else { return isTooLarge = true }
        positions[Self.hash(record), default: []].append(items.count)
        items.append(
            Item(
                store: record.store, scope: Array(record.scope), key: Array(record.key),
                effect: record.isTombstone ? .deleted : record.isCreation ? .created : .changed,
                value: end - record.value.count..<end))
    }

    private static func hash(_ record: LogRecord) -> UInt64 {
        Hash.bytes(record.key, seed: Hash.bytes(record.scope, seed: UInt64(record.store.rawValue)))
    }

    private func position(of record: LogRecord) -> Int? {
        positions[Self.hash(record)]?.first { position in
            items[position].store == record.store && items[position].key.withBytes { $0.equals(record.key) }
                && items[position].scope.withBytes { $0.equals(record.scope) }
        }
    }

    /// Whether it wrote this value.
    func hasWritten(_ position: Int, _ value: Bytes) -> Bool {
        chunk.records(row).extracting(items[position].value).equals(value)
    }

    /// The item was looked at, and has this revision and so many versions.
    /// - Returns: false when it had another revision before.
    public func see(_ position: Int, at rev: UInt64, versions: Int?, row: Int64?) -> Bool {
        let seen = items[position].seenRev
        items[position].row = row
        items[position].seenRev = rev
        items[position].versions = versions
        // It was changed since, and is back: the log tells whether it is the same document, or another of its name.
        if versions != nil, rev != self.rev { items[position].isSought = true }
        return seen == nil || seen == rev
    }

    // MARK: What was there before

    /// The item's value before is needed, and was not looked for yet.
    public func want(_ position: Int) {
        items[position].wantsBefore = true
        items[position].isSought = true
    }

    public var isWanting: Bool { items.contains(where: \.isSought) }

    /// Whether what the revision changed, and what was there before, is of the item that is there now. A document that comes to be behind a purge or
    /// a drop counts its versions anew, and what is before them in the log is destroyed.
    public func isOfNow(_ position: Int) -> Bool {
        let item = items[position]
        guard item.isSought, let versions = item.versions else { return true }
        return !misses && item.later.count + (item.wantsBefore ? 2 : 1) <= versions
    }

    package func take(_ records: Bytes, rev last: UInt64, previous: UInt64, at: Int64) throws(StorageFault) {
        // Nobody knows what is missing, so nothing before it tells what was there.
        if previous > reached { if previous < rev { forget() } else { misses = true } }
        var offset = 0
        while let record = try LogRecord.next(in: records, at: &offset) {
            guard record.rev > reached, record.rev != rev, let position = position(of: record) else { continue }
            if record.rev > rev {
                noteLater(record, position)
            } else if items[position].wantsBefore {
                note(record, position)
            }
        }
        reached = max(reached, last)
    }

    package func finish() { if items.contains(where: \.isOmitted) { isTooLarge = true } }

    /// What was before one of them is not in the log any more.
    package var wantsTables: Bool { !isTooLarge && items.contains(where: \.isKept) }

    private func note(_ record: LogRecord, _ position: Int) {
        bytes -= items[position].before?.value.count ?? 0
        items[position].before = nil
        items[position].isOmitted = !record.isTombstone && bytes + record.value.count > Self.mostBytes
        guard !record.isTombstone, !items[position].isOmitted else { return }
        bytes += record.value.count
        items[position].before = (Array(record.value), record.rev)
    }

    private func noteLater(_ record: LogRecord, _ position: Int) {
        if items[position].later.newest != record.rev { items[position].later.count += 1 }
        items[position].later.newest = record.rev
    }

    private func forget() {
        for position in items.indices { items[position].before = nil }
        bytes = 0
    }
}
