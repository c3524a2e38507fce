import Glibc
import KuraBytes
import SQLite

/// durable/layout: the layout of kura.sqlite, told a second time, outside of that file.
///
/// One damaged byte of `user_version` would else read as a newer version, which is refused for ever, or as an older one, whose steps are done
/// once more. A number is believed when both places have it. Before a file is brought to a newer layout both are written here, durably, so
/// that either is believed whenever that is cut short. What earlier versions have left has no such file: their first start writes it.
struct LayoutRecord: Equatable, Sendable {
    var from: Int32
    var to: Int32

    private static let limit = 512

    static func path(beside tables: String) -> String {
        let slash = tables.lastIndex(of: "/") ?? tables.startIndex
        return tables[..<slash] + "/layout"
    }

    /// Nil when there is none, or what is there is not what was written.
    static func read(beside tables: String) -> LayoutRecord? {
        guard let text = try? FileSystem.contents(path(beside: tables), atMost: limit) else { return nil }
        return text.withBytes { text in
            guard let note = NoteReader(text) else { return nil }
            let record = LayoutRecord(
                from: Int32(clamping: note.number("from")), to: Int32(clamping: note.number("to")))
            return record.text.bytes.elementsEqual(text) ? record : nil
        }
    }

    /// The numbers and their complements: whatever byte of it changes, it is not believed.
    private var text: ByteBuffer {
        var text = ByteBuffer()
        text.append("{\"format\":1")
        for (name, value) in [("from" as StaticString, from), ("to", to)] { text.append(note: name, Int64(value)) }
        text.append(note: "check", Int64(~from) &* 65_537 &+ Int64(~to))
        text.append("}\n")
        return text
    }

    /// Durably, in one piece.
    func write(beside tables: String) throws(StorageFault) {
        let path = Self.path(beside: tables)
        try FileSystem.replace(path, with: text.bytes, in: String(path.dropLast("/layout".count)))
    }

    func has(_ version: Int32) -> Bool { version == from || version == to }
}

/// What the header of a file says, held against the record and against the tables that the file has.
enum LayoutVerdict: Equatable {
    case holds
    /// It says something else than it should, and the rest tells what that is.
    case damaged(layout: Int32)
    /// A newer version has written it.
    case newer(Int32)
    /// Nobody can tell.
    case unknown

    /// `version`: `user_version`.
    /// `record`: nil without one.
    /// `level`: the layout whose tables the file has; 0: it has none at all; nil: it has others.
    static func judge(
        version: Int32, isOurs: Bool, record: LayoutRecord?, level: Int32?, known: Int32
    ) -> LayoutVerdict {
        if level == 0 { return .holds }
        let layout: Int32
        if let record, record.has(version) {
            layout = version
        } else if let record, record.to > known {
            layout = record.to
        } else if let level, record.map({ $0.has(level) }) ?? true || level == version {
            // Without a record of its own the file's own tables are the second place.
            layout = level
        } else {
            return .unknown
        }
        if layout > known { return .newer(layout) }
        return layout == version && isOurs ? .holds : .damaged(layout: layout)
    }
}

extension Tables {
    /// Puts the header's numbers right when the first page's checksum proves that they alone were damaged. Before SQLite reads them.
    static func mendHeader(_ path: String, _ record: LayoutRecord?, report: (String) -> Void) throws(StorageFault) {
        let descriptor = try FileSystem.open(path, O_RDWR | O_NOFOLLOW)
        defer { close(descriptor) }
        var page = ByteBuffer(capacity: 4096)
        _ = try FileSystem.read(descriptor, atMost: 4096, at: 0, into: &page, path: path)
        guard PageSeal.judge(firstPage: page.bytes) == .broken else { return }
        func number(_ offset: Int) -> Int32 {
            Int32(bigEndian: page.bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
        }
        let (said, wasOurs) = (number(60), number(68) == applicationID)
        for layout in [record?.from, record?.to].compactMap(\.self) + Array(1...migrator.newestVersion) {
            page.overwrite(at: 60, littleEndian: layout.byteSwapped)
            page.overwrite(at: 68, littleEndian: applicationID.byteSwapped)
            guard PageSeal.judge(firstPage: page.bytes) == .holds else { continue }
            try FileSystem.write(descriptor, page.bytes(60..<72), at: 60, path: path)
            guard fsync(descriptor) == 0 else { throw FileSystem.fail("fsync", path) }
            return report(mended(path, said: said, isOurs: wasOurs, layout: layout))
        }
    }

    private static func mended(_ path: String, said version: Int32, isOurs: Bool, layout: Int32) -> String {
        "\(path) said \(isOurs ? "layout \(version)" : "that it is no database of Kura") in its header, where a byte was damaged: it has layout "
            + "\(layout), and says so again"
    }

    /// Believes the numbers of a file's header, or repairs them by what the record and the tables say.
    /// - Throws: `refused` for a newer layout, `damaged` when nobody can tell.
    static func settleLayout(
        _ connection: Connection, _ path: String, _ record: LayoutRecord?, report: (String) -> Void
    ) throws(StorageFault) -> Int32 {
        do throws(SQLiteError) {
            let version = Int32(truncatingIfNeeded: try connection.scalar("PRAGMA user_version") ?? 0)
            let isOurs = try connection.scalar("PRAGMA application_id") == Int64(applicationID)
            if isOurs, let record, record == LayoutRecord(from: version, to: version), version <= migrator.newestVersion
            {
                return version
            }
            let verdict = LayoutVerdict.judge(
                version: version, isOurs: isOurs, record: record, level: try level(connection),
                known: migrator.newestVersion)
            switch verdict {
            case .holds: return version
            case .newer(let layout):
                throw SQLiteError(extendedCode: -1, message: "\(layout)")
            case .unknown: throw .damaged("its header says layout \(version), and its tables are of none that is known")
            case .damaged(let layout):
                try connection.execute(
                    "BEGIN IMMEDIATE; PRAGMA application_id=\(applicationID); PRAGMA user_version=\(layout); COMMIT;")
                report(mended(path, said: version, isOurs: isOurs, layout: layout))
                return layout
            }
        } catch {
            if error.extendedCode == -1 {
                throw .refused(
                    "\(path) was written by a newer version (layout \(error.message), this one knows \(migrator.newestVersion))"
                )
            }
            throw .database(error, file: path)
        }
    }

    /// The layout whose tables a file has; 0 when it has none, nil when it has some of another layout or program.
    private static func level(_ connection: Connection) throws(SQLiteError) -> Int32? {
        let select = try connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        var names: Set<String> = []
        while try select.step() {
            let name = select.text(0)
            // Those of indexes are made when they are configured.
            if !["sqlite_", "index_", "search_"].contains(where: { name.hasPrefix($0) }) { names.insert(name) }
        }
        var known: Set<String> = []
        var level: Int32? = names.isEmpty ? 0 : nil
        for (version, tables) in migrator.tables {
            known.formUnion(tables)
            if names == known { level = version }
        }
        return level
    }
}
