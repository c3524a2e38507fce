import KuraBytes
import KuraProtocol
import KuraStorage

/// Who reads the feed, and whose turn it is.
///
/// Connections stand in a ring. When something has been synced, each is looked at once, from where the last slice ended; a
/// slice ends after so many sends or so long, and while requests come in, three times as long must pass before the next:
/// writers never wait for more than a slice, and subscribers that get less often get more at once. Belongs to the loop.
final class ChangeFeed {
    /// Connections with subscriptions or waits; those that have none any more go when they are looked at.
    var ring = FeedRing()
    private var pace = FeedPace()
    /// Subscriptions and waits of all connections.
    private(set) var count = 0
    /// The daemon is draining: waits are answered with what is there.
    var isDraining = false
    var pages = RenderedPages()
    /// For requests that are answered at once.
    let page = ChangePage()
    let live = LiveQueries()

    private let limits: ServerLimits
    private var selectors = ChangeSelectors()
    /// What connections have left behind; it is let go of a few at a time.
    private var remains: ContiguousArray<ConnectionFeed> = []
    /// Readings of the log that subscriptions wait for, by ticket: the revision each begins at.
    private var readings: [UInt64: UInt64] = [:]
    private var seenRev: UInt64 = 0
    private var seenCacheRev: UInt64 = 0
    /// When a wait ends or a subscription that is quiet is told how far it is; nothing is due before.
    private var dueAt = UInt64.max

    /// Subscriptions that are let go of at once.
    static let sweep = 256
    /// Subscriptions and waits between two looks at the clock.
    static let looks = 16
    /// Sends of a slice, and its nanoseconds.
    static let sliceSends = 128
    static let sliceTime: UInt64 = 100_000
    /// Bytes that a client has not read; beyond them it gets no events until it reads.
    var backlog = 256 << 10
    private static let readingLimit = 4
    /// When to try again what could not be had through nobody's fault.
    static let retryTime: UInt64 = 20_000_000

    init(limits: ServerLimits) {
        self.limits = limits
    }

    // MARK: Readers

    /// Nanoseconds after which a quiet subscription is told how far it is.
    var progressTime: UInt64 { .nanoseconds(seconds: limits.progressSeconds) }

    /// The bound that one more would cross, and whether it is the user's share; nil when it is welcome.
    func boundReached(_ connection: Connection) -> (limit: Int, isShare: Bool)? {
        if connection.feed.count >= limits.subscriptions { return (limits.subscriptions, false) }
        let total = limits.totalSubscriptions
        if count >= total { return (total, false) }
        guard connection.permissions != nil else { return nil }
        return UserShares.admits(held: connection.client.use.subscriptions, used: count, of: total)
            ? nil : (total, true)
    }

    /// A request begins a subscription.
    /// - Returns: its number.
    func subscribe(_ connection: Connection, _ selector: ChangeSelector, after rev: UInt64, at time: UInt64) -> Int {
        let number = connection.feed.subscribe(selector, after: rev, at: time)
        begin(.subscribed, connection, selector, after: rev)
        return number
    }

    /// A request waits for changes.
    func wait(_ connection: Connection, _ wait: ChangeWait) {
        connection.feed.wait(wait)
        begin(.waited, connection, wait.selector, after: wait.cursor)
        schedule(wait.deadline)
    }

    /// A request ends a subscription.
    func unsubscribe(_ connection: Connection, at position: Int) {
        let ended = connection.feed.remove(subscription: position)
        connection.undo.note(.ended(ended, at: position))
        selectors.release(ended.selector)
        add(-1, to: connection)
    }

    /// A request begins a live query.
    func watch(_ connection: Connection, _ make: (Int) -> LiveSubscription) -> LiveSubscription {
        let query = connection.feed.watch(make)
        connection.undo.note(.watched)
        add(1, to: connection)
        wake()
        ring.insert(connection)
        return query
    }

    /// A request ends a live query.
    func unwatch(_ connection: Connection, at position: Int) {
        connection.undo.note(.unwatched(connection.feed.remove(live: position), at: position))
        add(-1, to: connection)
    }

    /// A live query has ended by itself.
    func end(live position: Int, of connection: Connection) {
        _ = connection.feed.remove(live: position)
        add(-1, to: connection)
    }

    /// What a request has done is taken back.
    func undo(_ change: ConnectionFeed.Change, of connection: Connection) {
        let undone = connection.feed.undo(change)
        if let selector = undone.selector {
            if undone.isBack { selectors.retain(selector) } else { selectors.release(selector) }
        }
        add(undone.isBack ? 1 : -1, to: connection)
    }

    /// A wait has been answered.
    func end(wait position: Int, of connection: Connection) {
        let ended = connection.feed.remove(wait: position)
        selectors.release(ended.selector)
        add(-1, to: connection)
    }

    /// A connection reads no more.
    func leave(_ connection: Connection) {
        guard !connection.feed.isEmpty else { return }
        add(-connection.feed.count, to: connection)
        remains.append(connection.feed)
        connection.feed = ConnectionFeed()
        connection.undo.forgetFeedChanges()
    }

    /// Another selector takes the place of one.
    func replace(_ old: ChangeSelector, by new: ChangeSelector) {
        selectors.retain(new)
        selectors.release(old)
    }

    /// Lets go of a bounded piece of what connections have left behind.
    func sweepRemains() {
        guard var last = remains.popLast() else { return }
        last.sweep(Self.sweep) { selectors.release($0) }
        if !last.isEmpty { remains.append(last) }
    }

    private func add(_ difference: Int, to connection: Connection) {
        count += difference
        connection.client.use.subscriptions += difference
    }

    private func begin(
        _ change: ConnectionFeed.Change, _ connection: Connection, _ selector: ChangeSelector, after rev: UInt64
    ) {
        connection.undo.note(change)
        selectors.retain(selector)
        add(1, to: connection)
        // Else what it waits for wakes everybody.
        if rev < (selector.filter.isOfCaches ? seenCacheRev : seenRev) || isDraining { wake() }
        ring.insert(connection)
    }

    /// The connection whose turn it is reads no more.
    func removeCurrent() {
        ring.removeCurrent()
        guard ring.isEmpty else { return }
        pages.removeAll()
        live.measure()
        dueAt = .max
    }

    /// The one object that stands for all equal ones.
    func selector(_ filter: ChangeFilter, _ details: ChangeDetails) -> ChangeSelector {
        selectors.find(filter, details)
    }

    // MARK: Slices

    /// Everybody is to be looked at again.
    func wake() { ring.wake() }

    /// Has a wait end with `cancelled`. It is only marked: the turn that asks for it may be taken back, and waits of the turn with it.
    /// - Returns: whether there is such a wait.
    func cancelWait(of connection: Connection, id: Bytes) -> Bool {
        guard let position = connection.feed.waits.firstIndex(where: { $0.id.withBytes { $0.equals(id) } }) else {
            return false
        }
        connection.feed.waits[position].isCancelled = true
        wake()
        return true
    }

    /// Something is due at `time`.
    func schedule(_ time: UInt64) { dueAt = min(dueAt, time) }

    /// Caches that somebody watches.
    var watchedCaches: CacheSources { selectors.watchedCaches }

    /// Whether caches have changed, up to `rev`, since it was looked whether a slice may begin.
    func isBehind(caches rev: UInt64) -> Bool { rev > seenCacheRev && !watchedCaches.isEmpty }

    /// Whether a slice may begin.
    /// `caches`: the newest change of a cache. `requests`: that have been answered so far; while none come, nobody is held up.
    func mayBegin(synced: UInt64, caches: UInt64, at time: UInt64, requests: UInt64) -> Bool {
        if isBehind(caches: caches) {
            seenCacheRev = caches
            wake()
        }
        if synced > seenRev {
            seenRev = synced
            wake()
        }
        if time >= dueAt {
            dueAt = .max
            wake()
        }
        return ring.left > 0 && pace.pause(at: time, requests: requests) == 0
    }

    func endSlice(began: UInt64, at time: UInt64, requests: UInt64) {
        pace.endSlice(began: began, at: time, requests: requests)
    }

    /// Nanoseconds until there is something to do; nil when only a change, a client or a reading can bring it.
    func timeToNext(at time: UInt64, requests: UInt64) -> UInt64? {
        if !remains.isEmpty { return 0 }
        guard !ring.isEmpty else { return nil }
        if ring.left > 0 { return pace.pause(at: time, requests: requests) }
        return dueAt == .max ? nil : dueAt > time ? dueAt - time : 0
    }

    // MARK: Reading the past

    /// A subscription that stands at `rev` cannot go on before a chunk of the log has been read.
    func await(_ rev: UInt64, _ storage: isolated Storage) {
        guard readings.count < Self.readingLimit, !readings.values.contains(rev) else {
            storage.dismissCold()
            return
        }
        readings[storage.warm()] = rev
    }

    /// Whether the chunk that follows `rev` is being read, or waits for its turn.
    func isReading(_ rev: UInt64) -> Bool {
        readings.count >= Self.readingLimit || readings.values.contains(rev)
    }

    /// - Returns: whether the ticket is the feed's.
    func take(_ ticket: UInt64) -> Bool {
        guard readings.removeValue(forKey: ticket) != nil else { return false }
        wake()
        return true
    }
}
