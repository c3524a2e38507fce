/// Why changes could not be read.
public enum ChangesError: Error, Equatable, Sendable {
    /// The changes after that revision are no longer kept: `oldestRev` is the smallest that still has all of them.
    case compacted(oldestRev: UInt64)
    /// They are on the disk: have them read (`Storage.warm`), then ask again.
    case cold
    /// They cannot be read yet, through no fault of the request.
    case overloaded
    /// A closed segment could not be read.
    case damagedLog
}
