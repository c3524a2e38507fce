import KuraBytes
import SQLite

/// What is written behind, and what the thread has to say about it.
extension ModelsStore {
    /// Bytes of a batch that is handed over at once; a smaller one waits for the end of the turn.
    private static let batchBytes = 256 << 10

    func submitIfLarge() {
        if batch.bytes >= Self.batchBytes { submit() }
    }

    /// Hands over what has changed.
    func submit() {
        if !batch.isEmpty { handOver() }
    }

    /// Bytes that the thread has not been given yet, about; 0: none.
    var unwrittenBytes: Int { unsent.count + batch.bytes }

    private func handOver() {
        batch.sequence = sequence
        batch.clock = caches.clock
        caches.writer.submit(batch, bytes: batch.bytes)
        batch = ModelBatch(number: batch.number + 1, space: caches.space)
    }

    /// Has the clock written by itself; the one of all caches lies beside this one's sequence.
    private func writeClock(_ time: UInt64) -> UInt64? {
        guard isLoaded, let wait = caches.waitForClock(time) else { return nil }
        guard wait == 0 else { return wait }
        caches.noteClockWritten(time)
        handOver()
        return nil
    }

    /// How long values are gathered, so that a key that changes all the time is written ten times a second, and how much of them.
    private static let gatherTime: UInt64 = 100_000_000
    private static let gatherBytes = 4 << 20

    /// Hands over the values that have waited long enough, as fast as the thread takes them.
    /// - Returns: nanoseconds until the next have; nil when none wait, or the thread's end of work will tell.
    private func send(_ time: UInt64) -> UInt64? {
        guard !unsent.isEmpty else { return nil }
        if unsentSince == 0 { unsentSince = time }
        let age = time - unsentSince
        guard age >= Self.gatherTime || unsentBytes >= Self.gatherBytes || memory > limits.memory else {
            return Self.gatherTime - age
        }
        while !unsent.isEmpty, caches.writer.waiting < 2 * Self.batchBytes { sendSome() }
        if unsent.isEmpty { unsentSince = 0 }
        return nil
    }

    func sendAll() {
        while !unsent.isEmpty { sendSome() }
        unsentSince = 0
        submit()
    }

    /// Puts values into a batch, and hands it over when it is full.
    private func sendSome() {
        var done = 0
        let number = batch.number
        while done < unsent.count, batch.number == number {
            send(unsent[done])
            done += 1
        }
        unsent.removeFirst(done)
        vacatedUnsent = 0
        submit()
    }

    private func send(_ number: UInt32) {
        let place = Int(number)
        // The row may be somebody else's by now, who has been sent or comes later.
        guard rows.pointee[place].flags.contains(.unsent) else { return }
        rows.pointee[place].flags.remove(.unsent)
        unsentBytes -= Int(rows.pointee[place].valueCount)
        guard rows.pointee[place].flags.contains(.persisted),
            let namespace = namespaces[Int(rows.pointee[place].namespace)], namespace.persists,
            rows.pointee[place].sequence > namespace.unlinkedBefore
        else { return }
        rows.pointee[place].batch = batch.number
        unwritten.append(SentRow(row: number, batch: batch.number))
        tagNames.removeAll()
        eachTag(of: number) { tag in
            let name = namespace.tagName(tag)
            tagNames.append(UInt8(name.count))
            tagNames.append(name)
        }
        batch.put(rows.pointee[place], value: rows.pointee[place].value, tags: tagNames.bytes, of: namespace)
        submitIfLarge()
    }

    /// Has the configuration of a namespace written; nothing of one that does not persist.
    func write(_ namespace: ModelNamespace) {
        guard !namespace.configuration.isScratch else { return }
        namespace.configuration.text.withBytes { batch.note(namespace, configuration: $0) }
    }

    /// The main file has been dropped, and lacks what namespaces are. Where it cannot be written it is not tried all the time.
    /// - Returns: nanoseconds until it is tried.
    private func nameAgain(_ time: UInt64) -> UInt64? {
        guard isUnnamed else { return nil }
        guard time >= namesAgainAt else { return namesAgainAt - time }
        namesAgainAt = time + 1_000_000_000
        isUnnamed = false
        for namespace in namespaces.compactMap({ $0 }) { writeAll(of: namespace) }
        return nil
    }

    /// The same with its marks: entries that are in a file of its own are held against them at the next start.
    private func writeAll(of namespace: ModelNamespace) {
        write(namespace)
        guard namespace.persists else { return }
        namespace.marks.forEach { kind, name, marks in
            name.withBytes { batch.mark(namespace, kind: kind, name: $0, marks) }
        }
    }

    // MARK: Outcomes

    func take(_ outcome: CacheOutcome) -> Bool {
        switch outcome.job {
        case let written as ModelBatch:
            writtenBatch = written.number
            if !written.removedFiles.isEmpty { caches.forgetInReader(written.removedFiles) }
            if outcome.error != nil || written.isUnwritten { keepInMemory(written) }
            noteWritten()
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

    /// Values that are in a file now may leave memory.
    private func noteWritten() {
        var done = 0
        for sent in unwritten {
            if sent.batch > writtenBatch { break }
            done += 1
            let (row, place) = (sent.row, Int(sent.row))
            // It may have another value by now, or be another entry's: that one comes later.
            guard rows.pointee[place].batch == sent.batch, rows.pointee[place].flags.isPersistedAndSent,
                rows.pointee[place].flags.contains(.resident), !memoryPlaces.holds(row)
            else { continue }
            memoryOrder.insert(row, bytes: Int(rows.pointee[place].valueCount), limit: limits.memory)
        }
        unwritten.removeFirst(done)
        makeMemory(for: 0)
    }

    /// What could not be written lives in memory only.
    private func keepInMemory(_ written: ModelBatch) {
        written.forEachEntry { namespace, key in
            let row = find(namespace, key, hash(namespace, key))
            guard row != 0, rows.pointee[Int(row)].batch <= written.number, let owner = namespaces[Int(namespace)],
                rows.pointee[Int(row)].flags.isPersistedAndSent
            else { return }
            // Whatever came of it, the file is not to have it either: nobody would delete it there.
            if owner.persists { batch.delete(key, of: owner) }
            rows.pointee[Int(row)].flags.remove(.persisted)
            memoryOrder.remove(row)
            if !rows.pointee[Int(row)].flags.contains(.resident) { withdraw(row, owner) }
        }
        submitIfLarge()
    }

    func filesDropped(_ names: [String]) {
        caches.openErrors += 1
        // Entries whose values are not in memory turn out to be gone when they are asked for.
        if names.contains(CacheFiles.main) { isUnnamed = true }
        for namespace in all where namespace.persists && namespace.count > 0 && names.contains(namespace.file) {
            tell(.drop, .whole, Bytes(), namespace)
        }
    }

    func close() {
        _ = nameAgain(.max / 2)
        _ = move { true }
        submit()
        sendAll()
        // The clock, and the counter that goes on there.
        if !names.isEmpty { handOver() }
    }

    // MARK: Reading values

    /// Has the values of entries read that are not in memory; the ticket comes back when it is through.
    func read(_ namespace: ModelNamespace, _ keys: [[UInt8]], ticket: UInt64) {
        let wanted = keys.map { key in
            let row = key.withBytes { find(namespace.number, $0, hash(namespace.number, $0)) }
            return (key, rows.pointee[Int(row)].sequence)
        }
        caches.reader.submit(
            ModelRead(ticket: ticket, namespace: namespace.number, wanted: wanted, file: namespace.file))
    }

    // MARK: By and by

    func upkeep(_ time: UInt64) -> UInt64? {
        var due = nameAgain(time) ?? .max
        due = min(due, move { caches.hasTime() } ?? .max, releaseSome() ?? .max, tendBounds() ?? .max)
        submit()
        due = min(due, send(time) ?? .max, sweep(time) ?? .max, writeClock(time) ?? .max)
        return due == .max ? nil : due
    }
}
