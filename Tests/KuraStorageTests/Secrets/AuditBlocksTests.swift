import KuraBytes
import Testing

@testable import KuraStorage

/// Blocks of the audit over a ledger alone.
@Suite struct AuditBlocksTests {
    private let world = KeyWorld()
    private let ledger: Ledger
    private let blocks: AuditBlocks
    private let sealer: AuditSealer
    private let trail: AuditTrail

    init() throws {
        ledger = Ledger(configuration: .tiny(world.directory.path), scopes: ScopeTable(), rev: 0)
        let rows = SecretRows(
            ledger, look: { (_, _) throws(EngineError) in nil }, lookBehind: { (_, _) throws(EngineError) in nil })
        blocks = AuditBlocks(ledger, rows, SecretsMemory())
        sealer = try AuditSealer(world.keeper().ring)
        trail = AuditTrail(ledger.clock)
    }

    /// Puts an event into a block of its own behind the head.
    private func put(_ method: String, behind known: AuditHead) throws(SecretsError) -> AuditHead {
        let none = Bytes()
        with(method) { method in
            trail.note(
                AuditEvent(
                    method: method, outcome: none, user: 1, role: none, client: none,
                    name: SecretName(service: none, account: none), rev: 0),
                at: 5, isStrict: true, isChange: false, isSealed: false)
        }
        var (head, position) = (known, trail.entries.count - 1)
        _ = try ledger.transaction { () throws(SecretsError) in
            let records = blocks.seal(trail, from: &position, behind: head, sealer)
            guard try blocks.stage(head.newest + 1, records: records, behind: &head, sealer) else {
                throw .integrity
            }
        }
        return head
    }

    @Test func `where the audit ends is found by its blocks alone, and which of them follow one another`() throws {
        var head = AuditHead()
        for method in ["one", "two", "three"] { head = try put(method, behind: head) }
        #expect(head.newest == 3 && head.newestRecord == 3 && head.oldest == 1)
        #expect(try blocks.isWhole(endOf: head, sealer) && blocks.has(3) && !blocks.has(4))
        let (found, isWhole) = try blocks.end([], sealer)
        #expect(found == head && isWhole)
        var kept = KeptAudit(found, isWhole: isWhole)
        while !kept.isDone { try kept.extend(blocks, sealer) }
        #expect(kept.accepted == head)
    }

    @Test func `what a head does not follow from is no end, and nothing is put in a block's place`() throws {
        let first = try put("one", behind: AuditHead())
        var other = first
        other.link = SetSum()
        #expect(try !blocks.isWhole(endOf: other, sealer))
        #expect(try blocks.end([other, first], sealer).head == first)
        #expect(throws: SecretsError.integrity) { try put("two", behind: AuditHead()) }
        #expect(try blocks.row(behind: 0)?.key.text == "0000000000000001")
        #expect(try blocks.row(behind: 1) == nil)
    }
}
