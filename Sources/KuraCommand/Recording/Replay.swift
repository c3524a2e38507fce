import CSyscalls
import Glibc
import KuraBytes
import KuraClient
import KuraProtocol

// Safety: `poll` gets an array with its count.

/// Plays recorded traffic into a daemon.
///
/// A request waits for three things: its time, the replies that came before it in the recording, and the daemon's reading of the lines that it read
/// before. So as many requests are under way at once as in the recording, and the daemon begins them in the recorded order. Other threads and the clock
/// may still put their work at other places.
final class Replay {
    enum Speed: Equatable {
        /// So many times as fast.
        case times(Double)
        /// No pause is kept.
        case most
    }

    private let traffic: RecordedTraffic
    private let speed: Speed
    /// By role; what none is for goes to that of `admin`.
    private let sockets: [String: String]
    private var connections: [Int64: ReplayConnection] = [:]
    /// Calls that are under way, by connection and id.
    private var open: [Int64: [[UInt8]: [Int]]] = [:]
    /// Descriptors that came, and no request has taken yet.
    private var descriptors: [Int64: [Int32]] = [:]
    private var minted = MintedValues()
    /// When each call was sent, in nanoseconds; 0: not, or it is done with.
    private var sentAt: [UInt64]
    /// Calls whose reply came by now in the recording, and has not here.
    private var awaited: Set<Int> = []
    private var tally: ReplayTally
    private var heardAt: UInt64 = 0
    /// The connection that the last line was sent on.
    private var last: Int64?

    /// Nanoseconds that replies are waited for when nothing comes at all: longer than any request may wait.
    private let patience: UInt64

    init(_ traffic: RecordedTraffic, to sockets: [String: String], speed: Speed, patience: UInt64 = 660_000_000_000) {
        (self.traffic, self.sockets, self.speed, self.patience) = (traffic, sockets, speed, patience)
        sentAt = Array(repeating: 0, count: traffic.calls.count)
        tally = ReplayTally(traffic)
    }

    deinit {
        for descriptor in descriptors.values.joined() { close(descriptor) }
    }

    /// Plays all of it, or until somebody interrupts it.
    /// - Throws: when there is no daemon.
    func run() throws(Failure) -> ReplayTally {
        let start = monotonicNanoseconds()
        heardAt = start
        for event in traffic.events {
            listen(until: due(event, start))
            if Interruptions.haveCome { break }
            try play(event)
        }
        listen(until: 0)
        tally.nanoseconds = monotonicNanoseconds() - start
        tally.isInterrupted = Interruptions.haveCome
        return tally
    }

    private func due(_ event: RecordedTraffic.Event, _ start: UInt64) -> UInt64 {
        guard case .times(let factor) = speed else { return 0 }
        return start + UInt64(Double(event.at) * 1000 / factor)
    }

    // MARK: Playing

    private func play(_ event: RecordedTraffic.Event) throws(Failure) {
        let number = event.connection
        switch event.kind {
        case .opened(let role):
            connections[number] = try ReplayConnection(to: sockets[role] ?? sockets["admin"] ?? "")
        case .closed:
            awaitEnd(of: number)
            connections[number] = nil
            open[number] = nil
        case .descriptor(let bytes, let isRead):
            if let descriptor = Self.standIn(bytes, isRead: isRead) {
                descriptors[number, default: []].append(descriptor)
            }
        case .request(let line, let calls): send(line, calls, number)
        case .reply(let call): if sentAt[call] > 0 { awaited.insert(call) }
        }
    }

    private func send(_ line: [UInt8], _ calls: Range<Int>, _ number: Int64) {
        guard let connection = connections[number], !connection.isGone else {
            for call in calls {
                tally.sent(call)
                tally.note(call, .unanswered, nanoseconds: nil)
            }
            return
        }
        if let last, last != number { listen(atMost: Self.order) { connections[last]?.hasUnread == true } }
        last = number
        let now = monotonicNanoseconds()
        for call in calls {
            tally.sent(call)
            guard let id = traffic.calls[call].id else { continue }
            sentAt[call] = now
            open[number, default: [:]][id, default: []].append(call)
        }
        connection.send(minted.rewritten(line, number), passing: takeDescriptors(for: line, number))
    }

    /// The stand-ins for what the line's requests were given.
    private func takeDescriptors(for line: [UInt8], _ number: Int64) -> [Int32] {
        guard let waiting = descriptors[number], !waiting.isEmpty else { return [] }
        let wanted = String(decoding: line, as: UTF8.self).ranges(of: "\"fd\":true").count
        descriptors[number] = Array(waiting.dropFirst(wanted))
        return Array(waiting.prefix(wanted))
    }

    /// A file with as many zeros for what was read, nothing for what was written to.
    private static func standIn(_ bytes: Int64, isRead: Bool) -> Int32? {
        guard isRead else {
            let descriptor = unsafe csys_open("/dev/null", O_WRONLY | O_CLOEXEC, 0)
            return descriptor >= 0 ? descriptor : nil
        }
        let descriptor = unsafe csys_unnamed_file(AT_FDCWD, "/tmp", 0o600)
        guard descriptor >= 0 else { return nil }
        guard ftruncate(descriptor, off_t(bytes)) == 0 else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    // MARK: Waiting

    /// Nanoseconds that the next line waits for the order to be the recorded one.
    private static let order: UInt64 = 1_000_000_000

    /// What the daemon lets go of with a connection, it has let go of before the next line comes. A connection with requests under way ends at once, as
    /// it did then.
    private func awaitEnd(of number: Int64) {
        guard let connection = connections[number], open[number]?.values.contains(where: { !$0.isEmpty }) != true else {
            return
        }
        connection.end()
        listen(atMost: Self.order) { connections[number]?.isGone == false }
    }

    /// Takes what comes as long as something holds, and not for longer.
    private func listen(atMost nanoseconds: UInt64, while holds: () -> Bool) {
        let end = monotonicNanoseconds() + nanoseconds
        while holds(), !Interruptions.haveCome, monotonicNanoseconds() < end {
            listen(milliseconds: 0)
            sched_yield()
        }
    }

    /// Takes what comes until the moment is there and no reply is awaited.
    private func listen(until moment: UInt64) {
        while !Interruptions.haveCome {
            let now = monotonicNanoseconds()
            let isDue = now >= moment
            if isDue, awaited.isEmpty {
                // A reply that arrives meanwhile is measured when it arrives.
                listen(milliseconds: 0)
                if awaited.isEmpty { return }
                continue
            }
            if isDue, now - heardAt > patience {
                for call in awaited.sorted() { tally.note(call, .unanswered, nanoseconds: nil) }
                awaited = []
                return
            }
            listen(milliseconds: isDue ? 100 : Int32(clamping: min(100, (moment - now + 999_999) / 1_000_000)))
        }
    }

    private func listen(milliseconds: Int32) {
        let numbers = connections.keys.filter { connections[$0]?.isGone == false }
        var polls = numbers.map { number in
            let wantsRoom = connections[number]?.wantsRoom == true
            return pollfd(
                fd: connections[number]?.descriptor ?? -1, events: Int16(POLLIN | (wantsRoom ? POLLOUT : 0)), revents: 0
            )
        }
        guard unsafe poll(&polls, nfds_t(polls.count), milliseconds) > 0 else { return }
        let now = monotonicNanoseconds()
        heardAt = now
        for (number, poll) in zip(numbers, polls) where poll.revents != 0 {
            guard let connection = connections[number] else { continue }
            if poll.revents & Int16(POLLOUT) != 0 { connection.flush() }
            connection.receive { take($0, number, now) }
            if connection.isGone { lose(number) }
        }
    }

    /// Nothing more is answered there.
    private func lose(_ number: Int64) {
        for call in (open.removeValue(forKey: number) ?? [:]).values.joined() {
            awaited.remove(call)
            sentAt[call] = 0
            if traffic.calls[call].reply != nil { tally.note(call, .unanswered, nanoseconds: nil) }
        }
    }

    // MARK: Replies

    private func take(_ line: [UInt8], _ number: Int64, _ now: UInt64) {
        for reply in JSONElements.read(line) ?? [line] {
            guard let object = JSONObject(reply), object["method"] == nil, let id = object["id"],
                var waiting = open[number]?[id], !waiting.isEmpty
            else { continue }
            let call = waiting.removeFirst()
            open[number]?[id] = waiting.isEmpty ? nil : waiting
            awaited.remove(call)
            let data = object.object("error")?["data"]
            let error = object["error"].map { _ in data.flatMap { JSONObject($0)?.string("kind") } ?? "(no kind)" }
            tally.note(
                call, error.map(ReplayTally.Outcome.error) ?? .result(object["result"] ?? []),
                nanoseconds: now - sentAt[call])
            sentAt[call] = 0
            if let minted = traffic.calls[call].reply?.minted, let found = object["result"] ?? data {
                let method = MintedValues.methods[traffic.calls[call].method]
                self.minted.learn(minted, found, number, isWrite: method?.access == .write && error == nil)
            }
        }
    }
}
