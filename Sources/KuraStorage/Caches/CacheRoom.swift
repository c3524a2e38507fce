import SQLite

/// A room whose data may be lost: what `Caches` asks of it. Belongs to the loop.
protocol CacheRoom: AnyObject {
    var store: CacheStore { get }
    /// Its files have been read whole since the start.
    var isRead: Bool { get }
    /// CREATE statements of its tables in a file of the cache.
    static var tables: String { get }
    /// Which goes first when space is low: blobs before models.
    var purgeRank: Int { get }
    /// A job of its own has been run.
    /// - Returns: false when the job is another room's.
    func take(_ outcome: CacheOutcome) -> Bool
    /// These files are empty now.
    func filesDropped(_ names: [String])
    /// Gives up about so many bytes of the disk, as far as the turn has time for it.
    /// - Returns: bytes that it has given up; 0 when it has nothing left.
    func purge(bytes: Int) -> Int
    /// That was all that it was asked for.
    func purgeEnded()
    /// Begins to remove what nobody can see any more; it goes on with `upkeep`.
    func beginSweep()
    /// The same of an application's namespaces; of all when that is under way anyway.
    func beginSweep(of application: ApplicationScopes)
    var sweepProgress: CacheSweep { get }
    /// A bounded piece of what is to be done by and by.
    /// - Returns: nanoseconds until it wants to be called again; nil: only a request or a job can give it work.
    func upkeep(_ time: UInt64) -> UInt64?
    /// Hands everything that is not written yet to the thread.
    func close()
}

/// Something that may take a turn's time: a little of it is always done, so that it comes to an end.
struct CacheEffort {
    private let caches: Caches
    private var left: Int

    /// `atLeast`: steps that are taken in any case.
    init(_ caches: Caches, atLeast: Int = 32) {
        self.caches = caches
        left = atLeast
    }

    /// Asked before each step, of about a microsecond.
    mutating func goesOn() -> Bool {
        if left == 0 {
            guard caches.hasTime() else { return false }
            left = 8
        }
        left -= 1
        return true
    }
}

/// How a sweep of a room stands.
public struct CacheSweep: Sendable {
    public var isRunning = false
    /// Entries that were looked at, of so many.
    public var done = 0
    public var total = 0
    /// Entries that were removed, and the bytes that they counted as.
    public var removed = 0
    public var bytes = 0
}

/// A sweep is through, as an answer.
public final class SweepDone: TableQuery {
    public let sweep: CacheSweep
    public var foldedTo: UInt64 { 0 }

    init(_ sweep: CacheSweep) {
        self.sweep = sweep
    }

    public func run(_ tables: TableReader) {}
}

/// Has a thread close files that are not there any more under their names.
final class ForgottenFiles: CacheJob {
    private let names: [String]

    init(_ names: [String]) {
        self.names = names
    }

    func run(_ files: CacheFiles) { for name in names { files.beginAnew(name) } }
}

/// Looks at the room on the disk when all is done that was asked for before.
final class SpaceLook: CacheJob {
    private let space: FreeSpace

    init(_ space: FreeSpace) {
        self.space = space
    }

    func run(_ files: CacheFiles) { space.look() }
}
