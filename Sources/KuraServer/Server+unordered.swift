import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// Connections that have waived the order of replies (`session.hello {enable: ["outOfOrder"]}`).
extension Server {
    /// Answers the lines behind a request that waits, until one of them has to wait as well.
    ///
    /// What is answered leaves the input when the turn is in the log: a turn that is taken back answers it again.
    func answerAhead(_ connection: Connection, _ storage: isolated Storage) {
        // A batch that waits has begun its reply's line; descriptors are taken in the order of the requests.
        guard connection.state.isUnordered, !connection.state.isComposing, connection.descriptors.isEmpty,
            connection.state.wait != .none, !connection.state.isStuck
        else { return }
        guard connection.crowd.deferredUntil == 0 else {
            connection.hasAhead = true
            return
        }
        setWriter(connection, storage)
        storage.setWriterAccounts(connection.admission.accounts)
        let (wait, waits, patience) = (connection.state.wait, connection.waits, connection.patience)
        defer {
            connection.state.wait = wait
            connection.waits = waits
            connection.patience = patience
        }
        let begin = connection.framer.consumed
        var framer = connection.framer
        if connection.state.overtaken == 0 {
            // The request that waits.
            guard case .line = framer.next(in: connection.input.bytes) else { return }
            connection.state.overtaken = framer.consumed - begin
        } else {
            framer.skip(to: begin + connection.state.overtaken)
        }
        var budget = crowd.slice(of: connection, atMost: limits.requestsPerTurn)
        while true {
            guard budget > 0, connection.output.count < outputRoom(connection) else {
                connection.hasAhead = true
                return
            }
            guard case .line(let lower, let upper) = framer.next(in: connection.input.bytes) else { return }
            // A turn that was taken back in part: what it has kept is not answered again.
            if connection.isAnsweredAhead(lower) {
                connection.state.overtaken = framer.consumed - begin
                continue
            }
            discardedBytes = 0
            connection.waits = []
            connection.patience = Patience()
            connection.requestedAt = connection.arrivals.time(ofLineTo: upper)
            let start = connection.outputEnd
            guard answer(connection, lower, upper, storage) else {
                // When the turn is full the next one goes on here. Otherwise the line's turn comes with the request that waits;
                // what it has begun to wait for is asked for again then.
                if case .answer(let ticket) = connection.state.wait, connection.state.wait != wait {
                    storage.cancel(query: ticket)
                }
                let isTurnFull = connection.state.wait == .room && wait != .room && storage.admitsChanges
                connection.hasAhead = isTurnFull
                connection.state.isStuck = !isTurnFull
                return
            }
            budget -=
                1 + crowd.weight(bytes: upper - lower + Int(connection.outputEnd - start) + discardedBytes, reader)
            connection.state.overtaken = framer.consumed - begin
            connection.answeredAhead(lower..<framer.consumed)
            if call.keepsTurn { connection.keepTurn() }
        }
    }
}
