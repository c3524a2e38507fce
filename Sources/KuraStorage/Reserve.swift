import Glibc
import SQLite
import Synchronization

/// The ballast: a file of zeros that is given up when the disk is full, so that what has been acknowledged can still be
/// folded and the log let go. While it is given up, changes are refused: the room is the fold's.
///
/// Made and made again on the housekeeper's thread, when there is room for it twice over.
final class Reserve: Sendable {
    private let path: String
    private let bytes: Int
    private let directory: String
    private let isHeld = Atomic<Bool>(false)
    private let isMaking = Atomic<Bool>(false)

    init(_ configuration: StorageConfiguration) {
        path = configuration.reservePath
        bytes = configuration.reserveBytes
        directory = configuration.dataDirectory
        isHeld.store(FileSystem.size(path) >= bytes, ordering: .relaxed)
    }

    /// Whether the file is there, so that changes are welcome.
    var isThere: Bool { isHeld.load(ordering: .acquiring) }

    /// Bytes that must be free for it to be made again: others who write need some as well.
    var neededBytes: Int { 2 * bytes }

    /// Gives the room to whoever needs it now.
    func release() {
        isHeld.store(false, ordering: .releasing)
        FileSystem.tryToRemove(path)
    }

    /// Has the file made again if there is room; at most one attempt at a time.
    func restore(_ housekeeper: Housekeeper, wake: @escaping @Sendable () -> Void) {
        guard !isThere, !isMaking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        housekeeper.submit { [self] in
            if hasRoom(), (try? make()) != nil {
                isHeld.store(true, ordering: .releasing)
                wake()
            }
            isMaking.store(false, ordering: .releasing)
        }
    }

    private func hasRoom() -> Bool {
        guard let information = FileSystem.room(directory) else { return false }
        return Int(information.f_bavail) * Int(information.f_frsize) >= neededBytes
    }

    private func make() throws(StorageFault) {
        let descriptor = try FileSystem.open(path, O_RDWR | O_CREAT)
        defer { close(descriptor) }
        guard DiskLimit.admits(descriptor, bytes, at: 0), posix_fallocate(descriptor, 0, off_t(bytes)) == 0 else {
            FileSystem.tryToRemove(path)
            throw FileSystem.fail("posix_fallocate", path)
        }
    }
}
