import KuraBytes
import SQLite
import Testing

extension SQLiteModule {
    @Suite struct StatementTests {
        private let directory = TemporaryDirectory()

        private func table() throws -> Connection {
            let connection = try Connection(path: directory.durable, mode: .readWriteCreate)
            try connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v); -- the end")
            return connection
        }

        @Test(arguments: [Int64.min, -1, 0, 1, 1 << 40, Int64.max])
        func `integers come back as they were bound`(_ value: Int64) throws {
            let connection = try table()
            let insert = try connection.prepare("INSERT INTO t(v) VALUES(?1)")
            try insert.bind(1, value)
            try insert.run()
            #expect(try connection.scalar("SELECT v FROM t") == value)
            #expect(connection.changes == 1 && connection.totalChanges == 1)
        }

        @Test func `bytes, text, empty ones and null come back as what they were`() throws {
            let connection = try table()
            let insert = try connection.prepare("INSERT INTO t(v) VALUES(?1)")
            let bytes: [UInt8] = [0, 255, 7, 0]
            try bytes.withBytes { bytes in
                try insert.bind(1, bytes: bytes)
                try insert.run()
            }
            try insert.bind(1, bytes: Bytes())
            try insert.run()
            try Array("蔵".utf8).withBytes { utf8 in
                try insert.bind(1, utf8: utf8)
                try insert.run()
            }
            try insert.bind(1, utf8: Bytes())
            try insert.run()
            try insert.bind(1, text: "store\0house")
            try insert.run()
            try insert.bindNull(1)
            try insert.run()

            let select = try connection.prepare("SELECT v, typeof(v) FROM t ORDER BY id")
            var rows: [(type: String, bytes: [UInt8], isNull: Bool)] = []
            while try select.step() {
                rows.append((select.text(1), Array(select.bytes(0)), select.isNull(0)))
            }
            #expect(rows.map(\.type) == ["blob", "blob", "text", "text", "text", "null"])
            #expect(rows.map(\.isNull) == [false, false, false, false, false, true])
            #expect(rows.map(\.bytes) == [bytes, [], Array("蔵".utf8), [], Array("store\0house".utf8), []])
        }

        @Test func `a statement that failed in run can run again`() throws {
            let connection = try table()
            let insert = try connection.prepare("INSERT INTO t(id, v) VALUES(?1, 0)")
            try insert.bind(1, 1)
            try insert.run()
            #expect(throws: SQLiteError.self) { try insert.run() }
            try insert.bind(1, 2)
            try insert.run()
            #expect(try connection.scalar("SELECT count(*) FROM t") == 2)
        }

        @Test func `run resets, so that no snapshot is held`() throws {
            let connection = try table()
            let select = try connection.prepare("SELECT 1 UNION SELECT 2 FROM t")
            try select.run()
            // A table in use cannot be dropped.
            try connection.execute("INSERT INTO t(v) VALUES(1)")
            try connection.execute("DROP TABLE t")
        }

        @Test func `a statement outlives the close of its connection`() throws {
            let connection = try table()
            let select = try connection.prepare("SELECT 42")
            connection.close()
            #expect(try select.step() && select.int64(0) == 42)
        }
    }
}
