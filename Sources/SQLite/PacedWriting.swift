import CSQLite
import Glibc
import Synchronization

/// Has what is written to a file go to the disk piece by piece, by whoever writes it, instead of all at once at its sync.
///
/// The disk takes what it is given in turn: behind a sync of 64 MiB the log's own waited 15–25 ms, every other second of steady
/// writing. With pieces it waits for one of them at most. What was paced still has to be synced: the file's size may have
/// changed, and the disk's own cache is not flushed here.
///
/// Linux keeps a file's write errors for each of its open descriptions: through a descriptor of its own no error is used up here
/// that the sync through another one is to report.
/// Source: sync_file_range(2).
public struct PacedWriting: ~Copyable {
    /// Bytes after which the writer waits for the disk to have taken them.
    public static let piece = 256 << 10

    /// Whoever writes is behind, and to catch up comes first: pieces are handed to the disk, and nobody waits for them. For the
    /// whole process; from any thread.
    public static var isHurried: Bool {
        get { hurried.load(ordering: .relaxed) }
        set { hurried.store(newValue, ordering: .relaxed) }
    }
    private static let hurried = Atomic<Bool>(false)

    private var written = 0
    private var lower = Int64.max
    private var upper: Int64 = 0

    public init() {}

    /// Takes note of a write; when a piece is full, writes it out and returns when the disk has it.
    /// `descriptor`: of the file, for reading or writing; asked for only when a piece is full, and negative to go without.
    /// - Returns: false when the disk refused some of it. Whoever syncs through another descriptor is told by that; whoever syncs
    ///   through the same is not told again.
    @discardableResult
    public mutating func wrote(_ count: Int, at offset: Int64, to descriptor: () -> Int32) -> Bool {
        written += count
        lower = min(lower, offset)
        upper = max(upper, offset + Int64(count))
        guard written >= Self.piece else { return true }
        let descriptor = descriptor()
        var isWritten = true
        if descriptor >= 0, kura_write_out(descriptor, lower, upper - lower, Self.isHurried ? 0 : 1) != 0 {
            // Where the call is not to be had (ENOSYS, a sandbox) there is no pacing.
            isWritten = ![EIO, ENOSPC, EDQUOT].contains(errno)
        }
        self = PacedWriting()
        return isWritten
    }
}
