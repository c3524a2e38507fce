import KuraBytes
import Sodium

/// Reading the audit, and checking that it is as it was written.
extension Audit {
    /// Where a walk over the audit stands: before a record of a block.
    public struct Position: Equatable, Sendable {
        public var block: UInt64
        public var record: UInt64

        public init(block: UInt64, record: UInt64) { (self.block, self.record) = (block, record) }
    }

    /// Lends records to `body`, the oldest first.
    /// - Parameters:
    ///   - position: where to begin; nil for the oldest.
    ///   - since: older records are left out, milliseconds since 1970.
    ///   - most: blocks that are looked at.
    ///   - body: takes one; false when there was no room for it, and the next walk begins with it.
    /// - Returns: where to go on; nil at the end.
    /// - Throws: `.sealed`; `.integrity` when a block is not what was put there; what reading values throws.
    public func records(
        from position: Position?, since: Int64, most: Int, _ body: (AuditRecord) -> Bool
    ) throws(SecretsError) -> Position? {
        guard ring.isUnlocked else { throw .sealed }
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        let heads = try binding.heads()
        guard let head = heads.current else {
            guard heads.fault == nil else { throw .integrity }
            return nil
        }
        var next = position ?? Position(block: head.oldest, record: 0)
        if next.block < head.oldest { next = Position(block: head.oldest, record: 0) }
        if position == nil, since > 0 { next.block = try blocks.first(since: since, head, sealer) }
        var left = most
        var taken = 0
        while next.block <= head.newest {
            guard left > 0 else { return next }
            left -= 1
            guard let (block, _) = try blocks.openChecked(next.block, sealer) else {
                binding.noteBroken()
                // What comes before it is shown first.
                guard taken > 0 else { throw .integrity }
                return next
            }
            var stop: Position?
            let isWhole = block.forEach { record in
                guard record.number >= next.record, record.lastAt >= since else { return true }
                if body(record) {
                    taken += 1
                    return true
                }
                stop = Position(block: block.number, record: record.number)
                return false
            }
            guard isWhole else { throw .integrity }
            if let stop { return stop }
            next.block += 1
        }
        return nil
    }

    /// What checking a piece of the audit came to.
    public struct Check {
        /// Records that are as they were written.
        public var records: UInt64 = 0
        /// The block to go on with; nil at the end.
        public var next: UInt64?
        /// What is wrong; nil when nothing is.
        public var fault: AuditFault?
        /// With `fault`: the first record that is not as it was written, is missing, or is not known of; 0 when that cannot be told.
        public var broken: UInt64 = 0
        /// Number of the newest record, and what the chain has come to with it: 32 bytes.
        public var newest: UInt64 = 0
        public var link: [UInt8] = []

        func failing(_ fault: AuditFault, _ broken: UInt64) -> Check {
            var check = self
            (check.fault, check.broken) = (fault, broken)
            return check
        }
    }

    /// Checks some blocks: that each is whole, follows the one before it, that the last is the head's, and that the head is that of the
    /// store's record.
    /// - Parameters:
    ///   - block: where to begin, as an earlier check has returned it; nil for the oldest.
    ///   - most: blocks that are looked at.
    /// - Returns: what it has come to.
    /// - Throws: `.sealed`, `.preparing`, and what reading values throws.
    public func verify(from block: UInt64?, most: Int) throws(SecretsError) -> Check {
        guard ring.isUnlocked else { throw .sealed }
        // Whether the store's record fits the services', and so tells where the audit ends.
        _ = try keeper.openDamaged()
        let sealer = try keeper.auditSealer()
        defer { memory.plaintext.removeAll() }
        var check = Check()
        let heads = try binding.heads()
        if let head = heads.current {
            check.newest = head.newestRecord
            var text = SecretBuffer()
            head.link.append(to: &text)
            check.link = Array(text.bytes)
        }
        let fault = try binding.examine(heads)
        switch fault {
        case .dropped: return check.failing(.dropped, (heads.current ?? AuditHead()).oldestRecord)
        case .setBack, .bothSetBack:
            let row = heads.row ?? AuditHead()
            check.records = try verifyBlocks(from: block, row, most, sealer, check).records
            return check.failing(fault ?? .setBack, row.newestRecord + 1)
        case .secretsSetBack: return check.failing(.secretsSetBack, (heads.current?.newestRecord ?? 0) + 1)
        case .record, .head, .beyond, .unbound, nil: break
        }
        guard let head = heads.current else { return fault.map { check.failing($0, 0) } ?? check }
        check = try verifyBlocks(from: block, head, most, sealer, check)
        if check.fault == nil, let fault {
            return check.failing(fault, fault == .beyond ? head.newestRecord + 1 : 0)
        }
        return check
    }

    private func verifyBlocks(
        from block: UInt64?, _ head: AuditHead, _ most: Int, _ sealer: AuditSealer, _ known: Check
    ) throws(SecretsError) -> Check {
        var check = known
        var link: SetSum?
        var expected = head.oldestRecord
        var number = max(block ?? 0, head.oldest)
        if number > head.oldest {
            // The one before has been checked; what follows it is held against it.
            number -= 1
            guard let (before, row) = try blocks.openChecked(number, sealer) else {
                binding.noteBroken()
                return check.failing(.record, 0)
            }
            link = sealer.link(before.previous, number, row)
            expected = before.nextRecord
            number += 1
        }
        var left = most
        while number <= head.newest {
            guard left > 0 else {
                check.next = number
                return check
            }
            left -= 1
            guard let (found, row) = try blocks.openChecked(number, sealer), link == nil || found.previous == link,
                found.firstRecord == expected
            else {
                binding.noteBroken()
                return check.failing(.record, expected)
            }
            link = sealer.link(found.previous, number, row)
            expected = found.nextRecord
            check.records += UInt64(found.count)
            number += 1
        }
        if head.newest >= head.oldest, link != head.link || expected != head.newestRecord + 1 {
            binding.noteBroken()
            return check.failing(.record, expected)
        }
        return check
    }
}
