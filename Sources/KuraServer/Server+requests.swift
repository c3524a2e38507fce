import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// Answering lines: the hot path.
extension Server {
    /// Answers the connection's whole lines, in order, until they are used up, its budget is spent, or one has to wait.
    func process(_ connection: Connection, _ storage: isolated Storage) {
        connection.hasMore = false
        connection.hasAhead = false
        guard !connection.isClosed else { return }
        guard connection.state.wait == .none else {
            answerAhead(connection, storage)
            return
        }
        guard connection.crowd.deferredUntil == 0 else {
            connection.hasMore = true
            return
        }
        connection.state.overtaken = 0
        connection.state.isStuck = false
        setWriter(connection, storage)
        storage.setWriterAccounts(connection.admission.accounts)
        var budget = crowd.slice(of: connection, atMost: limits.requestsPerTurn)
        var looks = 0
        while true {
            // A batch's replies leave together, so the bound on output cannot hold it up half-way; nor a long reply.
            guard budget > 0, connection.waitingOutput < outputRoom(connection) || connection.state.isComposing else {
                connection.hasMore = true
                return
            }
            looks += 1
            if looks % Crowd.looks == 0, crowd.isSliceOver(clock) {
                connection.hasMore = true
                return
            }
            if connection.state.batch != nil {
                guard mayGoOn(withBatchOf: connection) else { return }
                guard answerBatch(connection, &budget, storage) else {
                    if connection.state.wait == .none {
                        connection.hasMore = true
                    } else {
                        crowd.endBatch(of: connection)
                    }
                    return
                }
                continue
            }
            let begin = connection.framer.consumed
            var frame = connection.framer.next(in: connection.input.bytes)
            if frame == .incomplete, connection.state.hasEnded, !connection.state.isGone {
                // The last line may lack its end, of one who still listens: others have gone in the middle of it.
                guard connection.state.isHalfClosed else { return refuseBegun(connection) }
                frame = connection.framer.last(in: connection.input.bytes)
            }
            budget -= 1
            switch frame {
            case .line(let lower, let upper):
                if connection.isAnsweredAhead(lower) { continue }
                if lower >= connection.lookedAt, upper + 1 < connection.input.count || turnPosition + 1 < turn.count {
                    lookAhead(connection, from: lower, storage)
                }
                let start = connection.outputEnd
                discardedBytes = 0
                connection.requestedAt = connection.arrivals.time(ofLineTo: upper)
                guard answer(connection, lower, upper, storage) else {
                    connection.framer.putBack(to: lower)
                    // It goes on in the next turn.
                    if connection.state.wait == .none { connection.hasMore = true }
                    answerAhead(connection, storage)
                    return
                }
                if call.keepsTurn { connection.keepTurn() }
                // A long reply that is refused in the end takes back what stood there from earlier turns.
                let added = connection.outputEnd > start ? Int(connection.outputEnd - start) : 0
                budget -= crowd.weight(bytes: upper - lower + added + discardedBytes, reader)
            case .oversize:
                connection.descriptors.poison()
                reader.readOversize(Bytes(rebasing: connection.input.bytes[begin..<connection.framer.consumed]))
                refuse(RPCError(.lineTooLong, limit: limits.lineBytes), to: connection)
                reader.wipe()
            case .incomplete:
                return
            }
        }
    }

    /// What is changed from now on is this client's.
    func setWriter(_ connection: Connection, _ storage: isolated Storage) {
        let number: UInt16
        if let known = connection.billNumber {
            number = known
        } else {
            number = storage.billNumber(of: connection.clientName, user: connection.peer?.uid ?? .max)
            connection.billNumber = number
        }
        storage.setWriter(connection.clientName, number)
    }

    /// Answers what may be answered out of order while a request waits: its line is blanked, so that its turn passes.
    /// After the commit, since what is blanked cannot be answered again.
    func overtake(_ connection: Connection, _ storage: isolated Storage) {
        // A batch that waits has begun its reply's line; descriptors are taken in the order of the requests.
        guard !connection.isClosed, !connection.state.isComposing, connection.descriptors.isEmpty else { return }
        // Without the order of replies all that can be has been answered already, and the rest keeps its turn.
        guard !connection.state.isUnordered || connection.state.isStuck else { return }
        let start = connection.framer.consumed
        var framer = connection.framer
        if connection.state.overtaken == 0 {
            // The request that waits.
            guard case .line = framer.next(in: connection.input.bytes) else { return }
        } else {
            framer.skip(to: start + connection.state.overtaken)
        }
        connection.state.overtaken = framer.consumed - start
        var budget = limits.requestsPerTurn
        while budget > 0, connection.waitingOutput < limits.outputBytes,
            case .line(let lower, let upper) = framer.next(in: connection.input.bytes)
        {
            budget -= 1
            connection.state.overtaken = framer.consumed - start
            let line = Bytes(rebasing: connection.input.bytes[lower..<upper])
            guard line.first == UInt8(ascii: "{"), (try? reader.read(line, batchLimit: 0)) != nil, reader.isOutOfBand
            else { continue }
            let (wait, waits, patience) = (connection.state.wait, connection.waits, connection.patience)
            connection.waits = []
            connection.patience = Patience()
            connection.requestedAt = connection.arrivals.time(ofLineTo: upper)
            let position = connection.output.count
            if perform(connection, &connection.output, storage) {
                if connection.output.count > position { connection.output.append(0x0A) }
                note(connection, at: connection.sent + UInt64(position), storage)
                connection.input.blank(lower..<upper)
            }
            connection.state.wait = wait
            connection.waits = waits
            connection.patience = patience
        }
    }

    /// - Returns: false when the line has to wait.
    func answer(_ connection: Connection, _ lower: Int, _ upper: Int, _ storage: isolated Storage) -> Bool {
        let line = Bytes(rebasing: connection.input.bytes[lower..<upper])
        let outline: RequestReader.Line
        do throws(RPCError) {
            outline = try reader.read(line, batchLimit: limits.batchItems)
        } catch {
            connection.descriptors.poison()
            facts.latencies.refused(error.kind, nil)
            if reader.hasID {
                connection.output.append(error: error, id: reader.replyID)
                connection.output.append(0x0A)
            }
            // Whatever it was to be, it may have a secret in it.
            reader.wipe()
            return true
        }
        switch outline {
        case .request:
            let start = connection.replyStart
            guard perform(connection, &connection.output, storage) else { return false }
            // What it had at the turn's beginning is counted.
            if connection.output.capacity > connection.crowd.room { keepWithinBudget(connection, from: start) }
            if connection.output.count > start { connection.output.append(0x0A) }
            note(connection, at: connection.sent + UInt64(start), storage)
        case .batch(let count, let offset):
            // Behind a request that waits it keeps its turn: it goes on in its line, which has to stay where it is.
            guard connection.state.wait == .none else { return false }
            connection.state.batch = ConnectionState.Batch(
                lower: lower, upper: upper, offset: offset, left: count,
                outputPosition: connection.outputEnd)
        }
        return true
    }

    /// Goes on with the batch that is under way.
    /// - Returns: false when a member has to wait.
    private func answerBatch(_ connection: Connection, _ budget: inout Int, _ storage: isolated Storage) -> Bool {
        guard var batch = connection.state.batch else { return true }
        let line = Bytes(rebasing: connection.input.bytes[batch.lower..<batch.upper])
        while batch.left > 0, budget > 0 {
            budget -= 1
            discardedBytes = 0
            let isGoingOn = connection.state.gathering != nil
            let start = isGoingOn ? connection.replyStart - 1 : connection.output.count
            var next = batch.offset
            if !isGoingOn { connection.output.append(batch.hasOutput ? UInt8(ascii: ",") : UInt8(ascii: "[")) }
            let bodyStart = start + 1
            do throws(RPCError) {
                try reader.nextMember(of: line, at: &next)
                guard connection.outputEnd - batch.outputPosition < UInt64(limits.replyBytes) || isGoingOn else {
                    throw RPCError(.replyTooLarge, limit: limits.replyBytes)
                }
                guard perform(connection, &connection.output, storage) else {
                    if connection.state.gathering == nil { connection.output.truncate(to: start) }
                    connection.state.batch = batch
                    return false
                }
            } catch {
                connection.descriptors.poison()
                connection.dropAnswer()
                // What a long reply had so far.
                connection.output.truncate(to: bodyStart)
                connection.state.gathering = nil
                facts.latencies.refused(error.kind, nil)
                if reader.hasID { connection.output.append(error: error, id: reader.replyID) }
                reader.wipe()
            }
            budget -= crowd.weight(
                bytes: next - batch.offset + connection.output.count - start + discardedBytes, reader)
            if connection.output.capacity > connection.crowd.room { keepWithinBudget(connection, from: bodyStart) }
            batch.offset = next
            batch.left -= 1
            note(connection, at: batch.outputPosition, storage)
            if connection.output.count > bodyStart {
                batch.hasOutput = true
            } else {
                connection.output.truncate(to: start)
            }
            if call.keepsTurn {
                connection.state.batch = batch
                connection.keepTurn()
            }
        }
        guard batch.left == 0 else {
            connection.state.batch = batch
            return true
        }
        crowd.endBatch(of: connection)
        if batch.hasOutput { connection.output.append("]\n") }
        connection.state.batch = nil
        return true
    }

    /// Answers the request that has just been read, without a line end; appends nothing for a notification.
    /// - Returns: false when it has to wait; nothing has been appended then, and nothing changed.
    private func perform(_ connection: Connection, _ out: inout ByteBuffer, _ storage: isolated Storage) -> Bool {
        if connection.waiting.isCalledOff, connection.state.wait == .none {
            refuseCalledOff(connection, &out)
            return true
        }
        if storage.isThrottling, isHeldBack(connection, storage) {
            connection.waits(for: .slot, reader.replyID)
            return false
        }
        let start = connection.replyStart(in: out)
        facts.requests += 1
        // What a request that waits has waited for is not for one that is answered ahead of it.
        connection.contents.begin(isAhead: connection.state.wait != .none)
        call.begin(connection, replyAt: start)
        storage.setOperation(reader.methodIndex)
        defer { if call.holdsSecrets { call.wipeSecrets() } }
        if connection.state.gathering == nil { out.appendResultHead(id: reader.replyID) }
        do throws(Refusal) {
            if let key = reader.requestKey {
                try call.performOnce(key, &out, storage)
            } else {
                try call.perform(&out, storage)
            }
            out.closeObject()
            if call.isDeferred { out.truncate(to: start) }
            if connection.state.gathering != nil { connection.state.gathering = nil }
        } catch {
            if !error.isLater || connection.state.gathering == nil {
                discardedBytes += out.count - start
                out.truncate(to: start)
                connection.state.gathering = nil
            }
            switch error {
            case .pause:
                facts.requests -= 1
                noteGathering(connection, storage)
                return false
            case .later(let isPage):
                facts.requests -= 1
                noteGathering(connection, storage)
                guard isPage else {
                    connection.waits(for: .room, reader.replyID)
                    connection.waits.insert(.room)
                    return false
                }
                let ticket = storage.warm()
                connection.waits(for: .page(ticket), reader.replyID)
                connection.waits.insert(.page)
                return false
            case .transfer(let work):
                return accept(work, connection, &out)
            case .query(let ticket):
                guard !connection.patience.begins() else {
                    wait(for: ticket, connection)
                    return false
                }
                storage.cancel(query: ticket)
                out.append(error: RPCError(.overloaded, hint: Patience.spent), id: reader.replyID)
                facts.latencies.refused(.overloaded, reader.methodIndex)
            case .building(let collection, let index):
                guard let cause = connection.answer?.error, case .error(let refusal) = Refusal(cause, call: call) else {
                    wait(for: storage.awaitReference(of: collection, index: index), connection)
                    return false
                }
                // It has waited for it, and it does not come.
                out.append(error: refusal, id: reader.replyID)
                facts.latencies.refused(refusal.kind, reader.methodIndex)
            case .error(let refusal):
                out.append(error: refusal, id: reader.replyID)
                facts.latencies.refused(refusal.kind, reader.methodIndex)
            }
        }
        // What it has waited for is its own, also when it was refused before it looked.
        connection.dropAnswer()
        connection.contents.end()
        if !reader.hasID {
            out.truncate(to: start)
        } else if let descriptor = call.replyDescriptor {
            connection.pass(descriptor, at: start)
        }
        // Not held until somebody asks for something again.
        if call.replyDescriptor != nil { call.replyDescriptor = nil }
        // One whose reply comes from somewhere else waits for something to happen.
        if !call.isDeferred {
            connection.unsent.note(
                reader.methodIndex, since: connection.requestedAt, end: connection.sent + UInt64(out.count),
                connection.waits)
        }
        if !connection.waits.isEmpty { connection.waits = [] }
        return true
    }

    /// The request is begun again when the query with this ticket has been run.
    private func wait(for ticket: UInt64, _ connection: Connection) {
        facts.requests -= 1
        if connection.state.wait == .none { connection.waiting.ticket = ticket }
        connection.waits(for: .answer(ticket), reader.replyID)
        connection.waits.insert(.query)
    }

    /// What there is of a long reply may show what the turn has changed.
    private func noteGathering(_ connection: Connection, _ storage: isolated Storage) {
        guard let gathering = connection.state.gathering else { return }
        note(connection, at: connection.state.batch?.outputPosition ?? gathering.outputPosition, storage)
    }

    /// The reply that begins at `position` shows revisions that may not be synced yet.
    private func note(_ connection: Connection, at position: UInt64, _ storage: isolated Storage) {
        if call.isAudited { connection.state.awaitsLog(at: position) }
        let newest = max(call.shownRev, call.relaxedRev)
        guard newest > syncedRev else { return }
        // What lies above the newest strict revision may be lost by agreement.
        let rev = min(call.shownRev, storage.strictRev)
        if rev > syncedRev { connection.state.shows(rev, at: position) }
        // It may still be taken back with the turn.
        if newest > storage.committedRev { connection.state.dependsOnCommit(at: position) }
    }

    /// The daemon stops in the middle of a line.
    private func refuseBegun(_ connection: Connection) {
        let begin = connection.framer.consumed
        guard connection.framer.abandon(in: connection.input.bytes) else { return }
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
