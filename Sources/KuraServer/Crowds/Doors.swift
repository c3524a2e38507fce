import KuraBytes
import KuraSocket
import KuraTransport

/// Where clients come in: when somebody is let in, when nobody is for a while, and those who were refused and do not know it yet.
struct Doors: ~Copyable {
    /// None any more once the daemon drains.
    private(set) var sockets: [DaemonSocket]
    /// Clients wait to be let in.
    var isDue = false
    /// The sockets are not looked at before; nil while they are.
    private var againAt: UInt64?
    /// A test has asked for it: clients find no daemon for a while.
    private var isShut = false
    /// Since when no client can be taken in for want of descriptors; 0: they can.
    private var exhaustedAt: UInt64 = 0
    private var spare = SpareDescriptor()
    private var lingering = LingeringSockets()
    /// A client that was refused has sent something, or gone.
    var isLingeringDue = false
    var refusalLog = LogThrottle()
    var shareLog = LogThrottle()

    /// Nanoseconds for which the kernel keeps clients waiting while there is no room.
    static let pause: UInt64 = 4_000_000
    /// The same when the loop cannot look at the sockets again.
    private static let longPause: UInt64 = 1_000_000_000
    /// Nanoseconds for which nobody is refused for descriptors that are being closed.
    static let patience: UInt64 = 1_000_000_000
    /// So many that wait to be closed may be with one who lets us wait for it.
    private static let fewDescriptors = 64

    init(_ sockets: [DaemonSocket]) { self.sockets = sockets }

    /// All of them; each comes first in its turn, so that a crowd at one does not keep another waiting.
    func inOrder(turn: UInt32) -> [DaemonSocket] {
        guard sockets.count > 1 else { return sockets }
        let first = Int(turn) % sockets.count
        return Array(sockets[first...] + sockets[..<first])
    }

    /// Takes them out: nobody else is let in.
    mutating func takeAll(_ loop: EventLoop) -> [DaemonSocket] {
        defer { sockets = [] }
        leave(loop)
        return sockets
    }

    // MARK: Watching

    func watch(_ loop: EventLoop) throws(SystemError) {
        for socket in sockets { try loop.add(socket.listener.descriptor, token: Server.socketsToken, .read) }
    }

    private func leave(_ loop: EventLoop) {
        for socket in sockets where socket.listener.descriptor >= 0 { loop.remove(socket.listener.descriptor) }
    }

    /// There is no room. Level-triggered: without a pause the loop would do nothing else but refuse.
    mutating func pause(_ loop: EventLoop, _ clock: Clock) {
        guard againAt == nil, !sockets.isEmpty else { return }
        leave(loop)
        againAt = clock.monotonic + Self.pause
    }

    /// Somebody has gone: a pause that lasts is over.
    mutating func hurry() {
        if againAt != nil, !isShut { againAt = 0 }
    }

    /// Until then clients find no daemon. Those at a socket that was passed wait: it is somebody else's to take away.
    mutating func shut(until time: UInt64, _ loop: EventLoop) {
        leave(loop)
        for socket in sockets where socket.listener.path != nil { socket.close() }
        (isShut, isDue, againAt) = (true, false, time)
    }

    /// Clients are let in, and none that was refused lingers.
    var isQuiet: Bool { againAt == nil && lingering.isEmpty }

    /// The sockets are not looked at for now.
    var isPaused: Bool { againAt != nil }

    /// Looks at the sockets again when a pause is over.
    mutating func resumeIfDue(_ loop: EventLoop, _ clock: Clock) {
        guard let at = againAt, at <= clock.monotonic else { return }
        againAt = nil
        spare.refill()
        do {
            if isShut { for socket in sockets { try socket.open() } }
            isShut = false
            try watch(loop)
        } catch {
            // Without memory for it now: later.
            leave(loop)
            againAt = clock.monotonic + Self.longPause
        }
    }

    // MARK: Descriptors

    enum Exhausted: Equatable {
        /// Some have been closed: another client may be taken in.
        case again
        /// There is room in some milliseconds.
        case pause
        /// The client is told.
        case refuse
    }

    /// There was a descriptor for a client.
    mutating func hasTakenIn() { exhaustedAt = 0 }

    /// There is no descriptor for a client.
    mutating func exhausted(_ loop: EventLoop, _ clock: Clock) -> Exhausted {
        // Those who stay a while only to hear that they are refused make room first.
        if lingering.removeAll(loop) { return .again }
        // Nor is anybody sent away for descriptors that are being closed.
        let time = clock.monotonic
        if exhaustedAt == 0 { exhaustedAt = time }
        return time - exhaustedAt < Self.patience && DescriptorCloser.waiting > Self.fewDescriptors ? .pause : .refuse
    }

    /// Gives the spare descriptor's place to the next client, who is told in it that there is no room. `returnSpare` comes when that is done.
    /// - Returns: false when there is none.
    mutating func lendSpare() -> Bool {
        if spare.lend() { return true }
        spare.refill()
        return false
    }

    mutating func returnSpare() { spare.refill() }

    // MARK: Refused clients

    /// The client has been told, and may still write.
    mutating func linger(_ socket: consuming Socket, _ loop: EventLoop, _ clock: Clock) {
        lingering.take(socket, at: clock.monotonic, loop, token: Server.lingeringToken)
    }

    /// Reads on in their sockets.
    /// `scratch`: room that nobody else uses meanwhile.
    mutating func drainLingering(_ scratch: inout ByteBuffer, _ loop: EventLoop, _ clock: Clock) {
        guard !lingering.isEmpty else { return }
        let time = clock.monotonic
        guard isLingeringDue || lingering.timeToNext(at: time) == 0 else { return }
        isLingeringDue = false
        lingering.drain(at: time, &scratch, loop)
    }

    /// When there is something to do; `UInt64.max`: never.
    func next(at time: UInt64) -> UInt64 {
        min(againAt ?? .max, lingering.timeToNext(at: time).map { time + $0 } ?? .max)
    }
}
