import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// Logs that say anything, with check words that fit: a restore refuses them with the revision and the reason, and nothing is left; or takes
/// them, and the daemon serves what came of it.
///
/// `KURA_HOSTILE`: how many are tried, of all that there are; 400 when nobody says. `SEED` repeats the choice.
@Suite struct HostileLogTests {
    private static let count = getenv("KURA_HOSTILE").flatMap { Int(String(cString: $0)) } ?? 400
    private static let seed = getenv("SEED").flatMap { UInt64(String(cString: $0)) } ?? UInt64.random(in: 0...1 << 32)
    /// Of those that are restored, so many are served.
    private static let served = count / 25

    private let directory = TemporaryDirectory(prefix: "kura-hostile")
    private var backup: String { directory.path + "/file" }
    private var log: String { directory.path + "/log" }
    private var target: String { directory.path + "/target" }

    private func restore(_ hostile: HostileLog, into data: String) throws {
        TemporaryDaemon.remove(log)
        try FileSystem.makeDirectory(log)
        try hostile.write(into: log)
        _ = try BackupRestore.restore(backup, into: data, changes: LogChanges(log: log, upTo: nil))
    }

    @Test func `a hostile log is refused with the change's revision, or taken and served`() throws {
        let original = try HostileLog()
        let descriptor = open(backup, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try original.backup.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: backup) }
        close(descriptor)
        var random = SplitMix(state: Self.seed)
        let all = original.changes
        let sample = all.shuffled(using: &random).prefix(Self.count)
        var (unfit, otherwise, restored, served) = (0, 0, 0, 0)
        for (name, hostile) in [("none", original)] + sample {
            do { try restore(hostile, into: target) } catch let fault as BackupFault {
                #expect(name != "none", "\(fault)")
                #expect(!FileSystem.exists(target), "\(name), SEED=\(Self.seed)")
                let text = fault.description
                #expect(!text.utf8.contains { $0 < 0x20 }, "\(name)")
                if text.contains("is not what a daemon writes") { unfit += 1 } else { otherwise += 1 }
                continue
            }
            restored += 1
            TemporaryDaemon.remove(target)
            guard served < Self.served || name == "none" else { continue }
            served += 1
            let daemon = try TemporaryDaemon(starts: false)
            try restore(hostile, into: daemon.data)
            try daemon.start()
            let problem = try HostileService(daemon: daemon).problem()
            #expect(problem == nil, "\(name), SEED=\(Self.seed)")
        }
        print(
            "hostile logs: \(sample.count) of \(all.count) tried, \(unfit) unfit, \(otherwise) refused otherwise, "
                + "\(restored) restored, \(served) of them served; SEED=\(Self.seed)")
        #expect(unfit > sample.count / 3)
    }

    @Test func `a list of attachments of no document is refused, and so is one with another size than its content's`()
        throws
    {
        let original = try HostileLog()
        let descriptor = open(backup, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try original.backup.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: backup) }
        close(descriptor)
        let stray = original.changing(.attachments) { $0.key = Array("none".utf8) }
        let other = original.changing(.attachments) {
            let text = String(decoding: $0.value, as: UTF8.self)
            $0.value = Array(text.replacing("\"bytes\":5", with: "\"bytes\":6").utf8)
        }
        // Nobody has written to the document whose list is changed.
        let alone = original.changing(.documents) {
            if $0.key == Array("1".utf8), $0.scope == Array("notes".utf8) { $0.key = Array("2".utf8) }
        }
        for (log, words) in [
            (stray, "(attachments/notes/none) is not what a daemon writes: it lists attachments of a document that is"),
            (alone, "(attachments/notes/1) is not what a daemon writes: it lists attachments of a document that is"),
            (other, "the log says 6 bytes of the content"),
        ] {
            #expect {
                try restore(log, into: target)
            } throws: {
                "\($0)".contains(words)
            }
            #expect(!FileSystem.exists(target), "\(words)")
        }
    }
}

/// A backup, and the rows of the log that follow it.
private struct HostileLog {
    struct Record {
        var store: UInt8
        var flags: UInt8
        var rev: UInt64
        var scope, key, writer, value: [UInt8]

        func append(to row: inout ByteBuffer) {
            let parts = [scope, key, writer]
            let length = LogRecord.headLength + parts.reduce(value.count) { $0 + $1.count }
            row.append(littleEndian: UInt32(length - 4))
            row.append(store)
            row.append(flags)
            for part in parts { row.append(littleEndian: UInt16(part.count)) }
            row.append(littleEndian: UInt32(value.count))
            row.append(littleEndian: rev)
            for part in parts + [value] { row.append(part) }
        }
    }

    struct Row {
        var previous: UInt64
        var rev: UInt64
        var at: Int64
        var records: [Record]
    }

    let backup: [UInt8]
    private(set) var rows: [Row] = []

    /// A daemon writes something to every store, then the backup is made, and everything is written once more.
    init() throws {
        signal(SIGPIPE, SIG_IGN)
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (method, params) in HostileWorld.requests { try client.result(method, params) }
        // What migrates in the background writes behind it.
        let made = try client.result("storage.backup", "{\"name\":\"one\"}")
        backup = try #require(TemporaryDaemon.contents(daemon.data + "/backups/one.kurabackup"))
        let base = UInt64(try #require(made["rev"]?.int))
        for (method, params) in Self.more { try client.result(method, params) }
        #expect(daemon.terminate() == 0)
        let names = try #require(TemporaryDaemon.names(daemon.data + "/log"))
        for number in Set(names.compactMap(Segment.number)).sorted() {
            try Segment(opening: number, in: daemon.data + "/log").rows(after: base) { row throws(StorageFault) in
                var copy = Row(previous: row.previous, rev: row.rev, at: row.at, records: [])
                var offset = 0
                while let record = try LogRecord.next(in: row.records, at: &offset) {
                    copy.records.append(
                        Record(
                            store: record.store.rawValue, flags: record.isTombstone ? 1 : 0, rev: record.rev,
                            scope: Array(record.scope), key: Array(record.key), writer: Array(record.writer),
                            value: Array(record.value)))
                }
                rows.append(copy)
            }
        }
    }

    private static let more: [(String, String)] = [
        ("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"light\",\"requestKey\":\"k1\"}"),
        ("settings.delete", "{\"domain\":\"app\",\"key\":\"window\"}"),
        ("settings.configure", "{\"domain\":\"app\",\"mode\":\"enforce\"}"),
        ("documents.configure", "{\"collection\":\"notes\",\"retainDays\":100}"),
        ("documents.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"text\":\"changed\",\"n\":7}}"),
        ("documents.delete", "{\"collection\":\"notes\",\"id\":\"2\"}"),
        ("documents.attach", "{\"collection\":\"notes\",\"id\":\"1\",\"name\":\"other\",\"data\":\"aGVsbG8=\"}"),
        (
            "transaction.apply",
            """
            {"operations":[{"method":"documents.put","params":{"collection":"people","id":"eve","value":{"name":"Eve"}}},\
            {"method":"documents.put","params":{"collection":"books","id":"2","value":{"by":"eve"}}}]}
            """
        ),
        ("documents.drop", "{\"collection\":\"tasks\"}"),
        ("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"another\"}"),
        ("secrets.delete", "{\"service\":\"mail\",\"account\":\"ada\"}"),
    ]

    func write(into directory: String) throws {
        let encoded = rows.map { row in
            var buffer = ByteBuffer()
            for record in row.records { record.append(to: &buffer) }
            return Array(buffer.bytes)
        }
        let bytes = encoded.reduce(0) { $0 + RowEncoder.mostBytes(for: $1.count) }
        let segment = try Segment(
            creating: 1, in: directory, capacity: bytes + Segment.leastCapacity, recycled: nil)
        for (row, records) in zip(rows, encoded) {
            try records.withBytes {
                try segment.append(previous: row.previous, rev: row.rev, at: row.at, records: $0, synced: 0)
            }
        }
    }

    // MARK: What is changed

    /// The log with all changes of a store other ones.
    func changing(_ store: Store, _ change: (inout Record) -> Void) -> HostileLog {
        var log = self
        for row in log.rows.indices {
            for place in log.rows[row].records.indices where log.rows[row].records[place].store == store.rawValue {
                change(&log.rows[row].records[place])
            }
        }
        return log
    }

    /// One field of one record of each kind at its extremes; rows and records in other places, twice or not at all.
    var changes: [(String, HostileLog)] {
        var changes: [(String, HostileLog)] = []
        var seen: Set<String> = []
        for (index, row) in rows.enumerated() {
            for (place, record) in row.records.enumerated() {
                let isConfiguration = record.store == Store.configuration.rawValue
                let name = isConfiguration ? String(decoding: record.scope + record.key, as: UTF8.self) : ""
                let kind = "store \(record.store) flags \(record.flags) \(name)"
                guard seen.insert(kind).inserted else { continue }
                func add(_ what: String, _ change: (inout Record) -> Void) {
                    var log = self
                    change(&log.rows[index].records[place])
                    changes.append(("\(kind): \(what)", log))
                }
                addFields(of: record, add)
            }
            addRows(index, row, &changes)
        }
        return changes
    }

    private func addFields(of record: Record, _ add: (String, (inout Record) -> Void) -> Void) {
        for store in [UInt8](0...9) + [255] { add("store \(store)") { $0.store = store } }
        add("flag") { $0.flags ^= 1 }
        let revs: [UInt64] = [0, 1, record.rev - 1, record.rev + 1, 1 << 53 - 1, 1 << 53, 1 << 63 - 1, 1 << 63, .max]
        for rev in revs { add("rev \(rev)") { $0.rev = rev } }
        for (position, name) in HostileExtremes.names.enumerated() {
            add("scope name \(position)") { $0.scope = name }
            add("key name \(position)") { $0.key = name }
            add("writer name \(position)") { $0.writer = name }
        }
        for (position, value) in HostileExtremes.values.enumerated() { add("value \(position)") { $0.value = value } }
        add("value cut") { $0.value = Array($0.value.dropLast()) }
        add("value twice") { $0.value += $0.value }
    }

    private func addRows(_ index: Int, _ row: Row, _ changes: inout [(String, HostileLog)]) {
        func add(_ what: String, _ change: (inout [Row]) -> Void) {
            var log = self
            change(&log.rows)
            changes.append(("row \(index) \(what)", log))
        }
        for at in [0, -1, .min, .max, 253_402_300_799_999, 253_402_300_800_000] as [Int64] {
            add("at \(at)") { $0[index].at = at }
        }
        for rev in [0, row.previous, row.rev + 1, 1 << 53, 1 << 63, .max] as [UInt64] {
            add("rev \(rev)") { $0[index].rev = rev }
            add("previous \(rev)") { $0[index].previous = rev }
        }
        add("left out") { $0.remove(at: index) }
        add("twice") { $0.insert(row, at: index) }
        add("without records") { $0[index].records = [] }
        add("its records twice") { $0[index].records += row.records }
        add("its records in reverse") { $0[index].records.reverse() }
        if index > 0 { add("before its own") { $0.swapAt(index, index - 1) } }
        for other in rows where other.rev != row.rev {
            add("with the records of \(other.rev)") { $0[index].records = other.records }
        }
    }
}
