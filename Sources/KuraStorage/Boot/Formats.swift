import Glibc
import KuraBytes
import SQLite

/// The formats of what lasts in a data directory: each kind of file has a number, which only rises, and whoever finds a greater one than
/// it knows leaves everything as it is.
///
/// Looked at before anything else is done with the directory, and without changing a byte. What may be lost is not among them: caches, the
/// counts of boot.json and the write bill begin anew when another version has written them.
struct Formats {
    /// Files of one kind.
    struct Found: Equatable, Sendable {
        /// What it is called to people.
        var kind: String
        /// Below the data directory; the one with the greatest version.
        var file: String
        var version: Int
        var known: Int

        var isNewer: Bool { version > known }

        var line: String { "\(file) has \(kind) \(version), this version knows \(known)" }
    }

    static let tables = Int(Tables.migrator.newestVersion)
    static let log = Int(Segment.schema.newestVersion)

    /// What is there, without a word on what is not, or is not readable: whoever needs that says so.
    static func look(_ configuration: StorageConfiguration) -> [Found] {
        var found: [Found] = []
        if let header = try? DatabaseHeader(configuration.tablesPath),
            header.applicationID == Tables.applicationID, header.version > 0
        {
            found.append(
                Found(kind: "layout", file: "durable/kura.sqlite", version: Int(header.version), known: tables))
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
        if let text = try? FileSystem.contents(configuration.recoveredPath), let version = NoteReader.format(of: text) {
            found.append(
                Found(kind: "format", file: "recovered.json", version: version, known: NoteReader.newestFormat))
        }
        return found
    }

    /// The segment of the greatest version in a directory of the log; nil when there is none.
    static func newestSegment(in directory: String) -> (name: String, version: Int)? {
        let names = ((try? FileSystem.names(in: directory)) ?? []).filter { Segment.number(ofFile: $0) != nil }.sorted()
        var newest: (name: String, version: Int)?
        for name in names {
            guard let header = try? DatabaseHeader(directory + "/" + name, isSegment: true),
                header.applicationID == Segment.applicationID, header.version > newest?.version ?? 0
            else { continue }
            newest = (name, Int(header.version))
        }
        return newest
    }

    /// - Throws: `refused` when a newer version has written anything that lasts.
    static func check(_ configuration: StorageConfiguration) throws(StorageFault) {
        let newer = look(configuration).filter(\.isNewer)
        guard !newer.isEmpty else { return }
        throw .refused(
            "\(configuration.dataDirectory) was written by a newer version of Kura: "
                + newer.map(\.line).joined(separator: "; ") + ". Nothing was changed. \(advice)")
    }

    static let advice =
        "Start the version that wrote it, or go back as proto-docs/deployment.md tells: with a backup that this version can read"
}
