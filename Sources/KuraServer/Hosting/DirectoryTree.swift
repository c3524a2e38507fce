import Glibc
import KuraSocket
import KuraStorage

// Safety: Swift lends paths as C strings for a call; `mkdtemp` writes over the six letters at the end of an array of ours; the kernel
// fills one `stat`, which is ours.

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
final class TemporaryTree: Sendable {
    let path: String
    private let descriptor: Int32

    /// Makes one that only this process's user may enter.
    init(in parent: String, prefix: String) throws(SystemError) {
        var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw SystemError("mkdtemp", path: parent) }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("open", path: path) }
        // Where others may rename it they may have put another one there.
        var information = stat()
        guard unsafe fstat(descriptor, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & 0o077 == 0
        else {
            errno = EPERM
            throw SystemError("open", path: path)
        }
    }

    deinit { close(descriptor) }

    /// - Returns: why something of it stays; nil when nothing does.
    func remove() -> String? { DirectoryTree.remove(path, heldBy: descriptor) }
}
