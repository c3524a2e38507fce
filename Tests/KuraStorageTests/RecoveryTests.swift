import Glibc
import SQLite
import Testing

@testable import KuraStorage

@Suite struct RecoveryTests {
    private let directory = TemporaryDirectory()
    private var configuration: StorageConfiguration { .tiny(directory.path) }

    init() throws {
        for name in ["log", "durable"] { try FileSystem.makeDirectory(directory.path + "/" + name) }
    }

    /// Opens what is in the directory, lets `body` use it, and drops it all as a kill would.
    private func run<R>(_ body: (Recovery) throws -> R) throws -> R {
        let housekeeper = Housekeeper()
        defer { housekeeper.stop() }
        return try body(try Recovery(configuration, housekeeper: housekeeper))
    }

    private func put(_ recovery: Recovery, _ keys: Range<Int>, _ value: String) throws {
        for key in keys {
            _ = try with("d", "\(key)", value) { (d, k, v) throws(StoreError) in
                try recovery.settings.put(d, k, v, ifRev: nil)
            }
            _ = try with("c", "\(key)", value) { (c, k, v) throws(StoreError) in
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
            let document = try with("c", "\(key)") { (c, k) throws(StoreError) in try recovery.documents.get(c, k) }
            #expect(document.item?.value.text == value)
        }
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

    @Test func `a new segment holds a copy, so the old ones are not needed any more`() throws {
        try run { try put($0, 0..<20, "1") }
        try run { _ in }
        let numbers = try FileSystem.names(in: configuration.logDirectory).compactMap(Segment.number(ofFile:)).sorted()
        #expect(numbers.count == 2)
        for end in ["", "-wal"] { unlink(Segment.path(configuration.logDirectory, numbers[0]) + end) }
        try run { recovery in
            #expect(recovery.ledger.rev == 40)
            try expect(recovery, 0..<20, "1")
        }
    }

    @Test func `a copy whose originals are gone comes before what follows it, whatever its number`() throws {
        try run { try put($0, 0..<20, "1") }
        let log = configuration.logDirectory
        // What a start on a full disk leaves when it is killed: the first segment is copied and gone, the second is not.
        do {
            let first = try Segment(opening: 1, in: log)
            let second = try Segment(creating: 2, in: log, capacity: 1 << 16, recycled: nil)
            let copy = try Segment(creating: 3, in: log, capacity: 1 << 16, recycled: nil)
            try first.rows(after: 0) { (rev, at, records) throws(StorageFault) in
                do throws(SQLiteError) {
                    try (rev <= 20 ? copy : second).append(rev: rev, at: at, records: records, synced: 0)
                } catch { throw .damagedLog }
            }
        }
        try Segment.remove(1, in: log)
        try run { recovery in
            #expect(recovery.ledger.rev == 40 && recovery.replayedChanges == 40)
            try expect(recovery, 0..<20, "1")
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
            try first.rows(after: 0) { (rev, at, records) throws(StorageFault) in
                guard rev <= 20 || rev > 22 else { return }
                do throws(SQLiteError) {
                    try (rev <= 20 ? second : third).append(
                        rev: rev, at: at, records: records, synced: rev == 30 ? synced : 0)
                } catch { throw .damagedLog }
            }
        }
        try Segment.remove(1, in: log)
    }

    @Test func `a start that misses acknowledged changes says which, and leaves everything as it is`() throws {
        try makeHole(synced: 21)
        let log = configuration.logDirectory
        let before = try FileSystem.names(in: log)
        #expect { try run { _ in } } throws: { "\($0)".contains("a hole: revision 23 follows 20") }
        #expect(try FileSystem.names(in: log) == before)
        // What stands behind the hole is moved away: the start goes back to what is before it.
        for end in ["", "-wal"] {
            let path = Segment.path(log, 3) + end
            #expect(rename(path, directory.path + "/away" + end) == 0)
        }
        try run { recovery in
            #expect(recovery.ledger.rev == 20)
            try expect(recovery, 0..<10, "1")
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
        let names = try FileSystem.names(in: configuration.quarantineDirectory).sorted()
        #expect(names == ["000003.sqlite", "000003.sqlite-wal"])
        let aside = try Segment(opening: 3, in: configuration.quarantineDirectory)
        #expect(aside.firstRev == 24 && aside.lastRev == 40)
    }

    @Test func `changes whose file is missing are refused, and kept`() throws {
        try run { try put($0, 0..<20, "1") }
        let log = configuration.logDirectory
        let path = Segment.path(log, 1)
        let away = directory.path + "/away"
        try #require(rename(path, away) == 0)
        let before = try FileSystem.names(in: log)
        #expect { try run { _ in } } throws: { "\($0)".contains("000001.sqlite, is missing") }
        #expect(try FileSystem.names(in: log) == before)
        try #require(rename(away, path) == 0)
        try run { recovery in
            #expect(recovery.ledger.rev == 40)
            try expect(recovery, 0..<10, "1")
        }
    }

    @Test func `a segment of the layout before is read, and not gone on with`() throws {
        try run { try put($0, 0..<3, "1") }
        let log = configuration.logDirectory
        for number in try FileSystem.names(in: log).compactMap(Segment.number(ofFile:)) {
            let connection = try Connection(path: Segment.path(log, number), mode: .readWrite)
            try connection.execute("ALTER TABLE log DROP COLUMN synced; PRAGMA user_version=1;")
        }
        try run { recovery in
            #expect(recovery.ledger.rev == 6)
            try expect(recovery, 0..<3, "1")
            try put(recovery, 3..<4, "2")
        }
        try run { try expect($0, 3..<4, "2") }
    }

    @Test func `a segment whose file has been emptied keeps its changes`() throws {
        try run { try put($0, 0..<20, "1") }
        let path = Segment.path(configuration.logDirectory, 1)
        #expect(rename(path, directory.path + "/whole") == 0)
        close(try FileSystem.open(path, O_RDWR | O_CREAT))
        let size = FileSystem.size(path + "-wal")
        #expect { try run { _ in } } throws: { "\($0)".contains("is empty, though it has changes") }
        #expect(FileSystem.size(path + "-wal") == size)
        #expect(rename(directory.path + "/whole", path) == 0)
        try run { try expect($0, 0..<20, "1") }
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

    @Test(arguments: [true, false])
    func `a segment's WAL without its file goes when it was folded, and stops the start else`(
        isFolded: Bool
    ) throws {
        try run { try put($0, 0..<5, "1") }
        let log = configuration.logDirectory
        let number = try #require(try FileSystem.names(in: log).compactMap(Segment.number(ofFile:)).min())
        let orphan = Segment.path(log, 90) + "-wal"
        #expect(copyFile(Segment.path(log, number) + "-wal", to: orphan))
        do {
            let tables = try Tables.openWriter(configuration.tablesPath, cacheKibibytes: 512)
            if isFolded { try tables.execute("INSERT INTO segments VALUES(90, 1, 0, 4096)") }
        }
        let names = try FileSystem.names(in: log)
        if isFolded {
            try run { try expect($0, 0..<5, "1") }
            #expect(!FileSystem.exists(orphan))
        } else {
            #expect { try run { _ in } } throws: { "\($0)".contains("is missing. Nothing was changed") }
            #expect(Set(try FileSystem.names(in: log)).isSuperset(of: names))
        }
    }

    private func copyFile(_ path: String, to other: String) -> Bool {
        let (source, target) = (open(path, O_RDONLY | O_CLOEXEC), creat(other, 0o600))
        defer { for descriptor in [source, target] { close(descriptor) } }
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(source, &chunk, chunk.count)
            guard count > 0 else { return count == 0 }
            guard write(target, chunk, count) == count else { return false }
        }
    }

    @Test func `leftovers of a kill while a segment was made or let go are cleared away`() throws {
        try run { try put($0, 0..<5, "1") }
        let log = configuration.logDirectory
        // A file without a table, a WAL without its file, a journal.
        close(creat(Segment.path(log, 50), 0o600))
        close(creat(Segment.path(log, 40) + "-wal", 0o600))
        close(creat(Segment.path(log, 41) + "-journal", 0o600))
        try run { recovery in
            try expect(recovery, 0..<5, "1")
            #expect(recovery.ledger.rev == 10)
        }
        let names = try FileSystem.names(in: log)
        #expect(!names.contains { $0.contains("00004") })
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

    @Test func `a segment that is damaged in the midst of the log is refused, and nothing is removed`() throws {
        try run { try put($0, 0..<5, "1") }
        try run { try put($0, 5..<6, "1") }
        let log = configuration.logDirectory
        let names = try FileSystem.names(in: log).sorted()
        let first = try #require(names.compactMap(Segment.number(ofFile:)).min())
        let descriptor = open(Segment.path(log, first), O_WRONLY)
        #expect(pwrite(descriptor, [UInt8](repeating: 0x5A, count: 4096), 4096, 0) == 4096)
        close(descriptor)
        #expect(throws: StorageFault.self) { try run { _ in } }
        #expect(try FileSystem.names(in: log).sorted().filter { names.contains($0) } == names)
    }
}
