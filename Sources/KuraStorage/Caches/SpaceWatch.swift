/// When the room on the disk is looked at, and how much of it the caches are still to give up. Decides, and does no I/O. Belongs to the loop.
final class SpaceWatch {
    /// Has the space looked at, on a thread that may wait.
    private let look: () -> Void
    private var lookAt: UInt64 = 0
    /// Somebody is about to write.
    var hasWritten = false
    private var wasLow = false
    private var purgeAt: UInt64 = 0
    /// Bytes that are still to be given up.
    private(set) var purgeLeft = 0
    /// What was given up last is still on its way off the disk.
    private var isPurging = false
    /// Bytes that were given up since the start.
    private(set) var purgedBytes = 0

    /// Nanoseconds between two looks at the space while it matters.
    private static let lookTime: UInt64 = 1_000_000_000

    init(look: @escaping () -> Void) { self.look = look }

    /// The space is looked at next time, though no cache is about to write.
    func hurry() {
        hasWritten = true
        lookAt = 0
    }

    /// - Returns: whether space has become low, or is not low any more.
    func hasTurned(isLow: Bool) -> Bool {
        defer { wasLow = isLow }
        return isLow != wasLow
    }

    /// Has the space looked at when it is time.
    func lookIfDue(_ time: UInt64) {
        guard time >= lookAt else { return }
        lookAt = time + Self.lookTime
        hasWritten = false
        look()
    }

    /// Decides how much is to be given up.
    /// `missing`: bytes that lack for space to be fine again.
    func plan(_ time: UInt64, isLow: Bool, missing: Int) {
        if isLow, missing > 0, time >= purgeAt, !isPurging, purgeLeft == 0 {
            purgeAt = time + Self.lookTime / 4
            purgeLeft = missing
        }
        if !isLow { purgeLeft = 0 }
    }

    /// Bytes were given up; 0 when nobody has any more.
    /// - Returns: whether that was all.
    func noteGiven(_ bytes: Int) -> Bool {
        purgedBytes += bytes
        purgeLeft = bytes == 0 ? 0 : max(purgeLeft - bytes, 0)
        // What was given up shows when the thread is through with it: before that it would be given up once more.
        if purgeLeft == 0 { isPurging = true }
        return purgeLeft == 0
    }

    /// What was given up is off the disk.
    func noteGone() { isPurging = false }

    /// Nanoseconds until there is something to do.
    func wait(_ time: UInt64) -> UInt64 { purgeLeft > 0 ? 0 : max(lookAt, time) - time }
}
