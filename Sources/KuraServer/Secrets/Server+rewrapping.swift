import KuraBytes
import KuraStorage
import KuraTransport

/// A request that waits until secrets are sealed anew, and is told how far that is.
struct RewrapWait {
    /// What it waits with.
    let ticket: UInt64
    let token: UInt64
    let id: [UInt8]
    /// When it is told next, nanoseconds.
    var toldAt: UInt64

    /// Nanoseconds between two notifications.
    static let interval: UInt64 = 500_000_000
}

extension Server {
    /// Tells who waits for secrets that are sealed anew how far it is. When no connection is in a turn.
    func tellRewrapping(_ storage: isolated Storage) {
        let time = clock.monotonic
        facts.rewrapWaits.removeAll { wait in connections[wait.token]?.wait != .answer(wait.ticket) }
        for index in facts.rewrapWaits.indices where facts.rewrapWaits[index].toldAt <= time {
            let wait = facts.rewrapWaits[index]
            // A batch's replies are one line: nothing may come between.
            guard let connection = connections[wait.token], !connection.state.isComposing,
                connection.waitingOutput < limits.outputBytes / 4, let progress = storage.secrets.rewrapProgress
            else { continue }
            facts.rewrapWaits[index].toldAt = time + RewrapWait.interval
            let told = TransferProgress(
                unit: .secrets, done: progress.done, total: progress.total, imported: nil, rev: storage.committedRev)
            tell(connection, rev: told.rev, storage) { $0.append(progress: told, id: wait.id) }
        }
    }
}
