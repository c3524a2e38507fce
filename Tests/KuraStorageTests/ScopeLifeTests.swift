import Testing

@testable import KuraStorage

/// When scopes come to be, and when they go.
@Suite struct ScopeLifeTests {
    private let directory = TemporaryDirectory()
    private let ledger: Ledger
    private let settings: SettingsStore
    private let documents: DocumentsStore
    private let configured: ConfigurationStore
    private var table: ScopeTable { ledger.scopes }
    /// Whoever writes.
    private let writer = Writer()

    private final class Writer {
        var author = Author.daemon
    }

    init() throws {
        let path = directory.path + "/kura.sqlite"
        _ = try Tables.openWriter(path, cacheKibibytes: 64)
        ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        settings = SettingsStore(ledger: ledger)
        documents = DocumentsStore(ledger: ledger, reader: try DocumentReader(path: path, mayWait: true))
        configured = ConfigurationStore(ledger: ledger)
    }

    @discardableResult
    private func put(_ domain: String, _ value: String = "1", ifRev: Precondition = nil) throws(EngineError)
        -> WriteResult
    {
        try with(domain, "k", value) { (domain, key, value) throws(EngineError) in
            try settings.put(domain, key, value, ifRev: ifRev, by: writer.author)
        }
    }

    @discardableResult
    private func putDocument(_ collection: String, ifRev: Precondition = nil) throws(DocumentsError) -> WriteResult {
        try with(collection, "k", "1") { (collection, id, value) throws(DocumentsError) in
            try documents.put(collection, id, value, isNewID: false, ifRev: ifRev, by: writer.author)
        }
    }

    private func delete(_ domain: String) throws(EngineError) {
        _ = try with(domain, "k") { (domain, key) throws(EngineError) in try settings.delete(domain, key, ifRev: nil) }
    }

    private func configure(_ domain: String) throws(EngineError) {
        _ = try with(domain, "1") { (domain, value) throws(EngineError) in
            try configured.put(.settings, domain, "schema", value, by: writer.author)
        }
    }

    /// From now on every settings domain and collection counts into one account, which binds the writer.
    private func bind(items: Int? = nil, scopes: Int = 1000) -> QuotaAccount {
        let account = QuotaAccount(bytesLimit: nil, itemsLimit: items, scopesLimit: scopes)
        table.assignAccounts { Store.published.contains($0.store) ? [account] : [] }
        let program = Author.Program(name: [], number: 0, accounts: [account])
        writer.author = Author(program, operation: 0, request: 1, takesAway: false)
        return account
    }

    private func slice() -> FoldSlice? { ledger.cutSlice(syncedRev: SyncedRev(ledger.rev), log: nil) }

    @Test func `a write that is refused leaves no scope, however often it is tried`() throws {
        let account = bind(items: 0)
        let long = String(repeating: "1", count: SettingsStore.valueLimit + 1)
        for index in 0..<1000 {
            let name = "app-\(index)"
            #expect(throws: EngineError.conflict(currentRev: 0)) { try put(name, ifRev: 5) }
            #expect(throws: DocumentsError.engine(.conflict(currentRev: 0))) { try putDocument(name, ifRev: 5) }
            #expect(throws: EngineError.accountFull(limit: 0, of: .items)) { try put(name) }
            #expect(throws: DocumentsError.engine(.accountFull(limit: 0, of: .items))) { try putDocument(name) }
            #expect(throws: SettingsError.outOfRange) {
                _ = try with(name, "k") { (domain, key) throws(SettingsError) in
                    try settings.increment(domain, key, by: .max, initial: 0)
                }
            }
            #expect(throws: EngineError.cold) {
                _ = try with(name) { (domain) throws(EngineError) in
                    try settings.putMany(domain, ifRev: nil) { (_) throws(EngineError) in throw .cold }
                }
            }
        }
        #expect(throws: EngineError.valueTooLarge(limit: SettingsStore.valueLimit)) { try put("long", long) }
        #expect(table.all.isEmpty && account.scopes == 0 && account.items == 0)
        #expect(slice() == nil)
        // Nor does a number go: those of the rows have room for eight million of them.
        writer.author = .daemon
        try put("first")
        #expect(table.all.map(\.id) == [1])
    }

    @Test func `scopes that a transaction made go when it is abandoned, and what was there stays`() throws {
        try put("old")
        let account = bind()
        for round in 0..<100 {
            let mark = ledger.begin()
            try put("a\(round)")
            try configure("a\(round)")
            try configure("b\(round)")
            try put("b\(round)")
            try putDocument("c\(round)")
            try put("old", "\(round + 2)")
            #expect(table.all.count == 6 && account.scopes == 4)
            ledger.abandon(mark)
            #expect(table.all.map { String(decoding: $0.name, as: UTF8.self) } == ["old"])
            #expect(account.scopes == 1 && account.items == 1)
        }
        #expect(with("a0") { settings.annex($0) } == nil)
        #expect(slice()?.newScopes.map(\.id) == [1])
        // A name whose scope went is made anew like any other.
        try put("a0", "7")
        try put("z")
        #expect(table.all.map(\.id) == [1, 2, 3])
        #expect(with("a0", "k") { settings.get($0, $1).item?.value.text } == "7")
        #expect(slice()?.newScopes.map(\.id) == [2, 3])
    }

    @Test func `what is configured for a scope keeps it, whatever else is taken back`() throws {
        try configure("a")
        let pinned = try #require(with("p") { settings.annex(making: $0) })
        let mark = ledger.begin()
        try put("a")
        try put("p")
        try configure("p")
        ledger.abandon(mark)
        #expect(with("a") { settings.annex($0) } != nil)
        #expect(with("p") { settings.annex($0) } === pinned)
        // Neither has had a change: the tables are told of the configuration's own scope and no other.
        #expect(slice()?.newScopes.map(\.store) == [.configuration])
        try put("a")
        #expect(slice()?.newScopes.map(\.store) == [.settings])
    }

    @Test func `a slice has no scope whose first change comes after it`() throws {
        try put("a")
        try put("b")
        #expect(ledger.cutSlice(syncedRev: 1, log: nil)?.newScopes.map(\.id) == [1])
        #expect(slice()?.newScopes.map(\.id) == [2])
    }

    @Test func `accepted writes make no more scopes than the quota says, empty ones included`() throws {
        let account = bind(items: 1, scopes: 3)
        for index in 0..<3 {
            try put("app-\(index)")
            try delete("app-\(index)")
        }
        #expect(account.scopes == 3 && account.items == 0)
        #expect(throws: EngineError.accountFull(limit: 3, of: .scopes)) { try put("app-3") }
        #expect(throws: DocumentsError.engine(.accountFull(limit: 3, of: .scopes))) { try putDocument("app-3") }
        #expect(throws: EngineError.accountFull(limit: 3, of: .scopes)) { try configure("app-3") }
        #expect(table.all.count == 3)
        // What is there may be used, and who has no quota is not bound.
        try put("app-1")
        writer.author = .daemon
        try put("app-3")
        #expect(account.scopes == 4)
    }

    @Test func `who asks for nothing is told the newest revision of all, not the scope's`() throws {
        try put("d")
        try putDocument("c")
        try put("other")
        let setting = try with("d") { (domain) throws(EngineError) in
            try settings.putMany(domain, ifRev: nil) { (_) throws(EngineError) in }
        }
        let document = try with("c") { (collection) throws(DocumentsError) in
            try documents.putMany(collection) { (_) throws(DocumentsError) in }
        }
        #expect(setting.rev == 3 && setting.changed == 0)
        #expect(document.rev == 3 && document.changed == 0)
        // Who asks for what is there already is told when.
        let same = try with("d", "k", "1") { (domain, key, value) throws(EngineError) in
            try settings.putMany(domain, ifRev: nil) { (batch) throws(EngineError) in try batch.put(key, value) }
        }
        #expect(same.rev == 1)
        #expect(table.all.count == 3)
    }
}
