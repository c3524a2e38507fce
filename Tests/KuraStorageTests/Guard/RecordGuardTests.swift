import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// The guard's bounds, at their edges and one beyond.
@Suite struct RecordGuardTests {
    private func isFit(
        _ store: Store = .documents, _ scope: String = "notes", _ key: String = "1", _ value: String = "{\"a\":1}",
        _ origin: RecordGuard.Origin = .backup, _ change: (inout BackupRecord) -> Void = { _ in }
    ) -> Bool {
        with(scope, key, value) { scope, key, value in
            var record = BackupRecord(
                store: store, rev: 1, version: 1, row: store.isResident ? 0 : 1, scope: scope, key: key, value: value)
            change(&record)
            var records = RecordGuard(origin)
            return records.admit(record) != nil
        }
    }

    @Test func `numbers pass at their bounds and not beyond`() {
        #expect(isFit())
        for (rev, fits) in [(UInt64(0), false), (1, true), (1 << 53 - 1, true), (1 << 53, false), (.max, false)] {
            #expect(isFit { $0.rev = rev } == fits, "\(rev)")
        }
        for (row, fits) in [(UInt64(0), false), (1, true), (1 << 39, true), (1 << 39 + 1, false), (.max, false)] {
            #expect(isFit { $0.row = row } == fits, "\(row)")
        }
        for (version, fits) in [(UInt32(0), false), (1, true), (1 << 31 - 1, true), (1 << 31, false)] {
            #expect(isFit { $0.version = version } == fits, "\(version)")
        }
        let moments: [(Int64, Bool)] = [
            (-62_167_219_200_000, true), (-62_167_219_200_001, false), (253_402_300_799_999, true),
            (253_402_300_800_000, false), (.min, false), (.max, false),
        ]
        for (moment, fits) in moments {
            #expect(isFit { $0.createdAt = moment } == fits, "\(moment)")
            #expect(isFit { $0.updatedAt = moment } == fits, "\(moment)")
        }
    }

    @Test func `names pass as requests may have them`() {
        for (name, fits) in [
            ("a", true), ("", false), ("a b/c", true), ("ä", true), ("a\n", false), ("a\u{7F}", false),
            ("\u{85}", false), (String(repeating: "x", count: 128), true),
        ] {
            #expect(isFit(.documents, name) == fits, "\(name)")
            #expect(isFit(.documents, "notes", name) == fits, "\(name)")
        }
        #expect(!isFit(.documents, String(repeating: "x", count: 129)))
        #expect(isFit(.documents, "notes", String(repeating: "x", count: 512)))
        #expect(!isFit(.documents, "notes", String(repeating: "x", count: 513)))
        // No UTF-8.
        [UInt8(0xC3)].lend { name in
            #expect(!isFit { $0.scope = name })
            #expect(!isFit { $0.key = name })
        }
    }

    @Test func `a value is one line of the wire's JSON`() {
        for (value, fits) in [
            ("1", true), ("\"\\n\"", true), ("[1,{\"a\":null}]", true), ("", false), ("[1, 2]", false),
            ("1\n", false), ("1\n2", false), ("{\"a\":", false), ("{\"a\":1,\"a\":2}", false), ("\"\\ud800\"", false),
            ("\"\u{1}\"", false), (String(repeating: "[", count: 128) + String(repeating: "]", count: 128), true),
            (String(repeating: "[", count: 129) + String(repeating: "]", count: 129), false),
        ] {
            #expect(isFit(.documents, "notes", "1", value) == fits, "\(value)")
            #expect(isFit(.settings, "app", "theme", value) == fits, "\(value)")
        }
        let long = "\"" + String(repeating: "x", count: 1 << 20) + "\""
        #expect(isFit(.documents, "notes", "1", long) && !isFit(.settings, "app", "theme", long))
        // Sealed ones are any bytes.
        #expect(
            isFit(.secretVersions, String(repeating: "a", count: 32), "a/1", "\n\u{0}") && !isFit(.secrets, "", "."))
    }

    @Test func `what is deleted or about a scope has no value of its own`() {
        #expect(isFit(.documents, "notes", "1", "{\"a\":1}") { $0.flags = .isDeleted })
        #expect(isFit(.documents, "notes", "1", " ") { $0.flags = .isDeleted })
        #expect(isFit(.documents, "notes", "1", "") { $0.flags = [.isDeleted, .keepsBody] })
        #expect(!isFit(.documents, "notes", "1", "1") { $0.flags = [.isDeleted, .keepsBody] })
        #expect(!isFit(.documents, "notes", "1", "1\n2") { $0.flags = .isDeleted })
        #expect(!isFit(.settings, "app", "a", "1") { $0.flags = .isDeleted })
        #expect(!isFit(.documents, "notes", "1", "") { $0.flags = .keepsBody })
        #expect(isFit(.documents, "notes", "", "") { ($0.flags, $0.row, $0.rev) = (.isScope, 1, 0) })
        #expect(!isFit(.documents, "notes", "1", "") { $0.flags = .isScope })
        #expect(isFit(.documents, "notes", "", "") { $0.flags = .isDrop })
        #expect(!isFit(.settings, "app", "", "") { $0.flags = .isDrop })
        #expect(!isFit(.documents, "notes", "", "") { $0.flags = [.isDrop, .isScope] })
    }

    @Test func `a configuration is what its key wants`() {
        for (key, good, bad) in [
            ("mode", "\"enforce\"", "\"x\""), ("backup", "false", "0"), ("durability", "5", "3601"),
            ("retainDays", "36500", "36501"), ("tombstoneDays", "1", "0"), ("version", "2147483647", "2147483648"),
            ("schema", "{\"type\":\"object\"}", "{\"type\":1}"),
            ("indexes", "[{\"name\":\"a\",\"fields\":[\"b\"]}]", "[{\"name\":\"a\"}]"),
            (
                "references", "[{\"field\":\"a\",\"collection\":\"b\",\"onDelete\":\"deny\"}]",
                "[{\"field\":\"a\",\"collection\":\"b\\n\",\"onDelete\":\"deny\"}]"
            ),
            (
                "search", "{\"fields\":[\"a\"],\"tokenizer\":\"trigram\"}",
                "{\"fields\":[\"_id\"],\"tokenizer\":\"trigram\"}"
            ),
            ("migrations", "[{\"rev\":1,\"to\":2,\"steps\":[]}]", "[{\"rev\":0,\"to\":2,\"steps\":[]}]"),
        ] {
            for origin in [RecordGuard.Origin.backup, .bundle, .log, .tables] {
                #expect(isFit(.configuration, "documents/notes", key, good, origin), "\(key)")
                #expect(!isFit(.configuration, "documents/notes", key, bad, origin), "\(key)")
            }
        }
        #expect(isFit(.configuration, "documents/notes", "later", "1"))
        #expect(!isFit(.configuration, "documents/notes", "later", "1", .bundle))
        #expect(isFit(.configuration, "storage", "relaxed", "0", .bundle))
        #expect(!isFit(.configuration, "storage", "relaxed", "18446744073709551615"))
        #expect(!isFit(.configuration, "documents/", "mode", "\"off\""))
    }

    @Test func `results of requests are for the log and the tables, in the form that is sent again`() {
        let value = "[\"settings.put\",{\"rev\":1}]"
        #expect(isFit(.requests, "1000", "k", value, .log) && isFit(.requests, "1000", "k\u{1F}role", value, .tables))
        #expect(!isFit(.requests, "1000", "k", value) && !isFit(.requests, "x", "k", value, .log))
        #expect(!isFit(.requests, "1000", "k", "[1,2]", .log) && !isFit(.requests, "1000", "a\n", value, .log))
    }

    @Test func `a change of the log is judged like a record, and named by its revision`() {
        func problem(_ value: String, at: Int64 = 0, writer: String = "app/1") -> String? {
            with("notes", "1", value) { scope, key, value in
                with(writer) { writer in
                    RecordGuard(.log).problem(
                        LogRecord(
                            store: .documents, isTombstone: false, rev: 7, scope: scope, key: key, writer: writer,
                            value: value), at: at)
                }
            }
        }
        #expect(problem("1") == nil && problem("1", writer: "") == nil)
        #expect(
            problem("1\n2")
                == "the change of revision 7 (documents/notes/1) is not what a daemon writes: its body is not one line of JSON"
        )
        #expect(problem("1", at: .min) != nil && problem("1", writer: "a\nb") != nil)
    }

    // MARK: Tables that a recovery reads

    /// Rows that no daemon writes, in tables whose pages are whole.
    @Test(arguments: [
        "UPDATE documents SET body = '1' || char(10) || '2' WHERE id = '7'",
        "UPDATE documents SET createdAt = -9223372036854775808 WHERE id = '7'",
        "UPDATE documents SET version = 4294967295 WHERE id = '7'",
        "UPDATE documents SET rev = 9223372036854775807 WHERE id = '7'",
        "UPDATE documents SET row = (row | 1099511627775) WHERE id = '7'",
        "UPDATE documents SET id = 'a' || char(10) WHERE id = '7'",
    ])
    func `a salvage leaves out a row that no daemon writes, and counts it as lost`(change: String) throws {
        let harness = try BootHarness()
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<20, "\"v\"")
            try harness.fold(recovery)
        }
        let connection = try Connection(path: harness.tables, mode: .readWriteCreate)
        try connection.execute(change)
        _ = try connection.checkpoint(.truncate)
        connection.close()
        let directory = harness.configuration.dataDirectory
        let made = directory + "/made.sqlite"
        let salvage = try TablesSalvage(of: harness.tables, into: made, names: directory + "/missing.jsonl")
        #expect(salvage.rev < 1 << 53)
        #expect(salvage.lost.filter { $0.store == "documents" }.map(\.count) == [1])
        let salvaged = try Connection(path: made, mode: .readOnly)
        #expect(try salvaged.scalar("SELECT count(*) FROM documents") == 19)
        salvaged.close()
    }

    @Test func `a value of several lines that lies in the tables is not served`() throws {
        let harness = try BootHarness()
        try harness.start { recovery, _ in
            try harness.put(recovery, 0..<3, "\"v\"")
            try harness.fold(recovery)
        }
        let connection = try Connection(path: harness.tables, mode: .readWriteCreate)
        try connection.execute(
            """
            UPDATE documents SET body = '1' || char(10) || '2' WHERE id = '1';
            UPDATE settings SET value = '1' || char(10) || '2' WHERE key = '1';
            """)
        _ = try connection.checkpoint(.truncate)
        connection.close()
        try harness.start { recovery, _ in
            #expect(with("d", "1") { recovery.settings.get($0, $1).item == nil })
            #expect(with("d", "2") { recovery.settings.get($0, $1).item != nil })
            #expect {
                try with("c", "1") { (c, k) throws(EngineError) in _ = try recovery.documents.get(c, k) }
            } throws: {
                ($0 as? EngineError) != .cold
            }
            #expect(harness.report.contains("settings/d has a value that is not one line"))
        }
    }
}
