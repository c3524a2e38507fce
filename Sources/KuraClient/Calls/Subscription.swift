import KuraBytes
import KuraProtocol
import Synchronization

/// What one subscriber asks for, how far it has been told, and what it has been told and has not read yet.
///
/// Safe to share: all variables are used with the link's lock held.
final class Subscription: @unchecked Sendable {
    /// Each store counts its subscriptions by itself.
    enum Family: Hashable, Sendable {
        case changes, documents

        init?(_ name: Bytes) {
            if name.equals("changes") {
                self = .changes
            } else if name.equals("documents") {
                self = .documents
            } else {
                return nil
            }
        }

        var name: StaticString { self == .changes ? "changes" : "documents" }
    }
    struct Number: Hashable, Sendable {
        var family: Family
        var value: Int64
    }
    enum Event: Sendable {
        /// A notification's name behind the dot, and its parameters.
        case told(String, [UInt8])
        case progress(Int64)
        case resync(Resync)

        var bytes: Int {
            if case .told(_, let text) = self { text.count + 64 } else { 64 }
        }
    }

    let family: Family
    /// What is asked for: members of an object, without brackets.
    let members: [UInt8]
    var number: Number?
    /// What follows this revision, of this history, is to be told.
    var rev: Int64?
    var epoch: String?
    /// Everything up to here has been read.
    var readRev: Int64?
    var readEpoch: String?
    /// Why something was missed, until that is told.
    var missed: Resync.Reason?
    /// The daemon has been asked.
    var isBegun = false
    /// The daemon had too much to do: it is asked again in a moment.
    var isPutOff = false
    /// More has come than is kept for somebody who does not read: it begins again from what was read when somebody does.
    var isOverfull = false
    var isEnded = false
    var failure: KuraError?
    var readers: [Waiter<Void>] = []
    private var backlog: ContiguousArray<Event> = []
    private var first = 0
    private var bytes = 0

    /// Bytes that are kept for somebody who does not read.
    private static let limit = 8 << 20

    init(_ family: Family, members: [UInt8], rev: Int64?, epoch: String?) {
        self.family = family
        self.members = members
        self.rev = rev
        self.epoch = epoch
        readRev = rev
        readEpoch = epoch
    }

    /// - Returns: false when it is too much.
    func push(_ event: Event) -> Bool {
        backlog.append(event)
        bytes += event.bytes
        guard bytes > Self.limit, backlog.count - first > 1 else { return true }
        forget()
        return false
    }

    /// The next event, which counts as read from now on: what comes meanwhile may be too much, and then it begins again behind this one.
    func pop() -> Event? {
        guard first < backlog.count else { return nil }
        let event = backlog[first]
        reach(event)
        first += 1
        bytes -= event.bytes
        if first == backlog.count {
            backlog.removeAll(keepingCapacity: true)
            first = 0
        } else if first >= 1024 {
            backlog.removeFirst(first)
            first = 0
        }
        return event
    }

    private func reach(_ event: Event) {
        switch event {
        case .told(_, let params): readRev = Link.rev(params) ?? readRev
        case .progress(let rev): readRev = rev
        case .resync(let resync): (readRev, readEpoch) = (resync.rev, resync.epoch)
        }
    }

    private func forget() {
        // A `resync` that was not read is told again, by beginning where the daemon is: what was read before may be of another history.
        for case .resync(let resync) in backlog[first...] { missed = resync.reason }
        backlog = []
        first = 0
        bytes = 0
    }
}

/// Subscriptions on the link: all but `begin`, `end` and `next` with the lock held.
extension Link {
    /// Begins one, and keeps it going over connections until `end`.
    func begin(_ subscription: Subscription) {
        lock.withLock { _ in
            guard phase != .closed else {
                subscription.isEnded = true
                return
            }
            subscriptions[ObjectIdentifier(subscription)] = subscription
            if phase == .connected { subscribe(subscription) } else { hurry(to: .max) }
        }
        flush()
    }

    /// Nobody reads any more.
    func end(_ subscription: Subscription) {
        lock.withLock { _ in
            subscription.isEnded = true
            subscriptions[ObjectIdentifier(subscription)] = nil
            unsubscribe(subscription)
        }
        flush()
    }

    /// The next event, waited for; nil at the end.
    func next(_ subscription: Subscription) async throws(KuraError) -> Subscription.Event? {
        while !Task.isCancelled {
            let (event, failure, isOver) = lock.withLock { _ in
                if let event = subscription.pop() { return (Optional(event), nil as KuraError?, false) }
                if subscription.isOverfull {
                    subscription.isOverfull = false
                    if phase == .connected { subscribe(subscription) }
                }
                return (nil, subscription.failure, subscription.isEnded)
            }
            if let event {
                flush()
                return event
            }
            if let failure { throw failure }
            if isOver { return nil }
            flush()
            await withTaskCancellationHandler {
                await wait { (waiter: Waiter<Void>) in
                    let isKnown = lock.withLock { _ in
                        let isKnown = subscription.hasNews || Task.isCancelled
                        if !isKnown { subscription.readers.append(waiter) }
                        return isKnown
                    }
                    if isKnown { waiter.resume() }
                }
            } onCancel: {
                let readers = lock.withLock { _ in
                    let readers = subscription.readers
                    subscription.readers = []
                    return readers
                }
                for reader in readers { reader.resume() }
            }
        }
        return nil
    }

    // MARK: With the lock held

    /// Asks the daemon, from where the subscription is.
    func subscribe(_ subscription: Subscription) {
        guard !subscription.isBegun, !subscription.isEnded, !subscription.isOverfull, subscription.failure == nil else {
            return
        }
        subscription.isBegun = true
        let call = free.popLast() ?? PendingCall(place: calls.count)
        if call.place == calls.count { calls.append(call) }
        number(call)
        call.subscription = subscription
        call.request.append(",\"method\":\"")
        call.request.append(subscription.family.name)
        call.request.append(".watch\",\"params\":{")
        call.request.append(subscription.members)
        if let rev = subscription.rev, subscription.missed == nil {
            call.request.append(subscription.members.isEmpty ? "\"afterRev\":" : ",\"afterRev\":")
            call.request.append(integer: rev)
            if let epoch = subscription.epoch {
                call.request.append(",\"epoch\":")
                call.request.append(quoted: epoch)
            }
        }
        call.request.append("}}\n")
        put(call)
    }

    private func unsubscribe(_ subscription: Subscription) {
        guard let number = subscription.number else { return }
        subscription.number = nil
        subscription.isBegun = false
        guard told[number] === subscription else { return }
        told[number] = nil
        guard phase == .connected else { return }
        output.append("{\"jsonrpc\":\"2.0\",\"method\":\"")
        output.append(number.family.name)
        output.append(".unwatch\",\"params\":{\"subscription\":")
        output.append(integer: number.value)
        output.append("}}\n")
    }

    /// The daemon's answer to `subscribe`.
    func answered(_ subscription: Subscription, _ outcome: PendingCall.Outcome, _ text: [UInt8]) {
        guard outcome == .result else { return refused(subscription, KuraError(answer: text, method: "changes.watch")) }
        guard let result = JSONObject(text), let value = result.integer("subscription"), let rev = result.integer("rev")
        else {
            return fail(
                subscription,
                KuraError(.badReply, "the answer to a subscription has no number", method: "changes.watch"))
        }
        let number = Subscription.Number(family: subscription.family, value: value)
        subscription.number = number
        told[number] = subscription
        guard !subscription.isEnded else { return unsubscribe(subscription) }
        subscription.epoch = result.string("epoch")
        if let reason = subscription.missed {
            subscription.missed = nil
            subscription.rev = rev
            push(subscription, .resync(Resync(reason: reason, rev: rev, epoch: subscription.epoch ?? "")))
        } else if subscription.rev == nil {
            subscription.rev = rev
            subscription.readRev = rev
            push(subscription, .progress(rev))
        }
        if subscription.readEpoch == nil { subscription.readEpoch = subscription.epoch }
    }

    private func refused(_ subscription: Subscription, _ error: KuraError) {
        subscription.isBegun = false
        // A subscription without a revision would be refused again for the same reason.
        let hasNamedRev = subscription.rev != nil && subscription.missed == nil
        switch error.kind {
        case .epochChanged where hasNamedRev: subscription.missed = .epochChanged
        case .compacted where hasNamedRev: subscription.missed = .compacted
        // A revision that has not been given out: it is of another history.
        case .invalidParams where hasNamedRev && error.parameter == "afterRev": subscription.missed = .epochChanged
        case .overloaded, .shuttingDown:
            subscription.isPutOff = true
            return hurry(to: Clock.now() + 200_000_000)
        default: return fail(subscription, error)
        }
        subscribe(subscription)
    }

    /// A notification for one.
    func tell(_ subscription: Subscription, _ event: String, _ params: [UInt8]) {
        switch event {
        case "overflow":
            let rev = JSONObject(params)?.integer("resyncRev") ?? subscription.rev ?? 0
            subscription.rev = rev
            push(subscription, .resync(Resync(reason: .overflow, rev: rev, epoch: subscription.epoch ?? "")))
        case "lost":
            let rev = JSONObject(params)?.integer("toRev") ?? subscription.rev ?? 0
            subscription.rev = rev
            push(subscription, .resync(Resync(reason: .lost, rev: rev, epoch: subscription.epoch ?? "")))
        case "ended":
            fail(
                subscription,
                KuraError(answer: JSONObject(params)?["error"] ?? [], method: "\(subscription.family.name).watch"))
        default:
            if let rev = Self.rev(params) { subscription.rev = rev }
            push(subscription, .told(event, params))
        }
    }

    /// `rev` of a notification's parameters, which stands behind the subscription's number.
    fileprivate static func rev(_ params: [UInt8]) -> Int64? {
        let fast: Int64? = params.withBytes { bytes in
            guard let comma = bytes.firstIndex(of: UInt8(ascii: ",")) else { return nil }
            let rest = bytes.extracting(comma..<bytes.count)
            guard rest.starts(with: Bytes(",\"rev\":")) else { return nil }
            var (position, rev) = (7, Int64(0))
            while position < rest.count, rest[position] &- UInt8(ascii: "0") < 10, rev < 1 << 53 {
                rev = rev * 10 + Int64(rest[position] &- UInt8(ascii: "0"))
                position += 1
            }
            return position > 7 ? rev : nil
        }
        return fast ?? JSONObject(params)?.integer("rev")
    }

    private func push(_ subscription: Subscription, _ event: Subscription.Event) {
        if !subscription.push(event) {
            subscription.isOverfull = true
            subscription.rev = subscription.readRev
            unsubscribe(subscription)
        }
        wake(subscription)
    }

    private func wake(_ subscription: Subscription) {
        wokenReaders += subscription.readers
        subscription.readers = []
    }

    /// It ends with an error.
    func fail(_ subscription: Subscription, _ error: KuraError) {
        subscription.failure = error
        subscriptions[ObjectIdentifier(subscription)] = nil
        unsubscribe(subscription)
        wake(subscription)
    }

    /// It ends as if nothing more happened.
    func finish(_ subscription: Subscription) {
        subscription.isEnded = true
        wake(subscription)
    }
}

extension Subscription {
    var hasNews: Bool { first < backlog.count || failure != nil || isEnded || isOverfull }
}
