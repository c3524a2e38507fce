import Glibc
import KuraBytes
import KuraProtocol
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

    /// Stops accepting, answers what has arrived, then closes each connection.
    private func drain() {
        drainDeadline = monotonicNow() + 5_000_000_000
        facts.isDraining = true
        for socket in sockets {
            loop.remove(socket.listener.descriptor)
            socket.close()
        }
        sockets = []
        facts.sockets = []
        call.changes.isDraining = true
        call.changes.wake()
        for transfer in transfers { transfer.cancel() }
        for connection in connections.all {
            if !connection.state.hasEnded {
                while case .bytes? = connection.receive(atMost: limits.lineBytes, pool, facts.buffers),
                    connection.input.count < limits.inputBytes
                {}
                connection.state.hasEnded = true
            }
            enter(connection)
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
