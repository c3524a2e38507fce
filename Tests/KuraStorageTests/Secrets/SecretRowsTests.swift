import KuraBytes
import Testing

@testable import KuraStorage

/// Rows of secrets over a ledger, with tables that are played.
@Suite struct SecretRowsTests {
    private let directory = TemporaryDirectory()
    private let ledger: Ledger
    private let scope: Scope

    init() throws {
        ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        scope = try #require(ledger.scopes.findOrMake(.secretVersions, Bytes("s")))
    }

    @Test func `keys name a version of an item, and a block`() {
        let rows = SecretRows(
            ledger, look: { (_, _) throws(EngineError) in nil }, lookBehind: { (_, _) throws(EngineError) in nil })
        rows.makeKey(of: Bytes("item"), version: 120)
        #expect(rows.key.bytes.text == "item/120")
        rows.makeKey(block: 0xAB)
        #expect(rows.key.bytes.text == "00000000000000ab")
        rows.makeKey(SecretRecords.lockPrefix, block: 1)
        #expect(rows.key.bytes.text == "locked-0000000000000001")
    }

    @Test func `what the tables have not at hand is told once, and nothing is looked for where no row can be`() throws {
        let rows = SecretRows(
            ledger, look: { (_, _) throws(EngineError) in throw .cold },
            lookBehind: { (_, _) throws(EngineError) in throw .cold })
        rows.makeKey(block: 1)
        #expect(try rows.find(scope) == nil && rows.findBehind(scope) == nil)
        scope.rows.mayExist = true
        #expect(throws: SecretsError.engine(.cold)) { try rows.find(scope) }
        #expect(described(rows.takeColdLook()) == "document 0000000000000001")
        #expect(throws: SecretsError.engine(.cold)) { try rows.findBehind(scope) }
        #expect(described(rows.takeColdLook()) == "behind 0000000000000001")
        #expect(described(rows.takeColdLook()) == nil)
    }

    private func described(_ look: ColdLook?) -> String? {
        switch look {
        case .document(scope.id, let id)?: "document " + String(decoding: id, as: UTF8.self)
        case .behind(scope.id, let id)?: "behind " + String(decoding: id, as: UTF8.self)
        default: nil
        }
    }
}
