import Testing

@testable import KuraStorage

/// What is configured for scopes, without a disk: the ledger commits to nothing.
@Suite struct ConfigurationStoreTests {
    private let ledger: Ledger
    private let store: ConfigurationStore
    private let settings: SettingsStore

    init() {
        var configuration = StorageConfiguration(dataDirectory: "/nowhere", profile: .small)
        configuration.fold.overlayBytes = 1 << 30
        configuration.turnBytes = 1 << 30
        ledger = Ledger(configuration: configuration, scopes: ScopeTable(), rev: 0)
        store = ConfigurationStore(ledger: ledger)
        settings = SettingsStore(ledger: ledger)
    }

    private func put(_ domain: String, _ key: StaticString, _ value: String) throws -> WriteResult {
        try with(domain, value) { (domain, value) throws(EngineError) in try store.put(.settings, domain, key, value) }
    }

    private func get(_ domain: String, _ key: StaticString) -> String? {
        with(domain) { store.get(.settings, $0, key).item?.value.text }
    }

    @Test func `an item is its scope's own, and shows in no room's numbers`() throws {
        #expect(try put("a", "schema", "1").rev == 1)
        #expect(try put("b", "schema", "2").rev == 2)
        #expect(get("a", "schema") == "1" && get("b", "schema") == "2" && get("a", "mode") == nil)
        #expect(settings.scopes().isEmpty && settings.count == 0 && settings.bytes == 0)
        #expect(with("a") { store.rev(.settings, $0) } == 1)
        #expect(with("a") { store.rev(.documents, $0) } == 0)
        let same = try put("a", "schema", "1")
        #expect(same.changed == 0 && same.rev == 1 && ledger.rev == 2)
    }

    @Test func `the annex of a scope goes stale with each change, and when one is taken back`() throws {
        _ = try put("a", "schema", "1")
        let annex = try #require(with("a") { settings.annex($0) })
        #expect(annex.isStale)
        annex.keep(annex)
        let mark = ledger.begin()
        _ = try put("a", "schema", "2")
        #expect(annex.isStale)
        annex.keep(annex)
        ledger.abandon(mark)
        #expect(annex.isStale)
        #expect(get("a", "schema") == "1")
        #expect(with("b") { settings.annex($0) } == nil)
    }

    @Test func `a scope is relaxed when that it is so is synced, and what is beside a strict change is strict`() throws
    {
        func write(_ domain: String) throws -> WriteResult {
            try with(domain, "k", "\(ledger.rev)") { (d, k, v) throws(EngineError) in
                try settings.put(d, k, v, ifRev: nil)
            }
        }
        try with("r") { (domain) throws(EngineError) in try store.setDurability(.settings, domain, flushSeconds: 7) }
        #expect(ledger.rev == 1 && ledger.revisions.strict == 1)
        #expect(try !write("r").isRelaxed)
        #expect(ledger.revisions.strict == 2 && ledger.takeFlushSeconds() == nil)
        ledger.revisions.synced = 2
        #expect(try write("r").isRelaxed)
        #expect(ledger.rev == 3 && ledger.revisions.strict == 2 && ledger.takeFlushSeconds() == 7)
        #expect(with("r", "k") { settings.get($0, $1).isRelaxed })
        let mark = ledger.begin()
        with("r") { #expect(ledger.isRelaxed(ledger.scopes.find(.settings, $0)!)) }
        _ = try with("r", "other", "1") { (d, k, v) throws(EngineError) in try settings.put(d, k, v, ifRev: nil) }
        _ = try write("s")
        #expect(ledger.end(mark) == 4)
        #expect(ledger.revisions.strict == 4 && ledger.takeFlushSeconds() == nil)
        #expect(!with("r", "other") { settings.get($0, $1).isRelaxed })
        try with("r") { (domain) throws(EngineError) in try store.setDurability(.settings, domain, flushSeconds: nil) }
        #expect(try !write("r").isRelaxed)
    }
}
