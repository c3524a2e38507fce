import KuraBytes
import Testing

@testable import KuraStorage

/// A transaction stages the store's record twice: with its change, and again with the change's record in the audit. Somebody may find the first in
/// the log, and have it stand for the second.
@Suite struct AuditOwedTests {
    private let directory = TemporaryDirectory()
    private let ring: KeyRing
    private let reader: DocumentReader
    private let ledger: Ledger
    private let store: SecretsStore

    init() throws {
        let configuration = StorageConfiguration.tiny(directory.path)
        ring = KeyKeeper(configuration, wake: {}, report: { _ in }).ring
        let path = directory.path + "/kura.sqlite"
        _ = try Tables.openWriter(path, cacheKibibytes: 64)
        reader = try DocumentReader(path: path, mayWait: true)
        ledger = Ledger(configuration: configuration, scopes: ScopeTable(), rev: 0)
        store = SecretsTamperingTests.store(ledger, reader, ring)
    }

    private func put(_ account: String) throws {
        try with("s", account) { (service, account) throws(SecretsError) in
            let name = SecretName(service: service, account: account)
            _ = try store.put(name, NewSecret(.text, account, SecretOptions()), ifRev: nil)
        }
    }

    private func audit(_ account: String) throws {
        try with("s", account, "secrets.put") { (service, account, method) throws(SecretsError) in
            store.audit.note(
                AuditEvent(
                    method: method, outcome: Bytes(), user: 0, role: Bytes(), client: Bytes(),
                    name: SecretName(service: service, account: account), rev: ledger.rev),
                isStrict: true, isChange: true)
            try store.audit.stage(all: true)
            store.audit.endTurn(isStored: true)
        }
    }

    /// What a start notes in the audit that finds the first so many of the changes.
    private func noted(_ count: Int) throws -> [String] {
        let found = SecretsTamperingTests.open(
            SecretsTamperingTests.rows(ledger.overlay.queue.prefix(count), ledger), directory.path, reader, ring)
        #expect(throws: Never.self) { try found.audit.prepare() }
        #expect(found.audit.binding.isOfSecrets)
        return found.audit.trail.entries.map { found.audit.trail.text($0).text }
    }

    @Test func `a change whose record was cut off is noted as one, and no other is`() throws {
        try put("ada")
        try audit("ada")
        let whole = ledger.overlay.queue.count
        try put("bob")
        let cut = ledger.overlay.queue.count
        try audit("bob")
        #expect(try noted(whole).isEmpty)
        #expect(try noted(ledger.overlay.queue.count).isEmpty)
        let found = try noted(cut)
        #expect(found.count == 1 && found[0].contains("missing"), "\(found)")
    }
}
