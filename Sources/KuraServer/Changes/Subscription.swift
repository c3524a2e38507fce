import KuraBytes
import KuraProtocol
import KuraStorage

/// The parts of a change that a reader of the feed asks for.
struct ChangeDetails: OptionSet, Hashable {
    var rawValue: UInt8
    static let values = ChangeDetails(rawValue: 1)
    /// The members in which a document differs.
    static let members = ChangeDetails(rawValue: 2)
}

/// What a subscription or a wait wants to see. Equal ones are one object, so that what is rendered for one serves all. Belongs to
/// the loop.
final class ChangeSelector: Hashable {
    let filter: ChangeFilter
    let details: ChangeDetails
    /// Bytes that whoever wants it holds, as if nobody shared it.
    let footprint: Int
    /// Of filter and details. Computed once: a set of tens of thousands grows between two requests.
    private let hash: Int
    /// Subscriptions and waits that have it.
    fileprivate(set) var uses = 0

    init(_ filter: ChangeFilter, _ details: ChangeDetails) {
        self.filter = filter
        self.details = details
        var hasher = Hasher()
        hasher.combine(filter)
        hasher.combine(details)
        hash = hasher.finalize()
        footprint = 256 + filter.prefix.count + (filter.scope?.count ?? 0)
    }

    static func == (left: ChangeSelector, right: ChangeSelector) -> Bool {
        left === right || left.hash == right.hash && left.details == right.details && left.filter == right.filter
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

/// The selectors that somebody has.
struct ChangeSelectors {
    private var all: Set<ChangeSelector> = []
    /// How often each cache is watched.
    private var caches: [CacheSources: Int] = [:]
    /// Caches that somebody watches.
    private(set) var watchedCaches: CacheSources = []

    var count: Int { all.count }

    /// The one object that stands for all equal ones; whoever keeps it says so by `retain`.
    func find(_ filter: ChangeFilter, _ details: ChangeDetails) -> ChangeSelector {
        let wanted = ChangeSelector(filter, details)
        return all.firstIndex(of: wanted).map { all[$0] } ?? wanted
    }

    mutating func retain(_ selector: ChangeSelector) {
        selector.uses += 1
        if selector.uses == 1 { all.insert(selector) }
        if selector.filter.isOfCaches { count(selector.filter.caches, 1) }
    }

    private mutating func count(_ sources: CacheSources, _ difference: Int) {
        for source in CacheSources.all where sources.contains(source) {
            caches[source, default: 0] += difference
            if caches[source] == 0 { watchedCaches.remove(source) } else { watchedCaches.insert(source) }
        }
    }

    mutating func release(_ selector: ChangeSelector) {
        selector.uses -= 1
        if selector.filter.isOfCaches { count(selector.filter.caches, -1) }
        guard selector.uses == 0, let index = all.firstIndex(of: selector), all[index] === selector else { return }
        all.remove(at: index)
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
    /// It may see other things than before: its client is told to read anew what is up to `cursor`.
    var mustResync = false
}

/// A `changes.wait` that has not been answered.
struct ChangeWait {
    let id: [UInt8]
    var selector: ChangeSelector
    /// What follows this revision was asked for.
    let after: UInt64
    /// Everything up to this revision was not wanted.
    var cursor: UInt64
    /// On the clock of `monotonicNow`.
    let deadline: UInt64
    /// The request names its stores, so that each must be granted; else one is enough.
    var namesStores = false
    /// `rpc.cancel` has named it.
    var isCancelled = false
    /// What its role may no longer read; nil while it may read what it asks for.
    var unreadable: Unreadable?

    /// A store, or none where one of several would do.
    struct Unreadable {
        var store: Method.Store?
    }

    /// Bytes that it takes.
    var footprint: Int { selector.footprint + id.count }
}

/// What one connection reads of the feed.
struct ConnectionFeed {
    /// What a request has done to it.
    enum Change {
        case subscribed
        case ended(Subscription, at: Int)
        case waited
        case watched
        case unwatched(LiveSubscription, at: Int)
    }
    /// In the order of their numbers.
    var subscriptions: ContiguousArray<Subscription> = []
    var waits: ContiguousArray<ChangeWait> = []
    var live: ContiguousArray<LiveSubscription> = []
    /// Numbers are never used again.
    private(set) var lastNumber = 0
    /// The round of the feed that it is in, and what is still to be looked at in it.
    var round: UInt64 = 0
    private(set) var waitsLeft = 0
    private(set) var subscriptionsLeft = 0
    /// In this round something was found to have more than a page.
    var hasMore = false
    /// Which comes next. Rounds go on there, so that none starves when there is not room or time for all.
    private var nextWait = 0
    private var nextSubscription = 0
    var firstLive = 0
    /// It was passed over because its output is full or a batch is under way.
    var isBlocked = false

    /// Bytes of memory that it takes; whoever adds or removes one changes it.
    var footprint = 0
    var count: Int { subscriptions.count + waits.count + live.count }
    var isEmpty: Bool { subscriptions.isEmpty && waits.isEmpty && live.isEmpty }

    /// Begins to read from `rev` on, and is told nothing before it.
    /// - Returns: the subscription's number.
    mutating func subscribe(_ selector: ChangeSelector, after rev: UInt64, at time: UInt64) -> Int {
        lastNumber += 1
        subscriptions.append(
            Subscription(number: lastNumber, selector: selector, cursor: rev, toldRev: rev, toldAt: time))
        footprint += selector.footprint
        // It may stand before one that has yet to be looked at.
        subscriptionsLeft += 1
        return lastNumber
    }

    mutating func wait(_ wait: ChangeWait) {
        waits.append(wait)
        waitsLeft += 1
        footprint += wait.footprint
    }

    /// Position of the subscription with a number.
    func position(of number: Int) -> Int? {
        var (low, high) = (0, subscriptions.count)
        while low < high {
            let middle = (low + high) / 2
            if subscriptions[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < subscriptions.count && subscriptions[low].number == number ? low : nil
    }

    mutating func remove(subscription position: Int) -> Subscription {
        let ended = subscriptions.remove(at: position)
        if position < nextSubscription { nextSubscription -= 1 }
        footprint -= ended.selector.footprint
        return ended
    }

    /// The wait that was taken last is over; another one takes its place, and is next when it has yet to be looked at.
    mutating func remove(wait position: Int) -> ChangeWait {
        waits.swapAt(position, waits.count - 1)
        let ended = waits.removeLast()
        if position + waitsLeft >= waits.count { nextWait = position }
        footprint -= ended.footprint
        return ended
    }

    /// Begins a live query, which `make` makes under the number that it gets.
    mutating func watch(_ make: (Int) -> LiveSubscription) -> LiveSubscription {
        lastNumber += 1
        let query = make(lastNumber)
        query.charged = query.footprint
        live.append(query)
        footprint += query.charged
        return query
    }

    mutating func remove(live position: Int) -> LiveSubscription {
        let ended = live.remove(at: position)
        footprint -= ended.charged
        return ended
    }

    /// Undoes the newest change.
    /// - Returns: the selector, if any, that has one use more, or fewer.
    mutating func undo(_ change: Change) -> (selector: ChangeSelector?, isBack: Bool) {
        switch change {
        case .subscribed:
            let undone = subscriptions.removeLast()
            footprint -= undone.selector.footprint
            lastNumber -= 1
            return (undone.selector, false)
        case .ended(let subscription, let position):
            subscriptions.insert(subscription, at: position)
            if position < nextSubscription { nextSubscription += 1 }
            subscriptionsLeft += 1
            footprint += subscription.selector.footprint
            return (subscription.selector, true)
        case .waited:
            let undone = waits.removeLast()
            footprint -= undone.footprint
            return (undone.selector, false)
        case .watched:
            _ = remove(live: live.count - 1)
            lastNumber -= 1
            return (nil, false)
        case .unwatched(let query, let position):
            live.insert(query, at: position)
            footprint += query.charged
            return (nil, true)
        }
    }

    /// A new round: everything is to be looked at.
    mutating func begin(round: UInt64) {
        self.round = round
        (waitsLeft, subscriptionsLeft) = (waits.count, subscriptions.count)
        hasMore = false
    }

    /// Position of the wait that is looked at next; there is one.
    mutating func takeWait() -> Int { Self.take(&nextWait, &waitsLeft, of: waits.count) }

    mutating func takeSubscription() -> Int {
        Self.take(&nextSubscription, &subscriptionsLeft, of: subscriptions.count)
    }

    private static func take(_ next: inout Int, _ left: inout Int, of count: Int) -> Int {
        let position = next < count ? next : 0
        (next, left) = (position + 1, left - 1)
        return position
    }

    /// Lets go of at most `count` of what is in it.
    mutating func sweep(_ count: Int, _ release: (ChangeSelector) -> Void) {
        for wait in waits.suffix(count) { release(wait.selector) }
        let left = count - min(count, waits.count)
        waits.removeLast(min(count, waits.count))
        for subscription in subscriptions.suffix(left) { release(subscription.selector) }
        subscriptions.removeLast(min(left, subscriptions.count))
        live.removeLast(min(count, live.count))
    }
}
