import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// Answering lines: the hot path.
extension Server {
    /// Answers the connection's whole lines, in order, until they are used up, its budget is spent, or one has to wait.
    func process(_ connection: Connection, _ storage: isolated Storage) {
        connection.state.lines.hasMore = false
        guard !connection.phase.isClosed else { return }
        guard !connection.isWaiting else {
            answerAhead(connection, storage)
            return
        }
        guard connection.crowd.deferredUntil == 0 || drain.isLast else {
            connection.state.lines.hasMore = true
            return
        }
        connection.state.lines.begin()
        // In the last turn everything is answered.
        var budget = drain.isLast ? Int.max : crowd.slices.slice(of: connection, atMost: limits.requestsPerTurn)
        var looks = 0
        while true {
            // A batch's replies leave together, so the bound on output cannot hold it up half-way; nor a long reply.
            guard budget > 0, connection.waitingOutput < outputRoom(connection) || connection.state.isComposing else {
                connection.state.lines.hasMore = true
                return
            }
            looks += 1
            if looks % Slices.looks == 0, crowd.slices.isSliceOver(clock), !drain.isLast {
                connection.state.lines.hasMore = true
                return
            }
            if connection.state.batch != nil {
                guard mayGoOn(withBatchOf: connection) else { return }
                guard answerBatch(connection, &budget, storage) else {
                    if call.attempt.keepsTurn { connection.keepTurn() }
                    if connection.isWaiting {
                        crowd.slices.endBatch(of: connection)
                    } else {
                        connection.state.lines.hasMore = true
                    }
                    return
                }
                continue
            }
            var frame = connection.state.lines.next(in: connection.input.bytes)
            if frame == .incomplete, connection.phase.hasEnded, !connection.phase.isGone {
                // The last line may lack its end, of one who still listens: others have gone in the middle of it.
                guard connection.phase == .halfClosed else { return refuseBegun(connection) }
                frame = connection.state.lines.last(in: connection.input.bytes)
            }
            budget -= 1
            switch frame {
            case .line(let lower, let upper):
                if lower >= connection.state.lines.lookedAt, upper + 1 < connection.input.count || !turn.isLast {
                    turn.lookAhead(connection, from: lower, reader, storage)
                }
                let start = connection.outputEnd
                crowd.slices.beginRequest()
                connection.times.begin(lineTo: upper)
                guard answer(connection, lower, upper, storage) == nil else {
                    connection.state.lines.putBack(to: lower)
                    if call.attempt.keepsTurn { connection.keepTurn() }
                    if connection.isWaiting {
                        answerAhead(connection, storage)
                    } else {
                        connection.state.lines.hasMore = true
                    }
                    return
                }
                if call.attempt.keepsTurn { connection.keepTurn() }
                // A long reply that is refused in the end takes back what stood there from earlier turns.
                let added = connection.outputEnd > start ? Int(connection.outputEnd - start) : 0
                budget -= crowd.slices.weight(bytes: upper - lower + added, reader)
            case .oversize:
                connection.descriptors.poison()
                let lines = connection.state.lines
                reader.readOversize(Bytes(rebasing: connection.input.bytes[lines.frameStart..<lines.consumed]))
                refuse(RPCError(.lineTooLong, limit: limits.lineBytes), to: connection)
                reader.wipe()
            case .incomplete:
                return
            }
        }
    }

    /// `isAhead`: another request of the connection waits.
    /// - Returns: what the line has to wait for; nil when it is answered, or a batch that is begun.
    @inline(__always)
    func answer(
        _ connection: Connection, _ lower: Int, _ upper: Int, isAhead: Bool = false, _ storage: isolated Storage
    ) -> Need? {
        let line = Bytes(rebasing: connection.input.bytes[lower..<upper])
        let outline: RequestReader.Line
        do throws(RPCError) {
            if !isAhead, let begun = connection.begun, begun.resume(reader, in: line) {
                outline = .request
            } else {
                outline = try reader.read(line, batchLimit: limits.batchItems)
            }
        } catch {
            connection.descriptors.poison()
            facts.latencies.refused(error.kind, nil)
            if reader.hasID {
                connection.output.append(error: error, id: reader.replyID)
                connection.output.append(0x0A)
            }
            // Whatever it was to be, it may have a secret in it.
            reader.wipe()
            return nil
        }
        switch outline {
        case .request: return answerRequest(connection, isAhead: isAhead, storage)
        case .batch(let count, let offset):
            // Behind a request that waits it keeps its turn: it goes on in its line, which has to stay where it is.
            guard !isAhead else { return .order }
            connection.state.batch = ConnectionState.Batch(
                lower: lower, upper: upper, offset: offset, left: count,
                outputPosition: connection.outputEnd)
            return nil
        }
    }

    /// Answers the request that the reader holds with a line of its own.
    @inline(__always)
    func answerRequest(_ connection: Connection, isAhead: Bool, _ storage: isolated Storage) -> Need? {
        let start = connection.replyStart
        if let need = perform(connection, &connection.output, isAhead: isAhead, storage) { return need }
        // What it had at the turn's beginning is counted.
        if connection.output.capacity > connection.crowd.room { keepWithinBudget(connection, from: start) }
        if connection.output.count > start { connection.output.append(0x0A) }
        note(connection, at: connection.sending.position(of: start), storage)
        return nil
    }

    /// Goes on with the batch that is under way.
    /// - Returns: false when a member has to wait.
    private func answerBatch(_ connection: Connection, _ budget: inout Int, _ storage: isolated Storage) -> Bool {
        guard var batch = connection.state.batch else { return true }
        let line = Bytes(rebasing: connection.input.bytes[batch.lower..<batch.upper])
        while batch.left > 0, budget > 0 {
            budget -= 1
            crowd.slices.beginRequest()
            let isGoingOn = connection.state.gathering != nil
            let start = isGoingOn ? connection.replyStart - 1 : connection.output.count
            var next = batch.offset
            if !isGoingOn { connection.output.append(batch.hasOutput ? UInt8(ascii: ",") : UInt8(ascii: "[")) }
            let bodyStart = start + 1
            do throws(RPCError) {
                if let begun = connection.begun, begun.resume(reader, in: line) {
                    next = begun.next
                } else {
                    try reader.nextMember(of: line, at: &next)
                }
                guard connection.outputEnd - batch.outputPosition < UInt64(limits.replyBytes) || isGoingOn else {
                    throw RPCError(.replyTooLarge, limit: limits.replyBytes)
                }
                guard perform(connection, &connection.output, next: next, storage) == nil else {
                    if connection.state.gathering == nil { connection.output.truncate(to: start) }
                    connection.state.batch = batch
                    return false
                }
            } catch {
                connection.descriptors.poison()
                connection.begun = nil
                // What a long reply had so far.
                connection.output.truncate(to: bodyStart)
                connection.state.gathering = nil
                facts.latencies.refused(error.kind, nil)
                if reader.hasID { connection.output.append(error: error, id: reader.replyID) }
                reader.wipe()
            }
            budget -= crowd.slices.weight(
                bytes: next - batch.offset + connection.output.count - start, reader)
            if connection.output.capacity > connection.crowd.room { keepWithinBudget(connection, from: bodyStart) }
            batch.offset = next
            batch.left -= 1
            note(connection, at: batch.outputPosition, storage)
            if connection.output.count > bodyStart {
                batch.hasOutput = true
            } else {
                connection.output.truncate(to: start)
            }
            if call.attempt.keepsTurn {
                connection.state.batch = batch
                connection.keepTurn()
            }
        }
        guard batch.left == 0 else {
            connection.state.batch = batch
            return true
        }
        crowd.slices.endBatch(of: connection)
        if batch.hasOutput { connection.output.append("]\n") }
        connection.state.batch = nil
        return true
    }

    /// Answers the request that the reader holds, without a line end; appends nothing for a notification.
    /// - Parameters:
    ///   - connection: the client's.
    ///   - out: its output.
    ///   - isAhead: another request of the connection waits.
    ///   - next: where the next member stands in the batch's line.
    ///   - storage: the stores.
    /// - Returns: what it has to wait for; nothing has been appended then but what is being gathered. nil when it is answered.
    private func perform(
        _ connection: Connection, _ out: inout ByteBuffer, isAhead: Bool = false, next: Int = 0,
        _ storage: isolated Storage
    ) -> Need? {
        let start = connection.replyStart(in: out)
        call.begin(connection, isAhead: isAhead, replyAt: start)
        if call.begun?.isCalledOff == true {
            refuseCalledOff(connection, &out)
            return nil
        }
        facts.traffic.begin()
        if storage.isThrottling, isHeldBack(connection, storage) {
            if reader.hasSecrets { reader.wipe() }
            return suspend(connection, for: .slot, next: next, storage)
        }
        defer { if call.memory.holdsSecrets { call.wipeSecrets() } }
        if connection.state.gathering == nil { out.appendResultHead(id: reader.replyID) }
        do throws(Refusal) {
            if let key = reader.requestKey {
                try call.performOnce(key, &out, storage)
            } else {
                try call.perform(&out, storage)
            }
            out.closeObject()
            if call.attempt.isDeferred { out.truncate(to: start) }
            if connection.state.gathering != nil { connection.state.gathering = nil }
        } catch {
            if !error.keepsGathered || connection.state.gathering == nil || drain.isLast {
                crowd.slices.discard(out.count - start)
                out.truncate(to: start)
                connection.state.gathering = nil
            }
            switch error {
            case .error(let refusal): refuse(refusal, &out)
            case .waits(let need):
                noteGathering(connection, storage)
                guard let refusal = refusal(of: need) else {
                    return suspend(connection, for: need, next: next, storage)
                }
                if case .answer(let ticket) = need { storage.forget(ticket) }
                refuse(refusal, &out)
            case .transfer where drain.isLast: refuse(RPCError(.shuttingDown), &out)
            case .transfer(let work):
                if let need = accept(work, connection, next: next, &out, storage) { return need }
            }
        }
        let waits = call.begun?.waits ?? []
        if !isAhead, connection.begun != nil { connection.begun = nil }
        if !reader.hasID {
            out.truncate(to: start)
        } else if let descriptor = call.attempt.descriptor {
            connection.sending.pass(descriptor, at: start)
        }
        // Not held until somebody asks for something again.
        call.attempt.dropDescriptor()
        // One whose reply comes from somewhere else waits for something to happen.
        if !call.attempt.isDeferred {
            connection.times.noteReply(reader.methodIndex, end: connection.sending.position(of: out.count), waits)
        }
        return nil
    }

    private func refuse(_ error: RPCError, _ out: inout ByteBuffer) {
        out.append(error: error, id: reader.replyID)
        facts.latencies.refused(error.kind, reader.methodIndex)
    }

    /// What the request is told instead of waiting once more: it has waited for it and it does not come, or too often. In the last turn nothing
    /// waits.
    private func refusal(of need: Need) -> RPCError? {
        if drain.isLast { return RPCError(call.begun?.progress.hasEffect == true ? .outcomeUnknown : .shuttingDown) }
        guard let begun = call.begun else { return nil }
        switch need {
        case .answer, .reference:
            let patience = begun.progress.patience
            if patience.isOver(clock) { return RPCError(.timeout, limit: patience.milliseconds) }
            guard begun.progress.patience.begins() else { return RPCError(.overloaded, hint: Patience.spent) }
        case .turn, .commit, .order, .room, .slot, .moment, .page, .transfer: return nil
        }
        guard case .reference = need, let cause = begun.progress.answer?.error,
            case .error(let refusal) = Refusal(cause, call: call)
        else { return nil }
        return refusal
    }

    /// What there is of a long reply may show what the turn has changed.
    private func noteGathering(_ connection: Connection, _ storage: isolated Storage) {
        guard let gathering = connection.state.gathering else { return }
        note(connection, at: connection.state.batch?.outputPosition ?? gathering.outputPosition, storage)
    }

    /// The reply that begins at `position` shows revisions that may not be synced yet.
    private func note(_ connection: Connection, at position: UInt64, _ storage: isolated Storage) {
        if call.audit.isAwaited { connection.state.barriers.awaitsLog(at: position) }
        let shown = call.shown
        guard !shown.isCovered(by: syncedRev) else { return }
        let needed = shown.needed(given: storage.strictRev)
        if !syncedRev.covers(needed) { connection.state.barriers.shows(needed, at: position) }
        if shown.isAbove(committed: storage.committedRev) { connection.state.barriers.dependsOnCommit(at: position) }
    }

    /// The daemon stops in the middle of a line.
    private func refuseBegun(_ connection: Connection) {
        let begin = connection.state.lines.consumed
        guard connection.state.lines.abandon(in: connection.input.bytes) else { return }
        reader.readOversize(Bytes(rebasing: connection.input.bytes[begin...]))
        refuse(RPCError(.shuttingDown), to: connection)
        reader.wipe()
    }

    private func refuse(_ error: RPCError, to connection: Connection) {
        facts.latencies.refused(error.kind, nil)
        connection.output.append(error: error, id: reader.replyID)
        connection.output.append(0x0A)
    }
}
