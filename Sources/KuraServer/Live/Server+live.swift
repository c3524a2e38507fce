import KuraBytes
import KuraProtocol
import KuraStorage

/// Telling live queries how what they show has changed. They are served among the subscriptions, within the same slices.
extension Server {
    enum LiveOutcome {
        case done
        /// There is more at once.
        case hasMore
        case ended
    }

    /// Serves the connection's live queries, until `deadline`.
    /// - Returns: whether there is more at once.
    func serveLive(
        _ connection: Connection, _ synced: UInt64, _ time: UInt64, until deadline: UInt64, _ storage: isolated Storage
    ) -> Bool {
        var hasMore = false
        var left = connection.feed.live.count
        var position = min(connection.feed.firstLive, left)
        if position == left { position = 0 }
        connection.feed.firstLive = 0
        while left > 0, !connection.feed.live.isEmpty {
            if position >= connection.feed.live.count { position = 0 }
            guard takesEvents(connection) else {
                connection.feed.firstLive = position
                return false
            }
            let live = connection.feed.live[position]
            switch serve(live, connection, synced, time, storage) {
            case .ended:
                call.changes.end(live: position, of: connection)
            case .hasMore:
                hasMore = true
                fallthrough
            case .done:
                let footprint = live.footprint
                connection.feed.footprint += footprint - live.charged
                live.charged = footprint
                position += 1
            }
            left -= 1
            if left > 0, clock.monotonic >= deadline {
                connection.feed.firstLive = position
                return true
            }
        }
        return hasMore
    }

    private func serve(
        _ live: LiveSubscription, _ connection: Connection, _ synced: UInt64, _ time: UInt64,
        _ storage: isolated Storage
    ) -> LiveOutcome {
        if live.ending != nil { return end(live, connection) }
        switch live.phase {
        case .reading: return .done
        case .wanting(let since):
            guard time >= since else {
                call.changes.schedule(since)
                return .done
            }
            read(live, time, storage)
            return live.ending == nil ? .done : end(live, connection)
        case .beginning(let position) where position > 0:
            return tellBeginning(live, from: position, connection, time, storage)
        case .beginning, .following: break
        }
        var hasMore = false
        if live.cursor < synced { hasMore = catchUp(live, synced, time, storage) }
        if live.ending != nil { return end(live, connection) }
        if case .wanting = live.phase { return .hasMore }
        guard live.cursor >= live.exactFrom, live.cursor <= synced else { return hasMore ? .hasMore : .done }
        if live.window.isShort {
            read(live, time, storage)
            return live.ending == nil ? .done : end(live, connection)
        }
        if case .beginning = live.phase { return tellBeginning(live, from: 0, connection, time, storage) }
        guard live.toldInTurn != crowd.slices.turn else {
            // One notification a turn: the next may bring more changes of the same documents.
            call.changes.schedule(time)
            return .done
        }
        tell(live, connection, time)
        return hasMore ? .hasMore : .done
    }

    /// Takes in what has been synced, as far as it is there.
    /// - Returns: whether there is more to take in at once.
    private func catchUp(
        _ live: LiveSubscription, _ synced: UInt64, _ time: UInt64, _ storage: isolated Storage
    ) -> Bool {
        guard live.collection.hasChanged(after: live.cursor, storage) else {
            live.cursor = synced
            return false
        }
        let queries = call.changes.live
        do throws(ChangesError) {
            guard
                let (page, matches) = try live.collection.page(
                    after: live.cursor, live.shape, queries.matcher, queries.scratch, storage)
            else { return false }
            if let matches, !live.window.take(page, matches) { live.ending = .error(.tooComplex) }
            live.cursor = page.rev
            if let fault = live.window.fault(limits.liveQueries) { live.failed(fault, at: time) }
            return live.cursor < synced
        } catch {
            switch error {
            case .cold: call.changes.await(live.cursor, storage)
            // What has happened since is no longer known: what is there now says it.
            case .compacted, .damagedLog: live.phase = .wanting(since: time)
            case .overloaded: call.changes.schedule(time + ChangeFeed.retryTime)
            }
            return false
        }
    }

    /// Has the live query's documents read anew.
    private func read(_ live: LiveSubscription, _ time: UInt64, _ storage: isolated Storage) {
        do throws(QueryError) {
            // Asked on another thread than the shape's own.
            let selector = try live.shape.selector.copy()
            let snapshot = try live.collection.name.withBytes { (name) throws(QueryError) in
                try storage.documents.liveSnapshot(
                    name, selector, live.shape, limit: live.window.limit,
                    since: live.hasBegun ? live.toldRev : live.since, limits: limits.liveQueries,
                    control: QueryControl(milliseconds: Self.readingMilliseconds, clock), allowsScan: true)
            }
            if snapshot.isEmpty {
                live.take(snapshot)
                call.changes.wake()
            } else {
                call.changes.live.await(storage.submit(snapshot), live)
            }
        } catch { live.failed(error, at: time) }
    }

    private static let readingMilliseconds = 600_000

    // MARK: Telling

    /// Tells a piece of the state that the live query begins with.
    private func tellBeginning(
        _ live: LiveSubscription, from position: Int, _ connection: Connection, _ time: UInt64,
        _ storage: isolated Storage
    ) -> LiveOutcome {
        if position == 0, !live.leavesOut(storage) { live.forgetSince() }
        supply(connection)
        let start = connection.output.count
        var next = position
        connection.output.append(event: "documents.changed", live)
        connection.output.append(.rev, live.cursor)
        connection.output.append(.snapshot, true)
        connection.output.openList(.documents)
        live.window.forEach(from: position) { id, rev, value in
            guard next == position || connection.output.count - start < Self.pieceBytes else { return false }
            connection.output.openObject()
            id.withBytes { id in
                value.withBytes {
                    connection.output.append(document: id, rev > live.since ? $0 : nil, rev: rev)
                }
            }
            connection.output.closeObject()
            next += 1
            return true
        }
        let isLast = next >= live.window.count
        connection.output.closeList()
        connection.output.append(.hasMore, !isLast)
        connection.output.closeNotification()
        note(live, time)
        guard isLast else {
            live.phase = .beginning(next)
            return .hasMore
        }
        live.window.noteShown()
        live.hasBegun = true
        live.phase = .following
        return live.cursor < storage.syncedRev.rev ? .hasMore : .done
    }

    private static let pieceBytes = 128 << 10

    /// Tells what has changed, or after a while without anything how far it is.
    private func tell(_ live: LiveSubscription, _ connection: Connection, _ time: UInt64) {
        let start = connection.output.count
        var count = 0
        live.window.takeChanges { change in
            if count == 0 {
                supply(connection)
                connection.output.append(event: "documents.changed", live)
                connection.output.append(.rev, live.cursor)
                connection.output.openList(.changes)
            }
            connection.output.append(change)
            count += 1
        }
        if count > 0 {
            connection.output.closeList()
            connection.output.closeNotification()
        } else if live.toldRev < live.cursor {
            let due = live.toldAt + call.changes.progressTime
            guard time >= due else {
                call.changes.schedule(due)
                return
            }
            supply(connection)
            connection.output.append(event: "documents.changed", live)
            connection.output.append(.rev, live.cursor)
            connection.output.openList(.changes)
            connection.output.closeList()
            connection.output.closeNotification()
        }
        if connection.output.count > start { note(live, time) }
    }

    private func note(_ live: LiveSubscription, _ time: UInt64) {
        live.toldRev = live.cursor
        live.toldAt = time
        live.toldInTurn = crowd.slices.turn
    }

    private func end(_ live: LiveSubscription, _ connection: Connection) -> LiveOutcome {
        supply(connection)
        connection.output.append(event: "documents.ended", live)
        connection.output.beginMember()
        switch live.ending {
        case .error(let error): connection.output.append(errorMember: error)
        case .forbidden, nil:
            live.collection.name.withBytes { name in
                connection.output.append(
                    errorMember: .forbidden(MissingGrant(store: .documents, scope: name, verbs: LiveSubscription.need))
                )
            }
        }
        connection.output.closeNotification()
        return .ended
    }
}

extension LiveSubscription {
    /// What a connection must have been granted on the collection.
    static let need: Verbs = [.list, .read]
}

extension ConnectionFeed {
    /// The connection may see this from now on: live queries of other collections end.
    func endForbidden(_ permissions: Permissions?) {
        guard let permissions else { return }
        for live in live {
            let isAllowed = live.collection.name.withBytes {
                permissions.allows(LiveSubscription.need, .documents, $0)
            }
            if !isAllowed { live.ending = .forbidden }
        }
    }
}

extension ByteBuffer {
    /// The beginning of a notification, which is open behind the subscription's number.
    fileprivate mutating func append(event method: StaticString, _ live: LiveSubscription) {
        openNotification(method)
        append(.subscription, live.number)
    }

    fileprivate mutating func append(_ change: LiveWindow.Change) {
        openObject()
        switch change.step {
        case .removed: append(.change, word: "removed")
        case .inserted: append(.change, word: "inserted")
        case .moved: append(.change, word: "moved")
        case .updated: append(.change, word: "updated")
        }
        let isThere = change.step != .removed
        change.id.withBytes { id in
            change.value.withBytes {
                append(document: id, isThere ? $0 : nil, rev: isThere ? change.rev : nil)
            }
        }
        if isThere, change.step != .updated { append(.position, change.position) }
        closeObject()
    }
}
