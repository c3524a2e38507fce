import Glibc
public import KuraBytes
public import KuraJSON

/// A stretch of the feed as a reader gets it: of each item that changed and that the filter admits, its newest state within
/// the stretch, in the order of revisions.
///
/// A page ends where a transaction ends, whatever its limits say. It is filled again and again without giving its memory
/// back. The changes it lends are good until it is filled or cleared, and until the next change to the storage.
public final class ChangePage {
    private struct Entry {
        var record: LogRecord
        var hash: UInt64
        var slot = 0
        /// Of a secret: where its names are in `names`, first the service, then the account.
        var names: (start: Int, service: Int, account: Int)?
        /// Where in `unions` the members are listed that differ from before the page; nil where the record lists them.
        var union: Range<Int>?
        /// The item changed again later in the page.
        var isSuperseded = false
    }
    private var entries: ContiguousArray<Entry> = []
    /// Positions of entries, plus one, by hash; 0 is a free place.
    private var slots: ContiguousArray<UInt32>
    /// Keeps alive what the records point into.
    private var chunks: ContiguousArray<ChangeChunk> = []

    /// Everything up to this revision is covered, whether it is in the page or the filter kept it out.
    public private(set) var rev: UInt64 = 0
    /// Items in the page.
    public private(set) var count = 0
    /// Bytes of their names and values.
    public private(set) var bytes = 0
    /// Revisions of relaxed changes that are gone, when the page begins at one of them. Whoever has seen one looks again at the
    /// items that have such a revision; the upper bound is the place to go on from, and no item's revision.
    public private(set) var lost: ClosedRange<UInt64>?
    /// The page ended at a limit.
    public private(set) var isFull = false
    private var scanned = 0
    /// Lists of members of documents that change several times in the page.
    private var unions = ByteBuffer()
    /// Names of secrets, in clear; zeroed when the page is cleared.
    private var names = ByteBuffer()
    /// It shows a secret's names.
    public var hasSecrets: Bool { !names.isEmpty }

    public init() {
        names.wipes = true
        slots = ContiguousArray(repeating: 0, count: 256)
    }

    /// Bounds of a page; each is looked at between two transactions, so that the last one may go over it.
    public struct Limits: Sendable {
        public var items: Int
        /// Bytes of names and values.
        public var bytes: Int
        /// Bytes of the log that are looked through, so that a filter which admits little does not hold up the loop.
        public var scanned: Int

        public init(items: Int, bytes: Int, scanned: Int) {
            self.items = items
            self.bytes = bytes
            self.scanned = scanned
        }
    }

    /// Calls `body` for each change.
    public func forEach(_ body: (Change) -> Void) {
        for entry in entries where !entry.isSuperseded {
            var change = Change(entry.record)
            change.members = members(entry)
            if entry.record.store == .secrets { show(entry.names, in: &change) }
            body(change)
        }
    }

    /// The members in which a document differs from what it was before the page; nil where all may.
    private func members(_ entry: Entry) -> ChangedMembers? {
        entry.union.map { ChangedMembers(unions.bytes($0)) } ?? entry.record.members
    }

    /// What the feed says of a secret: its names when they are known, and never what is sealed.
    private func show(_ place: (start: Int, service: Int, account: Int)?, in change: inout Change) {
        change.value = Bytes()
        guard let place else {
            change.isSealed = true
            return
        }
        change.scope = names.bytes(place.start..<place.start + place.service)
        change.key = names.bytes(place.start + place.service..<place.start + place.service + place.account)
    }

    /// Lets go of what the page lends.
    public func clear() {
        names.removeAll()
        unions.removeAll()
        for entry in entries { slots[entry.slot] = 0 }
        entries.removeAll(keepingCapacity: entries.capacity <= 4096)
        chunks.removeAll(keepingCapacity: true)
        (count, bytes, scanned, isFull, lost) = (0, 0, 0, false, nil)
        if slots.count > 16_384 { slots = ContiguousArray(repeating: 0, count: 256) }
    }

    func begin(after rev: UInt64) {
        clear()
        self.rev = rev
    }

    /// Takes in the chunk's rows above `rev`, none above `syncedRev`, until the page is full.
    /// - Throws: `StorageFault.damagedLog`.
    func take(
        _ chunk: ChangeChunk, upTo syncedRev: UInt64, _ filter: ChangeFilter, _ limits: Limits, values: Bool,
        secrets: SecretsStore? = nil
    ) throws(StorageFault) {
        chunks.append(chunk)
        var position = chunk.position(after: rev)
        while position < chunk.rows.count, chunk.rows[position].rev <= syncedRev {
            let row = chunk.records(position)
            let start = rev
            var offset = 0
            var transaction = start
            while let record = try LogRecord.next(in: row, at: &offset) {
                // A row may have been read to the middle, or be a copy whose beginning was there before.
                guard record.rev > start else { continue }
                if record.rev != transaction {
                    rev = transaction
                    if count >= limits.items || bytes >= limits.bytes || scanned >= limits.scanned {
                        isFull = true
                        return
                    }
                    transaction = record.rev
                }
                if let raised = RelaxedDurability.raisedRev(record), start > raised { lost = raised + 1...record.rev }
                scanned += LogRecord.headLength + record.scope.count + record.key.count
                if values { scanned += record.value.count }
                if record.store == .secrets {
                    add(secret: record, filter, secrets)
                } else if filter.admits(record) {
                    add(record, values: values)
                }
            }
            rev = chunk.rows[position].rev
            position += 1
        }
    }

    /// Takes in the change of a secret: its names are opened for it.
    ///
    /// While they cannot be, nobody knows whether it is one that the reader wants: whoever may see some is told that something
    /// has changed, and no more. All such changes of a page are one, the newest.
    private func add(secret record: LogRecord, _ filter: ChangeFilter, _ secrets: SecretsStore?) {
        guard filter.admits(.secrets), record.key.count == NameHash.textBytes else { return }
        var place: (start: Int, service: Int, account: Int)?
        var isWanted: Bool?
        secrets?.withName(of: record) { name in
            isWanted = filter.admits(name)
            guard filter.admits(name) else { return }
            place = (names.count, name.service.count, name.account.count)
            names.append(name.service)
            names.append(name.account)
        }
        guard isWanted ?? filter.admitsSealed else { return }
        let sealed = LogRecord(
            store: .secrets, isTombstone: false, rev: record.rev, scope: Bytes(), key: Bytes(), writer: Bytes(),
            value: Bytes())
        add(isWanted == nil ? sealed : record, values: false)
        entries[entries.count - 1].names = place
    }

    private func add(_ record: LogRecord, values: Bool) {
        if record.isDrop { supersede(record.scope, of: record.store, values: values) }
        if entries.count * 2 >= slots.count { grow() }
        let hash = Hash.bytes(
            record.key,
            seed: Hash.bytes(record.scope, seed: UInt64(record.store.rawValue)))
        var entry = Entry(record: record, hash: hash)
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let known = Int(slots[slot]) - 1
            if entries[known].hash == hash, entries[known].record.isSameItem(as: record) {
                unite(&entry, with: entries[known])
                supersede(known, values: values)
                break
            }
            slot = (slot + 1) & (slots.count - 1)
        }
        entry.slot = slot
        entries.append(entry)
        slots[slot] = UInt32(entries.count)
        count += 1
        bytes += Self.size(record, values: values)
    }

    /// The document differs from before the page in what either change lists.
    private func unite(_ entry: inout Entry, with earlier: Entry) {
        guard let own = entry.record.members, !earlier.isSuperseded else { return }
        // The earlier list may lie in this buffer, which must not move while it is read.
        unions.reserve(2 * ChangedMembers.limit + 1)
        guard let others = members(earlier) else { return entry.record.members = nil }
        guard !own.text.equals(others.text) else { return }
        let start = unions.count
        unions.append(own.text)
        ChangedMembers.merge(others, into: &unions, from: start)
        guard unions.count - start <= ChangedMembers.limit else {
            unions.truncate(to: start)
            return entry.record.members = nil
        }
        entry.union = start..<unions.count
    }

    /// Nothing that the page has of the scope is there any more.
    private func supersede(_ scope: Bytes, of store: Store, values: Bool) {
        for position in entries.indices {
            let record = entries[position].record
            if record.store == store, record.scope.equals(scope) { supersede(position, values: values) }
        }
    }

    /// An item of a dropped scope keeps its slot, so a later change of it meets an entry that no longer counts.
    private func supersede(_ position: Int, values: Bool) {
        guard !entries[position].isSuperseded else { return }
        entries[position].isSuperseded = true
        bytes -= Self.size(entries[position].record, values: values)
        count -= 1
    }

    private static func size(_ record: LogRecord, values: Bool) -> Int {
        64 + record.scope.count + record.key.count + record.writer.count + (values ? record.value.count : 0)
    }

    private func grow() {
        slots = ContiguousArray(repeating: 0, count: slots.count * 4)
        for position in entries.indices where !entries[position].isSuperseded {
            var slot = Int(truncatingIfNeeded: entries[position].hash) & (slots.count - 1)
            while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = UInt32(position + 1)
            entries[position].slot = slot
        }
    }
}

/// One item's newest state, as the feed shows it. The bytes are lent by the page.
public struct Change {
    public var store: Store
    public var scope: Bytes
    public var key: Bytes
    public var rev: UInt64
    public var isDeleted: Bool
    /// The whole scope was dropped; there is no key.
    public var isDrop: Bool
    /// JSON text; empty when the item is deleted.
    public var value: Bytes
    /// What the client that made the change called itself; empty when it did not.
    public var client: Bytes
    /// Of a document: the members that differ from before the page; nil where all may, as in a new one.
    public var members: ChangedMembers?
    /// A secret's, whose names nobody knows now: scope and key are of no use.
    public var isSealed = false

    init(_ record: LogRecord) {
        store = record.store
        scope = record.scope
        key = record.key
        rev = record.rev
        isDeleted = record.isTombstone
        isDrop = record.isDrop
        value = record.value
        client = record.writer
    }
}

extension LogRecord {
    fileprivate func isSameItem(as other: LogRecord) -> Bool {
        store == other.store && key.equals(other.key) && scope.equals(other.scope)
    }
}
