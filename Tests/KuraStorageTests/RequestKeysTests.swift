import Testing

@testable import KuraStorage

/// Results under request keys, without a disk: the ledger commits to nothing.
@Suite struct RequestKeysTests {
    private let ledger: Ledger

    init() {
        var configuration = StorageConfiguration(dataDirectory: "/nowhere", profile: .small)
        configuration.fold.overlayBytes = 1 << 30
        configuration.turnBytes = 1 << 30
        ledger = Ledger(configuration: configuration, scopes: ScopeTable(), rev: 0)
    }

    private func record(_ keys: RequestKeys, _ key: String, _ value: String, user: UInt32 = 1) throws {
        _ = try ledger.transaction { () throws(EngineError) in
            try with(key, value) { (key, value) throws(EngineError) in try keys.record(user, key, value) }
        }
    }

    private func found(_ keys: RequestKeys, _ key: String, user: UInt32 = 1) -> String? {
        with(key) { key in keys.find(user, key).item.map { String(decoding: $0.value, as: UTF8.self) } }
    }

    @Test func `a key is its user's own`() throws {
        let keys = RequestKeys(ledger: ledger, digestKey: [UInt8](repeating: 7, count: 32))
        try record(keys, "k", "1", user: 1)
        try record(keys, "k", "2", user: 2)
        #expect(found(keys, "k", user: 1) == "1")
        #expect(found(keys, "k", user: 2) == "2")
        #expect(found(keys, "k", user: 3) == nil)
    }

    @Test func `a result is forgotten after its day, and goes when others come`() throws {
        ledger.now = 1_000_000
        let keys = RequestKeys(ledger: ledger, digestKey: [UInt8](repeating: 7, count: 32)) { [ledger] in
            ledger.now - 1_000_000
        }
        try record(keys, "old", "1")
        ledger.now += RequestKeys.lifetime - 1
        #expect(found(keys, "old") == "1")
        try record(keys, "young", "2")
        #expect(found(keys, "old") == "1")
        ledger.now += 1
        #expect(found(keys, "old") == nil)
        try record(keys, "new", "3")
        #expect(found(keys, "young") == "2")
        #expect(ledger.scopes.all.first?.count == 2)
    }

    @Test func `a clock that leaps ahead makes no result old`() throws {
        ledger.now = 1_000_000
        var elapsed: Int64 = 0
        let keys = RequestKeys(ledger: ledger, digestKey: [UInt8](repeating: 7, count: 32)) { elapsed }
        try record(keys, "k", "1")
        ledger.now += 3 * RequestKeys.lifetime
        #expect(found(keys, "k") == "1")
        elapsed = RequestKeys.lifetime - 1
        #expect(found(keys, "k") == "1")
        elapsed += 1
        #expect(found(keys, "k") == nil)
    }

    @Test func `the oldest give way to the newest when there are too many bytes`() throws {
        let keys = RequestKeys(ledger: ledger, digestKey: [UInt8](repeating: 7, count: 32))
        let value = String(repeating: "7", count: RequestKeys.resultLimit)
        for number in 0..<20 {
            try record(keys, "k\(number)", value)
        }
        #expect(found(keys, "k0") == nil)
        #expect(found(keys, "k19") == value)
        #expect(ledger.scopes.all.first.map { $0.bytes <= RequestKeys.bytesLimit } == true)
        #expect(throws: EngineError.self) { try record(keys, "large", value + "7") }
    }
}
