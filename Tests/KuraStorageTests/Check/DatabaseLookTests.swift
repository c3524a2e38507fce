import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

/// Looking through a file within short snapshots. With none at all every table is walked, a row a snapshot.
@Suite struct DatabaseLookTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/some.sqlite" }

    init() throws {
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.execute(
            """
            PRAGMA page_size=4096; PRAGMA journal_mode=WAL;
            CREATE TABLE rows(a INTEGER PRIMARY KEY, b TEXT, c REAL);
            CREATE TABLE "odd ""name"(x BLOB, y INTEGER, z TEXT, PRIMARY KEY(x, y, z)) WITHOUT ROWID;
            CREATE TABLE single(name TEXT PRIMARY KEY, v) WITHOUT ROWID;
            CREATE TABLE none(a, b);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
            INSERT INTO rows SELECT i, printf('row %d %s', i, hex(zeroblob(200))), i / 3.0 FROM n;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400)
            INSERT INTO "odd ""name" SELECT zeroblob(i / 50), i % 7, printf('odd %d', i) FROM n;
            INSERT INTO single VALUES('', 1), ('a', NULL), ('b', x'00');
            """)
        _ = try connection.checkpoint(.truncate)
        connection.close()
    }

    private func look(_ milliseconds: Int, goesOn: @escaping () -> Bool = { true }) throws -> DatabaseLook {
        try DatabaseLook(path, role: .other, milliseconds: milliseconds, goesOn: goesOn)
    }

    private func damage(_ text: String) throws {
        let contents = try #require(try FileSystem.contents(path, atMost: 1 << 24))
        let place = try #require(contents.firstRange(of: Array(text.utf8))?.lowerBound) / 4096 * 4096
        let descriptor = try FileSystem.open(path, O_RDWR)
        defer { close(descriptor) }
        let bytes = [UInt8](repeating: 0xEE, count: 100)
        #expect(pwrite(descriptor, bytes, bytes.count, off_t(place)) == bytes.count)
    }

    @Test(arguments: [0, 10_000]) func `a sound file has no problems, whether it is checked or walked`(
        milliseconds: Int
    ) throws {
        let look = try look(milliseconds)
        let tables = try look.tables()
        #expect(tables == ["rows", "odd \"name", "single", "none"])
        for table in tables { #expect(try look.problems(of: table) == [], "\(table)") }
    }

    @Test(arguments: [0, 10_000]) func `a table that was dropped since the look began has no problems`(
        milliseconds: Int
    ) throws {
        let look = try look(milliseconds)
        #expect(try look.tables().contains("single"))
        try Connection(path: path, mode: .readWrite).execute("DROP TABLE single")
        #expect(try look.problems(of: "single") == [])
    }

    @Test(arguments: [0, 10_000], ["row 200 ", "odd 200"])
    func `a page that is damaged shows, either way, in its table alone`(
        milliseconds: Int, text: String
    ) throws {
        try damage(text)
        let look = try look(milliseconds)
        let damaged = text.hasPrefix("row") ? "rows" : "odd \"name"
        for table in try look.tables() {
            #expect(try look.problems(of: table).isEmpty == (table != damaged), "\(table)")
        }
    }

    @Test func `a walk sees every row once, and ends when it is told to`() throws {
        var snapshots = 0
        let walked = try look(0) {
            snapshots += 1
            return true
        }
        #expect(try walked.problems(of: "rows") == [])
        #expect(snapshots == 401)
        var left = 5
        let ended = try look(0) {
            left -= 1
            return left > 0
        }
        #expect(try ended.problems(of: "rows") == [])
        #expect(left == 0)
    }

    @Test func `after an unclean stop no more time is taken than there is`() throws {
        let connection = try Connection(path: path, mode: .readWrite)
        #expect(try TablesCheck.quick(connection, ["rows", "single"], milliseconds: 10_000, by: .system).isComplete)
        #expect(try !TablesCheck.quick(connection, ["rows", "single"], milliseconds: 0, by: .system).isComplete)
        // A table that takes longer is given up, and what is behind it is not looked at.
        try connection.execute(
            """
            WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
            INSERT INTO rows SELECT i, hex(zeroblob(300)), 0 FROM n;
            """)
        let (problems, isComplete) = try TablesCheck.quick(
            connection, ["rows", "single"], milliseconds: 20, by: .system)
        #expect(!isComplete && problems.isEmpty)
        try connection.execute("INSERT INTO single VALUES('it can be used', 2)")
    }
}
