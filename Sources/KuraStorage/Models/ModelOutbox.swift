import KuraBytes

/// What the files of the model cache are still to be told, and the number of the newest change.
///
/// Small changes go into a batch, which is handed over when it is large or the turn ends. Values are gathered first, so that a key that changes
/// all the time is written ten times a second. Belongs to the loop.
final class ModelOutbox {
    private let caches: Caches
    private(set) var batch: ModelBatch
    /// Counts writes and invalidations; what a mark is about lies below it.
    private(set) var sequence: UInt64 = 0
    let unsent = UnsentRows()
    /// Rows whose values are on their way to a file, with the batches that have them, in their order; some may be others' by now.
    private(set) var unwritten: [SentRow] = []
    /// Names of the tags of an entry that is being written.
    private var tagNames = ByteBuffer()

    /// Bytes of a batch that is handed over at once; a smaller one waits for the end of the turn.
    private static let batchBytes = 256 << 10

    init(_ caches: Caches) {
        self.caches = caches
        batch = ModelBatch(number: 1, space: caches.space)
    }

    // MARK: Numbers

    /// Numbers a change.
    func countChange() -> UInt64 {
        sequence += 1
        return sequence
    }

    /// What a file has is older than what comes.
    func raise(to other: UInt64) { sequence = max(sequence, other) }

    // MARK: Batches

    /// Bytes that the thread has not been given yet, about; 0: none.
    var bytes: Int { unsent.count + batch.bytes }
    /// Values are on their way to a file, or wait for it.
    var isBusy: Bool { !unwritten.isEmpty || unsent.bytes > 0 }
    /// Whether a value that comes may wait to be written.
    var admits: Bool { unsent.bytes + caches.writer.waiting < caches.writer.limit }

    func submitIfLarge() { if batch.bytes >= Self.batchBytes { submit() } }

    /// Hands over what has changed.
    func submit() { if !batch.isEmpty { handOver() } }

    /// The same, when that is nothing but the clock and the sequence.
    func handOver() {
        batch.sequence = sequence
        batch.clock = caches.clock
        caches.writer.submit(batch, bytes: batch.bytes)
        batch = ModelBatch(number: batch.number + 1, space: caches.space)
    }

    // MARK: Values

    /// Has a row written by and by whose value is in memory.
    func persist(_ row: UInt32, _ rows: borrowing ModelRows) {
        guard !rows[row].flags.contains(.unsent) else { return }
        rows[row].flags.insert([.persisted, .unsent])
        unsent.append(row, bytes: Int(rows[row].valueCount))
    }

    /// A row's times or marks have changed, not its value.
    func touch(_ row: UInt32, of namespace: ModelNamespace, _ rows: borrowing ModelRows) {
        guard rows[row].flags.isPersistedAndSent else { return }
        batch.touch(rows[row], of: namespace)
        submitIfLarge()
    }

    /// Hands over the values that have waited long enough, as fast as the thread takes them.
    /// `isUrgent`: they take memory that is wanted.
    /// - Returns: nanoseconds until the next have; nil when none wait, or the thread's end of work will tell.
    func send(
        _ time: UInt64, isUrgent: Bool, _ rows: borrowing ModelRows, _ namespaces: ModelNamespaces
    ) -> UInt64? {
        let wait = unsent.wait(time, isUrgent: isUrgent)
        guard wait == 0 else { return wait }
        while unsent.count > 0, caches.writer.waiting < 2 * Self.batchBytes { sendSome(rows, namespaces) }
        return nil
    }

    func sendAll(_ rows: borrowing ModelRows, _ namespaces: ModelNamespaces) {
        while unsent.count > 0 { sendSome(rows, namespaces) }
        submit()
    }

    /// Puts values into a batch, and hands it over when it is full.
    private func sendSome(_ rows: borrowing ModelRows, _ namespaces: ModelNamespaces) {
        var done = 0
        let number = batch.number
        while done < unsent.count, batch.number == number {
            send(unsent[done], rows, namespaces)
            done += 1
        }
        unsent.removeFirst(done)
        submit()
    }

    private func send(_ row: UInt32, _ rows: borrowing ModelRows, _ namespaces: ModelNamespaces) {
        // The row may be somebody else's by now, who has been sent or comes later.
        guard rows[row].flags.contains(.unsent) else { return }
        rows[row].flags.remove(.unsent)
        unsent.noteSent(bytes: Int(rows[row].valueCount))
        guard rows[row].flags.contains(.persisted), let namespace = namespaces[rows[row].namespace],
            namespace.persists, rows[row].sequence > namespace.unlinkedBefore
        else { return }
        rows[row].batch = batch.number
        unwritten.append(SentRow(row: row, batch: batch.number))
        tagNames.removeAll()
        rows[row].forEachTag { tag in
            let name = namespace.tagName(tag)
            tagNames.append(UInt8(name.count))
            tagNames.append(name)
        }
        batch.put(rows[row], value: rows[row].value, tags: tagNames.bytes, of: namespace)
        submitIfLarge()
    }

    /// Values that are in a file now may leave memory.
    /// `number`: of the batch that has been written.
    func noteWritten(_ number: UInt64, _ rows: borrowing ModelRows, _ memory: ModelMemory) {
        var done = 0
        for sent in unwritten {
            if sent.batch > number { break }
            done += 1
            let row = sent.row
            // It may have another value by now, or be another entry's: that one comes later.
            guard rows[row].batch == sent.batch, rows[row].flags.isPersistedAndSent,
                rows[row].flags.contains(.resident), !memory.mayDrop(row)
            else { continue }
            memory.allowDropping(row, bytes: Int(rows[row].valueCount))
        }
        unwritten.removeFirst(done)
    }
}

/// Rows that are in no batch yet, in the order of their writing; some may be others' by now.
final class UnsentRows {
    private var rows: [UInt32] = []
    /// Bytes of their values.
    var bytes = 0
    /// A row that is still among them though its entry is gone; 0 when there is none.
    private var vacated: UInt32 = 0
    /// When the first of them was seen waiting; 0 when none was.
    private var since: UInt64 = 0

    /// How long values are gathered, and how much of them.
    private static let gatherTime: UInt64 = 100_000_000
    private static let gatherBytes = 4 << 20

    var count: Int { rows.count }
    subscript(position: Int) -> UInt32 { rows[position] }

    func append(_ row: UInt32, bytes count: Int) {
        // What replaces one that waited has its row and its place in the list.
        if row != vacated { rows.append(row) }
        bytes += count
    }

    /// An entry is gone that waited.
    func vacate(_ row: UInt32, bytes count: Int) {
        bytes -= count
        vacated = row
    }

    /// A value is in a batch.
    func noteSent(bytes count: Int) { bytes -= count }

    /// The first of them have been looked at.
    func removeFirst(_ count: Int) {
        rows.removeFirst(count)
        vacated = 0
        if rows.isEmpty { since = 0 }
    }

    /// - Returns: nanoseconds until they are to be sent; nil when there are none.
    func wait(_ time: UInt64, isUrgent: Bool) -> UInt64? {
        guard !rows.isEmpty else { return nil }
        if since == 0 { since = time }
        let age = time - since
        return age >= Self.gatherTime || bytes >= Self.gatherBytes || isUrgent ? 0 : Self.gatherTime - age
    }
}

/// A row whose value is in a batch.
struct SentRow: BitwiseCopyable {
    var row: UInt32
    var batch: UInt64
}
