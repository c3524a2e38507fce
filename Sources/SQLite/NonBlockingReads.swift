import CSQLite
import Glibc

/// Reads that are answered from the page cache or not at all, for the event loop's connection.
///
/// SQLite hides its descriptors, so each file gets another one for reading.
///
/// Safety: paths are C strings that SQLite keeps for the call, a buffer goes with its length, and the kernel fills one
/// `stat`, which is ours.
enum NonBlockingReads {
    enum Outcome: Equatable {
        case all
        /// The file ended after so many bytes.
        case short(Int)
        /// The bytes are not in the page cache.
        case wouldBlock
        case failed(errno: Int32)
    }

    /// A descriptor of the database file at `path`, which is kept, or -1 with `errno` set.
    ///
    /// Closing any descriptor of a file drops all POSIX locks that the process holds on it, SQLite's among them
    /// (fcntl(2)). So one descriptor a file is opened and kept until the process ends, or `letGo` is called. It also keeps the
    /// inode number from being used again: when the path leads to another inode than the kept descriptor, the file was
    /// replaced, and one more is opened. The table grows with replaced files only.
    static func keptDescriptor(path: UnsafePointer<CChar>) -> Int32 {
        kept.withLock { kept in
            var status = stat()
            guard unsafe stat(path, &status) == 0 else { return -1 }
            let file = FileID(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
            if let known = kept[file] { return known.descriptor }
            let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return -1 }
            guard unsafe fstat(descriptor, &status) == 0 else { return -1 }
            // The path may have been replaced between stat and open; what was opened counts.
            let opened = FileID(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
            kept[opened] = unsafe Kept(descriptor: descriptor, path: String(cString: path))
            return descriptor
        }
    }

    /// Closes what is kept of files beneath a directory, which nobody has open any more.
    static func letGo(beneath directory: String) {
        let prefix = directory.hasSuffix("/") ? directory : directory + "/"
        kept.withLock { kept in
            for (file, known) in kept where known.path.hasPrefix(prefix) {
                close(known.descriptor)
                kept[file] = nil
            }
        }
    }

    /// A descriptor of the WAL file at `path`, for the caller to close, or -1 with `errno` set.
    ///
    /// SQLite takes no locks on WAL files, so closing is harmless. It is opened just after SQLite's own, which is the
    /// same inode as long as nobody unlinks the file between: writers set `setPersistWAL(true)`.
    static func ownDescriptor(path: UnsafePointer<CChar>) -> Int32 {
        unsafe open(path, O_RDONLY | O_CLOEXEC)
    }

    /// Reads without waiting for the disk, or plainly where the file system cannot say (EOPNOTSUPP, ENOSYS).
    static func read(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, at offset: Int64) -> Outcome {
        var done = 0
        while done < bytes.count {
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
            var got = unsafe kura_pread_nowait(descriptor, rest.baseAddress, rest.count, offset + Int64(done))
            if got < 0, errno == EOPNOTSUPP || errno == ENOSYS {
                got = unsafe pread(descriptor, rest.baseAddress, rest.count, Int(offset) + done)
            }
            if got < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN: return .wouldBlock
                default: return .failed(errno: errno)
                }
            }
            // Half a page can be cached and the other half not: only 0 is the end of the file.
            if got == 0 { return .short(done) }
            done += got
        }
        return .all
    }

    private struct FileID: Hashable, Sendable {
        var device: UInt64
        var inode: UInt64
    }

    private struct Kept: Sendable {
        var descriptor: Int32
        /// As SQLite names it.
        var path: String
    }

    private static let kept = Guarded<[FileID: Kept]>([:])
}
