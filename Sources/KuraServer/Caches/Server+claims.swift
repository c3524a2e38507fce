import KuraBytes
import KuraStorage

/// Telling those who wait for what others fetch.
extension Server {
    /// Ends what connections that are gone have held, and leases and waits whose time is over; then everybody who is concerned is told.
    /// Comes at the end of a turn, when nothing of it is taken back any more.
    func tellClaims(_ storage: isolated Storage) {
        let claims = storage.caches.claims
        guard !departed.isEmpty || claims.nextDue != nil || !call.parkedReplies.isEmpty else { return }
        let now = monotonicNow()
        for token in departed { tell(storage.leaveCaches(token, now: now), storage) }
        departed.removeAll(keepingCapacity: true)
        if let due = claims.nextDue, due <= now { tell(claims.expire(since: storage.models.moment, now: now), storage) }
        if drainDeadline != nil, claims.waiters > 0 { tell(claims.endAll(), storage) }
        guard !call.parkedReplies.isEmpty else { return }
        let replies = call.parkedReplies
        call.parkedReplies.removeAll(keepingCapacity: true)
        for reply in replies {
            guard let connection = connections[reply.token], !connection.isClosed else { continue }
            // Nothing comes into the middle of a batch's line.
            guard !connection.state.isComposing else {
                call.parkedReplies.append(reply)
                continue
            }
            // One that has hung up has none any more.
            connection.parked = max(connection.parked - 1, 0)
            supply(connection)
            connection.output.append(reply.line)
            settle(connection, storage.syncedRev)
        }
    }

    private func tell(_ news: [CacheClaims.News], _ storage: isolated Storage) {
        for item in news {
            let subject =
                switch item {
                case .won(let subject, _, _), .timedOut(let subject, _): subject
                }
            switch ClaimRoom(rawValue: subject.room) {
            case .models: ModelsHandlers.tell(item, call, storage)
            case .blobs, nil: break
            }
        }
    }

    /// Nanoseconds until a lease or a wait ends, or somebody is to be told; nil when there is nothing.
    func timeToClaims(at time: UInt64, _ storage: isolated Storage) -> UInt64? {
        if !departed.isEmpty { return 0 }
        guard let due = storage.caches.claims.nextDue else { return nil }
        return due > time ? due - time : 0
    }
}
