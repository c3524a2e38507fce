import Glibc
import KuraBytes
import SQLite

/// kura.sqlite-scrub: pages of the tables that a scrub is about to overwrite, as they will be.
///
/// They are overwritten past SQLite, while the WAL is empty: nothing else would heal a page whose writing a power cut has torn. So they lie here,
/// synced, until those in the tables are. A start puts a page in its place where the seal of the one that is there does not hold, and leaves every
/// other alone. The journal is erased and not just removed: what it has may be destroyed one day.
///
/// Each entry: the page's number (8 bytes, little-endian), and its 4,096 bytes with their seal.
struct ScrubJournal {
    private let tables: String
    private let path: String

    private static let pageSize = 4096
    private static let entryBytes = 8 + pageSize

    /// `tables`: the path of kura.sqlite.
    init(tables: String) {
        self.tables = tables
        path = tables + "-scrub"
    }

    /// Durable when it returns.
    func write(_ pages: [(number: Int, bytes: [UInt8])]) throws(StorageFault) {
        try LogScrub.erase(path)
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        defer { close(descriptor) }
        var text = ByteBuffer(capacity: pages.count * Self.entryBytes)
        for (number, bytes) in pages {
            text.append(littleEndian: UInt64(number))
            text.append(bytes.withBytes { PageSeal.sealed($0, number: number) })
        }
        try FileSystem.write(descriptor, text.bytes, at: 0, path: path, isBilled: true)
        CountingVFS.count(path: path, syncs: 1)
        guard fdatasync(descriptor) == 0 else { throw FileSystem.fail("fdatasync", path) }
        try FileSystem.syncDirectory(String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)]))
    }

    /// The pages are in the tables, durably.
    func remove() throws(StorageFault) { try LogScrub.erase(path) }

    /// Puts back what a power cut has torn, before anybody opens the tables.
    /// - Returns: how many pages.
    func replay() throws(StorageFault) -> Int {
        guard FileSystem.exists(path), FileSystem.exists(tables) else { return 0 }
        let journal = try FileSystem.openRegular(path)
        defer { close(journal) }
        let file = try FileSystem.open(tables, O_RDWR | O_NOFOLLOW)
        defer { close(file) }
        var entry = ByteBuffer(capacity: Self.entryBytes)
        var page = ByteBuffer(capacity: Self.pageSize)
        func readPage(_ number: Int) throws(StorageFault) -> Bool {
            page.removeAll()
            let read = try FileSystem.read(
                file, atMost: Self.pageSize, at: (number - 1) * Self.pageSize, into: &page, path: tables)
            return read == Self.pageSize
        }
        var count = 0
        // Tables without seals are whole as they are.
        if try readPage(1), PageSeal.judge(firstPage: page.bytes) == .holds {
            var offset = 0
            while true {
                entry.removeAll()
                let read = try FileSystem.read(journal, atMost: Self.entryBytes, at: offset, into: &entry, path: path)
                guard read == Self.entryBytes else { break }
                offset += read
                let number = UInt64(littleEndian: entry.bytes.loadUnaligned(as: UInt64.self))
                let new = entry.bytes.extracting(8..<Self.entryBytes)
                guard number > 1, number < 1 << 32, PageSeal.holds(new, number: Int(number)),
                    try readPage(Int(number)), !PageSeal.holds(page.bytes, number: Int(number))
                else { continue }
                let start = (Int(number) - 1) * Self.pageSize
                try FileSystem.write(file, new, at: start, path: tables, isBilled: true)
                count += 1
            }
        }
        if count > 0 {
            CountingVFS.count(path: tables, syncs: 1)
            guard fdatasync(file) == 0 else { throw FileSystem.fail("fdatasync", tables) }
        }
        try remove()
        return count
    }
}
