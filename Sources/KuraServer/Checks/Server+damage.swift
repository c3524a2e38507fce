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

extension StatusHandler {
    /// Damage that anything has met since the start, as `storage.status` tells it.
    static func append(_ book: DamageBook, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        let entries = book.entries
        guard !entries.isEmpty else { return }
        object.name("damage", &out)
        out.append("[")
        for (position, entry) in entries.enumerated() {
            if position > 0 { out.append(",") }
            var inner = ObjectWriter(&out)
            inner.text("file", entry.file, &out)
            inner.text("kind", entry.kind.rawValue, &out)
            inner.number("count", entry.count, &out)
            inner.name("firstAt", &out)
            out.append(timestamp: entry.firstAt)
            inner.name("lastAt", &out)
            out.append(timestamp: entry.lastAt)
            inner.text("reason", entry.reason, &out)
            let help = book.help
            if !help.isEmpty { inner.text("help", help, &out) }
            out.append("}")
        }
        out.append("]")
    }

    /// How scheduled snapshots do, as `storage.status` tells it.
    static func append(_ health: BackupHealth, to object: inout ObjectWriter, _ out: inout ByteBuffer) {
        guard health.every > 0 else { return }
        object.name("backups", &out)
        var inner = ObjectWriter(&out)
        inner.number("everySeconds", health.every, &out)
        if let newest = health.newestAt {
            inner.name("newestAt", &out)
            out.append(timestamp: newest)
        }
        inner.number("failures", health.failures, &out)
        if let last = health.lastFailure {
            inner.name("lastFailureAt", &out)
            out.append(timestamp: last.at)
            inner.text("lastFailure", last.reason, &out)
        }
        out.append("}")
    }
}
