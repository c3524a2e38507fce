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
            connection.state.lines.hasMore = true
            return
        }
        guard var behind = connection.state.lines.linesBehind(in: connection.input.bytes) else { return }
        var budget = crowd.slices.slice(of: connection, atMost: limits.requestsPerTurn)
        while case .line(let lower, let upper) = behind.next(in: connection.input.bytes) {
            guard budget > 0, connection.waitingOutput < outputRoom(connection) else {
                connection.state.lines.hasMore = true
                return
            }
            budget -= 1
            let mayAny = connection.state.lines.mayAnswerAny
            // A turn that was taken back in part: what it has kept is not answered again.
            guard !connection.state.lines.isAnswered(lower), mayAny || isOutOfBand(connection, lower..<upper) else {
                connection.state.lines.pass(to: behind.consumed)
                continue
            }
            crowd.slices.beginRequest()
            connection.times.begin(lineTo: upper)
            let start = connection.outputEnd
            let need =
                mayAny
                ? answer(connection, lower, upper, isAhead: true, storage)
                : answerRequest(connection, isAhead: true, storage)
            if let need {
                let isNext =
                    switch need {
                    case .commit: true
                    // The turn is full.
                    case .room: mayAny && connection.wait != .room && storage.admitsChanges
                    case .turn, .order, .slot, .moment, .page, .answer, .reference, .transfer: false
                    }
                // The next turn goes on here.
                guard !isNext else {
                    connection.state.lines.hasMore = true
                    return
                }
                // Its turn comes with the request that waits, and so does that of all behind it.
                connection.state.lines.stick(to: behind.consumed)
                continue
            }
            budget -= crowd.slices.weight(bytes: upper - lower + Int(connection.outputEnd - start), reader)
            connection.state.lines.answer(lower..<behind.consumed)
            if call.attempt.keepsTurn { connection.keepTurn() }
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
