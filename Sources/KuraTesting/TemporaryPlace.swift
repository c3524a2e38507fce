import Glibc
import KuraClient
import KuraServer

/// A directory that goes with this object: in memory where the host has room for it, else where temporary files are.
///
/// Whoever is killed leaves theirs behind. The next process that needs one removes those that nobody holds a lock on.
///
/// Safety: a template ends with a zero and is changed in its place; the kernel fills structures of ours; an entry of a directory is read before the next
/// one is asked for, and its name ends with a zero; Swift lends paths as C strings for a call.
final class TemporaryPlace: Sendable {
    /// As the kernel names it, without links.
    let path: String
    private let lock: Int32

    private static let prefix = "kura-memory-"
    /// Bytes that have to be free in memory: less would be full sooner than anybody's disk.
    private static let memoryBytes = 512 << 20
    /// Seconds that a directory is left alone: it may be one that is being made.
    private static let shortestLife = 60

    init() throws(KuraError) {
        _ = Self.swept
        let parent = Self.parents.first(where: Self.hasRoom) ?? Self.parents.last!
        var template = Array((parent + "/" + Self.prefix + "XXXXXX").utf8CString)
        guard unsafe mkdtemp(&template) != nil else {
            throw KuraError(
                starting: "no directory can be made in \(parent)", advice: "Name one in $TMPDIR that can be written to."
            )
        }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        lock = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        _ = flock(lock, LOCK_EX | LOCK_NB)
    }

    deinit {
        DirectoryTree.remove(path, heldBy: lock)
        close(lock)
    }

    /// Where one may be, the best first.
    private static let parents: [String] = {
        let named = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        guard let real = unsafe realpath(named.isEmpty ? "/tmp" : named, nil) else { return ["/dev/shm", "/tmp"] }
        defer { unsafe free(real) }
        return ["/dev/shm", unsafe String(cString: real)]
    }()

    private static func hasRoom(_ parent: String) -> Bool {
        var information = statvfs()
        guard unsafe statvfs(parent, &information) == 0, unsafe access(parent, W_OK | X_OK) == 0 else { return false }
        return Int(clamping: information.f_bavail) * Int(clamping: information.f_frsize) >= memoryBytes
    }

    /// Once a process.
    private static let swept: Void = {
        for parent in parents {
            guard let directory = unsafe opendir(parent) else { continue }
            defer { unsafe closedir(directory) }
            while let entry = unsafe readdir(directory) {
                let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                    unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                }
                if name.hasPrefix(prefix) { removeIfLeft(parent + "/" + name) }
            }
        }
    }()

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
