import SQLite
import Testing

@testable import KuraStorage

@Suite struct AgingTests {
    private let directory = TemporaryDirectory()
    private let storage: IndexHarness
    private let aging: Aging
    private static let day: Int64 = 86_400_000

    init() throws {
        storage = try IndexHarness(.tiny(directory.path))
        aging = Aging(ledger: storage.ledger, configurations: storage.configurations, documents: storage.documents)
    }

    private func configure(_ key: StaticString, _ days: String) throws {
        _ = try with("c", days) { (c, days) throws(EngineError) in
            try storage.configurations.put(.documents, c, key, days)
        }
    }

    /// Runs a query as the pool would, and deletes what it finds until nothing is left.
    private func delete(_ query: AgedDocuments) throws -> Int {
        let tables = try TableReader(storage.configuration)
        var next: AgedDocuments? = query
        var turns = 0
        while let query = next {
            try query.run(tables)
            aging.take(query)
            next = nil
            while aging.hasFound {
                turns += 1
                next = aging.deleteSome() ?? next
                try storage.commit()
            }
        }
        return turns
    }

    @Test func `documents that nobody has changed for so many days are deleted, some a turn`() throws {
        let now = storage.ledger.now
        storage.ledger.now = now - 10 * Self.day
        for id in 0..<2500 { try storage.put("old\(id)", "1") }
        storage.ledger.now = now - 2 * Self.day
        for id in 0..<100 { try storage.put("young\(id)", "1") }
        try storage.put("old7", "2")
        storage.ledger.now = now
        #expect(aging.begin(0, now: now).isEmpty)
        try configure(ConfigurationStore.retainDays, "3")
        try storage.fold()
        let later = Aging.interval
        #expect(aging.begin(later - 1, now: now).isEmpty)
        let jobs = aging.begin(later, now: now)
        guard jobs.count == 1, case .query(let query) = jobs[0] else {
            Issue.record("no query")
            return
        }
        // Changed after it was found: young again.
        #expect(try delete(query) >= 2499 / Aging.batch)
        #expect(with("c") { storage.documents.count($0).count } == 101)
        let left = try with("c", "old7") { (c, id) throws(EngineError) in try storage.documents.get(c, id) }
        #expect(left.item?.value.text == "2")
    }

    @Test(arguments: [false, true])
    func `former versions go when they are as old as is configured, or as documents may become`(
        _ isRetained: Bool
    ) throws {
        let now = storage.ledger.now
        try configure(ConfigurationStore.history, "{\"days\":\(isRetained ? 30 : 3),\"bytes\":65536}")
        if isRetained { try configure(ConfigurationStore.retainDays, "3") }
        for (days, value) in [(10, "1"), (9, "2"), (2, "3"), (1, "4")] {
            storage.ledger.now = now - Int64(days) * Self.day
            try storage.put("d", value)
            try storage.fold()
        }
        func bodies() throws -> [String] {
            try storage.query("SELECT body FROM history ORDER BY number") { $0.text(0) }
        }
        #expect(try bodies() == ["1", "2", "3"])
        let purges = aging.begin(0, now: now).compactMap { job in if case .purge(let purge) = job { purge } else { nil }
        }
        #expect(purges.map(\.kind) == [.history])
        #expect(try storage.purge(try #require(purges.first)) == 1)
        #expect(try bodies() == ["2", "3"])
        #expect(try storage.query("SELECT bytes FROM histories") { $0.int64(0) } == [2 * 65])
    }

    @Test func `what ages out is on nobody's bill, and none of the request before it`() throws {
        let name = Array("mail".utf8)
        let mail = Author.Program(
            name: name, number: storage.ledger.bill.number(of: name, user: 1), accounts: [])
        let author = Author(mail, operation: 3, request: 1, takesAway: false)
        for id in 0..<20 {
            _ = try with("c", "d\(id)", "1") { (c, id, value) throws(DocumentsError) in
                try storage.documents.put(c, id, value, isNewID: false, ifRev: nil, by: author)
            }
        }
        try configure(ConfigurationStore.retainDays, "3")
        storage.ledger.now += 10 * Self.day
        try storage.fold()
        guard case .query(let query)? = aging.begin(0, now: storage.ledger.now).first else {
            Issue.record("no query")
            return
        }
        _ = try delete(query)
        #expect(with("c") { storage.documents.count($0).count } == 0)
        let bill = storage.ledger.bill.untaken
        let theirs = bill.filter { $0.key.writer == mail.number }
        #expect(theirs.map(\.key.operation) == [3] && theirs.map(\.tally.changes) == [20])
        let own = bill.filter { $0.key.writer == 0 && $0.key.store == .documents }
        #expect(own.map(\.key.operation) == [.max] && own.map(\.tally.changes) == [20])
    }

    @Test func `a round begins when the queries of the one before have been answered, whose answers are nobody else's`()
        throws
    {
        try configure(ConfigurationStore.retainDays, "3")
        try storage.put("d", "1")
        storage.ledger.now += 10 * Self.day
        try storage.fold()
        guard case .query(let query)? = aging.begin(0, now: storage.ledger.now).first else {
            Issue.record("no query")
            return
        }
        aging.begun(3)
        #expect(aging.begin(Aging.interval, now: storage.ledger.now).isEmpty)
        try query.run(try TableReader(storage.configuration))
        var others = [QueryAnswer(ticket: 4, query: WaitOver())]
        aging.takeOwn(of: &others)
        #expect(others.count == 1 && !aging.hasFound)
        others.append(QueryAnswer(ticket: 3, query: query))
        aging.takeOwn(of: &others)
        #expect(others.map(\.ticket) == [4] && aging.hasFound)
        while aging.hasFound { _ = aging.deleteSome() }
        #expect(aging.begin(Aging.interval, now: storage.ledger.now).count == 1)
    }

    @Test func `a document that was changed since it was found stays`() throws {
        storage.ledger.now -= 10 * Self.day
        for id in 0..<10 { try storage.put("old\(id)", "1") }
        storage.ledger.now += 10 * Self.day
        try configure(ConfigurationStore.retainDays, "3")
        try storage.fold()
        guard case .query(let query)? = aging.begin(0, now: storage.ledger.now).first else {
            Issue.record("no query")
            return
        }
        try query.run(try TableReader(storage.configuration))
        try storage.put("old3", "2")
        aging.take(query)
        while aging.hasFound { _ = aging.deleteSome() }
        #expect(with("c") { storage.documents.count($0).count } == 1)
    }

    @Test(arguments: ["deny", "nullify"]) func `what may not be deleted stays, and holds up nothing`(_ action: String)
        throws
    {
        let now = storage.ledger.now
        storage.ledger.now = now - 10 * Self.day
        try storage.configure(
            references: "[{\"field\":\"p\",\"collection\":\"c\",\"onDelete\":\"\(action)\"}]", in: "children")
        for id in 0..<200 { try storage.put("old\(id)", "1") }
        try storage.put("x", "{\"p\":[\"old7\",\"old100\"]}", in: "children")
        // As a schema may ask for it.
        storage.documents.judge = { _, _, value in value.text.contains("old100") ? nil : ("/p", "must have old100") }
        try configure(ConfigurationStore.retainDays, "3")
        storage.ledger.now = now
        try storage.settle()
        guard case .query(let query)? = aging.begin(0, now: now).first else {
            Issue.record("no query")
            return
        }
        _ = try delete(query)
        #expect(with("c") { storage.documents.count($0).count } == (action == "deny" ? 2 : 1))
        let left = try with("c", "old100") { (c, id) throws(EngineError) in try storage.documents.get(c, id) }
        #expect(left.item != nil)
        // Once nobody refers to it, the next round takes it along.
        try storage.delete("x", in: "children")
        try storage.settle()
        guard case .query(let again)? = aging.begin(2 * Aging.interval, now: now).first else {
            Issue.record("no query")
            return
        }
        _ = try delete(again)
        #expect(with("c") { storage.documents.count($0).count } == 0)
    }

    @Test func `tombstones that are old enough are forgotten, in the tables and in memory`() throws {
        let now = storage.ledger.now
        try configure(ConfigurationStore.tombstoneDays, "5")
        for id in 0..<300 { try storage.put("d\(id)", "1") }
        storage.ledger.now = now - 6 * Self.day
        for id in 0..<200 { try storage.delete("d\(id)") }
        storage.ledger.now = now - 4 * Self.day
        for id in 200..<250 { try storage.delete("d\(id)") }
        storage.ledger.now = now
        try storage.fold()
        guard case .purge(let purge)? = aging.begin(0, now: now).first else {
            Issue.record("no purge")
            return
        }
        #expect(try storage.purge(purge) == 200)
        #expect(try storage.query("SELECT count(*) FROM documents") { $0.int64(0) } == [100])
        let gone = try with("c", "d5") { (c, id) throws(EngineError) in try storage.documents.get(c, id) }
        #expect(gone.item == nil && gone.shownRev == 0)
        let kept = try with("c", "d205") { (c, id) throws(EngineError) in try storage.documents.get(c, id) }
        #expect(kept.item == nil && kept.shownRev > 0)
        // Written over before anybody looked: the row is made anew.
        try storage.put("d9", "again")
        try storage.put("d210", "again")
        try storage.fold()
        #expect(try storage.query("SELECT version FROM documents WHERE id = 'd9'") { $0.int64(0) } == [1])
        #expect(try storage.query("SELECT version FROM documents WHERE id = 'd210'") { $0.int64(0) } == [3])
    }
}
