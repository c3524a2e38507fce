import KuraBytes
import SQLite

/// What is written behind, and what the thread has to say about it.
extension ModelsStore {
    /// Bytes that the thread has not been given yet, about; 0: none.
    var unwrittenBytes: Int { outbox.bytes }

    func sendAll() { outbox.sendAll(rows, namespaces) }

    /// Has the clock written by itself; the one of all caches lies beside this one's sequence.
    private func writeClock(_ time: UInt64) -> UInt64? {
        guard isLoaded, let wait = caches.waitForClock(time) else { return nil }
        guard wait == 0 else { return wait }
        caches.noteClockWritten(time)
        outbox.handOver()
        return nil
    }

    /// Has the configuration of a namespace written; nothing of one that does not persist.
    func write(_ namespace: ModelNamespace) {
        guard !namespace.configuration.isScratch else { return }
        namespace.configuration.text.withBytes { outbox.batch.note(namespace, configuration: $0) }
    }

    /// The main file has been dropped, and lacks what namespaces are.
    /// - Returns: nanoseconds until it is tried; nil when they are there.
    private func nameAgain(_ time: UInt64) -> UInt64? {
        let wait = naming.wait(time)
        guard wait == 0 else { return wait }
        for namespace in namespaces.all { writeAll(of: namespace) }
        return nil
    }

    /// The same with its marks: entries that are in a file of its own are held against them at the next start.
    private func writeAll(of namespace: ModelNamespace) {
        write(namespace)
        guard namespace.persists else { return }
        namespace.marks.forEach { kind, name, marks in
            name.withBytes { outbox.batch.mark(namespace, kind: kind, name: $0, marks) }
        }
    }

    // MARK: Outcomes

    func take(_ outcome: CacheOutcome) -> Bool {
        switch outcome.job {
        case let written as ModelBatch:
            if !written.removedFiles.isEmpty { caches.forgetInReader(written.removedFiles) }
            if outcome.error != nil || written.isUnwritten { keepInMemory(written) }
            outbox.noteWritten(written.number, rows, memory)
            makeMemory(for: 0)
            if let error = outcome.error {
                caches.openErrors += 1
                caches.report("the model cache cannot be written: \(error)")
            }
        case let read as ModelRead: caches.answer(read.ticket, read)
        case let load as ModelLoad: take(load, outcome.error)
        default: return false
        }
        return true
    }

    /// What could not be written lives in memory only.
    private func keepInMemory(_ written: ModelBatch) {
        written.forEachEntry { namespace, key in
            let row = rows.find(namespace, key)
            guard row != 0, rows[row].batch <= written.number, let owner = namespaces[namespace],
                rows[row].flags.isPersistedAndSent
            else { return }
            // Whatever came of it, the file is not to have it either: nobody would delete it there.
            if owner.persists { outbox.batch.delete(key, of: owner) }
            rows[row].flags.remove(.persisted)
            memory.keep(row)
            if !rows[row].flags.contains(.resident) { withdraw(row, owner) }
        }
        outbox.submitIfLarge()
    }

    func filesDropped(_ names: [String]) {
        caches.openErrors += 1
        // Entries whose values are not in memory turn out to be gone when they are asked for.
        if names.contains(CacheFiles.main) { naming.isMissing = true }
        for namespace in all where namespace.persists && namespace.count > 0 && names.contains(namespace.file) {
            tell(.drop, .whole, Bytes(), namespace)
        }
    }

    func close() {
        _ = nameAgain(.max / 2)
        _ = move { true }
        outbox.submit()
        sendAll()
        // The clock, and the counter that goes on there.
        if namespaces.count > 0 { outbox.handOver() }
    }

    // MARK: Reading values

    /// Has the values of entries read that are not in memory; the ticket comes back when it is through.
    func read(_ namespace: ModelNamespace, _ keys: [[UInt8]], ticket: UInt64) {
        let wanted = keys.map { key in
            let row = key.withBytes { rows.find(namespace.number, $0) }
            return (key, rows[row].sequence)
        }
        caches.reader.submit(
            ModelRead(ticket: ticket, namespace: namespace.number, wanted: wanted, file: namespace.file))
    }

    // MARK: By and by

    func upkeep(_ time: UInt64) -> UInt64? {
        var due = nameAgain(time) ?? .max
        due = min(due, move { caches.hasTime() } ?? .max, releaseSome() ?? .max, tendBounds() ?? .max)
        outbox.submit()
        let sent = outbox.send(time, isUrgent: memory.bytes > memory.limit, rows, namespaces)
        due = min(due, sent ?? .max, sweep(time) ?? .max, writeClock(time) ?? .max)
        return due == .max ? nil : due
    }
}

/// Whether the main file lacks what namespaces are, which is written again. Where it cannot be written that is not tried all the time.
struct ModelNaming {
    var isMissing = false
    private var nextAt: UInt64 = 0

    /// - Returns: nanoseconds until it is tried; 0: now; nil when nothing is missing.
    mutating func wait(_ time: UInt64) -> UInt64? {
        guard isMissing else { return nil }
        guard time >= nextAt else { return nextAt - time }
        nextAt = time + 1_000_000_000
        isMissing = false
        return 0
    }
}
