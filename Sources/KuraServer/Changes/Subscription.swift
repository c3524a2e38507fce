import KuraBytes
import KuraStorage

/// What a subscription or a wait wants to see. Equal ones are one object, so that what is rendered for one serves all.
final class ChangeSelector: Hashable {
    let filter: ChangeFilter
    /// Values come along.
    let values: Bool
    /// Bytes that whoever wants it holds, as if nobody shared it.
    let footprint: Int

    init(_ filter: ChangeFilter, values: Bool) {
        self.filter = filter
        self.values = values
        footprint = 256 + filter.prefix.count + (filter.scope?.count ?? 0)
    }

    static func == (left: ChangeSelector, right: ChangeSelector) -> Bool {
        left.filter == right.filter && left.values == right.values
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(filter)
        hasher.combine(values)
    }
}

/// A cursor into the log: there is no queue of events, so one that stalls costs nothing and goes on where it stood.
struct Subscription {
    let number: Int
    var selector: ChangeSelector
    /// Everything up to this revision has been sent, or was not wanted.
    var cursor: UInt64
    /// What the client has been told last, and when.
    var toldRev: UInt64
    var toldAt: UInt64
}

/// A `changes.wait` that has not been answered.
struct ChangeWait {
    let id: [UInt8]
    var selector: ChangeSelector
    var cursor: UInt64
    /// On the clock of `monotonicNow`.
    let deadline: UInt64
}

/// What one connection reads of the feed.
struct ConnectionFeed {
    var subscriptions: ContiguousArray<Subscription> = []
    var waits: ContiguousArray<ChangeWait> = []
    var live: ContiguousArray<LiveSubscription> = []
    /// Numbers are never used again.
    private(set) var lastNumber = 0
    /// Which subscription is served first, so that none starves when there is not room for all.
    var first = 0
    var firstLive = 0
    /// It was passed over because its output is full or a batch is under way.
    var isBlocked = false

    /// Bytes of memory that it takes; whoever adds or removes one changes it.
    var footprint = 0
    var count: Int { subscriptions.count + waits.count + live.count }
    var isEmpty: Bool { subscriptions.isEmpty && waits.isEmpty && live.isEmpty }

    mutating func takeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }
}
