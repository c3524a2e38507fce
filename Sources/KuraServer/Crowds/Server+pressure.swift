import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// Keeping all buffers together within their bound: who is read from, who is told that there is no room, who is let go.
extension Server {
    // MARK: Reading

    /// Reads what the connection's socket has, unless others come first.
    /// - Returns: false when nothing was looked at.
    func receive(_ connection: Connection) -> Bool {
        let isLong =
            connection.input.count > BufferBudget.small || connection.state.lines.isSkipping
            || connection.crowd.isFlooding
        if isLong, crowd.slices.bytesRead >= Slices.readBytes { return false }
        turn.beginReading(clock)
        let count = connection.input.count
        let held = connection.descriptors.held
        var most = Int.max
        if connection.client.use.descriptors.count > 0, isCutOff(connection.client.use.descriptors) {
            guard let clear = connection.socket.bytesWithoutDescriptors(&crowd.scratch) else {
                turnAway(passing: connection)
                return true
            }
            // A message with descriptors that arrives after the look is not received now.
            most = max(1, clear)
        }
        let received: Socket.Received?
        if connection.state.lines.isSkipping, connection.input.isEmpty {
            received = connection.skip(&crowd.scratch, atMost: min(most, crowd.slices.piece(alone: .max)), pool)
        } else {
            received = connection.receive(
                atMost: limits.lineBytes, pool, facts.buffers, piece: min(most, crowd.slices.piece(alone: 1 << 20)))
        }
        switch received {
        case .bytes(let added)?:
            crowd.slices.bytesRead += added
            connection.phase.receive()
            // What copying them takes, as far as it counts.
            connection.crowd.spent += UInt64(added) / 4
            connection.times.arrivals.note(
                at: turn.readAt, behind: count, consumed: connection.state.lines.consumed,
                isWaiting: connection.hasWholeLines)
            if facts.traffic.isTapped { tellRecordings(of: connection, added: added, heldBefore: held) }
        case .nothing?: break
        case .end?: connection.phase.endInput()
        case .failed?: close(connection)
        case nil: starve(connection)
        }
        if connection.descriptors.isEmpty { charge(connection) }
        if !connection.descriptors.isEmpty { boundDescriptors(connection, before: held) }
        connection.crowd.isFlooding = !connection.descriptors.isEmpty && connection.descriptors.isFull
        return true
    }

    /// Not read from before others have given memory back.
    private func starve(_ connection: Connection) {
        guard let count = crowd.memory.starve(connection, turn: crowd.slices.turn, clock) else { return }
        journal.log(
            .warning, "the buffers of all connections together are full: not reading from some",
            [
                ("pauses", String(count)), ("bytes", String(facts.buffers.used)),
                ("limit", String(facts.buffers.limit)), ("connections", String(connections.count)),
            ])
    }

    // MARK: Counting

    /// Charges the budget with what the connection holds now.
    func charge(_ connection: Connection) {
        guard !connection.phase.isClosed else { return }
        let held = connection.footprint
        connection.crowd.room = connection.output.capacity
        let difference = held - connection.crowd.charged
        guard difference != 0 else { return }
        connection.crowd.charged = held
        facts.buffers.charge(difference)
    }

    func discharge(_ connection: Connection) {
        facts.buffers.charge(-connection.crowd.charged)
        connection.crowd.charged = 0
        crowd.doors.hurry()
    }

    /// Bytes of output that the connection may have waiting and still have a request begun.
    func outputRoom(_ connection: Connection) -> Int {
        guard facts.buffers.isTight else { return limits.outputBytes }
        // Who has read nothing of one reply gets no other.
        return facts.buffers.isFull ? 1 : min(limits.outputBytes, BufferBudget.small)
    }

    /// When all is full, batches go on one after the other: even refusals pile up in them.
    func mayGoOn(withBatchOf connection: Connection) -> Bool {
        guard facts.buffers.isFull else { return true }
        guard !crowd.slices.admits(batchOf: connection) else { return true }
        connection.state.lines.hasMore = true
        crowd.slices.putOff(connection, until: clock.monotonic + 1_000_000)
        return false
    }

    /// More descriptors wait than the process can spare: those of the connection are given up, but for a few.
    /// A connection with few is left alone until its user has a quarter more.
    private func boundDescriptors(_ connection: Connection, before: Int) {
        charge(connection)
        // To take and to close one costs about a microsecond, as much as four KiB.
        let surplus = connection.descriptors.takeSurplus()
        let fresh = max(0, connection.descriptors.held - before) + surplus
        if surplus > 0 { holdUp(flooding: connection) }
        crowd.slices.bytesRead += fresh << 12
        connection.crowd.spent += UInt64(fresh) * 1000
        // Those that take long to close are still open.
        let (all, own) = (limits.passedDescriptors, connection.client.use.descriptors.count)
        let share = connection.permissions == nil ? all : all - UserShares.reserve(of: all)
        let isMany = connection.descriptors.held > 4
        guard isMany && (DescriptorUse.total > all || own > share) || own > share + share / 4 else { return }
        let lost = connection.descriptors.held
        facts.buffers.descriptorsLost += UInt64(lost)
        connection.descriptors.giveUp()
        charge(connection)
        if let count = crowd.descriptorLog.note(at: clock.monotonic) {
            journal.log(
                .warning, "clients have passed more descriptors than can be kept: some were closed",
                [("times", String(count)), ("limit", String(limits.passedDescriptors))])
        }
    }

    /// No more descriptors of this user's are taken in: those that are being closed hang, or are too many.
    private func isCutOff(_ use: DescriptorUse) -> Bool {
        use.count > 2 * limits.passedDescriptors || use.user.map { DescriptorCloser.isStuck($0) } == true
    }

    /// The connection brings descriptors that are not taken in: it is told so, and ends. They stay where they are.
    private func turnAway(passing connection: Connection) {
        let hint: StaticString = "descriptors that this user has passed take too long to close: no more are taken"
        connection.output.append(error: RPCError(.overloaded, hint: hint, limit: limits.passedDescriptors), id: Bytes())
        connection.output.append(0x0A)
        connection.phase.stopReading()
        if let count = crowd.cutOffLog.note(at: clock.monotonic) {
            journal.log(
                .warning, "clients were let go that passed descriptors: those of their user take too long to close",
                [("clients", String(count)), ("uid", String(connection.client.use.uid))])
        }
    }

    /// It passes more descriptors than it may: not read from for a moment, which doubles each time. The kernel takes longer to hand
    /// over a message of descriptors than its sender to write it.
    private func holdUp(flooding connection: Connection) {
        // What else one who is gone has sent would take minutes to come to.
        guard !connection.phase.isGone else { return close(connection) }
        let time = clock.monotonic
        let isLate = time &- connection.crowd.floodedAt > 10 * Self.longestHold
        let hold = isLate ? Self.shortestHold : min(connection.crowd.floodHold * 2, Self.longestHold)
        connection.crowd.floodHold = hold
        connection.crowd.floodedAt = time
        crowd.slices.putOff(connection, until: time + hold)
    }

    private static let shortestHold: UInt64 = 1_000_000
    private static let longestHold: UInt64 = 1_000_000_000

    // MARK: Replies

    /// The reply that begins at `start` has made the output grow: when that is too much for all together, a reader is told
    /// so instead. What writes has been done, and says little.
    func keepWithinBudget(_ connection: Connection, from start: Int) {
        let growth = connection.footprint - connection.crowd.charged
        if !facts.buffers.admits(growth, holding: connection.crowd.charged) {
            if reader.isRead, connection.output.count - start > BufferBudget.refusal {
                connection.cutOutput(to: start)
                facts.buffers.refused += 1
                if reader.hasID { connection.output.append(error: fullError, id: reader.replyID) }
            }
            // A buffer doubles when it grows, be it for the refusal.
            connection.output.shrink(leaving: 2 * BufferBudget.refusal)
        }
        charge(connection)
    }

    /// The page that the connection has waited for is there: when that is too much for all together, it is dropped.
    func keepWithinBudget(answerOf connection: Connection) {
        charge(connection)
        guard let answer = connection.begun?.progress.answer, answer.query.footprint > BufferBudget.small,
            !facts.buffers.admits(0, holding: connection.footprint)
        else { return }
        answer.query.discard()
        connection.begun?.progress.answer?.error = .engine(.overloaded)
        connection.begun?.mark()
        facts.buffers.refused += 1
        charge(connection)
    }

    private var fullError: RPCError {
        RPCError(.overloaded, hint: BufferBudget.hint, limit: facts.buffers.limit)
    }

    // MARK: Relief

    func wakeDeferred(_ time: UInt64) {
        guard !crowd.slices.deferred.isEmpty else { return }
        for connection in crowd.slices.takeDeferred(until: drain.hasBegun ? .max : time) { enter(connection) }
    }

    /// At the end of a turn: reads again from those who were starved when there is room, else finds some.
    func relievePressure() {
        crowd.memory.releaseClosed()
        if pool.isReturning { pool.returnSome(atMost: crowd.slices.returnedBytes) }
        let budget = facts.buffers
        let shared =
            pool.bytes + call.changes.pages.footprint + call.changes.live.footprint
            + (transfers.isEmpty ? 0 : transfers.footprint)
        if shared != budget.shared { budget.shared = shared }
        if crowd.doors.isPaused { crowd.doors.resumeIfDue(loop, clock) }
        if crowd.stalls.isWatching, crowd.stalls.isDue(clock) { checkStalls() }
        if crowd.memory.mayTrim, crowd.memory.isTrimDue(clock) { Heap.trim() }
        guard crowd.memory.mayBeShort, crowd.memory.isShort(turn: crowd.slices.turn, clock) else { return }
        if crowd.memory.hasLessInUse { feedStarved() }
        if crowd.memory.isReclaimDue(clock) { reclaim() }
    }

    /// Reads again from those for whom there is room.
    private func feedStarved() {
        for connection in crowd.memory.takeFed(clock) { settle(connection, syncedRev) }
    }

    /// Nobody has given anything back: takes it from some.
    private func reclaim() {
        let budget = facts.buffers
        pool.removeAll()
        let all = connections.all
        // What their buffers have too much.
        for connection in all
        where connection.input.capacity > connection.input.count + 1024 && !connection.state.lines.hasMore {
            connection.input.shrink()
            charge(connection)
        }
        for connection in crowd.memory.losers(among: all) {
            guard budget.used > budget.relaxed else { break }
            if connection.hasPartialLine {
                giveUpLine(of: connection)
            } else {
                closeStalled(connection, "its buffers were needed")
            }
        }
        feedStarved()
        crowd.memory.endReclaim(turn: crowd.slices.turn, clock)
    }

    /// The line that the connection is sending is answered now, and skipped to its end.
    private func giveUpLine(of connection: Connection) {
        connection.abandonLine()
        facts.buffers.refused += 1
        connection.output.append(error: fullError, id: Bytes())
        connection.output.append(0x0A)
        crowd.memory.feed(connection)
        settle(connection, syncedRev)
    }

    // MARK: Those who do not read

    /// Its output is at the bound: from now on it is watched whether it reads.
    func noteStall(_ connection: Connection) {
        if connection.isBlocked { crowd.stalls.watch(connection, clock) }
    }

    private func checkStalls() {
        let stalled = crowd.stalls.takeStalled(at: clock.monotonic) { $0.waitingOutput >= outputRoom($0) }
        // One that is closed may make room for the others.
        for connection in stalled where connection.waitingOutput >= outputRoom(connection) {
            closeStalled(connection, "it has read nothing for too long")
        }
    }

    private func closeStalled(_ connection: Connection, _ reason: StaticString) {
        facts.buffers.closed += 1
        if let count = crowd.stalls.noteClosed(at: clock.monotonic) {
            journal.log(
                .warning, "closed a client that does not read its replies",
                [
                    ("reason", reason.description), ("bytes", String(connection.waitingOutput)),
                    ("clients", String(count)), ("uid", connection.client.peer.map { String($0.uid) } ?? "unknown"),
                ])
        }
        close(connection)
    }
}

extension Connection {
    /// The socket takes no more of the output.
    var isBlocked: Bool { !output.isEmpty && interest.contains(.write) }
}
