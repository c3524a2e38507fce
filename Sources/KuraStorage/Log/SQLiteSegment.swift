import Glibc
import KuraBytes
import SQLite

/// A segment as releases before layout 3 wrote it: a SQLite database whose rows all lie in its WAL. It is only read.
///
/// `log/NNNNNN.sqlite` holds the empty table, `log/NNNNNN.sqlite-wal` the changes. It is never checkpointed.
final class SQLiteSegment: ReadableSegment {
    let number: Int
    let path: String
    let capacity: Int
    var history: LogHistory? { nil }
    private let connection: Connection
    /// Layout 1 kept no `synced`.
    private let hasSynced: Bool
    private(set) var previousRev: UInt64 = 0
    private(set) var firstRev: UInt64 = 0
    private(set) var lastRev: UInt64 = 0
    private(set) var greatestSynced: UInt64 = 0
    private(set) var present = RevisionSet()
    /// The checksums of SQLite's WAL are a chain: behind the first damaged frame nothing can be read.
    var damages: [SegmentDamage] { [] }

    static let applicationID: Int32 = 0x4B_55_4C_47  // "KULG"
    static let newestLayout = 2
    static let pageSize = 4096
    static let frameSize = pageSize + 24

    static func path(_ directory: String, _ number: Int) -> String {
        String(Segment.path(directory, number).dropLast(4)) + ".sqlite"
    }

    /// The number in a segment file's name; nil for other files.
    static func number(ofFile name: String) -> Int? { Segment.spelled(name, ".sqlite") }

    static func exists(_ number: Int, in directory: String) -> Bool { FileSystem.exists(path(directory, number)) }

    init(opening number: Int, in directory: String) throws(StorageFault) {
        let path = Self.path(directory, number)
        let wal = path + "-wal"
        // SQLite takes an empty file for a new database, and deletes its WAL. A segment is synced before its first commit, so
        // this is damage.
        if FileSystem.exists(path), try FileSystem.length(path) == 0, try !WALCommits(path: wal).ends.isEmpty {
            throw .damaged(
                "\(path) is empty, though it has changes in its WAL: the file is damaged. Nothing was changed")
        }
        (self.number, self.path, capacity) = (number, path, FileSystem.size(wal))
        do throws(SQLiteError) {
            connection = try Connection(path: path, mode: .readWrite)
            try connection.setCheckpointOnClose(false)
            try connection.setPersistWAL(true)
            try connection.execute(
                "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-512;"
            )
            hasSynced = try connection.scalar("PRAGMA user_version") ?? 0 >= 2
            firstRev = UInt64(try connection.scalar("SELECT min(rev) FROM log") ?? 0)
            lastRev = UInt64(try connection.scalar("SELECT max(rev) FROM log") ?? 0)
            greatestSynced =
                hasSynced ? UInt64(try connection.scalar("SELECT max(synced) FROM log") ?? 0) : lastRev
        } catch { throw .database(error, file: path) }
        try rows(after: 0) { row in
            if present.isEmpty { previousRev = row.previous }
            if row.rev > row.previous { present.insert(row.previous + 1...row.rev) }
        }
    }

    func salvageTail(upTo rev: UInt64) throws(StorageFault) -> SegmentDamage? { nil }

    deinit { connection.close() }

    func someRows(after rev: UInt64, _ body: (SegmentRow) throws(StorageFault) -> Bool) throws(StorageFault) {
        do {
            let select = try connection.prepare(
                "SELECT rev, at, records, \(hasSynced ? "synced" : "0") FROM log WHERE rev > ?1 ORDER BY rev")
            try select.bind(1, Int64(rev))
            var before: UInt64?
            while try select.step() {
                let records = select.bytes(2)
                var offset = 0
                guard let first = try LogRecord.next(in: records, at: &offset) else { throw StorageFault.damagedLog }
                let previous = RelaxedDurability.raisedRev(first) ?? first.rev - 1
                let row = SegmentRow(
                    previous: max(before ?? 0, previous), rev: UInt64(select.int64(0)), at: select.int64(1),
                    synced: UInt64(select.int64(3)), records: records)
                before = row.rev
                guard try body(row) else { break }
            }
        } catch let error as SQLiteError {
            throw .database(error, file: path)
        } catch let error as StorageFault {
            throw error
        } catch { throw .damagedLog }
    }
}
