import Testing

@testable import KuraStorage

@Suite struct ScopeTests {
    @Test(arguments: 0..<20) func `the sorted members stay true under changes and changes taken back`(seed: UInt64)
        throws
    {
        var random = SplitMix(state: seed)
        let ledger = Ledger(configuration: .tiny("/nowhere"), scopes: ScopeTable(), rev: 0)
        let settings = SettingsStore(ledger: ledger)
        var model: [String: String] = [:]
        for step in 0..<600 {
            let before = model
            var staged = model
            let fails = Int.random(in: 0..<3, using: &random) == 0
            var changes: [(key: String, value: String?)] = []
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let key = "k\(Int.random(in: 0..<30, using: &random))"
                guard !changes.contains(where: { $0.key == key }) else { continue }
                changes.append((key, Bool.random(using: &random) ? "\(step)" : nil))
                staged[key] = changes.last?.value
            }
            do throws(EngineError) {
                _ = try with("d") { (domain) throws(EngineError) in
                    try settings.putMany(domain, ifRev: nil) { (batch) throws(EngineError) in
                        for (key, value) in changes {
                            if let value {
                                try with(key, value) { (key, value) throws(EngineError) in try batch.put(key, value) }
                            } else {
                                try with(key) { (key) throws(EngineError) in try batch.delete(key) }
                            }
                            // Looked at in the midst of it, so that the list exists while it is changed.
                            if step % 2 == 0 {
                                _ = with("d", "") { settings.list($0, prefix: $1, after: nil) { _ in true } }
                            }
                        }
                        if fails { throw .cold }
                    }
                }
                model = staged
            } catch {
                #expect(fails)
                model = before
            }
            var listed: [(String, String)] = []
            _ = with("d", "") {
                settings.list($0, prefix: $1, after: nil) {
                    listed.append(($0.key.text, $0.value.text)); return true
                }
            }
            let expected = model.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            #expect(listed.map(\.0) == expected.map(\.key), "seed \(seed), step \(step)")
            #expect(listed.map(\.1) == expected.map(\.value), "seed \(seed), step \(step)")
            #expect(settings.count == model.count)
            #expect(settings.bytes == model.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count })
            #expect(with("d") { settings.count($0).count } == model.count)
        }
    }

    @Test func `scopes are found by store and name, and listed when they held something`() {
        let table = ScopeTable()
        let settings = with("a") { table.findOrMake(.settings, $0) }
        let documents = with("a") { table.findOrMake(.documents, $0) }
        #expect(settings !== documents)
        #expect(with("a") { table.find(.settings, $0) } === settings)
        #expect(with("b") { table.find(.settings, $0) } == nil)
        #expect(with("a") { table.find(.documents, $0) } === documents)
        #expect(table.list(.settings).isEmpty)
        settings?.lastRev = 1
        let other = with("A") { table.findOrMake(.settings, $0) }
        other?.lastRev = 2
        #expect(table.list(.settings).map { String(decoding: $0.name, as: UTF8.self) } == ["A", "a"])
        // The tables are told of those that have had a change, and once.
        settings?.news.noteChange(1)
        other?.news.noteChange(2)
        #expect(table.takeNew(upTo: 0).isEmpty)
        #expect(table.takeNew(upTo: 1).count == 1)
        #expect(table.takeNew(upTo: 9).count == 1)
        #expect(table.takeNew(upTo: 9).isEmpty)
    }
}
