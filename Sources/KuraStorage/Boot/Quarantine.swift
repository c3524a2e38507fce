import Glibc
import KuraBytes
import SQLite

/// DATA/quarantine: what was set aside, each under a name of its own. Nothing in it is ever removed by the daemon.
package enum Quarantine {
    /// A name for what is set aside now: the time, in UTC.
    static func freshName(_ configuration: StorageConfiguration, at: Int64) throws(StorageFault) -> String {
        let name = Self.name(at: at)
        for number in 1...10_000 {
            let candidate = number == 1 ? name : "\(name)-\(number)"
            if !FileSystem.exists(configuration.quarantineDirectory + "/" + candidate) { return candidate }
        }
        throw .refused("\(configuration.quarantineDirectory) has too many entries of one second")
    }

    /// A moment as `2026-11-22T05-41-41Z`. Source: Howard Hinnant, chrono-compatible low-level date algorithms.
    package static func name(at milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1000)
        let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400)
        let (era, dayOfEra) = (days / 146_097, days % 146_097)
        let year = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : String(number) }
        let date = "\(year + era * 400 + (month < 10 ? 0 : 1))-\(two(month < 10 ? month + 3 : month - 9))-\(two(day))"
        return date + "T\(two(time / 3600))-\(two(time / 60 % 60))-\(two(time % 60))Z"
    }

    /// Begins the name of what was in the place of one of the daemon's own files (`PlaceKeeper`).
    static let placePrefix = "place-"

    /// Says in a directory of the quarantine what it is about.
    static let about = "about.json"

    /// Moves tables and log away, whole: a database with its WAL, the log with all its segments. Done again after a kill, it moves what is
    /// still there.
    ///
    /// The tables go first: while any of the two is there without the other, the step in recovered.json keeps starts from opening it.
    static func setAside(
        _ notice: RecoveredNotice, _ configuration: StorageConfiguration
    ) throws(StorageFault) {
        let directory = configuration.quarantineDirectory + "/" + notice.quarantine
        try FileSystem.makeDirectory(configuration.quarantineDirectory)
        try FileSystem.makeDirectory(directory)
        for name in ["durable", "log"] { try FileSystem.makeDirectory(directory + "/" + name) }
        try FileSystem.syncDirectory(configuration.dataDirectory)
        try FileSystem.syncDirectory(configuration.quarantineDirectory)
        var text = ByteBuffer()
        notice.append(to: &text)
        text.append(0x0A)
        try FileSystem.replace(directory + "/" + about, with: text.bytes, in: directory)
        try strike()
        for end in ["", "-wal", "-shm", "-journal", "-scrub"]
        where FileSystem.exists(configuration.tablesPath + end) {
            try FileSystem.rename(configuration.tablesPath + end, directory + "/durable/kura.sqlite" + end)
            try strike()
        }
        for name in try FileSystem.names(in: configuration.logDirectory).sorted() {
            let path = configuration.logDirectory + "/" + name
            // Of no run: it is what the next segment would have been made of.
            if path == configuration.sparePath { continue }
            try FileSystem.rename(path, directory + "/log/" + name)
            try strike()
        }
        // What contents of attachments are for is not known without the tables: they stay, and lose the mark that they may go.
        for name in try FileSystem.names(in: configuration.temporaryDirectory)
        where AttachmentFiles.digest(ofMarker: name) != nil {
            try FileSystem.remove(configuration.temporaryDirectory + "/" + name)
        }
        for path in [
            directory + "/durable", directory + "/log", directory, configuration.durableDirectory,
            configuration.logDirectory, configuration.temporaryDirectory,
        ] { try FileSystem.syncDirectory(path) }
    }

    /// Moves a log's damaged files away.
    static func setAside(
        _ paths: [String], _ notice: RecoveredNotice, _ configuration: StorageConfiguration
    ) throws(StorageFault) {
        let directory = configuration.quarantineDirectory + "/" + notice.quarantine
        let log = directory + "/log"
        for path in [configuration.quarantineDirectory, directory, log] { try FileSystem.makeDirectory(path) }
        var text = ByteBuffer()
        notice.append(to: &text)
        text.append(0x0A)
        try FileSystem.replace(directory + "/" + about, with: text.bytes, in: directory)
        for path in paths {
            let name = path.split(separator: "/").last.map(String.init) ?? path
            try FileSystem.rename(path, log + "/" + name)
        }
        for path in [
            log, directory, configuration.quarantineDirectory, configuration.logDirectory, configuration.dataDirectory,
        ] {
            try FileSystem.syncDirectory(path)
        }
    }

    private static func strike() throws(StorageFault) {
        if let code = FaultPoints.hit(.bootMove)?.errno {
            throw .system(errno: code, call: "rename", path: "quarantine")
        }
    }

    // MARK: Listing

    /// Entries that are listed.
    static let mostEntries = 10_000

    /// In the order of their names. May wait for the disk.
    package static func entries(_ configuration: StorageConfiguration) throws(StorageFault) -> [QuarantineLook.Entry] {
        guard FileSystem.exists(configuration.quarantineDirectory) else { return [] }
        return try FileSystem.names(in: configuration.quarantineDirectory).sorted().prefix(mostEntries).map { name in
            let path = configuration.quarantineDirectory + "/" + name
            var entry = QuarantineLook.Entry(
                name: name, at: FileSystem.modified(path), reason: reason(ofFile: name), bytes: 0, files: 0)
            // Somebody else's may not be readable.
            try? add(path, to: &entry)
            let text = FileSystem.isDirectory(path) ? try? FileSystem.contents(path + "/" + about) : nil
            if let notice = text?.withBytes({ NoteReader($0).flatMap { RecoveredNotice($0) } }) {
                entry.at = notice.at
                entry.reason = notice.what == .log ? notice.reason : "starts failed: \(notice.reason)"
            }
            return entry
        }
    }

    private static func add(_ path: String, to entry: inout QuarantineLook.Entry) throws(StorageFault) {
        guard FileSystem.isDirectory(path) else {
            if FileSystem.isRegular(path) { entry.bytes += FileSystem.size(path) }
            entry.files += 1
            return
        }
        for name in try FileSystem.names(in: path) { try add(path + "/" + name, to: &entry) }
    }

    /// What others have set aside is told by its name.
    private static func reason(ofFile name: String) -> String {
        if name.hasPrefix(placePrefix) { return "it was in the place of one of the daemon's own files" }
        if name.hasPrefix("blob-") { return "the content of a blob was not what its digest says" }
        let stem = name.hasSuffix("-wal") ? String(name.dropLast(4)) : name
        if LogFiles.number(ofFile: stem) != nil {
            return "changes of the log that a power cut has left without those before them; nobody was told of them"
        }
        return "it was found among the caches and is none"
    }
}
