import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// What memory and tables say of scopes.
@Suite struct ScopeComparisonTests {
    private let directory = TemporaryDirectory()
    private let storage: IndexHarness

    init() throws {
        storage = try IndexHarness(.tiny(directory.path))
        for id in 0..<20 { try storage.put("\(id)", "{\"n\":\(id)}") }
        try storage.delete("7")
    }

    private func problems(_ change: String = "") throws -> [String] {
        let comparison = ScopeComparison(storage.ledger)
        let connection = try Connection(path: storage.configuration.tablesPath, mode: .readWrite)
        if !change.isEmpty { try connection.execute(change) }
        return try comparison.problems(connection)
    }

    @Test func `what is folded has a row that says the same, and what is not need not have one`() throws {
        #expect(try problems() == [])
        try storage.fold()
        #expect(try problems() == [])
        try storage.put("21", "1")
        #expect(try problems() == [])
    }

    @Test func `a row that is gone or says otherwise is told, and one that has changed since is not`() throws {
        try storage.fold()
        #expect(
            try problems("UPDATE scopes SET count = 18 WHERE name = 'c'").first?.hasPrefix("collection c: 18 items")
                == true)
        #expect(try problems("UPDATE scopes SET count = 17, lastRev = lastRev + 1 WHERE name = 'c'") == [])
        #expect(try problems("DELETE FROM scopes WHERE name = 'c'") == ["collection c has no row"])
        // Another fold is in between: it may have been dropped.
        #expect(try problems("UPDATE meta SET value = value + 1 WHERE name = 'foldedRev'") == [])
    }
}
