import Glibc
import SQLite
import Testing

@testable import KuraCheck
@testable import KuraStorage

@Suite struct RecoveryTests {
    private let directory = TemporaryDirectory()
    private var configuration: StorageConfiguration { .tiny(directory.path) }

    init() throws {
        for name in ["log", "durable"] { try FileSystem.makeDirectory(directory.path + "/" + name) }
    }

    /// Opens what is in the directory, lets `body` use it, and drops it all as a kill would.
    private func run<R>(_ body: (Recovery) throws -> R) throws -> R {
        let housekeeper = try Housekeeper()
        defer { housekeeper.stop() }
        return try body(try Recovery(configuration, housekeeper: housekeeper))
    }

    private func put(_ recovery: Recovery, _ keys: Range<Int>, _ value: String) throws {
        for key in keys {
            _ = try with("d", "\(key)", value) { (d, k, v) throws(EngineError) in
                try recovery.settings.put(d, k, v, ifRev: nil)
            }
            _ = try with("c", "\(key)", value) { (c, k, v) throws(DocumentsError) in
                try recovery.documents.put(c, k, v, isNewID: false, ifRev: nil)
            }
            guard case .committed = recovery.ledger.commit(to: recovery.log, syncedRev: 0) else {
                Issue.record("not committed")
                return
            }
        }
    }

    private func expect(_ recovery: Recovery, _ keys: Range<Int>, _ value: String) throws {
        for key in keys {
            #expect(with("d", "\(key)") { recovery.settings.get($0, $1).item?.value.text } == value)
            let document = try with("c", "\(key)") { (c, k) throws(EngineError) in try recovery.documents.get(c, k) }
            #expect(document.item?.value.text == value)
        }
    }

    @Test func `a log that is longer than memory may hold is folded while it is taken in`() throws {
        let value = "\"" + String(repeating: "x", count: 1000) + "\""
        try run { recovery in
            try put(recovery, 0..<1000, value)
            // Changes of what was folded and of what was not, on both sides of where a fold ends.
            for key in stride(from: 0, to: 1000, by: 7) { try put(recovery, key..<key + 1, "[\(key)]") }
        }
        var configuration = configuration
        configuration.fold.overlayBytes = 128 << 10
        let housekeeper = try Housekeeper()
        defer { housekeeper.stop() }
        for round in 0..<2 {
            let recovery = try Recovery(configuration, housekeeper: housekeeper)
            #expect(recovery.ledger.overlay.peak < 192 << 10 || round > 0, "\(recovery.ledger.overlay.peak)")
            #expect(recovery.ledger.rev == 2 * (1000 + 143))
            for key in 0..<1000 {
                try expect(recovery, key..<key + 1, key % 7 == 0 ? "[\(key)]" : value)
            }
            #expect(recovery.documents.scopes().first?.count == 1000)
        }
        #expect(
            try Connection(path: configuration.tablesPath, mode: .readOnly).scalar("SELECT count(*) FROM documents")
                ?? 0 > 800)
    }

    @Test func `a new directory starts a history at revision 0, and keeps its name`() throws {
        let epoch = try run { recovery in
            #expect(recovery.ledger.rev == 0 && recovery.replayedChanges == 0)
            return recovery.epoch
        }
        #expect(epoch.count == 36)
        #expect(try run { $0.epoch } == epoch)
    }

    @Test func `what is only in the log is there after any number of kills, and counted once`() throws {
        try run { try put($0, 0..<20, "1") }
        for round in 0..<4 {
            try run { recovery in
                #expect(recovery.ledger.rev == UInt64(40 + round * 2))
                #expect(recovery.replayedChanges == 40 + round * 2)
                try expect(recovery, 0..<20, "1")
                #expect(recovery.settings.count == 20 + round)
                #expect(with("c") { recovery.documents.count($0).count } == 20 + round)
                try put(recovery, 20 + round..<21 + round, "more")
            }
        }
    }

    /// Leaves revisions 1–20 in one segment and those from 23 on in the next.
    /// `synced`: what the rows behind the hole say was on the disk.
    private func makeHole(synced: UInt64) throws {
        try run { try put($0, 0..<20, "1") }
        let log = configuration.logDirectory
        do {
            let first = try Segment(opening: 1, in: log)
            let second = try Segment(creating: 2, in: log, capacity: 1 << 16, recycled: nil)
            let third = try Segment(creating: 3, in: log, capacity: 1 << 16, recycled: nil)
            try first.rows(after: 0) { (row) throws(StorageFault) in
                guard row.rev <= 20 || row.rev > 22 else { return }
                try (row.rev <= 20 ? second : third).append(
                    previous: row.previous, rev: row.rev, at: row.at, records: row.records,
                    synced: row.rev == 30 ? synced : 0)
            }
        }
        try Segment.remove(1, in: log)
    }

    @Test func `a start that misses acknowledged changes says which, keeps the others, and begins a new history`()
        throws
    {
        try makeHole(synced: 22)
        var epoch = ""
        for round in 0..<2 {
            var reports: [String] = []
            let housekeeper = try Housekeeper()
            defer { housekeeper.stop() }
            let recovery = try Recovery(configuration, housekeeper: housekeeper) { reports.append($0) }
            #expect(recovery.ledger.rev == 40)
            try expect(recovery, 0..<10, "1")
            try expect(recovery, 11..<20, "1")
            #expect(with("d", "10") { recovery.settings.get($0, $1).item == nil })
            // Told once.
            #expect(reports.isEmpty == (round > 0))
            #expect(recovery.epoch != epoch || round > 0)
            epoch = recovery.epoch
        }
    }

    @Test func `changes behind others that no sync had covered are set aside with them`() throws {
        try makeHole(synced: 20)
        for _ in 0..<2 {
            try run { recovery in
                #expect(recovery.ledger.rev == 20)
                try expect(recovery, 0..<10, "1")
                #expect(with("c") { recovery.documents.count($0).count } == 10)
            }
        }
        #expect(try FileSystem.names(in: configuration.quarantineDirectory) == ["000003.log"])
        let aside = try Segment(opening: 3, in: configuration.quarantineDirectory)
        #expect(aside.firstRev == 24 && aside.lastRev == 40)
    }

    /// The log of a fixture of an earlier release lies in SQLite files; this makes one of the rows that there are.
    private func makeOld(layout: Int, _ number: Int) throws {
        let log = configuration.logDirectory
        let segment = try Segment(opening: number, in: log)
        let path = SQLiteSegment.path(log, number)
        let connection = try Connection(path: path, mode: .readWriteCreate)
        try connection.setCheckpointOnClose(false)
        try connection.setPersistWAL(true)
        try connection.execute(
            "PRAGMA page_size=4096; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;"
                + "PRAGMA application_id=\(SQLiteSegment.applicationID); PRAGMA user_version=\(layout);"
                + "CREATE TABLE log(rev INTEGER PRIMARY KEY, at INTEGER NOT NULL, records BLOB NOT NULL"
                + (layout > 1 ? ", synced INTEGER NOT NULL DEFAULT 0);" : ");"))
        _ = try connection.checkpoint(.truncate)
        let insert = try connection.prepare(
            "INSERT INTO log(rev, at, records\(layout > 1 ? ", synced" : "")) VALUES(?1, ?2, ?3\(layout > 1 ? ", ?4" : ""))"
        )
        try segment.rows(after: 0) { (row) throws(StorageFault) in
            do throws(SQLiteError) {
                try insert.bind(1, Int64(row.rev))
                try insert.bind(2, row.at)
                try insert.bind(3, bytes: row.records)
                if layout > 1 { try insert.bind(4, Int64(row.rev)) }
                try insert.run()
            } catch { throw .database(error, file: path) }
        }
        try Segment.remove(number, in: log)
    }

    @Test(arguments: [1, 2]) func `a segment of the layouts before is read, and not gone on with`(layout: Int) throws {
        try run { try put($0, 0..<3, "1") }
        try makeOld(layout: layout, 1)
        for _ in 0..<2 {
            try run { recovery in
                #expect(recovery.ledger.rev == 6)
                try expect(recovery, 0..<3, "1")
                #expect(recovery.log.active.number > 1)
            }
        }
        try run { try put($0, 3..<4, "2") }
        try run { try expect($0, 3..<4, "2") }
    }

    @Test func `changes of a layout before whose file is missing are refused, and kept`() throws {
        try run { try put($0, 0..<20, "1") }
        try makeOld(layout: 2, 1)
        let log = configuration.logDirectory
        let path = SQLiteSegment.path(log, 1)
        let away = directory.path + "/away"
        try #require(rename(path, away) == 0)
        let size = FileSystem.size(path + "-wal")
        #expect { try run { _ in } } throws: { "\($0)".contains("000001.sqlite, is missing") }
        #expect(FileSystem.size(path + "-wal") == size)
        close(try FileSystem.open(path, O_RDWR | O_CREAT))
        #expect { try run { _ in } } throws: { "\($0)".contains("is empty, though it has changes") }
        try #require(rename(away, path) == 0)
        try run { recovery in
            #expect(recovery.ledger.rev == 40)
            try expect(recovery, 0..<10, "1")
        }
    }

    @Test func `a start writes nothing to the tables`() throws {
        try run { _ in }
        let wal = configuration.tablesPath + "-wal"
        let size = FileSystem.size(wal)
        #expect(size > 0)
        try run { try put($0, 0..<5, "1") }
        try run { try expect($0, 0..<5, "1") }
        #expect(FileSystem.size(wal) == size)
    }

    @Test func `segments that the tables list and that are gone are forgotten`() throws {
        try run { try put($0, 0..<5, "1") }
        do {
            let tables = try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 512)
            try tables.execute(
                "INSERT INTO segments VALUES(1, 1, 10, 4096), (9, 11, 12, 4096);"
                    + "UPDATE meta SET value = 12 WHERE name = 'foldedRev'")
        }
        try run { recovery in
            #expect(recovery.log.active.number == 10)
            #expect(recovery.log.closed.map(\.number) == [1])
            #expect(recovery.log.takeRetired() == [9])
        }
    }

    @Test func `leftovers of a kill while a segment was made or let go are cleared away`() throws {
        try run { try put($0, 0..<5, "1") }
        let log = configuration.logDirectory
        // A segment that was being made, and what earlier layouts leave: a WAL without its file, a journal, a spare.
        close(creat(log + "/000050.new", 0o600))
        for name in ["000040.sqlite-wal", "000041.sqlite-journal", "spare-wal"] {
            close(creat(log + "/" + name, 0o600))
        }
        try run { recovery in
            try expect(recovery, 0..<5, "1")
            #expect(recovery.ledger.rev == 10)
        }
        let names = try FileSystem.names(in: log)
        #expect(names.allSatisfy { Segment.number(ofFile: $0) != nil })
    }

    @Test(arguments: [
        "0.log", "-1.log", "12.log", "9223372036854775807.log", "0.sqlite", "9223372036854775807.sqlite", "notes.new",
        "notes-wal", "1.sqlite-x-wal",
    ])
    func `a file of another name in the log is left where it is, told, and in nobody's way`(name: String) throws {
        try run { try put($0, 0..<5, "1") }
        let path = configuration.logDirectory + "/" + name
        close(creat(path, 0o600))
        var reports: [String] = []
        for round in 0..<3 {
            let housekeeper = try Housekeeper()
            defer { housekeeper.stop() }
            let recovery = try Recovery(configuration, housekeeper: housekeeper) { reports.append($0) }
            try expect(recovery, 0..<5 + round, "1")
            #expect(recovery.log.active.number < 10)
            try put(recovery, 5 + round..<6 + round, "1")
        }
        #expect(FileSystem.exists(path) && reports.count == 3)
        #expect(reports.allSatisfy { $0.hasPrefix("log/\(name) is no file of the daemon's") }, "\(reports)")
        let findings = DirectoryExamination.run(configuration).filter { $0.check == "places" }
        #expect(findings.contains { $0.severity == .warning && $0.message.contains("/\(name) is no file") })
    }

    @Test func `a segment made in advance is gone on with, two are one too many`() throws {
        try run { try put($0, 0..<5, "1") }
        let log = configuration.logDirectory
        for number in [8, 9] { _ = try Segment(creating: number, in: log, capacity: 1 << 16, recycled: nil) }
        try run { recovery in
            #expect(recovery.log.active.number == 9)
            try expect(recovery, 0..<5, "1")
        }
        #expect(!FileSystem.exists(Segment.path(log, 8)))
    }

    @Test func `a segment that does not begin as one is set aside, and its changes are told to be lost`() throws {
        try run { try put($0, 0..<5, "1") }
        try run { try put($0, 5..<6, "1") }
        _ = try AcknowledgedNote(configuration.acknowledgedPath, epoch: try run { $0.epoch }, rev: 12)
        let first = Segment.path(configuration.logDirectory, 1)
        try TestDisk.write(first, [UInt8](repeating: 0x5A, count: 8192), at: 0)
        var reports: [String] = []
        let housekeeper = try Housekeeper()
        defer { housekeeper.stop() }
        let recovery = try Recovery(configuration, housekeeper: housekeeper) { reports.append($0) }
        #expect(recovery.ledger.rev == 12)
        try expect(recovery, 5..<6, "1")
        #expect(reports.joined().contains("revisions 1 to 10"))
        #expect(!FileSystem.exists(first))
    }
}
