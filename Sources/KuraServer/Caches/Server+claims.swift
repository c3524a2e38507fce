import KuraBytes
import KuraProtocol
import KuraStorage

/// Telling those who wait for what others fetch.
extension Server {
    /// Nanoseconds of a turn that the ends of claims and the replies to those who wait may take, each, and how many are looked at between two
    /// looks at the clock.
    private static let turnTime: UInt64 = 1_000_000
    private static let piece = 32

    /// Ends what connections that are gone have held, and leases and waits whose time is over; then everybody who is concerned is told: a part of
    /// it when that is much. Comes at the end of a turn, when nothing of it is taken back any more.
    func tellClaims(_ storage: isolated Storage) {
        let claims = storage.caches.claims
        guard call.parkedReplies.hasDeparted || claims.nextDue != nil || !call.parkedReplies.isEmpty else { return }
        let now = clock.monotonic
        while let token = call.parkedReplies.takeDeparted() {
            tell(storage.leaveCaches(token, now: now), storage)
            guard clock.monotonic - now < Self.turnTime else { break }
        }
        while let due = claims.nextDue, due <= now, clock.monotonic - now < Self.turnTime {
            tell(claims.expire(since: storage.models.moment, now: now, atMost: Self.piece), storage)
        }
        // What is on its way is better than to hear of the end.
        if drain.hasBegun, claims.waiters > 0, !call.parkedReplies.isDue {
            tell(claims.endAll(atMost: 1024), storage)
        }
        if !call.parkedReplies.isEmpty { tellParked(claims, storage) }
    }

    private func tellParked(_ claims: CacheClaims, _ storage: isolated Storage) {
        let start = clock.monotonic
        var told = 0
        call.parkedReplies.releaseHeld()
        while told % Self.piece != 0 || told == 0 || clock.monotonic - start < Self.turnTime,
            let (waiter, answer) = call.parkedReplies.next(claims)
        {
            told += 1
            guard let connection = connections[waiter.owner], !connection.phase.isClosed else { continue }
            // Nothing comes into the middle of a batch's line.
            guard !connection.state.isComposing else {
                call.parkedReplies.hold(waiter, answer)
                continue
            }
            // One that has hung up has none any more.
            connection.outstanding.unpark()
            supply(connection)
            // Memory that is short is for those who have asked for something.
            let isGiven = answer.count <= 4096 || !facts.buffers.isTight
            waiter.request.withBytes { connection.output.append(isGiven ? answer : ParkedReplies.miss, id: $0) }
            settle(connection, storage.syncedRev)
        }
    }

    private func tell(_ news: [CacheClaims.News], _ storage: isolated Storage) {
        for item in news {
            let (subject, waiter) =
                switch item {
                case .won(let subject, let waiter, _), .timedOut(let subject, let waiter): (subject, waiter)
                }
            guard !drain.hasBegun else {
                // A miss would have somebody fetch what others have.
                call.parkedReplies.append(waiter, .refusal(.shuttingDown))
                continue
            }
            if subject.room == CacheStore.models.rawValue { ModelsHandlers.tell(item, call, storage) }
        }
    }

    /// Nanoseconds until a lease or a wait ends, or somebody is to be told; nil when there is nothing.
    func timeToClaims(at time: UInt64, _ storage: isolated Storage) -> UInt64? {
        if call.parkedReplies.hasDeparted || call.parkedReplies.isDue { return 0 }
        if drain.hasBegun, storage.caches.claims.waiters > 0 { return 0 }
        guard let due = storage.caches.claims.nextDue else { return nil }
        return due > time ? due - time : 0
    }
}

extension ByteBuffer {
    fileprivate mutating func append(_ answer: ParkedReplies.Answer, id: Bytes) {
        switch answer {
        case .result(let text):
            appendResultHead(id: id)
            openObject()
            append(text)
            closeObject()
            append("}\n")
        case .refusal(let kind):
            append(error: RPCError(kind), id: id)
            append("\n")
        }
    }
}
