import KuraBytes

// Joins the writes of one WAL file.
//
// SQLite writes a WAL frame as its header of 24 bytes and then its page, two system calls a frame. The joiner
// keeps contiguous frames back and gives them out as one block. It decides only; `CountedFile` does the writing.
//
// WAL file: a header of 32 bytes, then frames of 24 + page size bytes
// (https://sqlite.org/fileformat2.html#the_write_ahead_log). Bytes 4..<8 of a frame header, big endian, are the
// database size after the commit, and 0 when the frame is not a commit's last.
//
// The block is at most what the unix VFS writes with one system call, so 31 frames of 4096-byte pages.
//
// What keeps it correct, by the order of wal.c (3.40.1, sqlite3WalFrames):
//  1. Frames become visible to other connections when the wal-index header is published, after all writes of a commit.
//     The last frame of a commit is always appended, never one of those overwritten in place, and carries a size that
//     is not 0. So a commit frame ends the block at once: when its page's write returns, nothing is kept back.
//  2. Only appending is joined: a header is kept only at the end of what was appended last. Headers that
//     walRewriteChecksums writes again are below that, come without a page, and pass through.
//  3. Frames that pad to a sector (synchronous=FULL without powersafe overwrite) repeat the commit frame and so end a
//     block each. One of them may be split around a sync; a part is not a page's length, so it passes through.
//  4. Frames kept back are always of a transaction not committed. When writing them fails they are dropped: SQLite is
//     told, rolls back, and writes the next transaction to the same place.
struct FrameJoiner: ~Copyable {
    enum Verdict: Equatable {
        /// Kept back; nothing to write.
        case kept
        /// Kept back, and the block is to be written now.
        case complete
        /// To be written by itself, after the block.
        case passOn
    }

    private struct OpenFrame {
        var isCommit: Bool
    }

    /// The most that the unix VFS writes with one system call: it cuts lengths to 17 bits (seekAndWriteFd in
    /// os_unix.c).
    static let capacity = 0x1ffff
    static let headerSize = 32
    static let frameHeaderSize = 24

    private var buffer = ByteBuffer()
    private(set) var start: Int64 = 0
    var count: Int { buffer.count }
    /// 0 while not known, and then everything passes.
    private(set) var pageSize = 0
    /// Where the next appended frame begins; nil while nothing was written.
    private var end: Int64?
    /// The block ends with a frame header whose page is to come, and whether that is a commit frame.
    private var openFrame: OpenFrame?
    /// Where the page of a frame header that passed on would be.
    private var passedPage: Int64?

    var block: Bytes { buffer.bytes }

    func overlaps(_ offset: Int64, _ amount: Int) -> Bool {
        count > 0 && offset < start + Int64(count) && offset + Int64(amount) > start
    }

    /// Learns the page size from the file's header; a header that is no WAL's teaches nothing.
    mutating func learn(header: Bytes) {
        guard header.count >= Self.headerSize else { return }
        let magic = UInt32(bigEndian: header.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        let size = Int(UInt32(bigEndian: header.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
        let isSize = (512...65536).contains(size) && size.nonzeroBitCount == 1
        pageSize = (magic & ~1) == 0x377f_0682 && isSize ? size : 0
    }

    /// Takes one write of SQLite's, copying what it keeps.
    mutating func take(_ bytes: Bytes, at offset: Int64) -> Verdict {
        let contiguous = count > 0 ? offset == start + Int64(count) : (end == nil || offset == end)
        if let frame = openFrame {
            guard contiguous, bytes.count == pageSize else { return .passOn }
            keep(bytes)
            openFrame = nil
            end = start + Int64(count)
            let isFull = count + Self.frameHeaderSize + pageSize > Self.capacity
            return frame.isCommit || isFull ? .complete : .kept
        }
        guard contiguous, isFrame(offset), bytes.count == Self.frameHeaderSize else { return .passOn }
        if count == 0 { start = offset }
        keep(bytes)
        openFrame = OpenFrame(isCommit: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self) != 0)
        return .kept
    }

    /// Takes note of a write that passed on.
    mutating func passed(_ bytes: Bytes, at offset: Int64) {
        if offset == 0 {
            // A new header: the WAL starts over.
            learn(header: bytes)
            end = Int64(Self.headerSize)
            passedPage = nil
        } else if isFrame(offset), bytes.count == Self.frameHeaderSize {
            passedPage = offset + Int64(Self.frameHeaderSize)
        } else {
            // After a rollback frames are appended below the old end: from here on they are joined again.
            if offset == passedPage, bytes.count == pageSize { end = offset + Int64(pageSize) }
            passedPage = nil
        }
    }

    /// The block was written, or is never to be.
    mutating func clear(dropped: Bool) {
        if dropped { end = start }
        buffer.removeAll()
        openFrame = nil
    }

    private func isFrame(_ offset: Int64) -> Bool {
        pageSize > 0 && offset >= Int64(Self.headerSize)
            && (offset - Int64(Self.headerSize)) % Int64(Self.frameHeaderSize + pageSize) == 0
    }

    private mutating func keep(_ bytes: Bytes) {
        // The system gives the memory page by page as it is touched: a block of one frame costs two pages.
        if buffer.capacity == 0 { buffer.reserve(Self.capacity) }
        buffer.append(bytes)
    }
}
