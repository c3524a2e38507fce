/// What has come in since the daemon started.
struct Traffic {
    /// Clients that were let in.
    private(set) var connections: UInt64 = 0
    /// Requests whose answering has begun, but for those that wait at present.
    private(set) var requests: UInt64 = 0
    /// Attempts to answer a request, and slices of transfers: each is a number of its own on the write bill.
    private(set) var attempts: UInt64 = 0
    /// Starts of applications that were announced.
    private(set) var launches: UInt64 = 0

    /// Recordings that are told of all of it; nearly always none.
    private(set) var taps: [TrafficTap] = [] { didSet { isTapped = !taps.isEmpty } }
    private(set) var isTapped = false

    /// `bytes`: what waits for all recordings together at most.
    mutating func begin(_ tap: TrafficTap, sharing bytes: Int) {
        taps.append(tap)
        share(bytes)
    }

    mutating func end(_ tap: TrafficTap, sharing bytes: Int) {
        taps.removeAll { $0 === tap }
        share(bytes)
    }

    private func share(_ bytes: Int) { for tap in taps { tap.queue.bound(bytes / taps.count) } }

    mutating func letIn() { connections += 1 }

    mutating func begin() {
        requests += 1
        attempts += 1
    }

    /// A slice of a transfer begins.
    mutating func beginSlice() { attempts += 1 }

    /// The request that was begun last has to wait, and is begun again.
    mutating func putOff() { requests -= 1 }

    mutating func launched() { launches += 1 }
}
