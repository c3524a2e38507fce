import KuraBytes
import KuraStorage
import KuraTransport

extension Server {
    /// Tells who waits for secrets that are sealed anew how far it is. When no connection is in a turn.
    func tellRewrapping(_ storage: isolated Storage) {
        guard storage.mayHaveUntold else { return }
        for ticket in storage.takeUntold() {
            // A notification has no id, and a batch's replies are one line: nothing may come between.
            guard let connection = waits.holder(of: .answer(ticket)).flatMap({ connections[$0] }),
                let id = connection.begun?.id, !id.isEmpty, !connection.state.isComposing,
                connection.waitingOutput < limits.outputBytes / 4, let progress = storage.secrets.rewrapProgress
            else { continue }
            let told = TransferProgress(
                unit: .secrets, done: progress.done, total: progress.total, imported: nil, rev: storage.committedRev)
            tell(connection, rev: told.rev, storage) { $0.append(progress: told, id: id) }
        }
    }
}
