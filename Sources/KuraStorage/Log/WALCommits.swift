import Glibc
import KuraBytes

/// Where the commits of a WAL end, read without SQLite. The format: a header of 32 bytes, then frames of 24 bytes and a page. Each frame carries the header's salts, and a
/// checksum over all that came before it; a size of the database that is not 0 marks a commit's last. The first frame that
/// does not fit ends the WAL. Source: https://sqlite.org/fileformat2.html#the_write_ahead_log
package struct WALCommits {
    /// File offsets, rising.
    package private(set) var ends: [Int] = []
    /// Where the newest committed content of each page lies, by the pages' numbers.
    private(set) var pages: [Int: Int] = [:]
    /// Pages that the database has as of the last commit; 0 when there is none.
    private(set) var pageCount = 0
    /// The file is a WAL that was never written, or one that can be read here: nothing behind the last commit counts.
    private(set) var isReadable = false

    static let headerSize = 32
    private var sums: (UInt32, UInt32) = (0, 0)

    /// Empty when there is no WAL, or one whose checksums are of the other byte order.
    package init(path: String) throws(StorageFault) {
        guard FileSystem.exists(path) else { return }
        let descriptor = try FileSystem.openRegular(path)
        defer { close(descriptor) }
        let frameSize = SQLiteSegment.frameSize
        var buffer = ByteBuffer(capacity: frameSize)
        func word(_ offset: Int) -> UInt32 {
            UInt32(bigEndian: buffer.bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }
        /// False when the file has no `count` bytes there.
        func read(_ count: Int, at offset: Int) throws(StorageFault) -> Bool {
            buffer.removeAll()
            return try FileSystem.read(descriptor, atMost: count, at: offset, into: &buffer, path: path) == count
        }
        let hasHeader = try read(Self.headerSize, at: 0)
        isReadable = buffer.bytes.allSatisfy { $0 == 0 }
        guard hasHeader, word(0) == 0x377f_0682, word(8) == SQLiteSegment.pageSize else { return }
        add(buffer.bytes(0..<24))
        guard sums == (word(24), word(28)) else { return }
        isReadable = true
        let salts = (word(16), word(20))
        var offset = Self.headerSize
        var uncommitted: [Int: Int] = [:]
        while try read(frameSize, at: offset) {
            guard (word(8), word(12)) == salts else { return }
            add(buffer.bytes(0..<8))
            add(buffer.bytes(24..<frameSize))
            guard sums == (word(16), word(20)) else { return }
            uncommitted[Int(word(0))] = offset + 24
            offset += frameSize
            guard word(4) != 0 else { continue }
            ends.append(offset)
            pageCount = Int(word(4))
            pages.merge(uncommitted) { $1 }
            uncommitted = [:]
        }
    }

    private mutating func add(_ bytes: Bytes) {
        for offset in stride(from: 0, to: bytes.count, by: 8) {
            let first = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            let second = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
            sums.0 = sums.0 &+ first &+ sums.1
            sums.1 = sums.1 &+ second &+ sums.0
        }
    }
}
