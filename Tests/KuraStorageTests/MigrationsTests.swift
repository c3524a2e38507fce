import KuraBytes
import KuraJSON
import SQLite
import Testing

@testable import KuraStorage

@Suite struct MigrationsTests {
    private let directory = TemporaryDirectory()
    private let storage: IndexHarness
    private let migrations: Migrations
    private static let second: UInt64 = 1_000_000_000

    private final class Judge: DocumentJudge {
        func fault(of document: Bytes) -> (pointer: String, message: String)? { nil }
    }

    /// What a look for documents has asked for.
    private struct Look {
        var scan: MigrationScan?
        var last: (any DocumentJudge)?
    }

    init() throws {
        storage = try IndexHarness(.tiny(directory.path))
        migrations = Migrations(
            ledger: storage.ledger, configurations: storage.configurations, documents: storage.documents)
    }

    /// Has each document of `c` get a member `a`.
    private func declare() throws {
        let list = try with(#"[{"to":2,"steps":[{"setDefault":{"path":"a","value":1}}]}]"#) {
            (text) throws(MigrationError) in try Migration.list(text)
        }
        let scope = try #require(with("c") { storage.ledger.scopes.find(.documents, $0) })
        let rev = storage.ledger.rev + 1
        let progress = MigrationProgress(from: 1, to: 2, rev: rev, row: Int64(scope.id) << 40, total: 100)
        let texts: [(StaticString, [UInt8])] = [
            (ConfigurationStore.migrations, RecordedMigration.text(of: [.init(rev: rev, migration: list[0])])),
            (ConfigurationStore.migration, progress.text), (ConfigurationStore.version, Array("2".utf8)),
        ]
        _ = try storage.ledger.transaction { () throws(EngineError) in
            for (key, text) in texts {
                _ = try with("c") { (c) throws(EngineError) in
                    try text.lend { (text) throws(EngineError) in
                        try storage.configurations.put(.documents, c, key, text)
                    }
                }
            }
        }
        try storage.fold()
    }

    private func look(_ time: UInt64, judge: (any DocumentJudge)? = nil) -> Look {
        var look = Look()
        migrations.scan(
            time,
            judge: { _, last in
                look.last = last
                return judge
            },
            submit: {
                look.scan = $0
                return 7
            })
        return look
    }

    private func run(_ scan: MigrationScan?) throws -> MigrationScan {
        let scan = try #require(scan)
        try scan.run(try TableReader(storage.configuration))
        return scan
    }

    private func take(_ scan: MigrationScan, _ error: QueryError? = nil) {
        var answers = [
            QueryAnswer(ticket: 6, query: WaitOver()), QueryAnswer(ticket: 7, query: scan, error: error),
            QueryAnswer(ticket: 8, query: WaitOver()),
        ]
        migrations.takeOwn(of: &answers)
        #expect(answers.map(\.ticket) == [6, 8])
    }

    @Test func `a run looks, stores in slices with pauses, looks again, and tells its end`() throws {
        for id in 0..<100 { try storage.put("d\(id)", "{}") }
        #expect(look(.max).scan == nil && migrations.nextPiece(3, admitsBulk: true) == nil)
        try declare()
        #expect(migrations.nextPiece(3, admitsBulk: true) == 3)
        let scan = try run(look(3).scan)
        // While it is under way nothing else is due.
        #expect(migrations.nextPiece(3, admitsBulk: true) == nil && look(.max).scan == nil)
        take(scan)
        #expect(migrations.hasFound && look(.max).scan == nil)
        #expect(migrations.nextPiece(5, admitsBulk: false) == 1_000_005)
        let time = storage.ledger.clock.monotonic + Self.second
        #expect(try migrations.storeSome(time) == nil)
        try storage.commit()
        #expect(migrations.hasFound)
        let next = try #require(migrations.nextPiece(time, admitsBulk: true))
        #expect(next > time)
        #expect(try migrations.storeSome(next - 1) == nil && migrations.hasFound)
        let ended = try #require(try migrations.storeSome(next))
        #expect(ended.isWhole && ended.line.contains("from version 1 to 2: 100 documents changed, 0 left"))
        try storage.commit()
        #expect(!migrations.hasFound && look(.max).scan == nil)
        let found = try with("c", "d7") { (c, id) throws(EngineError) in try storage.documents.get(c, id) }
        #expect(found.item?.value.text == #"{"a":1}"#)
    }

    @Test func `what could not be looked at, or was taken back, is looked for again after a pause`() throws {
        try storage.put("d", "{}")
        try declare()
        let scan = try run(look(0).scan)
        take(scan, .engine(.overloaded))
        let now = storage.ledger.clock.monotonic
        #expect(!migrations.hasFound && look(now).scan == nil)
        take(try run(look(now + Self.second).scan))
        #expect(migrations.hasFound)
        migrations.takeBack()
        #expect(!migrations.hasFound && look(now).scan == nil && look(now + Self.second).scan != nil)
    }

    @Test func `the judge of the last look is offered to the next`() throws {
        try storage.put("d", "{}")
        try declare()
        let judge = Judge()
        let first = look(0, judge: judge)
        #expect(first.last == nil)
        take(try run(first.scan), .engine(.overloaded))
        #expect(look(.max).last === judge)
    }
}
