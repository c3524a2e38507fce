import KuraBytes
import KuraJSON
import KuraProtocol

/// Judges every record that reaches the stores by another way than a request: backups, seed bundles, the log that a restore adds,
/// tables that a recovery reads around their damage. What it lets pass is what requests could have written.
///
/// Digests of files that are not encrypted have no key, so anybody can make a file whose digests fit. Only `JudgedRecord`s become rows.
/// What somebody with write access to the data directory makes of tables and log on the disk is not judged here: whoever may write there
/// may do all that the daemon may.
///
/// | what | bound |
/// |---|---|
/// | scope | 1...128 bytes of UTF-8 without control characters; of configurations a room, `/` and such a name |
/// | key | 1...512 such bytes; of request keys 1...128 and a role; none of a scope's own record |
/// | value | one JSON value of the wire's grammar without white space, so one line; at most 128 levels, of which a request leaves 126 and a line of an import 127 |
/// | its bytes | settings and configurations 1 MiB, documents 8 MiB, results of requests 1 MiB |
/// | sealed value | any bytes: heads and records 1 MiB, versions what a frame holds |
/// | revision | 1...2^53 − 1, which every client reads exactly, and at most the file's own; of a scope that is empty 0 |
/// | version | 1...2^31 − 1: tables and memory count up to 2^32 − 1 |
/// | row | 1...2^39 of 2^40 − 1, so that as many new ones have room; 0 of what has no row |
/// | created, updated | the years 0000 to 9999 |
/// | list of attachments | as a daemon writes it: 256 at most, each up to 512 MiB, 1 GiB together |
/// | configuration | by its key, as `*.configure` takes it (`ConfiguredValue`) |
/// | model | as `models.put` and `models.configure` take it (`RecordGuard+models`) |
///
/// What records come to together is judged where a file is read as a whole (`FileGuard`), and where tables are made of it (`RestoredTables`).
///
/// A backup may have configurations under keys that this version does not know, since formats grow: they are any JSON value, and nobody
/// reads them. A bundle may not: nobody vouches for it. It has no secrets either.
struct RecordGuard {
    enum Origin {
        case backup, bundle, log, tables
    }

    static let revs: ClosedRange<UInt64> = 1...UInt64(WireLimits.safeInteger)
    static let rows: ClosedRange<UInt64> = 1...1 << (UInt64(BackupRecord.rowBits) - 1)
    static let versions: ClosedRange<UInt32> = 1...UInt32(Int32.max)
    /// Most bytes of a secret's head, and of the records beside them.
    static let sealedBytes = 1 << 20

    let origin: Origin
    /// Records that do not pass are left out and counted: what a recovery can still use is worth more than the whole.
    let leavesOut: Bool
    let names = NameStack()
    /// Records that were looked at: the last one's number.
    var count = 0
    /// The greatest revision, and the number of the record that has it.
    private var newest: (rev: UInt64, record: Int) = (0, 0)
    /// Records that were left out, by store and scope.
    private var leftOut: [Omission: Int] = [:]
    var models = ModelsSeen()

    private struct Omission: Hashable {
        var store: String
        var scope: String
    }

    init(_ origin: Origin, leavesOut: Bool = false) {
        self.origin = origin
        self.leavesOut = leavesOut
    }

    init(of kind: BackupFormat.Kind, leavesOut: Bool = false) {
        self.init(kind == .bundle ? .bundle : .backup, leavesOut: leavesOut)
    }

    // MARK: Records of a file

    /// Steps through a frame's records; nil at their end.
    /// - Throws: `unfit` for the first one that does not pass, unless these are left out.
    mutating func next(in payload: Bytes, at position: inout Int) throws(BackupFault) -> JudgedRecord? {
        while true {
            let found: BackupRecord?
            do throws(BackupFault) { found = try BackupRecord.next(in: payload, at: &position) } catch {
                throw .unfit(
                    record: count + 1, reason: "is not what a daemon writes: its head and its lengths do not fit")
            }
            guard let record = found else { return nil }
            count += 1
            do throws(RecordUnfit) {
                try check(record)
                if record.rev > newest.rev { newest = (record.rev, count) }
                return JudgedRecord(record, number: count)
            } catch {
                guard leavesOut else { throw fault(record, error) }
                omit(record)
            }
        }
    }

    /// Everything in the file has been judged.
    /// - Throws: `unfit` when a record is of a later revision than the file.
    func finish(_ manifest: BackupManifest) throws(BackupFault) {
        guard newest.rev > manifest.rev else { return }
        throw .unfit(
            record: newest.record,
            reason: "is not what a daemon writes: its revision is \(newest.rev), and that of the file \(manifest.rev)")
    }

    private func fault(_ record: BackupRecord, _ unfit: RecordUnfit) -> BackupFault {
        .unfit(record: count, reason: "(\(place(record))) is not what a daemon writes: \(unfit.text)")
    }

    /// Names of secrets are sealed, and nobody could find a record by them.
    private func place(_ record: BackupRecord) -> String {
        let scope = "\(record.store.roomName)/\(ShownName.text(record.scope))"
        return record.key.isEmpty || record.store.isSealed ? scope : "\(scope)/\(ShownName.text(record.key))"
    }

    private mutating func omit(_ record: BackupRecord) {
        guard !record.flags.contains(.isScope) else { return }
        let store = record.store.shownName
        let isNamed = !record.store.isSealed && leftOut.count < RecoveredOmission.most
        leftOut[Omission(store: store, scope: isNamed ? ShownName.text(record.scope) : ""), default: 0] += 1
    }

    /// What was left out.
    var omissions: [RecoveredOmission] {
        leftOut.map { RecoveredOmission(store: $0.store, scope: $0.scope, count: $1, reason: .damaged) }
            .sorted { ($0.store, $0.scope) < ($1.store, $1.scope) }
    }

    // MARK: Single ones

    /// The record, when it passes.
    mutating func admit(_ record: BackupRecord) -> JudgedRecord? {
        count += 1
        do throws(RecordUnfit) { try check(record) } catch { return nil }
        return JudgedRecord(record, number: count)
    }

    /// Why a change of the log does not pass; nil when it does.
    /// `at`: its row's time, milliseconds since 1970.
    func problem(_ change: LogRecord, at: Int64) -> String? {
        var record = BackupRecord(
            store: change.store, rev: change.rev, version: 1, createdAt: at, updatedAt: at,
            row: change.store.isResident || change.isDrop ? 0 : 1, scope: change.scope, key: change.key,
            value: change.value)
        if change.isDrop { record.flags = .isDrop } else if change.isTombstone { record.flags = .isDeleted }
        do throws(RecordUnfit) {
            try check(record)
            let most = WireLimits.clientBytes + 1 + WireLimits.versionBytes
            guard change.writer.isEmpty || JSONWalk.isName(change.writer, limit: most) else {
                throw RecordUnfit("the name of its writer is none")
            }
            if let members = change.members {
                guard change.store == .documents, !change.isTombstone, JSONWalk.isUTF8(members.text),
                    ChangedMembers.isList(members.text)
                else { throw RecordUnfit("its list of changed members is none") }
            }
        } catch {
            return "the change of revision \(change.rev) (\(place(record))) is not what a daemon writes: \(error.text)"
        }
        return nil
    }

    // MARK: What is judged

    private func check(_ record: BackupRecord) throws(RecordUnfit) {
        guard origin != .bundle || !record.store.isSealed else {
            throw RecordUnfit("secrets have no place in a seed bundle")
        }
        guard record.store != .requests || origin == .log || origin == .tables else {
            throw RecordUnfit("results of earlier requests are in no file")
        }
        try checkNumbers(record)
        try checkScope(record)
        if record.flags.contains(.isScope) || record.flags.contains(.isDrop) { return try checkMark(record) }
        try checkKey(record)
        guard record.flags.contains(.isDeleted) else {
            guard record.flags.isEmpty else { throw RecordUnfit("its flags contradict each other") }
            return try checkValue(record)
        }
        // The body that a deleted document can be brought back with, or a blank where there is none.
        guard !record.value.isEmpty, !record.value.elementsEqual(DocumentsStore.givenUp) else { return }
        // The log keeps the sealed names of a secret that was deleted.
        guard !record.flags.contains(.keepsBody), !record.store.isResident || record.store == .secrets else {
            throw RecordUnfit("it is deleted, and has a value")
        }
        try checkValue(record)
    }

    private func checkNumbers(_ record: BackupRecord) throws(RecordUnfit) {
        let isScope = record.flags.contains(.isScope)
        guard Self.revs.contains(record.rev) || isScope && record.rev == 0 else {
            throw RecordUnfit("its revision \(record.rev) is not 1 to 2^53 - 1")
        }
        for (word, moment) in [("created", record.createdAt), ("updated", record.updatedAt)] {
            guard Timestamp.range.contains(moment) else {
                throw RecordUnfit("it was \(word) before the year 0 or after the year 9999")
            }
        }
        guard !isScope else {
            // One more than the last row that there can be.
            guard record.row <= Self.rows.upperBound + 1, !record.store.isResident || record.row <= 1 else {
                throw RecordUnfit("its next row \(record.row) leaves no room for new ones")
            }
            return
        }
        guard !record.flags.contains(.isDrop) else { return }
        guard Self.versions.contains(record.version) || record.version == 0 && record.store.isResident else {
            throw RecordUnfit("its version \(record.version) is not 1 to 2^31 - 1")
        }
        guard record.store.isResident ? record.row == 0 : Self.rows.contains(record.row) else {
            throw RecordUnfit(
                record.store.isResident
                    ? "it has a row, and its store has none"
                    : "its row \(record.row) is not 1 to 2^39, so that new ones have room")
        }
    }

    /// A scope's own record, or that it was dropped.
    private func checkMark(_ record: BackupRecord) throws(RecordUnfit) {
        guard record.flags == .isScope || record.flags == .isDrop, record.key.isEmpty, record.value.isEmpty else {
            throw RecordUnfit("it is about a scope, and has more than its name")
        }
        guard record.flags == .isScope || !record.store.isResident else {
            throw RecordUnfit("what lies in its store is not dropped as a whole")
        }
    }

    private func checkScope(_ record: BackupRecord) throws(RecordUnfit) {
        guard record.store.parts.rules.isScope(record.scope, origin == .bundle) else {
            throw RecordUnfit("the name of its scope is none")
        }
    }

    private func checkKey(_ record: BackupRecord) throws(RecordUnfit) {
        guard record.store.parts.rules.isKey(record.key) else {
            throw RecordUnfit(record.store == .documents ? "its id is no name" : "its key is no name")
        }
    }

    private func checkValue(_ record: BackupRecord) throws(RecordUnfit) {
        let limit = record.store.described.valueLimit
        guard record.value.count <= limit else { throw RecordUnfit("its value is longer than \(limit) bytes") }
        guard !record.store.isSealed else { return }
        guard isOneLine(record.value) else {
            throw RecordUnfit(
                record.store == .documents
                    ? "its body is not one line of JSON" : "its value is not one line of JSON")
        }
        try record.store.parts.rules.check(record, origin == .bundle)
    }

    /// Whether a text is exactly one value of the wire's grammar without white space: then no byte of it can end a line.
    func isOneLine(_ text: Bytes) -> Bool {
        names.truncate(to: 0)
        var reader = JSONReader(text, names: names)
        do throws(JSONFault) {
            let value = try reader.value()
            return value.start == 0 && Int(value.end) == text.count && !value.hasWhitespace
        } catch { return false }
    }
}

/// A record that has passed a guard, which alone makes these.
struct JudgedRecord {
    let record: BackupRecord
    /// Counted from 1 over all that the guard has seen.
    let number: Int

    fileprivate init(_ record: BackupRecord, number: Int) { (self.record, self.number) = (record, number) }

    /// The same with a digest in its value's place, for tables that nobody serves.
    func replacing(value: Bytes) -> JudgedRecord {
        var other = record
        other.value = value
        return JudgedRecord(other, number: number)
    }
}

/// Why a record is not what a daemon writes: half a sentence.
struct RecordUnfit: Error, Equatable {
    var text: String

    init(_ text: String) { self.text = text }
}

/// Names of others in messages: a terminal takes control characters for orders.
enum ShownName {
    private static let most = 64

    /// At most 64 characters; control characters and what is invisible come as `\u{…}`.
    static func text(_ name: Bytes) -> String {
        var text = ""
        for scalar in String(decoding: name, as: UTF8.self).unicodeScalars.prefix(most) {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
