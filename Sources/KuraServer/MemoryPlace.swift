import Glibc
import KuraSocket

/// Where the data of `kurad --ephemeral --memory` lies: a file system in memory, on which a sync costs nothing.
///
/// Safety: the kernel fills structures of ours; Swift lends the path as a C string for the call.
enum MemoryPlace {
    private static let parent = "/dev/shm"
    private static let prefix = "kurad-memory-"
    /// Bytes that have to be free: with the usual profile a daemon takes half of that in advance.
    private static let leastBytes = 48 << 20

    /// Makes a directory there, and removes those whose daemons were killed.
    static func make() throws -> TemporaryTree {
        guard isInMemory else {
            throw Configuration.Refusal(
                description:
                    "--memory: there is no tmpfs at \(parent): mount one (mount -t tmpfs -o mode=1777 tmpfs \(parent)), or leave --memory out"
            )
        }
        TemporaryTree.sweep(parent, prefix: prefix)
        var room = statvfs()
        guard unsafe statvfs(parent, &room) == 0, Int(room.f_bavail) * Int(room.f_frsize) >= leastBytes else {
            throw Configuration.Refusal(
                description:
                    "--memory: \(parent) has less than \(leastBytes >> 20) MiB left: make it larger (docker run --shm-size), or leave --memory out"
            )
        }
        return try TemporaryTree(in: parent, prefix: prefix)
    }

    /// Whether what is mounted there last is a tmpfs. Source: proc(5), mounts.
    private static var isInMemory: Bool {
        let mounts = Configuration.contents(of: "/proc/self/mounts") ?? []
        let fields = mounts.split(separator: UInt8(ascii: "\n")).map { $0.split(separator: UInt8(ascii: " ")) }
        let last = fields.last { $0.count > 2 && $0[1].elementsEqual(parent.utf8) }
        return last?[2].elementsEqual("tmpfs".utf8) == true
    }
}
