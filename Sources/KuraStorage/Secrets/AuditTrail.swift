import KuraBytes

/// Events that are in no block yet, in the order in which they came.
///
/// Those that somebody waits for are each a record, and are in the log with the turn. The others wait for a while, and the same event
/// again only counts: a program that reads one secret a thousand times leaves one record.
final class AuditTrail {
    struct Entry {
        /// User and texts, as a block has them.
        var range: Range<Int>
        var firstAt: Int64
        var lastAt: Int64
        var count: UInt32
        var rev: UInt64
        /// Somebody's reply waits for it.
        var isStrict: Bool
        /// It was done, and is taken back with its transaction.
        var isChange: Bool
    }
    private(set) var entries: ContiguousArray<Entry> = []
    /// So many of them are in blocks which the turn has staged.
    var staged = 0
    private var texts = ByteBuffer()
    /// Those that may come again, by the hash of their texts.
    private var known: [UInt64: Int] = [:]
    private let seed = UInt64.random(in: 0...UInt64.max)
    /// When the oldest came, nanoseconds.
    private(set) var since: UInt64 = 0
    private(set) var hasStrict = false
    /// Events that there was no room for: nothing takes them while the secrets are sealed.
    private(set) var lost: UInt64 = 0

    /// Entries that earlier turns have left, and what this turn has counted of them.
    private var carried = 0
    private var counted: [Int] = []

    /// Bytes of texts that may wait.
    private static let limit = 256 << 10
    /// Bytes of texts after which what waits is put into a block.
    static let due = 16 << 10

    init() { texts.wipes = true }

    var isEmpty: Bool { entries.isEmpty }
    var bytes: Int { texts.count }

    func text(_ entry: Entry) -> Bytes { texts.bytes(entry.range) }

    func note(_ event: AuditEvent, at now: Int64, isStrict: Bool, isChange: Bool) {
        guard texts.count < Self.limit else {
            lost += 1
            return
        }
        let start = texts.count
        texts.append(littleEndian: event.user)
        for text in [
            event.method, event.outcome, event.role, event.client, event.name.service, event.name.account,
            event.name.group,
        ] { texts.append(prefixed: text) }
        if !isStrict {
            let text = texts.bytes(start..<texts.count)
            let hash = Hash.bytes(text, seed: seed)
            if let index = known[hash], texts.bytes(entries[index].range).equals(text) {
                entries[index].count &+= 1
                entries[index].lastAt = now
                entries[index].rev = event.rev
                texts.truncate(to: start)
                if index < carried { counted.append(index) }
                return
            }
            known[hash] = entries.count
        }
        if entries.isEmpty { since = monotonicNanoseconds() }
        if isStrict { hasStrict = true }
        entries.append(
            Entry(
                range: start..<texts.count, firstAt: now, lastAt: now, count: 1, rev: event.rev, isStrict: isStrict,
                isChange: isChange))
    }

    // MARK: Turns

    /// What a transaction has done since is not so.
    func abandon(to mark: Int) {
        guard mark < entries.count else { return }
        let kept = entries[mark...].filter { !$0.isChange }
        entries.replaceSubrange(mark..., with: kept)
        known = known.filter { $0.value < mark }
    }

    /// What was staged is in the log.
    func removeStaged() {
        guard staged < entries.count else { return removeAll() }
        entries.removeFirst(staged)
        known.removeAll(keepingCapacity: true)
        staged = 0
        endTurn()
    }

    /// It cannot be put into the log now.
    /// - Parameter age: nanoseconds that it counts as having waited.
    func postpone(_ age: UInt64) { since = monotonicNanoseconds() - age }

    private func removeAll() {
        entries.removeAll(keepingCapacity: true)
        known.removeAll(keepingCapacity: true)
        if texts.capacity > 64 << 10 { texts.releaseMemory() } else { texts.removeAll() }
        (hasStrict, lost, carried, staged) = (false, 0, 0, 0)
        counted.removeAll(keepingCapacity: true)
    }

    /// What there is stays for a later turn.
    func endTurn() {
        carried = entries.count
        hasStrict = false
        counted.removeAll(keepingCapacity: true)
    }

    /// The turn's requests are answered again.
    func takeBack() {
        staged = 0
        for index in counted { entries[index].count &-= 1 }
        counted.removeAll(keepingCapacity: true)
        guard carried < entries.count else { return }
        let end = carried == 0 ? 0 : entries[carried - 1].range.upperBound
        entries.removeSubrange(carried...)
        known = known.filter { $0.value < carried }
        texts.truncate(to: end)
        hasStrict = false
    }
}
