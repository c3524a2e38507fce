/// What goes on for a connection outside of its turns: transfers, and what other clients fetch for it.
struct OutstandingWork {
    /// Transfers that are under way.
    private(set) var transfers = 0
    /// The one that the next request waits for in its place.
    private(set) var inPlace: Transfer?
    /// Those that `rpc.cancel` ends.
    private(set) var cancellable: [Transfer] = []
    /// Requests that wait for what another client fetches.
    private(set) var parked = 0
    /// The connection has claims that end with it, waits for some, or holds scratch namespaces.
    var holdsCaches = false

    /// No reply is due except to requests that the client still sends.
    var isEmpty: Bool { transfers == 0 && parked == 0 }

    mutating func begin(_ transfer: Transfer) {
        transfers += 1
        if transfer.ticket != nil { inPlace = transfer }
        if transfer.work.isCancellable { cancellable.append(transfer) }
    }

    mutating func end(_ transfer: Transfer) {
        transfers -= 1
        if inPlace === transfer { inPlace = nil }
        if transfer.work.isCancellable { cancellable.removeAll { $0 === transfer } }
    }

    /// A request waits for what another client fetches.
    mutating func park() {
        holdsCaches = true
        parked += 1
    }

    /// One of them is answered.
    mutating func unpark() { parked = max(parked - 1, 0) }

    /// The client is gone: nobody is there to be answered.
    mutating func unparkAll() { parked = 0 }
}
