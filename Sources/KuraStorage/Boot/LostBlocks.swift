import CSyscalls
import Glibc
import KuraBytes
import SQLite

/// Whether the disk has lost a part of a file. That a read has failed says nothing of the file: the next may succeed.
enum LostBlocks {
    private static let blockBytes = 4096
    private static let rounds = 8
    /// Microseconds between two rounds: a device that is being reset comes back.
    private static let pause: useconds_t = 50_000

    /// A block is lost when it cannot be read however often that is tried, while other blocks of its file can.
    /// - Returns: the first file that has lost one; nil when none has.
    static func file(among paths: [String]) -> String? { paths.first(where: hasLost) }

    private static func hasLost(_ path: String) -> Bool {
        guard let descriptor = try? FileSystem.openRegular(path) else { return false }
        defer { close(descriptor) }
        let size = Int(lseek(descriptor, 0, SEEK_END))
        // Holes are no blocks of the disk.
        let blocks = sequence(state: 0) { (offset: inout Int) -> Int? in
            guard let start = FileSystem.data(descriptor, from: offset), start < size else { return nil }
            offset = (start / blockBytes + 1) * blockBytes
            return start
        }
        var buffer = ByteBuffer(capacity: blockBytes)
        return areLost(blocks) { offset in
            buffer.removeAll()
            return (try? FileSystem.read(descriptor, atMost: blockBytes, at: offset, into: &buffer, path: path)) != nil
        }
    }

    /// Whether some of a file's blocks can never be read, and others can.
    static func areLost(_ blocks: some Sequence<Int>, canRead: (Int) -> Bool) -> Bool {
        var failing: [Int] = []
        var readable = 0
        for block in blocks { if canRead(block) { readable += 1 } else { failing.append(block) } }
        for _ in 1..<rounds where readable > 0 && !failing.isEmpty {
            usleep(pause)
            failing.removeAll(where: canRead)
        }
        return readable > 0 && !failing.isEmpty
    }
}

extension StorageFault {
    /// A call was refused, by the disk or for want of memory or descriptors: no proof of what the files hold.
    private var isOfCall: Bool {
        switch self {
        case .system(let code, _, _): Errno.passes(code)
        case .database(let error, _): Self.isOfCall(error)
        default: false
        }
    }

    /// The same of tables that are being made.
    static func isOfCall(_ error: SQLiteError) -> Bool {
        error.isWant || error.systemErrno == EIO && !error.isOfContents
    }

    /// Whether the next start may succeed: the system refused a call, and every block of these files can be read.
    func isPassing(_ files: [String]) -> Bool { isOfCall && LostBlocks.file(among: files) == nil }
}

extension BackupFault {
    /// A call was refused: the file may be as good as before.
    var isPassing: Bool {
        switch self {
        case .outOfMemory: true
        case .system(let code, _, _): Errno.passes(code)
        case .tables(.unreadable(let error)): StorageFault.isOfCall(error)
        default: false
        }
    }
}
