import Glibc
import KuraClient
import KuraServer

/// A directory that goes with this object: in memory where the host has room for it, else where temporary files are.
///
/// Whoever is killed leaves theirs behind. The next process that needs one removes those that nobody holds a lock on.
///
/// Safety: the kernel fills structures of ours; Swift lends paths as C strings for a call.
final class TemporaryPlace: Sendable {
    private let tree: TemporaryTree
    /// As the kernel names it, without links.
    var path: String { tree.path }

    private static let prefix = "kura-memory-"
    /// Bytes that have to be free in memory: less would be full sooner than anybody's disk.
    private static let memoryBytes = 512 << 20

    init() throws(KuraError) {
        _ = Self.swept
        let parent = Self.parents.first(where: Self.hasRoom) ?? Self.parents.last!
        do { tree = try TemporaryTree(in: parent, prefix: Self.prefix) } catch {
            throw KuraError(
                starting: "no directory can be made in \(parent)", advice: "Name one in $TMPDIR that can be written to."
            )
        }
    }

    deinit { _ = tree.remove() }

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
    private static let swept: Void = { for parent in parents { TemporaryTree.sweep(parent, prefix: prefix) } }()
}
