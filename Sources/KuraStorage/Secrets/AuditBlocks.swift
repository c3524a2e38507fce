import KuraBytes
import Sodium

/// Blocks of the audit: rows among the values, in a scope of their own. The oldest go when there are too many.
final class AuditBlocks {
    private let ledger: Ledger
    private let rows: SecretRows
    private let memory: SecretsMemory
    /// The oldest block is to go, and was not at hand.
    private var awaitsOldest = false

    /// Bytes of texts in a block, about.
    private static let blockBytes = 4 << 10
    /// Old blocks that one turn removes at most, and rows that one repair does.
    private static let removals = 4
    private static let repairRemovals = 256

    init(_ ledger: Ledger, _ rows: SecretRows, _ memory: SecretsMemory) {
        (self.ledger, self.rows, self.memory) = (ledger, rows, memory)
    }

    private var scope: Scope? { ledger.scopes.find(.secretVersions, Bytes(SecretRecords.storeScope)) }

    // MARK: Reading

    /// Opens a block into `memory.plaintext`.
    /// - Returns: the row; nil when there is none.
    func open(_ number: UInt64, _ sealer: AuditSealer) throws(SecretsError) -> (AuditBlock, Bytes)? {
        rows.makeKey(block: number)
        guard let scope, let item = try rows.find(scope), !item.isTombstone else { return nil }
        ledger.markRead(item)
        try sealer.open(item.value, .block, row: item.key, into: &memory.plaintext)
        guard let block = AuditBlock(memory.plaintext.bytes), block.number == number else { throw .integrity }
        return (block, item.value)
    }

    /// A block that is whole; nil when it is not, or missing.
    func openChecked(_ number: UInt64, _ sealer: AuditSealer) throws(SecretsError) -> (AuditBlock, Bytes)? {
        do throws(SecretsError) {
            guard let found = try open(number, sealer), found.0.forEach({ _ in true }) else { return nil }
            return found
        } catch {
            if error == .integrity { return nil }
            throw error
        }
    }

    /// The block that the reserve has taken, whose row is then in `memory.row`; nil when it is not what was sealed there.
    func open(_ frame: AuditReserve.Frame, _ sealer: AuditSealer) -> AuditBlock? {
        rows.makeKey(block: frame.number)
        return frame.row.withBytes { sealed in
            guard (try? sealer.open(sealed, .block, row: rows.key.bytes, into: &memory.plaintext)) != nil,
                let block = AuditBlock(memory.plaintext.bytes)
            else { return nil }
            memory.row.removeAll()
            memory.row.append(sealed)
            return block
        }
    }

    /// Whether the newest block is there, and the one that the head tells of.
    func isWhole(endOf head: AuditHead, _ sealer: AuditSealer) throws(SecretsError) -> Bool {
        guard let (block, sealed) = try openChecked(head.newest, sealer) else { return false }
        return sealer.link(block.previous, head.newest, sealed) == head.link
    }

    /// The first block with a record that is not older. Blocks are in the order of time, but for clocks that were set.
    func first(since: Int64, _ head: AuditHead, _ sealer: AuditSealer) throws(SecretsError) -> UInt64 {
        var (lower, upper) = (head.oldest, head.newest)
        while lower < upper {
            let middle = lower + (upper - lower) / 2
            var newest: Int64 = 0
            guard let (block, _) = try open(middle, sealer),
                block.forEach({ record in
                    newest = max(newest, record.lastAt)
                    return true
                })
            else { throw .integrity }
            if newest < since { lower = middle + 1 } else { upper = middle }
        }
        return lower
    }

    /// The first row behind that block, whatever is in it; nil when there is none. Its key is in `rows.key`.
    /// - Throws: what reading values throws.
    func row(behind number: UInt64) throws(SecretsError) -> ItemRef? {
        guard let scope else { return nil }
        // What came with the log may be in memory alone.
        rows.makeKey(block: number + 1)
        if let item = try rows.find(scope), !item.isTombstone { return item }
        rows.makeKey(block: number)
        return try rows.findBehind(scope)
    }

    /// Whether there is a row of that block, whatever is in it.
    func has(_ number: UInt64) throws(SecretsError) -> Bool {
        rows.makeKey(block: number)
        guard let scope, let item = try rows.find(scope) else { return false }
        return !item.isTombstone
    }

    // MARK: Staging

    /// Seals entries from `position` on as the block behind the head, into `memory.row`.
    /// - Returns: how many.
    func seal(_ trail: AuditTrail, from position: inout Int, behind head: AuditHead, _ sealer: AuditSealer) -> Int {
        let start = position
        var bytes = 0
        while position < trail.entries.count, bytes < Self.blockBytes {
            bytes += trail.entries[position].range.count
            position += 1
        }
        let number = head.newest + 1
        let block = trail.block(
            start..<position, number: number, firstRecord: head.newestRecord + 1, previous: head.link)
        rows.makeKey(block: number)
        memory.row.removeAll()
        sealer.seal(block.bytes, .block, row: rows.key.bytes, to: &memory.row)
        return position - start
    }

    /// Stages the block whose row is in `memory.row`.
    /// - Returns: false when something lies there.
    func stage(
        _ number: UInt64, records: Int, behind head: inout AuditHead, _ sealer: AuditSealer
    ) throws(SecretsError) -> Bool {
        rows.makeKey(block: number)
        let scope = ledger.scopes.findOrPrepare(.secretVersions, Bytes(SecretRecords.storeScope))
        // There was none when it was unlocked. One that would have to be waited for shows with a later block, or after the next unlocking.
        var old: ItemRef?
        if scope.isInTable {
            do throws(SecretsError) { old = try rows.find(scope) } catch {
                guard error == .engine(.cold) else { throw error }
                _ = rows.takeColdLook()
            }
        }
        if let old, !old.isTombstone { return false }
        do throws(EngineError) {
            try ledger.stage(
                scope, key: rows.key.bytes, value: memory.row.bytes, isTombstone: false, old: old, oldBytes: 0,
                newBytes: memory.row.count, mayRepeat: true
            ) { item in
                // A repair has removed what lay there.
                item.pointee.row = old?.pointee.row ?? scope.rows.take()
                item.pointee.version = (old?.pointee.version ?? 0) &+ 1
            }
        } catch { throw .engine(error) }
        head.follow(number, records: records, row: memory.row.bytes, sealer)
        memory.row.removeAll()
        return true
    }

    /// Stages that the oldest go as long as there are too many bytes; the newest stay.
    func stageRemovals(_ head: inout AuditHead, _ sealer: AuditSealer) throws(SecretsError) {
        guard let scope else { return }
        var left = Self.removals
        while head.bytes > UInt64(ledger.configuration.auditBytes), head.oldest < head.newest, left > 0 {
            left -= 1
            rows.makeKey(block: head.oldest)
            let found: ItemRef?
            do throws(SecretsError) { found = try rows.find(scope) } catch {
                awaitsOldest = true
                return
            }
            // Two blocks of one turn are not both its own.
            if let old = found, !old.isTombstone, old.pointee.rev <= ledger.rev {
                var opened = SecretBuffer()
                if (try? sealer.open(old.value, .block, row: old.key, into: &opened)) != nil,
                    let block = AuditBlock(opened.bytes)
                {
                    head.oldestRecord = block.nextRecord
                }
                head.bytes -= min(head.bytes, UInt64(old.value.count))
                try rows.stageRemoval(of: old, in: scope)
            }
            head.oldest += 1
        }
    }

    /// Whether a block is to be read in, so that it can go.
    func takeAwaitsOldest() -> Bool {
        defer { awaitsOldest = false }
        return awaitsOldest
    }

    // MARK: Repairing

    /// The longest end of the audit that is there, with the blocks that follow it. Where even the newest block is gone, the audit begins anew there;
    /// its numbers go on, so that they tell how much is missing.
    /// `known`: the heads that tell of an end.
    /// - Returns: the head, and whether its newest block is there.
    /// - Throws: what reading values throws.
    func end(_ known: [AuditHead], _ sealer: AuditSealer) throws(SecretsError) -> (head: AuditHead, isWhole: Bool) {
        let known = known.sorted { $0.newest > $1.newest }
        var accepted: AuditHead?
        for head in known where accepted == nil && head.newest >= head.oldest {
            if try isWhole(endOf: head, sealer) { accepted = head }
        }
        var isWhole = accepted != nil
        var head = accepted ?? known.first ?? AuditHead()
        // Without any head the oldest block that is there is where it begins.
        if known.isEmpty, let first = try row(behind: 0), let number = Self.number(first.key),
            let (block, _) = try openChecked(number, sealer), block.firstRecord > 0
        {
            (head.newest, head.oldest, head.link) = (number - 1, number, block.previous)
            (head.newestRecord, head.oldestRecord) = (block.firstRecord - 1, block.firstRecord)
        }
        while isWhole || known.isEmpty, let (block, sealed) = try openChecked(head.newest + 1, sealer),
            block.previous == head.link, block.firstRecord == head.newestRecord + 1
        {
            head.follow(block.number, records: block.count, row: sealed, sealer)
            isWhole = true
        }
        return (head, isWhole)
    }

    /// The number in the key of a block: 16 hexadecimal digits, from 1; nil when the daemon has not made it.
    private static func number(_ key: Bytes) -> UInt64? {
        guard key.count == 16, let number = UInt64(String(decoding: key, as: UTF8.self), radix: 16), number > 0,
            number <= UInt64(Int64.max)
        else { return nil }
        return number
    }

    /// Stages that what lies behind the accepted end goes.
    /// - Throws: what reading values and staging changes throw.
    func stageRemoval(behind number: UInt64) throws(SecretsError) {
        guard let scope else { return }
        func remove(_ old: ItemRef) throws(SecretsError) {
            // Its revision and its row's number may be made up.
            scope.rows.reserve(below: old.pointee.row &+ 1)
            try rows.stageRemoval(of: old, in: scope)
        }
        rows.makeKey(block: number + 1)
        if let old = try rows.find(scope), !old.isTombstone { try remove(old) }
        rows.makeKey(block: number)
        var left = Self.repairRemovals
        while left > 0, let old = try rows.findBehind(scope) {
            try remove(old)
            left -= 1
        }
    }
}

extension AuditHead {
    /// What it becomes with the block behind it.
    mutating func follow(_ number: UInt64, records: Int, row: Bytes, _ sealer: AuditSealer) {
        link = sealer.link(link, number, row)
        newest = number
        newestRecord += UInt64(records)
        bytes += UInt64(row.count)
    }
}

/// The blocks that a repair keeps, as far as it has looked: from the accepted end back, as long as one follows the other.
struct KeptAudit {
    /// The end.
    let head: AuditHead
    /// Number of the oldest so far, and of its first record; those behind the end when there is none.
    private var oldest: UInt64
    private var oldestRecord: UInt64
    /// What the block before it has to come to.
    private var link: SetSum
    private var bytes: UInt64 = 0
    private(set) var isDone: Bool

    init(_ head: AuditHead, isWhole: Bool) {
        self.head = head
        (oldest, oldestRecord, link) = (head.newest + 1, head.newestRecord + 1, head.link)
        isDone = !isWhole
    }

    /// What the audit's head becomes; nil when there never was an audit.
    var accepted: AuditHead? {
        var accepted = head
        (accepted.oldest, accepted.oldestRecord, accepted.bytes) = (oldest, oldestRecord, bytes)
        return accepted == AuditHead() ? nil : accepted
    }

    /// Looks at the block before those that are kept.
    /// - Throws: what reading values throws.
    mutating func extend(_ blocks: AuditBlocks, _ sealer: AuditSealer) throws(SecretsError) {
        let number = oldest - 1
        guard number >= max(head.oldest, 1), let (block, sealed) = try blocks.openChecked(number, sealer),
            sealer.link(block.previous, number, sealed) == link, block.nextRecord == oldestRecord
        else {
            isDone = true
            return
        }
        (oldest, oldestRecord, link) = (number, block.firstRecord, block.previous)
        bytes += UInt64(sealed.count)
    }
}
