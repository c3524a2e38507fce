import KuraBytes
import KuraClient
import KuraProtocol

/// The result of a replay: for each method the latencies in the recording and now, and the outcomes that differ.
struct ReplayTally {
    enum Outcome {
        /// Its JSON text.
        case result([UInt8])
        case error(String)
        /// The daemon closed the connection, or said nothing.
        case unanswered

        var word: String {
            switch self {
            case .result: "a result"
            case .error(let kind): kind
            case .unanswered: "no reply"
            }
        }
    }

    struct Line {
        var requests = 0
        var recorded = Histogram()
        var replayed = Histogram()
        /// The calls of each.
        var differences: [Difference: [Int]] = [:]
    }

    let traffic: RecordedTraffic
    private(set) var lines: [String: Line] = [:]
    /// Requests that both have a reply to, or that have none here.
    private(set) var compared = 0
    var nanoseconds: UInt64 = 0
    var isInterrupted = false

    init(_ traffic: RecordedTraffic) { self.traffic = traffic }

    var requests: Int { lines.values.reduce(0) { $0 + $1.requests } }
    var differences: Int { lines.values.reduce(0) { $0 + $1.differences.values.reduce(0) { $0 + $1.count } } }

    /// Why the run does not speak for all of what was recorded; nil when it does.
    var shortfall: String? {
        if isInterrupted { return "interrupted after \(requests) of \(Self.count(traffic.calls.count, "request"))" }
        if traffic.calls.isEmpty { return "the recording has no requests" }
        if compared == 0 { return "the recording has no replies" }
        if !traffic.isWhole { return "the recording was cut off" }
        if traffic.dropped > 0 { return "the recording lacks \(traffic.dropped) requests and replies" }
        return nil
    }

    /// All that was recorded was answered as it was then.
    var isSame: Bool { differences == 0 && shortfall == nil }

    mutating func sent(_ call: Int) { lines[traffic.calls[call].method, default: Line()].requests += 1 }

    /// - Parameters:
    ///   - call: which.
    ///   - outcome: what it was answered.
    ///   - nanoseconds: how long that took.
    mutating func note(_ call: Int, _ outcome: Outcome, nanoseconds: UInt64?) {
        let recorded = traffic.calls[call]
        var line = lines[recorded.method, default: Line()]
        defer { lines[recorded.method] = line }
        if let nanoseconds { line.replayed.record(nanoseconds) }
        // What was under way when the recording ended is compared with nothing.
        guard let reply = recorded.reply else { return }
        if nanoseconds != nil { line.recorded.record((reply.at - min(reply.at, recorded.at)) * 1000) }
        compared += 1
        guard let difference = Difference(recorded.method, reply, outcome) else { return }
        line.differences[difference, default: []].append(call)
    }
}
