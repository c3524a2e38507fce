import SQLite
import Testing

extension SQLiteModule {
    @Suite struct MigratorTests {
        private let directory = TemporaryDirectory()
        private let id: Int32 = 0x6b75_7261
        private let one = Migrator.Step(version: 1, sql: "CREATE TABLE a(x); INSERT INTO a VALUES(1)")
        private let two = Migrator.Step(version: 3, sql: "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1")

        private func open() throws -> Connection { try Connection.writer(directory.durable) }

        @Test func `a new file gets every step once, the id and the version`() throws {
            let connection = try open()
            #expect(try Migrator(steps: [one]).migrate(connection, applicationID: id) == 1)
            #expect(try Migrator(steps: [one, two]).migrate(connection, applicationID: id) == 1)
            #expect(try Migrator(steps: [one, two]).migrate(connection, applicationID: id) == 0)
            #expect(try connection.scalar("SELECT y FROM a") == 2)
            #expect(try connection.scalar("PRAGMA user_version") == 3)
            #expect(try connection.scalar("PRAGMA application_id") == Int64(id))
        }

        @Test func `a newer schema is refused and untouched`() throws {
            let connection = try open()
            try Migrator(steps: [one, two]).migrate(connection, applicationID: id)
            #expect(throws: Migrator.Failure.newerSchema(found: 3, known: 1)) {
                try Migrator(steps: [one]).migrate(connection, applicationID: id)
            }
            #expect(try connection.scalar("PRAGMA user_version") == 3)
        }

        @Test func `another program's file is refused and untouched`() throws {
            let connection = try open()
            try connection.execute("PRAGMA application_id=7")
            #expect(throws: Migrator.Failure.foreignDatabase(applicationID: 7)) {
                try Migrator(steps: [one]).migrate(connection, applicationID: id)
            }
            #expect(try connection.scalar("PRAGMA application_id") == 7)
        }

        @Test func `a file with tables and no id is another program's`() throws {
            let connection = try open()
            try connection.execute("CREATE TABLE theirs(x)")
            #expect(throws: Migrator.Failure.foreignDatabase(applicationID: 0)) {
                try Migrator(steps: [one]).migrate(connection, applicationID: id)
            }
            #expect(try connection.scalar("SELECT count(*) FROM sqlite_schema") == 1)
        }

        @Test func `a step that fails leaves nothing behind and can be run again`() throws {
            let connection = try open()
            let broken = Migrator.Step(version: 2, sql: "CREATE TABLE b(x); INSERT INTO nowhere VALUES(1)")
            #expect(throws: Migrator.Failure.self) {
                try Migrator(steps: [one, broken]).migrate(connection, applicationID: id)
            }
            #expect(!connection.isInTransaction)
            #expect(try connection.scalar("PRAGMA user_version") == 1)
            #expect(try connection.scalar("SELECT count(*) FROM sqlite_schema WHERE name = 'b'") == 0)
            #expect(try Migrator(steps: [one, two]).migrate(connection, applicationID: id) == 1)
        }
    }
}
