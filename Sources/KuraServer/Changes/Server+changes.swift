import KuraBytes
import KuraProtocol
import KuraStorage

/// Sending events: what has been synced goes to those that asked for it.
extension Server {
    /// Serves a slice of the subscriptions and waits that are behind. Comes after the turn's replies have left.
    func serveChanges(_ storage: isolated Storage) {
        let feed = call.changes
        feed.sweepRemains()
        feed.pages.follow(keys: storage.secrets.ring.generation)
        storage.caches.watches(feed.watchedCaches)
        guard !feed.ring.isEmpty else { return }
        if feed.live.takeMatched() { feed.wake() }
        let synced = storage.syncedRev
        let began = clock.monotonic
        let caches = storage.caches.changes.rev
        guard feed.mayBegin(synced: synced.rev, caches: caches, at: began, requests: facts.traffic.requests) else {
            return
        }
        var sends = 0
        var looks = 0
        var hasLive = false
        while let connection = feed.ring.current() {
            guard !connection.phase.isClosed, !connection.feed.isEmpty else {
                feed.removeCurrent()
                continue
            }
            let start = connection.output.count
            let served = serve(connection, synced.rev, began, &looks, storage)
            feed.ring.moveOn(isDone: served != .unfinished)
            if served == .more { feed.wake() }
            if connection.output.count > start {
                sends += 1
                settle(connection, synced)
            } else if connection.phase.hasEnded, connection.feed.waits.isEmpty {
                settle(connection, synced)
            }
            if served == .unfinished || sends >= ChangeFeed.sliceSends { break }
            let isLive = !connection.feed.live.isEmpty
            hasLive = hasLive || isLive
            looks += 1
            if isLive || looks % ChangeFeed.looks == 0, clock.monotonic - began > ChangeFeed.sliceTime { break }
        }
        if hasLive { feed.live.measure() }
        feed.endSlice(began: began, at: clock.monotonic, requests: facts.traffic.requests)
    }

    /// How far a connection has been served.
    private enum Served {
        /// It has everything, or takes no more for now.
        case all
        /// There is more for it at once.
        case more
        /// The slice's time is over; the round comes back to it.
        case unfinished
    }

    /// Serves one connection, as far as it takes events now and the slice's time goes.
    private func serve(
        _ connection: Connection, _ synced: UInt64, _ time: UInt64, _ looks: inout Int, _ storage: isolated Storage
    ) -> Served {
        let feed = call.changes
        if connection.feed.round != feed.ring.round { connection.feed.begin(round: feed.ring.round) }
        while connection.feed.waitsLeft > 0, !connection.feed.waits.isEmpty {
            guard takesEvents(connection) else { return .all }
            let position = connection.feed.takeWait()
            switch answerWait(position, connection, synced, time, storage) {
            case .answered: feed.end(wait: position, of: connection)
            case .behind: connection.feed.hasMore = true
            case .waits: break
            }
            looks += 1
            if looks % ChangeFeed.looks == 0, clock.monotonic - time > ChangeFeed.sliceTime {
                return .unfinished
            }
        }
        // Subscriptions end with the client's side of the connection.
        guard !connection.phase.hasEnded else { return connection.feed.hasMore ? .more : .all }
        while connection.feed.subscriptionsLeft > 0, !connection.feed.subscriptions.isEmpty {
            guard takesEvents(connection) else { return .all }
            let position = connection.feed.takeSubscription()
            if serve(position, connection, synced, time, storage) { connection.feed.hasMore = true }
            looks += 1
            if looks % ChangeFeed.looks == 0, clock.monotonic - time > ChangeFeed.sliceTime {
                return .unfinished
            }
        }
        if !connection.feed.live.isEmpty,
            serveLive(connection, synced, time, until: time + ChangeFeed.sliceTime, storage)
        {
            connection.feed.hasMore = true
        }
        return connection.feed.hasMore ? .more : .all
    }

    /// Events do not go into the middle of a batch's line, nor to a client that does not read.
    func takesEvents(_ connection: Connection) -> Bool {
        let takes = !connection.state.isComposing && connection.waitingOutput <= call.changes.backlog
        if !takes { connection.feed.isBlocked = true }
        return takes
    }

    func supply(_ connection: Connection) {
        if connection.output.capacity == 0 { pool.supply(&connection.output) }
    }

    /// A wait that has to read the past is looked at again when the reading is done, not before.
    private func isBehind(_ cursor: UInt64, _ synced: UInt64) -> Bool {
        cursor < synced && !call.changes.isReading(cursor)
    }

    /// Sends what a subscription has not had yet, one page of it.
    /// - Returns: whether there is more at once.
    private func serve(
        _ position: Int, _ connection: Connection, _ synced: UInt64, _ time: UInt64, _ storage: isolated Storage
    ) -> Bool {
        let subscription = connection.feed.subscriptions[position]
        let newest = subscription.selector.filter.isOfCaches ? storage.caches.changes.rev : synced
        var cursor = subscription.cursor
        if subscription.mustResync {
            connection.feed.subscriptions[position].mustResync = false
            tellOverflow(position, connection, at: cursor, time)
            return cursor < newest
        }
        if cursor < newest {
            do throws(ChangesError) {
                let page = try call.changes.pages.page(subscription.selector, after: cursor, storage)
                cursor = page.rev
                connection.feed.subscriptions[position].cursor = cursor
                if let lost = page.lost {
                    supply(connection)
                    connection.output.append(lost, of: subscription.number)
                    connection.feed.subscriptions[position].toldRev = lost.upperBound
                    connection.feed.subscriptions[position].toldAt = time
                }
                if page.count > 0 {
                    supply(connection)
                    connection.output.append(event: subscription.number, rev: cursor, page.body.bytes)
                    connection.feed.subscriptions[position].toldRev = cursor
                    connection.feed.subscriptions[position].toldAt = time
                    return cursor < newest
                }
                if page.lost != nil { return cursor < newest }
            } catch {
                switch error {
                case .cold: call.changes.await(cursor, storage)
                case .compacted, .damagedLog: tellOverflow(position, connection, at: newest, time)
                case .overloaded: call.changes.schedule(time + ChangeFeed.retryTime)
                }
                return false
            }
        }
        if subscription.toldRev < cursor {
            let due = subscription.toldAt + call.changes.progressTime
            if time < due {
                call.changes.schedule(due)
            } else {
                supply(connection)
                connection.output.append(event: subscription.number, rev: cursor, nil)
                connection.feed.subscriptions[position].toldRev = cursor
                connection.feed.subscriptions[position].toldAt = time
            }
        }
        return cursor < newest
    }

    /// A subscription goes on from `rev`, and its client reads anew what came before.
    private func tellOverflow(_ position: Int, _ connection: Connection, at rev: UInt64, _ time: UInt64) {
        supply(connection)
        connection.output.append(overflow: connection.feed.subscriptions[position].number, resyncRev: rev)
        connection.feed.subscriptions[position].cursor = rev
        connection.feed.subscriptions[position].toldRev = rev
        connection.feed.subscriptions[position].toldAt = time
    }

    private func refuse(_ wait: ChangeWait, of connection: Connection, _ refusal: RPCError) {
        supply(connection)
        wait.id.withBytes { connection.output.append(error: refusal, id: $0) }
        connection.output.append(0x0A)
    }

    /// Answers a connection's `changes.wait` requests with `shuttingDown`.
    func refuseWaits(of connection: Connection) {
        for wait in connection.feed.waits { refuse(wait, of: connection, RPCError(.shuttingDown)) }
    }

    /// As the same request would be refused now.
    private func refuse(_ wait: ChangeWait, of connection: Connection, unreadable store: Method.Store?) {
        guard let scope = wait.selector.filter.scope else {
            refuse(wait, of: connection, .forbidden(MissingGrant(store: store, scope: nil, verbs: .read)))
            return
        }
        scope.withBytes { name in
            refuse(wait, of: connection, .forbidden(MissingGrant(store: store, scope: name, verbs: .read)))
        }
    }

    private enum WaitState {
        case answered
        /// Nothing has come yet, or the log is being read, or cannot be for a moment.
        case waits
        /// There is more to look through at once.
        case behind
    }

    /// Answers a wait when there is something to tell, or when its time is over.
    private func answerWait(
        _ position: Int, _ connection: Connection, _ synced: UInt64, _ time: UInt64, _ storage: isolated Storage
    ) -> WaitState {
        let wait = connection.feed.waits[position]
        guard !wait.isCancelled else {
            refuse(wait, of: connection, RPCError(.cancelled))
            return .answered
        }
        if let unreadable = wait.unreadable {
            refuse(wait, of: connection, unreadable: unreadable.store)
            return .answered
        }
        var cursor = wait.cursor
        let body: Bytes?
        let lost: ClosedRange<UInt64>?
        do throws(ChangesError) {
            let page = cursor < synced ? try call.changes.pages.page(wait.selector, after: cursor, storage) : nil
            if let page { cursor = page.rev }
            body = page.flatMap { $0.count > 0 ? $0.body.bytes : nil }
            lost = page?.lost
        } catch {
            switch error {
            case .cold:
                call.changes.await(cursor, storage)
                return isBehind(cursor, synced) ? .behind : .waits
            case .overloaded where time < wait.deadline:
                call.changes.schedule(time + ChangeFeed.retryTime)
                return .waits
            case .compacted, .overloaded, .damagedLog:
                supply(connection)
                wait.id.withBytes { id in
                    if case .error(let refusal) = Refusal(error, call: call) {
                        connection.output.append(error: refusal, id: id)
                    }
                }
                connection.output.append(0x0A)
                return .answered
            }
        }
        connection.feed.waits[position].cursor = cursor
        // What has not been looked through yet may hold what is waited for.
        guard body != nil || lost != nil || cursor >= synced && (time >= wait.deadline || call.changes.isDraining)
        else {
            call.changes.schedule(wait.deadline)
            return isBehind(cursor, synced) ? .behind : .waits
        }
        supply(connection)
        wait.id.withBytes { connection.output.appendResultHead(id: $0) }
        connection.output.append(changes: body, lost: lost, rev: cursor, hasMore: cursor < synced)
        connection.output.append("}\n")
        return .answered
    }
}

extension ByteBuffer {
    /// The notification of a page; nil for one that only tells how far the subscription is.
    fileprivate mutating func append(event subscription: Int, rev: UInt64, _ changes: Bytes?) {
        openNotification("changes.changed")
        append(.subscription, subscription)
        append(.rev, rev)
        append(changes: changes)
        closeNotification()
    }

    fileprivate mutating func append(overflow subscription: Int, resyncRev: UInt64) {
        openNotification("changes.overflow")
        append(.subscription, subscription)
        append(.resyncRev, resyncRev)
        closeNotification()
    }

    fileprivate mutating func append(_ lost: ClosedRange<UInt64>, of subscription: Int) {
        openNotification("changes.lost")
        append(.subscription, subscription)
        append(bounds: lost)
        closeNotification()
    }

    private mutating func append(bounds lost: ClosedRange<UInt64>) {
        append(.fromRev, lost.lowerBound)
        append(.toRev, lost.upperBound)
    }

    /// `changes` is an array, nil an empty one.
    private mutating func append(changes: Bytes?) { append(ListMember.changes, json: changes ?? Bytes("[]")) }

    /// The result of `changes.watch` and `documents.watch`.
    mutating func append(subscription number: Int, rev: UInt64, epoch: String) {
        openObject()
        append(.subscription, number)
        append(.rev, rev)
        append(.epoch, epoch)
        closeObject()
    }

    /// The result of `changes.list` and `changes.wait`; `changes` is an array, nil an empty one.
    mutating func append(changes: Bytes?, lost: ClosedRange<UInt64>?, rev: UInt64, hasMore: Bool) {
        openObject()
        append(changes: changes)
        append(.rev, rev)
        if let lost {
            openObject(.lost)
            append(bounds: lost)
            closeObject()
        }
        append(.hasMore, hasMore)
        closeObject()
    }
}
