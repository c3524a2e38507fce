import CSQLite
import Glibc
import KuraBytes

/// One open file of the counting VFS: what SQLite asks of it, over the real unix file.
///
/// A file belongs to a connection, so one thread at a time is here.
///
/// Safety: `real` lies in the memory that SQLite has allocated for the file, behind the header, until `xClose`
/// returns; buffers are SQLite's, lent with their lengths for the call.
@safe
final class CountedFile {
    let real: UnsafeMutablePointer<sqlite3_file>
    private let role: FileRole
    private let part: FilePart
    private let counter: Counter
    /// Used for WAL files; others leave it empty.
    private var joiner = FrameJoiner()
    /// Of the tables' own file, and of caches'; others have none.
    private var seals = PageSeal()
    private var isSealed: Bool { part == .database && (role == .durable || role == .cache) }
    /// Of the tables' WAL; others have none.
    private let sums: FrameSums?
    private let reading: Reading
    /// Its connection is to write.
    let writes: Bool
    /// Where the file lies, when what is written to it is paced.
    private let pacedPath: String?
    private var pacing = PacedWriting()
    private var pacingDescriptor: Int32?
    /// Syncs of such files before the last write; nil before the first.
    private var syncsBefore: Int?

    /// What the page cache gives the device at least; also ext4's and xfs' usual block.
    private static let blockBytes: Int64 = 4096

    /// How reads are done.
    enum Reading {
        case real
        case withoutWaiting(descriptor: Int32, isOwn: Bool)
    }

    init(
        real: UnsafeMutablePointer<sqlite3_file>, role: FileRole, part: FilePart, reading: Reading, writes: Bool,
        pacedPath: String?, sums: FrameSums?
    ) {
        self.writes = writes
        self.sums = sums
        self.pacedPath = pacedPath
        unsafe self.real = unsafe real
        self.role = role
        self.part = part
        self.reading = reading
        counter = Counter.of(role, part)
    }

    private var methods: sqlite3_io_methods { unsafe real.pointee.pMethods.pointee }

    // MARK: Reading

    func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        if let fault = FaultPoints.hit(.vfsRead, role: role) {
            return failed(ResultCode.ioErrorRead, errno: fault.errno ?? EIO)
        }
        if joiner.overlaps(offset, bytes.count) {
            let result = flushForOthers()
            if result != SQLITE_OK { return result }
        }
        var result = unsafe readOnce(bytes, at: offset)
        if isSealed, result == SQLITE_OK {
            unsafe seals.learn(Bytes(UnsafeRawBufferPointer(bytes)), at: offset)
            var tries = 0
            // Whoever overwrites a page may be in the midst of it: what is damaged stays so.
            while result == SQLITE_OK, unsafe !seals.holds(Bytes(UnsafeRawBufferPointer(bytes)), at: offset) {
                tries += 1
                guard tries < Self.tries else { return SQLITE_CORRUPT }
                usleep(useconds_t(tries * 50))
                result = unsafe readOnce(bytes, at: offset)
            }
        }
        if result == SQLITE_OK, let sums, unsafe !sums.holds(Bytes(UnsafeRawBufferPointer(bytes)), at: offset) {
            return failed(ResultCode.ioErrorData, errno: EIO)
        }
        counter.add(reads: 1, bytes: result == SQLITE_OK ? bytes.count : 0)
        return result
    }

    private static let tries = 4

    private func readOnce(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int32 {
        switch reading {
        // sqlite3_open reads the first 100 bytes of the database, and nothing else reads those: opening may wait.
        case .withoutWaiting(let descriptor, _) where offset != 0 || bytes.count != 100:
            unsafe readWithoutWaiting(descriptor, bytes, at: offset)
        case .real, .withoutWaiting:
            unsafe plain(noting(methods.xRead(real, bytes.baseAddress, Int32(bytes.count), offset)))
        }
    }

    /// A read that the disk has failed once is an error of the disk. SQLite makes SQLITE_IOERR_CORRUPTFS of EIO, ENXIO and the like, and of
    /// that, on the way out of a statement, a damaged database: what is whole would be set aside.
    private func plain(_ result: Int32) -> Int32 {
        result == ResultCode.ioErrorCorruptFileSystem ? failed(ResultCode.ioErrorRead, errno: errno) : result
    }

    private func readWithoutWaiting(
        _ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64
    ) -> Int32 {
        switch unsafe NonBlockingReads.read(descriptor, bytes, at: offset) {
        case .all: return SQLITE_OK
        case .short(let count):
            // SQLite requires the rest to be zeros.
            unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).initializeMemory(
                as: UInt8.self, repeating: 0)
            return ResultCode.ioErrorShortRead
        case .wouldBlock: return failed(ResultCode.ioErrorRead, errno: EAGAIN)
        case .failed(let errno): return failed(ResultCode.ioErrorRead, errno: errno)
        }
    }

    // MARK: Writing

    func write(_ bytes: Bytes, at offset: Int64) -> Int32 {
        if isSealed { return emitSealed(bytes, at: offset) }
        guard part == .wal else { return emit(bytes, at: offset) }
        if joiner.pageSize == 0, offset != 0 { learnPageSize() }
        sums?.note(bytes, at: offset)
        switch joiner.take(bytes, at: offset) {
        case .kept: return SQLITE_OK
        case .complete: return flush()
        case .passOn:
            var result = flush()
            if result == SQLITE_OK { result = emit(bytes, at: offset) }
            if result == SQLITE_OK { joiner.passed(bytes, at: offset) }
            return result
        }
    }

    /// A page gets its seal on its way to the file: SQLite writes pages as a whole.
    private func emitSealed(_ bytes: Bytes, at offset: Int64) -> Int32 {
        seals.learn(bytes, at: offset)
        return emit(seals.seal(bytes, at: offset) ?? bytes, at: offset)
    }

    /// Writes the block of joined frames. When that fails the block is dropped, so that it is never written later.
    private func flush() -> Int32 {
        guard joiner.count > 0 else { return SQLITE_OK }
        let result = emit(joiner.block, at: joiner.start)
        joiner.clear(dropped: result != SQLITE_OK)
        return result
    }

    /// The flush in a call that is not a write.
    ///
    /// The dropped frames were accepted earlier. SQLite rolls the whole transaction back after SQLITE_IOERR, but after
    /// SQLITE_FULL from a read it may undo one statement only and then commit over the hole. `errno` still tells that
    /// the disk is full.
    private func flushForOthers() -> Int32 {
        let result = flush()
        return result == SQLITE_FULL ? failed(ResultCode.ioErrorWrite, errno: ENOSPC) : result
    }

    /// One write to the real file.
    private func emit(_ bytes: Bytes, at offset: Int64) -> Int32 {
        if let fault = FaultPoints.hit(.vfsWrite, role: role) {
            return fault == .full ? SQLITE_FULL : failed(ResultCode.ioErrorWrite, errno: fault.errno ?? EIO)
        }
        guard DiskLimit.admits({ realSize }, bytes.count, at: Int(offset)) else { return SQLITE_FULL }
        let result = unsafe methods.xWrite(real, bytes.baseAddress, Int32(bytes.count), offset)
        if result == SQLITE_OK {
            counter.add(writes: 1, bytes: bytes.count)
            if part == .wal { noteBlock(at: offset) }
            if let pacedPath {
                pacing.wrote(bytes.count, at: offset) { descriptorForPacing(pacedPath) }
            }
            return result
        }
        var code: Int32 = 0
        _ = unsafe methods.xFileControl(real, SQLITE_FCNTL_LAST_ERRNO, &code)
        // The unix VFS takes ENOSPC only for a full disk.
        return code == EDQUOT ? SQLITE_FULL : failed(result, errno: code)
    }

    /// A WAL grows frame by frame, and no frame ends where a block does: when it was synced in the midst of one, that block goes to the device
    /// twice.
    private func noteBlock(at offset: Int64) {
        let syncs = counter.syncCount
        if let syncsBefore, syncsBefore != syncs, offset % Self.blockBytes != 0 {
            counter.add(blockBytes: Int(Self.blockBytes))
        }
        syncsBefore = syncs
    }

    private var realSize: Int {
        var size: sqlite3_int64 = 0
        return unsafe methods.xFileSize(real, &size) == SQLITE_OK ? Int(size) : 0
    }

    private func descriptorForPacing(_ path: String) -> Int32 {
        if let pacingDescriptor { return pacingDescriptor }
        let descriptor =
            unsafe part == .wal
            ? NonBlockingReads.ownDescriptor(path: path) : NonBlockingReads.keptDescriptor(path: path)
        pacingDescriptor = descriptor
        return descriptor
    }

    /// A WAL that was there before the first write of this file: its header tells.
    private func learnPageSize() {
        unsafe withUnsafeTemporaryAllocation(byteCount: FrameJoiner.headerSize, alignment: 8) { header in
            let result = unsafe methods.xRead(real, header.baseAddress, Int32(header.count), 0)
            if result == SQLITE_OK { unsafe joiner.learn(header: Bytes(header)) }
        }
    }

    func truncate(to size: Int64) -> Int32 {
        let result = flushForOthers()
        return unsafe result == SQLITE_OK ? noting(methods.xTruncate(real, size)) : result
    }

    func sync(_ flags: Int32) -> Int32 {
        let result = flushForOthers()
        if result != SQLITE_OK { return result }
        if let fault = FaultPoints.hit(.vfsSync, role: role) {
            return fault == .skip ? SQLITE_OK : failed(ResultCode.ioErrorSync, errno: fault.errno ?? EIO)
        }
        counter.add(syncs: 1)
        return unsafe noting(methods.xSync(real, flags))
    }

    func size(_ size: UnsafeMutablePointer<sqlite3_int64>?) -> Int32 {
        let result = flushForOthers()
        return unsafe result == SQLITE_OK ? noting(methods.xFileSize(real, size)) : result
    }

    /// Maps a part of the WAL's index, which all connections of the process share.
    ///
    /// SQLite opens for reading what it cannot open for writing, and refuses every write from then on, long after the reason is gone. A connection
    /// that is to write fails instead, and lets go of the index: its next use opens that again.
    func mapIndex(
        _ region: Int32, _ size: Int32, _ extend: Int32, _ address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        errno = 0
        let result = unsafe noting(methods.xShmMap(real, region, size, extend, address))
        guard result & 0xff == SQLITE_READONLY, writes else { return result }
        let reason = errno
        unsafe address?.pointee = nil
        _ = unsafe methods.xShmUnmap(real, 0)
        return failed(SQLITE_CANTOPEN, errno: reason)
    }

    /// Closes the real file. Frames still kept back are of a transaction that was not committed: they are dropped.
    func close() -> Int32 {
        if case .withoutWaiting(let descriptor, isOwn: true) = reading { Glibc.close(descriptor) }
        if part == .wal, let pacingDescriptor, pacingDescriptor >= 0 { Glibc.close(pacingDescriptor) }
        return unsafe noting(methods.xClose(real))
    }

    // MARK: Errors

    private func failed(_ result: Int32, errno: Int32) -> Int32 {
        LastErrno.note(result, errno: errno)
        return result
    }

    /// Keeps the `errno` of a failed call of the real file. Ends of files and locks of others are no failures.
    func noting(_ result: Int32) -> Int32 {
        if result & 0xff == SQLITE_IOERR, result != ResultCode.ioErrorShortRead {
            LastErrno.note(result, errno: errno)
        }
        return result
    }
}
