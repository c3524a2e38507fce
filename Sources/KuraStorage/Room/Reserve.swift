import Glibc
import SQLite
import Synchronization

/// The ballast: a file of zeros that is given up when the disk is full, a piece at a time, so that what has been acknowledged
/// can still be folded and the log let go, and so that deletions find room.
///
/// It grows again, a piece at a time, with the room that comes back. Only the housekeeper's thread makes it larger; the loop
/// makes it smaller.
final class Reserve: Sendable {
    private let path: String
    /// Bytes of all of it.
    let bytes: Int
    private let held: Atomic<Int>
    private let isGrowing = Atomic<Bool>(false)

    init(_ configuration: StorageConfiguration) {
        path = configuration.reservePath
        // An eighth of a small file system at most: else it would never be whole there.
        let room = FileSystem.room(configuration.dataDirectory)
        let total = room.map { Int($0.f_blocks) * Int($0.f_frsize) } ?? .max
        bytes = min(configuration.reserveBytes, max(64 << 10, total / 8))
        held = Atomic(min(FileSystem.size(path), bytes))
    }

    /// Bytes that the file has.
    var heldBytes: Int { held.load(ordering: .acquiring) }

    /// Whether all of the file is there.
    var isThere: Bool { heldBytes >= bytes }

    /// Gives so many bytes to whoever needs them now.
    /// - Returns: whether there were any.
    func give(_ count: Int) -> Bool {
        let before = heldBytes
        guard before > 0, !isGrowing.load(ordering: .acquiring) else { return false }
        let after = max(0, before - count)
        held.store(after, ordering: .releasing)
        if after == 0 { FileSystem.tryToRemove(path) } else { try? FileSystem.truncate(path, to: after) }
        return true
    }

    /// Has the file grow by at most so many bytes; one attempt at a time.
    func grow(by count: Int, _ housekeeper: Housekeeper, wake: @escaping @Sendable () -> Void) {
        guard !isThere, !isGrowing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        housekeeper.submit { [self] in
            let before = heldBytes
            let after = min(bytes, before + count)
            if (try? make(from: before, to: after)) != nil { held.store(after, ordering: .releasing) }
            isGrowing.store(false, ordering: .releasing)
            wake()
        }
    }

    private func make(from before: Int, to after: Int) throws(StorageFault) {
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        defer { close(descriptor) }
        guard DiskLimit.admits(descriptor, after - before, at: before),
            posix_fallocate(descriptor, off_t(before), off_t(after - before)) == 0
        else {
            if before == 0 { FileSystem.tryToRemove(path) } else { _ = ftruncate(descriptor, off_t(before)) }
            throw FileSystem.fail("posix_fallocate", path)
        }
    }
}
