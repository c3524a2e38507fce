import Glibc
import KuraBytes

/// Whose a database file is and how far its layout has come, as its newest commit has it: read without SQLite, which would write as it opens
/// the file.
///
/// `user_version` and `application_id` stand in the first page, of which the WAL may have newer copies. Source:
/// https://sqlite.org/fileformat2.html
package struct DatabaseHeader: Equatable {
    var applicationID: Int32
    var version: Int32

    private static let length = 72
    private static let frameHeader = 24

    /// Nil when there is no such file, or none that begins as a database does.
    /// `isSegment`: a file of the log, whose layout is in the file before its WAL has anything.
    package init?(_ path: String, isSegment: Bool = false) throws(StorageFault) {
        guard FileSystem.exists(path) else { return nil }
        let file = try ReadOnlyFile(path)
        guard let start = try file.read(Self.length, at: 0), start.starts(with: "SQLite format 3\0".utf8) else {
            return nil
        }
        self.init(page: start)
        guard !isSegment, let copy = try Self.newestCopy(inWAL: path + "-wal", unlike: self) else { return }
        self = copy
    }

    /// Pages that the file says to have without its WAL; nil when it does not say so, or has pages of another size than ours.
    static func pageCount(_ path: String) throws(StorageFault) -> Int? {
        guard FileSystem.exists(path), let start = try ReadOnlyFile(path).read(96, at: 0),
            start.starts(with: "SQLite format 3\0".utf8)
        else { return nil }
        func number(_ bytes: Range<Int>) -> Int { start[bytes].reduce(0) { $0 << 8 | Int($1) } }
        // The count holds when the change that wrote it was the last.
        guard number(16..<18) == SQLiteSegment.pageSize, number(24..<28) == number(92..<96) else { return nil }
        return number(28..<32)
    }

    private init(page: [UInt8]) {
        func number(_ offset: Int) -> Int32 {
            Int32(bitPattern: page[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) })
        }
        version = number(60)
        applicationID = number(68)
    }

    /// What the WAL's newest commit says; nil when it says nothing else than `known`, as nearly always.
    private static func newestCopy(
        inWAL path: String, unlike known: DatabaseHeader
    ) throws(StorageFault) -> DatabaseHeader? {
        guard try FileSystem.length(path) > WALCommits.headerSize else { return nil }
        let file = try ReadOnlyFile(path)
        guard let head = try file.read(WALCommits.headerSize, at: 0) else { return nil }
        let frameSize = SQLiteSegment.frameSize
        var copies: [(end: Int, header: DatabaseHeader)] = []
        var offset = WALCommits.headerSize
        // Frames of this WAL have its salts. Whether they are whole is only asked when it matters: that takes their checksums.
        while let frame = try file.read(frameHeader, at: offset), frame[8..<16] == head[16..<24] {
            if frame[0..<4] == [0, 0, 0, 1], let page = try file.read(length, at: offset + frameHeader) {
                copies.append((offset + frameSize, DatabaseHeader(page: page)))
            }
            offset += frameSize
        }
        guard copies.contains(where: { $0.header != known }) else { return nil }
        let end = try WALCommits(path: path).ends.last ?? 0
        return copies.last { $0.end <= end }?.header
    }
}

/// A file that is read here and there.
private struct ReadOnlyFile: ~Copyable {
    private let path: String
    private let descriptor: Int32

    init(_ path: String) throws(StorageFault) {
        let descriptor = try FileSystem.openRegular(path)
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// - Returns: nil when the file has not so many bytes there.
    func read(_ count: Int, at offset: Int) throws(StorageFault) -> [UInt8]? {
        var buffer = ByteBuffer(capacity: count)
        let done = try FileSystem.read(descriptor, atMost: count, at: offset, into: &buffer, path: path)
        return done == count ? Array(buffer.bytes) : nil
    }
}
