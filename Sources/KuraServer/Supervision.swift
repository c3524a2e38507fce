import KuraBytes
import KuraSocket
import KuraStorage
import KuraTransport

/// Those who run the daemon: what they ask of it, and what the service manager is told, and when. Belongs to the loop.
final class Supervision {
    private let manager: ServiceManager
    /// A signalfd; -1 for a daemon that gets no signals.
    private let signals: Int32
    /// How such a daemon is ended; nil for others.
    private let stopRequest: StopRequest?
    /// When the next sign of life is due; nil when none is wanted.
    private var nextSign: UInt64?
    /// The manager has been told of the end, which nothing takes back.
    private var isStopping = false

    init(_ manager: ServiceManager, signals: Int32 = -1, stopRequest: StopRequest? = nil) {
        self.manager = manager
        self.signals = signals
        self.stopRequest = stopRequest
    }

    // MARK: What is asked

    func watch(_ loop: EventLoop, token: UInt64) throws(SystemError) {
        if signals >= 0 { try loop.add(signals, token: token, .read) }
    }

    /// The next signal that came; nil when there is none.
    func nextSignal() -> Int32? { Signals.next(signals) }

    /// The daemon is to drain, without any signal.
    var isToStop: Bool { stopRequest?.isMade == true }

    // MARK: What is told

    /// Clients can connect, and are answered.
    func ready(_ clock: Clock, _ status: @autoclosure () -> String) {
        guard manager.isThere, !isStopping else { return }
        manager.tell("READY=1", "STATUS=\(status())")
        if manager.watchdogInterval != nil { nextSign = clock.monotonic }
    }

    func reloading() {
        guard manager.isThere, !isStopping else { return }
        // The same clock as the manager's, so that it can tell this reload from others.
        manager.tell(
            "RELOADING=1", "MONOTONIC_USEC=\(Clock.system.monotonic / 1000)", "STATUS=reading the configuration again")
    }

    func stopping() {
        isStopping = true
        manager.tell("STOPPING=1", "STATUS=draining")
    }

    /// A turn of the loop is over. Signs of life come from here and from nowhere else: a loop that is stuck gives none.
    func turnEnded(_ clock: Clock) {
        guard let due = nextSign, let interval = manager.watchdogInterval else { return }
        let time = clock.monotonic
        guard time >= due else { return }
        manager.tell("WATCHDOG=1")
        nextSign = time + interval
    }

    /// Nanoseconds until the loop has to take a turn for the next sign; nil when it need not.
    func timeToNext(at time: UInt64) -> UInt64? {
        nextSign.map { $0 > time ? $0 - time : 0 }
    }
}
