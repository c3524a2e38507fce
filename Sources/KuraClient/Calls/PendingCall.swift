import KuraBytes
import KuraProtocol

/// One request, from its first byte to its reply's last. There are as many as are under way at once; each is used again.
///
/// Safe to share: whoever has taken it from the link is alone with it, but from `admit` until it is told the outcome, when the link is, under its
/// lock. `place` never changes.
final class PendingCall: @unchecked Sendable {
    enum Phase: UInt8 {
        /// With its caller, or with nobody.
        case idle
        /// Waits for a connection, or for room on it.
        case queued
        case sent
        /// Answered, or given up.
        case done
    }

    enum Outcome: UInt8, Sendable {
        /// `reply` is the result.
        case result
        /// `reply` is the error.
        case error
        /// The connection was lost before the reply came.
        case lost
        /// `failure` says why.
        case failed
        /// No reply in time. The call is its caller's no more.
        case late
        /// The task was cancelled. The call is its caller's no more.
        case cancelled
    }

    let place: Int
    var phase = Phase.idle
    var outcome = Outcome.lost
    /// Nobody waits for the reply any more, which is still to come.
    var isAbandoned = false
    /// It was abandoned before its caller waited: that has yet to be told.
    var isOwed = false
    /// A descriptor is to come with the reply.
    var wantsDescriptor = false
    var id: Int64 = 0
    /// What follows the id in the line, line end included.
    var request = ByteBuffer()
    var reply = ByteBuffer()
    /// Nanoseconds, as `Clock` has them.
    var deadline = Int64.max
    var queuedAt: Int64 = 0
    var passing: OwnedDescriptor?
    var received: OwnedDescriptor?
    var failure: KuraError?
    var waiter: Waiter<Outcome>?
    /// What it makes of its connection when it succeeds.
    var standing: StandingState.Change?
    /// What it subscribes, when it is a subscription's.
    var subscription: Subscription?
    /// The one behind it in the queue.
    var next: PendingCall?
    /// Scratch of whoever reads the reply.
    let names = NameStack()

    init(place: Int) { self.place = place }

    /// Memory that one large call has left behind is given back.
    private static let keptBytes = 64 << 10

    /// Makes it ready for its next user, but for `phase`, which the link's thread looks at whoever has the call: it is set under the lock.
    func clear() {
        isAbandoned = false
        isOwed = false
        wantsDescriptor = false
        deadline = .max
        passing = nil
        received = nil
        failure = nil
        standing = nil
        subscription = nil
        next = nil
        if request.capacity > Self.keptBytes { request.releaseMemory() } else { request.removeAll() }
        if reply.capacity > Self.keptBytes { reply.releaseMemory() } else { reply.removeAll() }
        request.wipes = false
        reply.wipes = false
    }
}
