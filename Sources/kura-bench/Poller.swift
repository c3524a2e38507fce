import Glibc

// Safety: `write` gets a literal with its length.

/// Waits for the generator's connections: epoll, or nothing at all when a single connection blocks in read.
struct Poller {
    let blocking: Bool
    private let epoll: Epoll

    init(blocking: Bool) throws {
        self.blocking = blocking
        epoll = try Epoll(capacity: 512)
        Poller.refuseTimerSlack()
    }

    /// Connects and watches a connection; the caller closes its descriptor.
    func open(_ path: String, index: Int) throws -> Int32 {
        let socket = try Socket(path: path)
        if blocking {
            try socket.limitReads(toSeconds: 30)
        } else {
            try socket.makeNonBlocking()
            try epoll.control(.add, socket.descriptor, .bytes, tag: UInt32(index))
        }
        return socket.release()
    }

    /// Also reports (or no longer reports) that a connection takes more bytes.
    func watchRoom(_ socket: Int32, index: Int, _ watch: Bool) throws {
        try epoll.control(.modify, socket, watch ? .bytesAndRoom : .bytes, tag: UInt32(index))
    }

    /// Waits for events, at most so long.
    ///
    /// - Returns: how many there are; `index` tells whose.
    @inline(__always)
    func wait(nanoseconds: UInt64) throws -> Int {
        blocking ? 1 : try epoll.wait(nanoseconds: nanoseconds)
    }

    /// The connection that an event of the last wait is about.
    @inline(__always)
    func index(_ event: Int) -> Int {
        blocking ? 0 : Int(epoll.tag(of: event))
    }

    /// Lets an open loop wake when a request is due and not 50 µs later; where it cannot be had, latency tells.
    private static func refuseTimerSlack() {
        let file = unsafe Glibc.open("/proc/self/timerslack_ns", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        _ = unsafe write(file, "1", 1)
        close(file)
    }
}
