import Glibc
import KuraBytes
import SQLite

/// What takes the room on the disk, in bytes, by what it is for.
public struct RoomUsage: Sendable, Equatable {
    public var tables = 0
    public var tablesWAL = 0
    public var attachments = 0
    public var log = 0
    public var caches = 0
    public var blobs = 0
    public var backups = 0
    public var quarantine = 0
    public var reserve = 0

    /// Looks at all files; not on the loop.
    package static func measure(_ configuration: StorageConfiguration) -> RoomUsage {
        var usage = RoomUsage()
        usage.tables = taken(configuration.tablesPath)
        usage.tablesWAL = taken(configuration.tablesPath + "-wal")
        usage.attachments = all(beneath: configuration.attachmentsDirectory)
        usage.log = all(beneath: configuration.logDirectory)
        usage.blobs = all(beneath: configuration.blobsDirectory)
        usage.caches = all(beneath: configuration.cacheDirectory) - usage.blobs
        usage.backups = all(beneath: configuration.backupsDirectory)
        usage.quarantine = all(beneath: configuration.quarantineDirectory)
        usage.reserve = taken(configuration.reservePath)
        return usage
    }

    /// What takes the room and what helps against it, the most of it first. The reserve is for deletions.
    package var parts: [(name: String, bytes: Int, help: String)] {
        let deletions = "'kura documents purge', 'deleteMany' or 'drop', then 'kura storage compact'"
        return [
            ("tables", tables, deletions), ("tablesWal", tablesWAL, "'kura storage compact'"),
            ("attachments", attachments, "delete their documents, then 'kura documents purge'"),
            ("log", log, "what is only there is folded by a daemon, as there is room"),
            ("caches", caches, "'kura models deleteMany', or smaller bounds"),
            ("blobs", blobs, "'kura blobs deleteMany', or smaller bounds"),
            ("backups", backups, "'kura backups prune'"),
            ("quarantine", quarantine, "move what is in quarantine/ elsewhere"),
        ].filter { $0.1 >= 64 << 10 }.sorted { $0.1 > $1.1 }
    }

    private static func all(beneath directory: String) -> Int {
        guard let names = try? FileSystem.names(in: directory) else { return 0 }
        return names.reduce(0) { sum, name in
            let path = directory + "/" + name
            return sum + (isDirectory(path) ? all(beneath: path) : taken(path))
        }
    }

    private static func information(_ path: String) -> stat? {
        var information = stat()
        // Safety: the path is lent as a C string for the call, which fills one `stat`.
        return unsafe lstat(path, &information) == 0 ? information : nil
    }

    private static func isDirectory(_ path: String) -> Bool {
        information(path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
    }

    /// Bytes of the blocks that a file has.
    private static func taken(_ path: String) -> Int { information(path).map { Int($0.st_blocks) * 512 } ?? 0 }
}

/// How the storage stands with its room.
public struct RoomStatus: Sendable {
    /// Bytes left for this user, as of now.
    public var free: Int
    /// Changes are refused; what takes something away is not.
    public var isFull: Bool
    /// Bytes that have to become free until changes are accepted again; 0 while they are.
    public var missing: Int
    public var usage: RoomUsage
}

/// Looked at on the housekeeper's thread when somebody asks, once a second at most, so what is told is what the one before had found.
final class RoomGauge: Sendable {
    private let last = Guarded(RoomUsage())

    var usage: RoomUsage { last.withLock { $0 } }

    func measure(_ configuration: StorageConfiguration) {
        let usage = RoomUsage.measure(configuration)
        last.withLock { $0 = usage }
    }
}
