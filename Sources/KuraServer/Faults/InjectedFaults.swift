import KuraBytes
import KuraProtocol

/// The faults that a test has injected and that are not over: a value without I/O. Times are nanoseconds on the monotonic clock.
struct InjectedFaults {
    struct Fault: Equatable {
        let id: Int
        let kind: Method.FaultKind
        /// Position of the method whose requests it strikes; nil: all.
        var method: Int?
        /// How many requests it strikes yet; nil: as long as it is there.
        var left: Int?
        var milliseconds: Int?
        /// When it is over by itself; nil: never.
        var until: UInt64?

        fileprivate func strikes(_ method: Int) -> Bool { self.method == nil || self.method == method }
    }
    private(set) var all: ContiguousArray<Fault> = []
    private var lastID = 0

    /// More would be forgotten ones.
    static let most = 1000

    /// - Returns: its number; nil when there are too many.
    mutating func add(
        _ kind: Method.FaultKind, method: Int? = nil, count: Int? = nil, milliseconds: Int? = nil, at time: UInt64
    ) -> Int? {
        expire(at: time)
        guard all.count < Self.most else { return nil }
        lastID += 1
        // A slow daemon is slow for a while; what else strikes requests is mostly one's.
        let left = kind.strikesRequests && kind != .slow ? count ?? 1 : count
        let lasts = kind == .full || kind == .gone
        let until = lasts ? milliseconds.map { time.later(by: .nanoseconds(milliseconds: $0)) } : nil
        all.append(
            Fault(id: lastID, kind: kind, method: method, left: left, milliseconds: milliseconds, until: until))
        return lastID
    }

    /// `id`: of one; nil: all.
    /// - Returns: those that have ended by it.
    mutating func clear(_ id: Int?, at time: UInt64) -> ContiguousArray<Fault> {
        expire(at: time)
        let cleared = all.filter { id == nil || $0.id == id }
        all.removeAll { id == nil || $0.id == id }
        return ContiguousArray(cleared)
    }

    mutating func expire(at time: UInt64) { all.removeAll { fault in fault.until.map { time >= $0 } ?? false } }

    /// The oldest fault of a kind that strikes a request of the method.
    func first(_ kind: Method.FaultKind, striking method: Int) -> Fault? {
        all.first { $0.kind == kind && $0.strikes(method) }
    }

    /// It has struck a request.
    mutating func strike(_ fault: Fault) {
        guard let place = all.firstIndex(where: { $0.id == fault.id }), let left = all[place].left else { return }
        if left > 1 { all[place].left = left - 1 } else { all.remove(at: place) }
    }
}
