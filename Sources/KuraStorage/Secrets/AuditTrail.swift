import KuraBytes
import Sodium

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
        /// It came by way of the public key.
        var isUnproved = false
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
    /// Those of them that the turn has an entry for.
    private var told: UInt64 = 0

    /// Entries that earlier turns have left, and what this turn has counted of them.
    private var carried = 0
    private var counted: [Int] = []

    /// Bytes of texts that may wait while the secrets are sealed, and at all: all that turns without room for them have left.
    private static let sealedLimit = 256 << 10
    private static let limit = 16 << 20
    /// Bytes of texts after which what waits is put into a block.
    private static let due = 16 << 10
    /// Longest that an event waits for others, nanoseconds.
    static let delay: UInt64 = 5_000_000_000

    private let clock: Clock

    init(_ clock: Clock) {
        self.clock = clock
        texts.wipes = true
    }

    var isEmpty: Bool { entries.isEmpty }
    /// When what waits is put into a block, nanoseconds.
    var dueAt: UInt64 { since + Self.delay }
    /// It is time for that, or somebody waits for it.
    var isDue: Bool { hasStrict || texts.count >= Self.due || clock.monotonic >= dueAt }

    func text(_ entry: Entry) -> Bytes { texts.bytes(entry.range) }

    /// Entries as a block (`AuditBlock`).
    func block(
        _ range: Range<Int>, number: UInt64 = 0, firstRecord: UInt64 = 0, previous: SetSum = SetSum()
    ) -> SecretBuffer {
        let bytes = entries[range].reduce(AuditBlock.headBytes) { $0 + 32 + $1.range.count }
        var block = SecretBuffer(capacity: bytes)
        AuditBlock.begin(&block, number: number, firstRecord: firstRecord, count: range.count, previous: previous)
        for entry in entries[range] {
            block.append(littleEndian: entry.firstAt)
            block.append(littleEndian: entry.lastAt)
            block.append(
                littleEndian: min(entry.count, ~AuditBlock.unproved) | (entry.isUnproved ? AuditBlock.unproved : 0))
            block.append(littleEndian: entry.rev)
            block.append(text(entry))
        }
        return block
    }

    /// `isSealed`: it stays here until somebody unlocks the secrets.
    func note(_ event: AuditEvent, at now: Int64, isStrict: Bool, isChange: Bool, isSealed: Bool) {
        guard texts.count < (isSealed ? Self.sealedLimit : Self.limit) else {
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
                entries[index].count = min(entries[index].count, ~AuditBlock.unproved - 1) + 1
                entries[index].lastAt = now
                entries[index].rev = event.rev
                texts.truncate(to: start)
                if index < carried { counted.append(index) }
                return
            }
            known[hash] = entries.count
        }
        if entries.isEmpty { since = clock.monotonic }
        if isStrict { hasStrict = true }
        entries.append(
            Entry(
                range: start..<texts.count, firstAt: now, lastAt: now, count: 1, rev: event.rev, isStrict: isStrict,
                isChange: isChange))
    }

    /// Takes a record in that was sealed elsewhere, in front of what waits but behind those that were taken in before.
    /// `position`: how many those are. It stays when the turn is taken back.
    /// - Returns: whether there was room for it.
    func take(_ record: AuditRecord, at position: Int) -> Bool {
        let count = entries.count
        note(record.event, at: record.firstAt, isStrict: true, isChange: false, isSealed: false)
        guard entries.count > count else { return false }
        var entry = entries.removeLast()
        entry.lastAt = record.lastAt
        entry.isUnproved = record.isUnproved
        entry.count = UInt32(clamping: record.count)
        entries.insert(entry, at: staged + position)
        carried += 1
        counted = counted.map { $0 + 1 }
        known = known.mapValues { $0 + 1 }
        return true
    }

    /// Gives `other` what is in no block: it is not to be sealed to the public key.
    func moveRest(to other: AuditTrail) {
        guard staged < entries.count else { return }
        for entry in entries[staged...] {
            if other.entries.isEmpty { other.since = clock.monotonic }
            var moved = entry
            let start = other.texts.count
            other.texts.append(text(entry))
            moved.range = start..<other.texts.count
            other.entries.append(moved)
        }
        other.carried = other.entries.count
        entries.removeSubrange(staged...)
        known.removeAll(keepingCapacity: true)
        carried = min(carried, staged)
        counted = counted.filter { $0 < staged }
    }

    /// All of it has been taken by `other`, which says what was lost here.
    func moveAway(to other: AuditTrail) {
        other.lost += lost + told
        removeAll()
    }

    /// Puts how many were lost among the entries, once.
    func noteLost(at now: Int64) {
        guard lost > 0 else { return }
        let count = UInt32(clamping: lost)
        (told, lost) = (lost, 0)
        noteOfItself("lost", at: now)
        entries[entries.count - 1].count = count
    }

    /// Puts among the entries that the record of the newest change is missing. It stays when the turn is taken back.
    func noteMissing(at now: Int64) {
        let count = entries.count
        noteOfItself("missing", at: now)
        guard entries.count > count else { return }
        entries.insert(entries.removeLast(), at: staged)
        carried += 1
        counted = counted.map { $0 + 1 }
        known = known.mapValues { $0 + 1 }
    }

    /// Puts among the entries that a repair has accepted the audit as it was, and it was not as it had been written.
    func noteAccepted(at now: Int64) { noteOfItself("accepted", at: now) }

    /// Something that the audit says of itself.
    private func noteOfItself(_ outcome: StaticString, at now: Int64) {
        let none = Bytes()
        note(
            AuditEvent(
                method: Bytes("secrets.audit"), outcome: Bytes(outcome), user: .max, role: none, client: none,
                name: SecretName(service: none, account: none), rev: 0),
            at: now, isStrict: true, isChange: false, isSealed: false)
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
    func postpone(_ age: UInt64) { since = clock.monotonic - age }

    private func removeAll() {
        entries.removeAll(keepingCapacity: true)
        known.removeAll(keepingCapacity: true)
        if texts.capacity > 64 << 10 { texts.releaseMemory() } else { texts.removeAll() }
        (hasStrict, lost, told, carried, staged) = (false, 0, 0, 0, 0)
        counted.removeAll(keepingCapacity: true)
    }

    /// What there is stays for a later turn.
    func endTurn() {
        carried = entries.count
        hasStrict = false
        told = 0
        if !counted.isEmpty { counted.removeAll(keepingCapacity: true) }
    }

    /// The turn's requests are answered again.
    func takeBack() {
        staged = 0
        for index in counted { entries[index].count &-= 1 }
        counted.removeAll(keepingCapacity: true)
        (lost, told) = (lost + told, 0)
        guard carried < entries.count else { return }
        let end = entries[..<carried].reduce(0) { max($0, $1.range.upperBound) }
        entries.removeSubrange(carried...)
        known = known.filter { $0.value < carried }
        texts.truncate(to: end)
        hasStrict = false
    }
}
