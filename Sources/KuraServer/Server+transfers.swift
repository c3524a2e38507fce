import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// Requests that are answered out of band: begun when their turn is in the log, served in the turns that follow, answered
/// when their thread has ended.
extension Server {
    /// Takes a transfer on for the request that is being answered.
    /// - Returns: what the connection waits for, in a batch; nil when it goes on.
    func accept(
        _ work: any TransferWork, _ connection: Connection, next: Int, _ out: inout ByteBuffer,
        _ storage: isolated Storage
    ) -> Need? {
        // It waits in its place, and that is behind the request that waits already.
        if work.isInPlace, call.attempt.isAhead { return suspend(connection, for: .turn, next: next, storage) }
        let loop = loop
        let channel: TransferChannel
        do throws(SystemError) {
            channel = try TransferChannel { loop.wake() }
        } catch {
            if reader.hasID { out.append(error: RPCError(.overloaded), id: reader.replyID) }
            return nil
        }
        var ticket: UInt64?
        if connection.state.batch != nil || work.isInPlace {
            ticket = transfers.nextTicket()
        }
        facts.transfers.begin()
        connection.client.use.transfers += 1
        connection.undo.start(
            Transfer(
                token: connection.token, id: reader.replyID.isEmpty ? Array("null".utf8) : Array(reader.replyID),
                hasID: reader.hasID, ticket: ticket, work: work, channel: channel, use: connection.client.use,
                method: reader.methodIndex, since: connection.times.requestedAt))
        guard let ticket else {
            call.attempt.deferReply()
            return nil
        }
        call.goesOn { (call, out, storage) throws(Refusal) in try call.appendOutcome(to: &out, storage) }
        return suspend(connection, for: .transfer(ticket), next: next, storage)
    }

    /// Begins what the connection has asked for in the turn that is over.
    func beginTransfers(of connection: Connection) {
        for transfer in connection.undo.takeStarting() {
            connection.outstanding.begin(transfer)
            if let recording = transfer.work as? RecordingWork {
                facts.traffic.begin(recording.tap, sharing: limits.recordingBytes)
            }
            transfers.insert(transfer)
            if drain.hasBegun { transfer.cancel() }
            transfer.start()
        }
    }

    // MARK: In a turn

    /// Stores a batch of one of the imports, or deletes a slice.
    func storeBatch(_ storage: isolated Storage) {
        guard !transfers.isEmpty, storage.admitsBulk, let (transfer, offer) = transfers.takeOffer() else { return }
        switch offer {
        case .slice(let slice, let work): delete(slice, work, transfer, storage)
        case .batch(let batch, let work): store(batch, work, transfer, storage)
        }
    }

    private func store(
        _ batch: ImportBatch, _ work: ImportWork, _ transfer: Transfer, _ storage: isolated Storage
    ) {
        // Without its connection nobody is there by whose rights it could be stored.
        guard let connection = connections[transfer.token], !connection.phase.isClosed,
            work.collection.withBytes({
                connection.permissions?.allows(work.need.verbs, .documents, $0) ?? true
            })
        else {
            transfer.channel.judge(.failed(.engine(.cancelled)))
            return
        }
        let author = author(ofSlice: connection, DocumentsImport.methodIndex, storage)
        // By its name, as a put is: what comes after the collection was dropped makes another one.
        let result: WriteResult
        var position = 0
        var breaksSchema = false
        do throws(DocumentsError) {
            result = try work.collection.withBytes { (collection) throws(DocumentsError) in
                let rules = CollectionRules.of(collection, storage)
                return try storage.documents.putMany(collection, by: author) { (stage) throws(DocumentsError) in
                    try batch.forEach { (id, value, isNewID) throws(DocumentsError) in
                        if rules?.mode == .enforce, rules?.violation(value) != nil {
                            breaksSchema = true
                            throw .engine(.busy)
                        }
                        try stage.put(id, value, isNewID: isNewID, ifRev: nil)
                        if let attachments = batch.attachments(of: position) {
                            try stage.setAttachments(id, attachments.map(\.attachment))
                        }
                        position += 1
                    }
                }
            }
        } catch {
            guard !breaksSchema else {
                transfer.channel.judge(
                    .refused(position: position, RecordFault(message: "it breaks the collection's schema")))
                return
            }
            switch error {
            case .engine(.busy): break
            case .engine(.cold):
                // Begun again for each of them, a batch would be stored as often as it has documents.
                var documents: [(id: [UInt8]?, value: Bytes)] = []
                batch.forEach { id, value, isNewID in documents.append((isNewID ? nil : Array(id), value)) }
                work.collection.withBytes { storage.documents.alsoLook(toWrite: documents, into: $0) }
                if let look = storage.documents.coldLook { transfer.channel.judge(.cold(look)) }
            case .uniqueViolation:
                transfer.channel.judge(
                    .refused(
                        position: position,
                        RecordFault(message: "another document has the same values in a unique index")))
            case .engine, .query, .absent, .referenced, .unfit, .tooManyDocuments, .referencesBuilding,
                .attachmentsFull,
                .migrating:
                transfer.channel.judge(.failed(error))
            }
            return
        }
        for pin in batch.pins { storage.hold(pin, untilFolded: result.rev) }
        transfers.stage(transfer, rev: result.rev)
    }

    /// A batch waits that may be stored now.
    func hasBatch(_ storage: isolated Storage) -> Bool {
        !transfers.isEmpty && storage.admitsBulk && transfers.hasOffer
    }

    // MARK: Telling

    /// Ends the waits of requests in batches whose transfers are done. Before the turn's requests are answered.
    func wakeBatches() {
        for transfer in transfers.all where transfer.ticket != nil {
            guard let outcome = transfer.channel.outcome else { continue }
            remove(transfer)
            let cause = WaitTable.Cause.transfer(transfer.ticket!)
            if let waiting = wake(waits.take(cause), from: cause, nil, outcome) { enter(waiting) }
        }
    }

    /// Sends what transfers have to tell. When no connection is in a turn.
    func tellTransfers(_ storage: isolated Storage) {
        for transfer in transfers.all where transfer.ticket == nil || transfer.work.isInPlace {
            let connection = connections[transfer.token]
            // A batch's replies are one line: nothing may come between.
            if let connection, connection.state.isComposing { continue }
            let outcome = transfer.channel.outcome
            if let progress = transfer.channel.takeProgress(), let connection, transfer.hasID, outcome == nil,
                connection.waitingOutput < limits.outputBytes / 4
            {
                tell(connection, rev: progress.rev, storage) { $0.append(progress: progress, id: transfer.id) }
            }
            guard transfer.ticket == nil, let outcome else { continue }
            remove(transfer)
            guard let connection else { continue }
            let rev = outcome.rev ?? storage.rev
            tell(connection, rev: rev, storage) { out in
                guard transfer.hasID else { return }
                out.append(outcome, id: transfer.id, rev: rev)
                out.append(0x0A)
                connection.times.unsent.note(
                    transfer.method, since: transfer.since, end: connection.sending.position(of: out.count), .transfer)
            }
        }
    }

    /// Appends to the connection's output what may leave when the strict revisions up to `rev` are synced.
    func tell(
        _ connection: Connection, rev: UInt64, _ storage: isolated Storage, _ body: (inout ByteBuffer) -> Void
    ) {
        let position = connection.outputEnd
        body(&connection.output)
        let needed = ShownRev(rev).needed(given: storage.strictRev)
        if !storage.syncedRev.covers(needed), connection.outputEnd > position {
            connection.state.barriers.shows(needed, at: position)
            connection.state.barriers.endTurn()
        }
        settle(connection, storage.syncedRev)
    }

    private func remove(_ transfer: Transfer) {
        transfers.remove(transfer)
        if let recording = transfer.work as? RecordingWork {
            facts.traffic.end(recording.tap, sharing: limits.recordingBytes)
        }
        connections[transfer.token]?.outstanding.end(transfer)
        facts.transfers.end()
        transfer.use.transfers -= 1
        crowd.users.forget(transfer.use)
    }

    // MARK: Ending

    /// The outcome of what was not synced is unknown, so that of every transfer is, and of one that hangs when the daemon ends.
    func failTransfers(_ isConcerned: (Transfer) -> Bool = { $0.ticket == nil || $0.work.isInPlace }) {
        for transfer in transfers.all where transfer.hasID && isConcerned(transfer) {
            // Who waits in its place is answered with the other lines.
            guard let connection = connections[transfer.token], !connection.state.isComposing,
                transfer.ticket.map({ connection.wait != .transfer($0) }) ?? true
            else { continue }
            transfer.id.withBytes { connection.output.append(error: RPCError(.outcomeUnknown), id: $0) }
            connection.output.append(0x0A)
        }
    }

    /// Ends the threads that end. One that hangs in a system call is left behind.
    func endTransfers() {
        transfers.failAll()
        // A second at most, whatever time it is.
        for _ in 0..<1000 where transfers.all.contains(where: { $0.channel.outcome == nil }) { usleep(1000) }
    }

    /// The same, when nobody is left to be told.
    func stopTransfers() {
        endTransfers()
        for transfer in transfers.all where transfer.channel.outcome != nil { remove(transfer) }
    }
}
