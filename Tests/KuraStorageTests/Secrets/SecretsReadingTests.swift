import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Reading by the turn's clock, whether what has expired was swept or not.
@Suite struct SecretsReadingTests {
    private let directory = TemporaryDirectory()
    private let time = ManualTime()
    private let ledger: Ledger
    private let store: SecretsStore

    init() throws {
        var configuration = StorageConfiguration.tiny(directory.path)
        configuration.clock = Clock(time)
        let ring = KeyKeeper(configuration, wake: {}, report: { _ in }).ring
        let path = directory.path + "/kura.sqlite"
        _ = try Tables.openWriter(path, cacheKibibytes: 64)
        let reader = try DocumentReader(path: path, mayWait: true)
        ledger = Ledger(configuration: configuration, scopes: ScopeTable(), rev: 0)
        store = SecretsStore(
            ledger: ledger, ring: ring,
            look: { (scope, key) throws(EngineError) in try reader.find(scope: scope, id: key) }, report: { _ in })
    }

    private func put(_ secret: String, expiresAt: Int64) throws {
        var options = SecretOptions()
        options.expiresAt = expiresAt
        try with("s", "ada", secret) { (service, account, secret) throws(SecretsError) in
            let name = SecretName(service: service, account: account)
            _ = try store.put(name, NewSecret(.text, secret, options), ifRev: nil)
        }
    }

    private func get(_ version: UInt32? = nil) throws(SecretsError) -> String? {
        try with("s", "ada") { (service, account) throws(SecretsError) in
            var found: String?
            _ = try store.get(SecretName(service: service, account: account), version: version) { found = $1.text }
            return found
        }
    }

    private func versions() throws -> [UInt32] {
        var numbers: [UInt32] = []
        try with("s", "ada") { (service, account) throws(SecretsError) in
            _ = try store.versions(SecretName(service: service, account: account)) { numbers.append($0.version) }
        }
        return numbers
    }

    @Test func `what has expired is absent before it is swept, the newest and older ones`() throws {
        let now = ledger.now
        try put("one", expiresAt: now + 1000)
        try put("two", expiresAt: now + 2000)
        #expect(try get() == "two" && get(1) == "one" && versions() == [1, 2])
        ledger.now = now + 1000
        #expect(try get() == "two" && versions() == [2])
        #expect(throws: SecretsError.noSuchVersion(shownRev: ledger.rev)) { try get(1) }
        ledger.now = now + 2000
        #expect(try get() == nil && get(2) == nil && versions() == [])
    }

    @Test func `a clock that is put back brings nothing back, and keeps nothing for longer`() throws {
        let now = ledger.now
        try put("one", expiresAt: now + 60_000)
        ledger.now = now + 60_000
        #expect(try get() == nil)
        ledger.now = now - 86_400_000
        #expect(try get() == nil && versions() == [])
        try put("two", expiresAt: now + 3_600_000)
        #expect(try get() == "two")
        try put("three", expiresAt: now + 60_200)
        #expect(try get() == "three")
        time.advance(by: 200_000_000)
        #expect(try get() == nil && versions() == [])
    }
}
