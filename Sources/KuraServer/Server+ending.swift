import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// How the daemon stops: by a signal, or because the disk failed it.
extension Server {
    func takeSignals(_ storage: isolated Storage) {
        while let number = supervision.nextSignal() {
            switch number {
            case SIGTERM, SIGINT:
                if drain.hasBegun {
                    journal.log(.warning, "second signal: stopping at once")
                    _exit(1)
                }
                journal.log(
                    .info, "draining", [("signal", String(number)), ("connections", String(connections.count))])
                supervision.stopping()
                beginDrain(storage)
            case SIGHUP: readAgain()
            case SIGCHLD:
                // As process 1 of a container, orphans become ours.
                while waitpid(-1, nil, WNOHANG) > 0 {}
            default:
                journal.log(.info, "signal ignored", [("signal", String(number))])
            }
        }
    }

    /// As many as the kernel keeps waiting at a socket.
    private static let mostWaiting = 4096

    /// Stops accepting, answers what has arrived, then closes each connection. Who has just come in gets a moment to ask.
    func beginDrain(_ storage: isolated Storage) {
        drain.begin(at: clock.monotonic)
        for socket in crowd.doors.takeAll(loop) {
            // Nobody else could let in who waits there. At a socket that was passed they wait for the next daemon.
            if socket.listener.path != nil { letIn(from: socket, atMost: Self.mostWaiting) }
            socket.close()
        }
        call.changes.isDraining = true
        call.changes.wake()
        transfers.cancelAll()
        storage.beginEnding()
        for connection in connections.all {
            if !connection.phase.hasEnded, mayStillAsk(connection) {
                drain.expect(connection)
                continue
            }
            connection.phase.stopReading()
            enter(connection)
        }
    }

    /// Reads what there is.
    /// - Returns: whether the connection is new, its first request has not come, and still may.
    private func mayStillAsk(_ connection: Connection) -> Bool {
        let isNew = connection.phase == .new
        while connection.input.count < limits.inputBytes {
            let (count, isWaiting) = (connection.input.count, connection.hasWholeLines)
            switch connection.receive(atMost: limits.lineBytes, pool, facts.buffers) {
            case .bytes?:
                connection.phase.receive()
                connection.times.arrivals.note(
                    at: clock.monotonic, behind: count, consumed: connection.state.lines.consumed, isWaiting: isWaiting)
            case .nothing?: return isNew && !connection.hasLine
            default: return false
            }
        }
        return false
    }

    /// Ends the connections of those who had come in when the drain began: once their first request is there, or their time is over.
    func endNewcomers() {
        let done = drain.takeNewcomers(at: clock.monotonic) { $0.hasLine || $0.phase.hasEnded }
        for connection in done where !connection.phase.isClosed {
            _ = mayStillAsk(connection)
            connection.phase.stopReading()
            enter(connection)
        }
    }

    /// What has come since the drain began has not been begun, and is told so: a socket that is closed with bytes unread takes replies with it that
    /// have not been read either.
    /// - Returns: false when there is nothing, or the client sends faster than it can be told.
    func refuseLate(_ connection: Connection) -> Bool {
        guard connection.phase.mayRefuse(atMost: Self.mostLateReads) else { return false }
        guard case .bytes? = connection.receive(atMost: limits.lineBytes, pool, facts.buffers) else { return false }
        refuseRest(of: connection, isBegun: false, nil)
        return true
    }

    private static let mostLateReads = 16

    /// Everything has been answered, or the clients that do not read have had their time.
    var isDrained: Bool { drain.isOver(connections: connections.count) }

    /// The time is over: requests that wait are told that what they wait for does not come. In the turn that has begun nothing waits, and everything
    /// that has arrived is answered.
    func endWaits(_ storage: isolated Storage) {
        guard !connections.isEmpty else { return }
        journal.log(.warning, "the time for draining is over", [("connections", String(connections.count))])
        endTransfers()
        wakeBatches()
        for connection in connections.all {
            let cause = connection.wait
            waits.remove(connection.token)
            switch cause {
            case .none: break
            case .room, .slot, .moment, .page: connection.begun?.wake()
            case .answer(let ticket): connection.begun?.wake(storage.giveUp(ticket))
            case .transfer:
                connection.begun?.wake(nil, TransferOutcome(answer: .error(RPCError(.outcomeUnknown))))
            }
            enter(connection)
        }
    }

    /// Sends what the last turn has answered, and answers what could not wait for a turn.
    /// - Returns: why its replies are not true, when the sync has failed.
    func sendLast(_ storage: isolated Storage) -> StorageFault? {
        storage.syncNow()
        if let failure = storage.failure {
            failAll(storage)
            return failure
        }
        // Those in their places have been answered there.
        failTransfers { $0.ticket == nil }
        for connection in connections.all {
            refuseWaits(of: connection)
            _ = connection.flush(syncedRev: storage.syncedRev, pool)
        }
        return nil
    }

    /// Answers every request that has come and was not answered. What was begun may have changed something; the rest has not.
    /// `batch`: the one that was begun.
    private func refuseRest(of connection: Connection, isBegun: Bool, _ batch: ConnectionState.Batch?) {
        var kind = isBegun ? ErrorKind.outcomeUnknown : .shuttingDown
        if let batch {
            refuse(Bytes(rebasing: connection.input.bytes[batch.lower..<batch.upper]), kind, &connection.output)
            kind = .shuttingDown
        }
        while case .line(let lower, let upper) = connection.state.lines.next(in: connection.input.bytes) {
            refuse(Bytes(rebasing: connection.input.bytes[lower..<upper]), kind, &connection.output)
            kind = .shuttingDown
        }
    }

    private func refuse(_ line: Bytes, _ kind: ErrorKind, _ out: inout ByteBuffer) {
        func answer(_ error: RPCError, behind separator: UInt8?) -> Bool {
            guard reader.hasID else { return false }
            if let separator { out.append(separator) }
            out.append(error: error, id: reader.replyID)
            return true
        }
        defer { reader.wipe() }
        do throws(RPCError) {
            guard case .batch(let count, var offset) = try reader.read(line, batchLimit: limits.batchItems) else {
                if answer(RPCError(kind), behind: nil) { out.append(0x0A) }
                return
            }
            var separator = UInt8(ascii: "[")
            for _ in 0..<count {
                var error = RPCError(kind)
                do throws(RPCError) { try reader.nextMember(of: line, at: &offset) } catch let fault { error = fault }
                if answer(error, behind: separator) { separator = UInt8(ascii: ",") }
            }
            if separator == UInt8(ascii: ",") { out.append("]\n") }
        } catch {
            if answer(error, behind: nil) { out.append(0x0A) }
        }
    }

    /// The outcome of what was not synced is unknown: the replies that wait say so, then everything closes.
    func failAll(_ storage: isolated Storage) {
        let synced = storage.syncedRev
        failTransfers()
        for connection in connections.all {
            connection.state.barriers.commitFailed()
            connection.endTurn(pool)
            let (isBegun, batch) = (
                connection.begun != nil || connection.state.isComposing, connection.state.batch
            )
            connection.replaceUnsyncedReplies(syncedRev: synced)
            refuseRest(of: connection, isBegun: isBegun, batch)
            _ = connection.flush(syncedRev: .everything, pool)
        }
        connections.removeAll()
    }
}
