import KuraBytes
import KuraProtocol
import KuraStorage

extension Server {
    /// Writes a line for each damage that has been met since the last turn, once for each file and kind.
    func tellDamage(_ book: DamageBook) {
        for news in book.takeNews() {
            switch news {
            case .found(let entry, let help):
                journal.log(
                    .error, "damage found",
                    [
                        ("file", entry.file), ("kind", entry.kind.rawValue), ("reason", entry.reason), ("help", help),
                    ])
            case .problem(let problem):
                journal.log(
                    .error, "damage found",
                    [("what", problem.what.rawValue), ("where", problem.place), ("problem", problem.text)])
            case .checked(let count):
                journal.log(.error, "everything looked through", [("problems", String(count))])
            }
        }
    }
}

extension StorageHandlers {
    /// Damage that anything has met since the start, as `storage.status` tells it.
    static func append(_ book: DamageBook, to out: inout ByteBuffer) {
        let entries = book.entries
        guard !entries.isEmpty else { return }
        out.openList(.damage)
        for entry in entries {
            out.openObject()
            out.append(.file, entry.file)
            out.append(.kind, entry.kind.rawValue)
            out.append(.count, entry.count)
            out.append(.firstAt, entry.firstAt)
            out.append(.lastAt, entry.lastAt)
            out.append(.reason, entry.reason)
            let help = book.help
            if !help.isEmpty { out.append(.help, help) }
            out.closeObject()
        }
        out.closeList()
    }

    /// How scheduled snapshots do, as `storage.status` tells it.
    static func append(_ health: BackupHealth, to out: inout ByteBuffer) {
        out.openObject(.backups)
        out.append(.everySeconds, health.every)
        if let newest = health.newestAt { out.append(.newestAt, newest) }
        out.append(.failures, health.failures)
        if let last = health.lastFailure {
            out.append(.lastFailureAt, last.at)
            out.append(.lastFailure, last.reason)
        }
        out.closeObject()
    }
}
