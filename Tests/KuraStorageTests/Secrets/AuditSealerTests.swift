import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

/// What the seals and links of the audit's blocks say besides what is inside.
@Suite struct AuditSealerTests {
    private let world = KeyWorld()
    private let ring: KeyRing
    private let sealer: AuditSealer

    init() throws {
        ring = world.keeper().ring
        sealer = try AuditSealer(ring)
    }

    private func opens(_ sealed: Bytes, _ kind: AuditSealer.Kind, _ row: String, _ sealer: AuditSealer) -> Bool {
        var output = SecretBuffer()
        do throws(SecretsError) {
            try with(row) { (row) throws(SecretsError) in try sealer.open(sealed, kind, row: row, into: &output) }
        } catch { return false }
        return output.bytes.text == "inside"
    }

    @Test func `a block opens in its own row and store alone`() throws {
        var sealed = ByteBuffer()
        with("inside", "0000000000000001") { sealer.seal($0, .block, row: $1, to: &sealed) }
        #expect(opens(sealed.bytes, .block, "0000000000000001", sealer))
        #expect(!opens(sealed.bytes, .block, "0000000000000002", sealer))
        #expect(!opens(sealed.bytes, .head, "0000000000000001", sealer))
        var keys = try #require(ring.opened)
        keys.slots.storeID[0] ^= 1
        let other = KeyRing(hostKey: ring.hostKey, .success(keys), slots: keys.slots)
        #expect(!opens(sealed.bytes, .block, "0000000000000001", try AuditSealer(other)))
        // Suite and kind are bound as well as told.
        var relabelled = Array(sealed.bytes)
        relabelled[1] = AuditSealer.Kind.head.rawValue
        #expect(!relabelled.lend { opens($0, .head, "0000000000000001", sealer) })
    }

    @Test
    func `keys of before a rotation open nothing that is sealed after it, and what they have sealed stays readable`()
        throws
    {
        var keys = try #require(ring.opened)
        keys.recent = [(2, try SecretKey())]
        let rotated = try AuditSealer(KeyRing(hostKey: nil, .success(keys), slots: keys.slots))
        var before = ByteBuffer()
        var after = ByteBuffer()
        with("inside", "1") { sealer.seal($0, .block, row: $1, to: &before) }
        with("inside", "1") { rotated.seal($0, .block, row: $1, to: &after) }
        #expect(opens(before.bytes, .block, "1", rotated) && opens(after.bytes, .block, "1", rotated))
        #expect(!opens(after.bytes, .block, "1", sealer))
        // What was sealed in a lock before the rotation is still taken in.
        let lock = try #require(sealer.locks(at: AuditHead()).first)
        var locked = ByteBuffer()
        with("inside", "locked-1") { lock.seal($0, row: $1, to: &locked) }
        let locks = try rotated.locks(at: AuditHead())
        var opened = SecretBuffer()
        let found = with("locked-1") { row in locks.map { $0.open(locked.bytes, row: row, into: &opened) } }
        #expect(found == [false, true])
    }

    @Test func `a link says what came before it, which block it is of, and what that holds`() {
        func link(_ previous: SetSum, _ number: UInt64, _ row: String) -> SetSum {
            with(row) { sealer.link(previous, number, $0) }
        }
        let first = link(SetSum(), 1, "row")
        #expect(first == link(SetSum(), 1, "row"))
        #expect(
            first != link(first, 1, "row") && first != link(SetSum(), 2, "row") && first != link(SetSum(), 1, "raw"))
    }
}
