import Glibc
package import KuraSocket
import KuraStorage

// Safety: Swift lends paths as C strings for a call; `mkdtemp` writes over the six letters at the end of an array of ours; the kernel
// fills one `stat`, which is ours; an entry of a directory is read before the next one is asked for, and its name ends with a zero.

/// Temporary directories, with everything in them.
public enum DirectoryTree {
    /// Removes what is in a directory that is held open, as far as that is possible, and the directory itself when its path still leads to it.
    ///
    /// Links are removed and not followed; what has taken the directory's place stays, and so does what is mounted there.
    /// - Parameters:
    ///   - path: what the directory was called.
    ///   - descriptor: holds it; open for reading, and stays open.
    /// - Returns: why something of it stays; nil when nothing does.
    @discardableResult
    public static func remove(_ path: String, heldBy descriptor: Int32) -> String? {
        var reason: String?
        do throws(StorageFault) {
            let directory = try OpenDirectory(reopening: descriptor, path: path)
            do throws(StorageFault) { try directory.clear() } catch { reason = error.description }
            // An empty directory at most, should another be put there now.
            if directory.isAt(path) { unsafe rmdir(path) }
        } catch {
            // It cannot be read any more, and stays.
            reason = error.description
        }
        return reason
    }
}

/// A directory that was made for a while, and is held open until it goes with everything in it.
///
/// It is locked (flock(2)): one that nobody holds a lock on was left behind by a process that was killed.
package final class TemporaryTree: Sendable {
    package let path: String
    private let descriptor: Int32

    /// Seconds that a directory is left alone: it may be one that is being made.
    private static let shortestLife = 60

    /// Makes one that only this process's user may enter.
    package convenience init(in parent: String, prefix: String) throws(SystemError) {
        var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError("mkdtemp", path: parent) }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open", path: path) }
        try self.init(path, heldBy: descriptor)
    }

    private init(_ path: String, heldBy descriptor: Int32) throws(SystemError) {
        (self.path, self.descriptor) = (path, descriptor)
        // Where others may rename it they may have put another one there.
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & S_IFMT == S_IFDIR, information.st_mode & 0o077 == 0
        else {
            errno = EPERM
            throw SystemError("open", path: path)
        }
        _ = flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit { close(descriptor) }

    /// - Returns: why something of it stays; nil when nothing does.
    package func remove() -> String? { DirectoryTree.remove(path, heldBy: descriptor) }

    // MARK: Handing on

    /// The program that this process becomes next finds the directory, and its lock, by what is returned.
    func handOn() -> String {
        _ = fcntl(descriptor, F_SETFD, 0)
        return "\(descriptor):\(path)"
    }

    /// Takes one over from the program that this process was before.
    convenience init(handedOn text: String) throws(SystemError) {
        let parts = text.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let descriptor = Int32(parts[0]), fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            errno = EBADF
            throw SystemError("open", path: text)
        }
        try self.init(String(parts[1]), heldBy: descriptor)
    }

    // MARK: Left behind

    /// Removes those of this user that nobody holds.
    package static func sweep(_ parent: String, prefix: String) {
        guard let directory = unsafe opendir(parent) else { return }
        defer { unsafe closedir(directory) }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name.hasPrefix(prefix) { removeIfLeft(parent + "/" + name) }
        }
    }

    private static func removeIfLeft(_ path: String) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_uid == geteuid(),
            Int(information.st_mtim.tv_sec) + shortestLife < time(nil),
            flock(descriptor, LOCK_EX | LOCK_NB) == 0
        else { return }
        DirectoryTree.remove(path, heldBy: descriptor)
    }
}
