import Testing

@testable import KuraStorage

@Suite struct LedgerTests {
    private let directory = TemporaryDirectory()
    private let ledger: Ledger
    private let settings: SettingsStore
    private let documents: DocumentsStore

    init() throws {
        let path = directory.path + "/kura.sqlite"
        _ = try Tables.openWriter(path, cacheKibibytes: 64)
        ledger = Ledger(configuration: .tiny(directory.path), scopes: ScopeTable(), rev: 0)
        settings = SettingsStore(ledger: ledger)
        documents = DocumentsStore(ledger: ledger, reader: try DocumentReader(path: path, mayWait: true))
    }

    /// Everything that a refused transaction must leave as it was.
    private struct Picture: Equatable {
        var numbers: [Int]
        var scopes: [String]
        var items: [String]
    }

    private func picture() throws -> Picture {
        var items: [String] = []
        for index in 0..<12 {
            let setting = with("d", "\(index)") { settings.get($0, $1) }
            items.append("\(setting.item?.value.text ?? "-") \(setting.shownRev)")
            let document = try with("c", "\(index)") { (c, id) throws(EngineError) in try documents.get(c, id) }
            items.append("\(document.item?.value.text ?? "-") \(document.shownRev) \(document.item?.version ?? 0)")
        }
        return Picture(
            numbers: [
                Int(ledger.rev), ledger.overlay.items, ledger.overlay.bytes, settings.bytes, settings.count,
                ledger.cache.bytes, ledger.table.count,
            ],
            scopes: (settings.scopes() + documents.scopes()).map { "\($0.name) \($0.count) \($0.bytes) \($0.rev)" },
            items: items)
    }

    @Test(arguments: 0..<20) func `a transaction that is refused leaves everything as it was`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        func putDocument(_ batch: DocumentsStore.Batch, _ id: Int) throws(DocumentsError) {
            try with("\(id)", "\(seed)\(ledger.rev)") { (id, value) throws(DocumentsError) in
                try batch.put(id, value, isNewID: false, ifRev: nil)
            }
        }
        for _ in 0..<200 {
            let before = try picture()
            let fails = Bool.random(using: &random)
            let ids = (0..<12).shuffled(using: &random).prefix(Int.random(in: 1...6, using: &random))
            do {
                switch Int.random(in: 0..<3, using: &random) {
                case 0:
                    _ = try with("c") { (collection) throws(DocumentsError) in
                        try documents.putMany(collection) { (batch) throws(DocumentsError) in
                            for id in ids { try putDocument(batch, id) }
                            if fails { try putDocument(batch, ids[0]) }
                        }
                    }
                    #expect(!fails)
                case 1:
                    _ = try with("c", "\(ids[0])") { (collection, id) throws(DocumentsError) in
                        try documents.delete(collection, id, ifRev: fails ? 1 << 40 : nil)
                    }
                default:
                    _ = try with("d") { (domain) throws(EngineError) in
                        try settings.putMany(domain, ifRev: nil) { (batch) throws(EngineError) in
                            for id in ids {
                                if id % 3 == 0 {
                                    try with("\(id)") { (key) throws(EngineError) in try batch.delete(key) }
                                } else {
                                    try with("\(id)", "\(ledger.rev)") { (key, value) throws(EngineError) in
                                        try batch.put(key, value)
                                    }
                                }
                            }
                            if fails { throw .cold }
                        }
                    }
                    #expect(!fails)
                }
                #expect(ledger.rev <= UInt64(before.numbers[0]) + 1)
            } catch {
                #expect(try picture() == before, "seed \(seed)")
            }
        }
    }

    @Test func `a slice takes what is synced and no more`() throws {
        for index in 0..<10 {
            _ = try with("d", "\(index)", "1") { (d, k, v) throws(EngineError) in try settings.put(d, k, v, ifRev: nil)
            }
        }
        #expect(ledger.cutSlice(syncedRev: 0, log: nil) == nil)
        let first = try #require(ledger.cutSlice(syncedRev: 4, log: nil))
        #expect(first.rev == 4 && first.items.map(\.pointee.rev) == [1, 2, 3, 4])
        #expect(first.newScopes.map(\.name) == [Array("d".utf8)])
        #expect(ledger.cutSlice(syncedRev: 4, log: nil) == nil)
        let second = try #require(ledger.cutSlice(syncedRev: 99, log: nil))
        #expect(second.rev == 10 && second.items.map(\.pointee.rev) == Array(5...10))
        #expect(second.newScopes.isEmpty && !ledger.hasUnfolded)
        #expect(ledger.overlay.items == 10)
        #expect(!ledger.settle(first, budget: 3) && ledger.overlay.items == 7 && ledger.foldedRev == 0)
        #expect(ledger.settle(first, budget: 3) && ledger.foldedRev == 4)
        #expect(ledger.settle(second, budget: 100) && ledger.foldedRev == 10)
        #expect(ledger.overlay.items == 0 && ledger.overlay.bytes == 0)
        #expect(with("d", "3") { settings.get($0, $1).item?.rev } == 4)
    }

    @Test func `changes of one transaction are never parted by a slice`() throws {
        _ = try with("d", "a", "1") { (d, k, v) throws(EngineError) in try settings.put(d, k, v, ifRev: nil) }
        _ = try with("c") { (c) throws(DocumentsError) in
            try documents.putMany(c) { (batch) throws(DocumentsError) in
                for id in 0..<5 {
                    try with("\(id)", "1") { (id, v) throws(DocumentsError) in
                        try batch.put(id, v, isNewID: false, ifRev: nil)
                    }
                }
            }
        }
        #expect(ledger.cutSlice(syncedRev: 1, log: nil)?.items.count == 1)
        #expect(ledger.cutSlice(syncedRev: 2, log: nil)?.items.count == 5)
    }

    @Test func `settled documents do not outgrow the cache's bound`() throws {
        // 8 MiB through a cache of 4.
        let value = String(repeating: "v", count: 1000)
        for round in 0..<40 {
            for index in 0..<200 {
                _ = try with("c", "\(round * 200 + index)", value) { (c, id, v) throws(DocumentsError) in
                    try documents.put(c, id, v, isNewID: false, ifRev: nil)
                }
            }
            let slice = try #require(ledger.cutSlice(syncedRev: SyncedRev(ledger.rev), log: nil))
            while !ledger.settle(slice, budget: 1000) {}
            ledger.trimCache()
        }
        #expect(ledger.cache.bytes <= ledger.cache.limit)
    }

    @Test func `a full overlay makes writers wait, a fold without space refuses them`() throws {
        let value = String(repeating: "v", count: 1 << 20)
        for index in 0..<4 {
            _ = try with("c", "\(index)", value) { (c, id, v) throws(DocumentsError) in
                try documents.put(c, id, v, isNewID: false, ifRev: nil)
            }
            // What is folded leaves; here nothing is, and the turn's records are never committed.
            if ledger.isOverlayFull { break }
        }
        func put() throws(DocumentsError) {
            _ = try with("c", "x", "1") { (c, id, v) throws(DocumentsError) in
                try documents.put(c, id, v, isNewID: false, ifRev: nil)
            }
        }
        #expect(throws: DocumentsError.engine(.busy)) { try put() }
        ledger.room.isRefusingChanges = true
        #expect(throws: DocumentsError.engine(.noSpace)) { try put() }
    }
}
