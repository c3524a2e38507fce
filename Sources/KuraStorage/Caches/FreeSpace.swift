import Glibc
import SQLite
import Synchronization

/// How much room the file system has left, and whether that is so little that caches must not take any of it.
///
/// Low below `threshold`, fine again above five quarters of it, so that it does not flicker. What cannot be learnt counts as low: a cache is not worth
/// the write that fails for want of its bytes. Looked at by whichever thread is about to write, and once a second while that matters.
public final class FreeSpace: Sendable {
    private let directory: String
    /// What was configured; nil for the usual.
    private let configured: Int?
    private let low = Atomic<Bool>(false)
    private let freeBytes = Atomic<Int>(0)
    private let totalBytes = Atomic<Int>(0)
    private let changes = Atomic<Int>(0)
    private let neededBytes = Atomic<Int>(0)

    /// Bytes below which space is low when nobody says otherwise, and the part of a small disk.
    package static let usualBytes = 400 << 20
    package static let usualPart = 20

    init(directory: String, minimum: Int?) {
        self.directory = directory
        configured = minimum
        look()
    }

    /// Caches store nothing.
    public var isLow: Bool { low.load(ordering: .relaxed) }
    /// Bytes left for this user; 0 when that cannot be learnt.
    public var free: Int { freeBytes.load(ordering: .relaxed) }
    /// Bytes of the file system.
    public var total: Int { totalBytes.load(ordering: .relaxed) }
    /// How often it has become low.
    public var timesLow: Int { changes.load(ordering: .relaxed) }

    /// Bytes below which space is low.
    public var threshold: Int {
        max(configured ?? min(Self.usualBytes, total / Self.usualPart), neededBytes.load(ordering: .relaxed))
    }
    /// Bytes at which it is fine again, and down to which caches are purged.
    public var ample: Int { threshold + threshold / 4 }

    /// Bytes that caches have to give up for space to be fine again.
    public var missing: Int { isLow ? max(ample - free, 0) : 0 }

    /// Something that must last waits for so many bytes to be free, so with fewer than these space is low, whatever is configured; 0 when nothing waits.
    func need(_ bytes: Int) { neededBytes.store(bytes, ordering: .relaxed) }

    /// From now on there is no more than `bytes` for everything beneath `directory`, as if the disk was full then.
    public static func limit(_ bytes: Int, beneath directory: String) { DiskLimit.set(bytes, beneath: directory) }

    /// Asks the file system, from any thread.
    /// - Returns: whether space is low now.
    @discardableResult
    func look() -> Bool {
        guard FaultPoints.hit(.spaceLook) == nil, let information = FileSystem.room(directory),
            information.f_frsize > 0
        else {
            freeBytes.store(0, ordering: .relaxed)
            note(isLow: true)
            return true
        }
        let unit = Int(information.f_frsize)
        let free = Int(information.f_bavail) * unit
        totalBytes.store(Int(information.f_blocks) * unit, ordering: .relaxed)
        freeBytes.store(free, ordering: .relaxed)
        note(isLow: free < (isLow ? ample : threshold))
        return isLow
    }

    private func note(isLow: Bool) {
        let was = low.exchange(isLow, ordering: .relaxed)
        if isLow, !was { changes.wrappingAdd(1, ordering: .relaxed) }
    }
}
