import KuraBytes
import SQLite
import Synchronization

/// Calls on a descriptor that a client has passed. They may take for ever: the file system behind it may be the client's own.
///
/// One thread at a time is inside of a call; any thread may ask since when.
final class ForeignCalls: Sendable {
    private let began = Atomic<UInt64>(0)
    private let clock: Clock

    init(_ clock: Clock) { self.clock = clock }

    /// When the call that is under way began, by the clock that never goes back; 0 while there is none.
    var since: UInt64 { began.load(ordering: .relaxed) }

    func call<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        began.store(max(1, clock.monotonic), ordering: .relaxed)
        defer { began.store(0, ordering: .relaxed) }
        _ = FaultPoints.hit(.foreignRead)
        return try body()
    }
}

/// Takes a content in, a piece at a time, so that others get their turn in between.
protocol PiecewiseCopy: TableQuery {
    /// The calls on what the content comes from; nil when that is our own memory or file.
    var foreign: ForeignCalls? { get }
    /// Does the next piece. On a thread; a copy that was stopped gives back what it has, and ends.
    /// `isEnding`: asked now and then.
    /// - Returns: whether there is more to do.
    func advance(_ isEnding: () -> Bool) -> Bool
}

extension PiecewiseCopy {
    /// Bytes of a piece: some milliseconds of reading, hashing and writing.
    static var pieceBytes: Int { 4 << 20 }

    /// All of it, on a thread that does nothing else.
    public func run(_ tables: TableReader) throws(QueryError) {
        while advance({ tables.isEnding }) {}
    }
}
