import Glibc
import KuraBytes
import KuraProtocol
import KuraSocket
import KuraStorage
import KuraTransport

/// How the daemon stops: by a signal, or because the disk failed it.
extension Server {
    func takeSignals(_ storage: isolated Storage) {
        while let number = Signals.next(signals) {
            switch number {
            case SIGTERM, SIGINT:
                if drainDeadline != nil {
                    journal.log(.warning, "second signal: stopping at once")
                    _exit(1)
                }
                journal.log(
                    .info, "draining", [("signal", String(number)), ("connections", String(connections.count))])
                supervision.stopping()
                drain()
            case SIGHUP: readAgain()
            case SIGCHLD:
                // As process 1 of a container, orphans become ours.
                while waitpid(-1, nil, WNOHANG) > 0 {}
            default:
                journal.log(.info, "signal ignored", [("signal", String(number))])
            }
        }
    }

    /// What a client that has come in and said nothing yet has for its first request.
    private static let newcomersTime: UInt64 = 250_000_000
    /// As many as the kernel keeps waiting at a socket.
    private static let mostWaiting = 4096

    /// Stops accepting, answers what has arrived, then closes each connection. Who has just come in gets a moment to ask.
    func drain() {
        let time = monotonicNow()
        drainDeadline = time + 5_000_000_000
        newcomersDeadline = time + Self.newcomersTime
        facts.isDraining = true
        for socket in sockets {
            loop.remove(socket.listener.descriptor)
            // Nobody else could let in who waits there. At a socket that was passed they wait for the next daemon.
            if socket.listener.path != nil { letIn(from: socket, atMost: Self.mostWaiting) }
            socket.close()
        }
        sockets = []
        facts.sockets = []
        call.changes.isDraining = true
        call.changes.wake()
        for transfer in transfers { transfer.cancel() }
        for connection in connections.all {
            if !connection.state.hasEnded, mayStillAsk(connection) {
                newcomers.append(connection)
                continue
            }
            connection.state.hasEnded = true
            enter(connection)
        }
    }

    /// Reads what there is.
    /// - Returns: whether the connection is new, its first request has not come, and still may.
    private func mayStillAsk(_ connection: Connection) -> Bool {
        let isNew = !connection.hasSpoken
        while connection.input.count < limits.inputBytes {
            switch connection.receive(atMost: limits.lineBytes, pool, facts.buffers) {
            case .bytes?: connection.hasSpoken = true
            case .nothing?: return isNew && !connection.hasLine
            default: return false
            }
        }
        return false
    }

    /// Ends the connections of those who had come in when the drain began: once their first request is there, or their time is over.
    func endNewcomers() {
        let isOver = monotonicNow() >= newcomersDeadline
        newcomers.removeAll { connection in
            guard isOver || connection.hasLine || connection.state.hasEnded || connection.isClosed else { return false }
            if !connection.isClosed {
                _ = mayStillAsk(connection)
                connection.state.hasEnded = true
                enter(connection)
            }
            return true
        }
    }

    /// Everything has been answered, or the clients that do not read have had their time.
    var isDrained: Bool {
        guard let drainDeadline else { return false }
        return connections.isEmpty || monotonicNow() >= drainDeadline
    }

    /// The outcome of what was not synced is unknown: the replies that wait say so, then everything closes.
    func failAll(_ storage: isolated Storage) {
        let synced = storage.syncedRev
        failTransfers()
        for connection in connections.all {
            connection.state.commitFailed()
            connection.endTurn(pool)
            connection.replaceUnsyncedReplies(syncedRev: synced)
            _ = connection.flush(syncedRev: .max, pool)
        }
        connections.removeAll()
    }
}

/// Nanoseconds on a clock that never goes back.
func monotonicNow() -> UInt64 {
    var time = timespec()
    // Safety: the kernel fills one `timespec`, which is ours.
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
