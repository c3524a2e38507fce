import KuraBytes

/// What is done between turns, in pieces: reading the index, writing it behind, letting go of what has expired.
extension BlobsStore: CacheRoom {
    var store: CacheStore { .blobs }
    var isRead: Bool { isReady }
    static var tables: String { BlobTable.sql }
    var purgeRank: Int { 0 }

    /// Blobs that are removed for having expired in one turn.
    private static let expiredAtOnce = 500

    /// The table has to learn of it.
    func note(_ change: BlobChange) {
        guard phase != .dropping else { return }
        if outbox.append(change) { flushChanges() }
    }

    /// Bytes that the thread has not been given yet, about; 0: none.
    var unwrittenBytes: Int { outbox.bytes }

    /// Hands over what the table has to learn.
    func flushChanges() {
        guard !outbox.isEmpty else { return }
        let (changes, bytes) = outbox.take()
        caches.writer.submit(BlobWrites(changes), bytes: bytes)
    }

    func close() {
        if phase == .dropping { caches.writer.submit(BlobReset()) }
        flushChanges()
        files.stop()
    }

    func purgeEnded() {}

    func upkeep(_ time: UInt64) -> UInt64? {
        if outbox.isDue { flushChanges() }
        memory.trim(index)
        guard removeRest(), resetSome() else { return 1_000_000 }
        return sweep(time)
    }

    func take(_ outcome: CacheOutcome) -> Bool {
        switch outcome.job {
        case let load as BlobLoad: take(load, outcome.error != nil)
        case let writes as BlobWrites:
            outbox.noteDone()
            if outcome.error == nil { noteWritten(writes) } else { reset("could not be written") }
        case is BlobReset: beginAnew()
        case let look as BlobLook: caches.answer(look.ticket, look)
        case is BlobFileJob: break
        case let found as DamagedContents: for digest in found.digests { noteDamaged(digest) }
        default: return false
        }
        return true
    }

    func filesDropped(_ names: [String]) {
        // One that is new is told of as well.
        if names.contains(BlobTable.file), phase == .ready { reset("was damaged") }
    }

    private func noteWritten(_ writes: BlobWrites) {
        for case .content(let digest, _, let write) in writes.changes {
            guard let content = index.find(digest), index.content(content).write == write else { continue }
            index.setContent(content) { $0.write = 0 }
        }
        memory.trim(index)
    }

    // MARK: Reading the index

    private func take(_ load: BlobLoad, _ hasFailed: Bool) {
        guard case .loading = phase else { return }
        guard !hasFailed else { return reset("could not be read") }
        for (id, name, settings) in load.namespaces { namespaces.insert(BlobNamespace(id, name, settings)) }
        for entry in load.entries { insert(entry) }
        guard load.isLast else {
            let last = load.entries.last?.record.id ?? .max
            phase = .loading(after: last)
            caches.writer.submit(BlobLoad(after: last, key: nameKey))
            return
        }
        phase = .ready
        files.noteLoaded()
        caches.writer.submit(BlobFileJob(.sweep, files))
    }

    private func insert(_ entry: BlobLoad.Entry) {
        let record = entry.record
        nextID = max(nextID, record.id + 1)
        caches.clockWas(record.createdAt)
        let parent = entry.parent.map { index.find($0) }
        guard let namespace = namespaces[record.namespace], index.find(entry.name) == nil, parent != .some(nil),
            record.expiresAt > clock
        else { return note(.remove(id: record.id)) }
        let isFile = record.bytes > BlobLimits.smallBytes
        let (content, isNew) = index.findOrInsert(record.digest, bytes: record.bytes, isFile: isFile)
        if isNew {
            if isFile { files.holdLoaded(record.digest) }
            if caches.isDoubtful { index.setContent(content) { $0.isDoubtful = true } }
        }
        let row = BlobRow(
            name: entry.name, id: record.id, namespace: record.namespace,
            contentType: contentTypes.number(record.contentType), content: content, createdAt: record.createdAt,
            expiresAt: record.expiresAt)
        let place = index.insert(row, parent: parent ?? nil)
        namespace.queue.append(place, index)
        namespace.add(count: 1, bytes: record.bytes)
    }

    /// The table is not what it should be: all is forgotten, by and by, and begun anew with an empty one. Nobody finds anything meanwhile.
    private func reset(_ why: String) {
        guard phase != .dropping else { return }
        caches.report("the table of blobs \(why); all blobs are forgotten")
        outbox.forget()
        phase = .dropping
        resetPlace = 0
        for namespace in namespaces.all.values { tellDropped(namespace) }
    }

    /// Goes on with it.
    /// - Returns: false when there is more.
    private func resetSome() -> Bool {
        guard phase == .dropping, resetPlace != nowhere else { return true }
        var effort = CacheEffort(caches)
        while resetPlace < index.places.upperBound {
            guard effort.goesOn() else { return false }
            if index[resetPlace].isThere { remove(resetPlace) }
            resetPlace += 1
        }
        guard removeRest() else { return false }
        resetPlace = nowhere
        caches.writer.submit(BlobReset())
        return true
    }

    private func beginAnew() {
        phase = .ready
        files.noteLoaded()
        for namespace in namespaces.all.values {
            note(.namespace(id: namespace.id, name: namespace.name, namespace.settings))
        }
        caches.writer.submit(BlobFileJob(.sweep, files))
    }

    // MARK: Expiry

    var sweepProgress: CacheSweep { sweep.progress }

    func beginSweep() { sweep.begin(isReady: phase == .ready, of: index.count) }

    func beginSweep(of application: ApplicationScopes) {
        let numbers = namespaces.all.values.filter { application.contains($0.name) }.map(\.id)
        sweep.begin(isReady: phase == .ready, of: index.count, only: Set(numbers))
    }

    private func sweep(_ time: UInt64) -> UInt64? {
        guard phase == .ready, index.count > 0 || namespaces.count > 0 || sweep.progress.isRunning else { return nil }
        guard time >= sweep.at else { return sweep.at - time }
        var removed = 0
        var effort = CacheEffort(caches)
        let end = sweep.sliceEnd(index.places.upperBound)
        while sweep.place < end, removed < Self.expiredAtOnce {
            let row = index[sweep.place]
            if row.isThere {
                sweep.noteLook()
                if row.expiresAt <= clock, sweep.concerns(row.namespace) {
                    guard effort.goesOn() else { return 1_000_000 }
                    removed += expire(sweep.place)
                }
            }
            sweep.pass()
        }
        guard sweep.place >= index.places.upperBound else { return 1_000_000 }
        forgetEmptyNamespaces()
        return sweep.end(time)
    }

    /// - Returns: how many went.
    private func expire(_ place: BlobPlace) -> Int {
        let namespace = namespace(of: place)
        let (count, bytes) = (namespace.count, namespace.bytes)
        remove(place)
        let removed = count - namespace.count
        namespace.counts.expired += removed
        sweep.noteRemoved(removed, bytes: bytes - namespace.bytes)
        return removed
    }
}
