import Glibc
import KuraBytes
import SQLite

/// The formats of what lasts in a data directory: each kind of file has a number, which only rises, and whoever finds a greater one than
/// it knows leaves everything as it is.
///
/// Looked at before anything else is done with the directory, and without changing a byte. What may be lost is not among them: caches, the
/// counts of boot.json and the write bill begin anew when another version has written them.
package struct Formats {
    /// Files of one kind.
    package struct Found: Equatable, Sendable {
        /// What it is called to people.
        package var kind: String
        /// Below the data directory; the one with the greatest version.
        package var file: String
        package var version: Int
        var known: Int

        /// The next start brings it forward. An earlier format of slots.json is as good as the newest: a rotation needs that one.
        package var isOlder: Bool { version < known && file != "keys/slots.json" }
        package var isNewer: Bool { version > known }

        package var line: String { "\(file) has \(kind) \(version), this version knows \(known)" }
    }

    static let tables = Int(Tables.migrator.newestVersion)
    static let log = Int(SegmentFormat.layout)

    /// What is there, without a word on what is not, or is not readable: whoever needs that says so.
    package static func look(_ configuration: StorageConfiguration) -> [Found] {
        var found: [Found] = []
        if let header = try? DatabaseHeader(configuration.tablesPath), let version = layout(header, configuration) {
            found.append(Found(kind: "layout", file: "durable/kura.sqlite", version: version, known: tables))
        }
        if let newest = newestSegment(in: configuration.logDirectory) {
            found.append(
                Found(kind: "log layout", file: "log/\(newest.name)", version: newest.version, known: log))
        }
        let files = KeyFiles(configuration)
        if !configuration.keys.goesWithout, let text = try? files.slotsText(), let version = KeySlots.format(of: text) {
            found.append(
                Found(kind: "format", file: "keys/slots.json", version: version, known: KeySlots.newestFormat))
        }
        if let text = try? FileSystem.contents(configuration.recoveredPath),
            let version = RecoveredFile.format(of: text)
        {
            found.append(
                Found(kind: "format", file: "recovered.json", version: version, known: NoteReader.newestFormat))
        }
        return found
    }

    /// The layout of the tables; nil when nobody can tell without opening them. A header that stands alone against the record is damaged, and
    /// so is one that says more than this version knows, and has no record: newer versions write both.
    private static func layout(_ header: DatabaseHeader, _ configuration: StorageConfiguration) -> Int? {
        let isOurs = header.applicationID == Tables.applicationID
        guard let record = LayoutRecord.read(beside: configuration.tablesPath) else {
            return isOurs && header.version > 0 && header.version <= tables ? Int(header.version) : nil
        }
        return Int(record.has(header.version) ? header.version : record.to)
    }

    /// The segment of the greatest version in a directory of the log; nil when there is none.
    static func newestSegment(in directory: String) -> (name: String, version: Int)? {
        let names = ((try? FileSystem.names(in: directory)) ?? []).filter { LogFiles.number(ofFile: $0) != nil }
            .sorted()
        var newest: (name: String, version: Int)?
        for name in names {
            guard let version = version(ofSegment: directory + "/" + name), version > newest?.version ?? 0 else {
                continue
            }
            newest = (name, version)
        }
        return newest
    }

    /// Nil when the file says none that can be believed: a SQLite database has no checksum of its layout's number, and no release has
    /// written a greater one than the newest of that kind.
    private static func version(ofSegment path: String) -> Int? {
        if path.hasSuffix(".log") { return (try? Segment.head(path)).map { Int($0.layout) } }
        guard let header = try? DatabaseHeader(path, isSegment: true),
            header.applicationID == SQLiteSegment.applicationID,
            (1...SQLiteSegment.newestLayout).contains(Int(header.version))
        else { return nil }
        return Int(header.version)
    }

    /// - Throws: `refused` when a newer version has written anything that lasts.
    static func check(_ configuration: StorageConfiguration) throws(StorageFault) {
        let newer = look(configuration).filter(\.isNewer)
        guard !newer.isEmpty else { return }
        throw .refused(
            "\(configuration.dataDirectory) was written by a newer version of Kura: "
                + newer.map(\.line).joined(separator: "; ") + ". Nothing was changed. \(advice)")
    }

    package static let advice =
        "Start the version that wrote it, or go back as proto-docs/deployment.md tells: with a backup that this version can read"
}
