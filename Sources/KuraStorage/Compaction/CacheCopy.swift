import Glibc
import KuraBytes
import SQLite

/// Writes a cache's file anew that is large and mostly free: a copy of what it has takes its place.
///
/// For one start in five after a clean stop, before anybody has the file open. The copy is made in DATA/tmp and synced. Then the old file's WAL is emptied and removed, durably, since
/// a WAL is never to lie beside another database; and the copy takes the old file's name (rename(2)), so that at any moment there is one or the other, whole.
/// Whatever goes wrong leaves the old file; pages are then given back in pieces (`CacheFiles.shrink`). The copy of a file without seals has them.
enum CacheCopy {
    /// Which files are written anew.
    struct Rule: Sendable {
        var minimumBytes: Int
        /// What is left may be no more: the cache waits for it.
        var mostBytes = 64 << 20
        var scratch: String
        /// Has to have room for the copy.
        var space: FreeSpace
        var report: @Sendable (String) -> Void

        init(_ configuration: StorageConfiguration, space: FreeSpace, report: @escaping @Sendable (String) -> Void) {
            minimumBytes = configuration.compactionBytes
            scratch = configuration.temporaryDirectory
            self.space = space
            self.report = report
        }
    }

    /// - Returns: whether the file has been replaced.
    @discardableResult
    static func run(_ path: String, _ layout: CacheFile.Layout, _ rule: Rule) -> Bool {
        guard Compaction.size(path) >= rule.minimumBytes, case .good = CacheFile.state(of: path, layout, false) else {
            return false
        }
        let name = path.split(separator: "/").last.map(String.init) ?? "cache"
        let copy = "\(rule.scratch)/compact-\(name)"
        CacheFile.remove(copy)
        defer { CacheFile.remove(copy) }
        do {
            guard try make(copy, of: path, layout, rule) else { return false }
            try settle(path)
            strike(.cacheSettled)
            try FileSystem.rename(copy, path)
            strike(.cacheReplaced)
            try FileSystem.syncDirectory(directory(of: path))
            return true
        } catch {
            rule.report("\(name) is mostly free and could not be written anew: \(error)")
            return false
        }
    }

    /// Writes what the file has into another one.
    /// - Returns: false when that would not be worth it, or there is no room.
    private static func make(
        _ copy: String, of path: String, _ layout: CacheFile.Layout, _ rule: Rule
    ) throws -> Bool {
        let connection = try Connection(path: path, mode: .readWrite)
        defer { connection.close() }
        let count = try FreePages(connection).count()
        let used = (count.all - count.free) * FreePages.pageSize
        guard count.free > count.all / 2, used <= rule.mostBytes, !rule.space.look(),
            rule.space.free - used > rule.space.ample
        else { return false }
        strike(.cacheCopy)
        // Of the copy: this file keeps its pages.
        try connection.reserveForSeals()
        let statement = try connection.prepare("VACUUM INTO ?1")
        try statement.bind(1, text: copy)
        try statement.run()
        try seal(copy, layout)
        try FileSystem.sync(copy)
        try FileSystem.syncDirectory(rule.scratch)
        strike(.cacheCopied)
        return true
    }

    /// Gives each page its seal: in DATA/tmp none gets one as it is written.
    private static func seal(_ copy: String, _ layout: CacheFile.Layout) throws {
        let file = try FileSystem.open(copy, O_RDWR | O_NOFOLLOW)
        defer { close(file) }
        var page = ByteBuffer(capacity: FreePages.pageSize)
        for number in 0..<FileSystem.size(copy) / FreePages.pageSize {
            page.removeAll()
            let offset = number * FreePages.pageSize
            guard
                try FileSystem.read(file, atMost: FreePages.pageSize, at: offset, into: &page, path: copy)
                    == FreePages.pageSize
            else { throw StorageFault.refused("\(copy) became shorter") }
            // `user_version`: a copy has seals.
            if number == 0 { page.overwrite(at: 60, littleEndian: UInt32(layout.version).byteSwapped) }
            try PageSeal.sealed(page.bytes, number: number + 1).withBytes { (page) throws(StorageFault) in
                try FileSystem.write(file, page, at: offset, path: copy)
            }
        }
    }

    /// Everything is in the file itself, and nothing beside it, durably.
    private static func settle(_ path: String) throws {
        do {
            let connection = try Connection(path: path, mode: .readWrite)
            defer { connection.close() }
            _ = try connection.checkpoint(.truncate)
        }
        guard FileSystem.size(path + "-wal") == 0 else {
            throw StorageFault.refused("its WAL is in use")
        }
        for end in ["-wal", "-shm"] { try FileSystem.remove(path + end) }
        try FileSystem.syncDirectory(directory(of: path))
    }

    private static func directory(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    /// Only a kill means something here.
    private static func strike(_ point: FaultPoint) { _ = FaultPoints.hit(point) }
}
