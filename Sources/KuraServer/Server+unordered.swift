import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage

/// Requests that are answered ahead of one that waits.
extension Server {
    /// Answers what may be answered out of order while a request waits: with `session.hello {enable: ["outOfOrder"]}` the lines behind it
    /// up to the next one that has to wait, otherwise, and behind that one, the methods that say so.
    ///
    /// What is answered leaves the input when the turn is in the log: a turn that is taken back answers it again.
    func answerAhead(_ connection: Connection, _ storage: isolated Storage) {
        // A batch that waits has begun its reply's line; descriptors are taken in the order of the requests.
        guard !connection.state.isComposing, connection.descriptors.isEmpty else { return }
        guard connection.crowd.deferredUntil == 0 else {
            connection.hasAhead = true
            return
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
        setWriter(connection, storage)
        storage.setWriterAccounts(connection.admission.accounts)
        var budget = crowd.slice(of: connection, atMost: limits.requestsPerTurn)
        while case .line(let lower, let upper) = framer.next(in: connection.input.bytes) {
            guard budget > 0, connection.waitingOutput < outputRoom(connection) else {
                connection.hasAhead = true
                return
            }
            budget -= 1
            let mayAll = connection.state.isUnordered && !connection.state.isStuck
            // A turn that was taken back in part: what it has kept is not answered again.
            guard !connection.isAnsweredAhead(lower), mayAll || isOutOfBand(connection, lower..<upper) else {
                connection.state.overtaken = framer.consumed - begin
                continue
            }
            discardedBytes = 0
            connection.requestedAt = connection.arrivals.time(ofLineTo: upper)
            let start = connection.outputEnd
            let need =
                mayAll
                ? answer(connection, lower, upper, isAhead: true, storage)
                : answerRequest(connection, isAhead: true, storage)
            if let need {
                let isNext =
                    switch need {
                    case .commit: true
                    // The turn is full.
                    case .room: mayAll && connection.wait != .room && storage.admitsChanges
                    case .turn, .order, .slot, .page, .answer, .reference, .transfer: false
                    }
                // The next turn goes on here.
                guard !isNext else {
                    connection.hasAhead = true
                    return
                }
                // Its turn comes with the request that waits, and so does that of all behind it.
                connection.state.isStuck = true
                connection.state.overtaken = framer.consumed - begin
                continue
            }
            budget -= crowd.weight(bytes: upper - lower + Int(connection.outputEnd - start) + discardedBytes, reader)
            connection.state.overtaken = framer.consumed - begin
            connection.answeredAhead(lower..<framer.consumed)
            if call.keepsTurn { connection.keepTurn() }
        }
    }

    /// Reads a line, and tells whether it may be answered before one that waits, whatever the client has said.
    private func isOutOfBand(_ connection: Connection, _ line: Range<Int>) -> Bool {
        let line = Bytes(rebasing: connection.input.bytes[line])
        if line.first == UInt8(ascii: "{"), (try? reader.read(line, batchLimit: 0)) != nil, reader.isOutOfBand {
            return true
        }
        // It may have a secret in it.
        reader.wipe()
        return false
    }
}
