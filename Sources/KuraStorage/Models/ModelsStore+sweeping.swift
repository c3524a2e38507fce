import KuraBytes

/// Removing what nobody can see any more, a slice at a time: entries past their time, deleted logically, or dropped by a mark.
extension ModelsStore {
    /// Rows of one slice, tags, and nanoseconds.
    private static let slice = (rows: UInt32(4096), tags: 4096, time: UInt64(1_000_000))

    var sweepProgress: CacheSweep { sweep.progress }

    func beginSweep() { sweep.begin(of: rows.end, sequence: outbox.sequence) }

    func beginSweep(of application: ApplicationScopes) {
        let numbers = Set(all.filter { application.contains($0.name) }.map(\.number))
        sweep.begin(of: rows.end, sequence: outbox.sequence, only: numbers)
    }

    func sweepSoon() { if isLoaded { beginSweep() } }

    /// Goes on with the sweep, or begins one when it is time.
    /// - Returns: nanoseconds until it wants to be called again.
    func sweep(_ time: UInt64) -> UInt64? {
        guard isLoaded else { return nil }
        if !sweep.isUnderWay {
            // Marks, tags and names outlast entries.
            guard namespaces.count > 0 else { return nil }
            let wait = sweep.wait(time)
            guard wait == 0 else { return wait }
            beginSweep()
        }
        let end = min(sweep.next + Self.slice.rows, rows.end)
        while sweep.next < end {
            look(at: sweep.next)
            sweep.pass()
            if sweep.next % 64 == 0, caches.configuration.clock.monotonic - time > Self.slice.time { break }
        }
        // Marks are about rows that some of were not looked at.
        guard sweep.next >= rows.end, sweep.only != nil || forgetMarks(time) else { return 1_000_000 }
        if sweep.end(time) { beginSweep() }
        return sweep.isUnderWay ? 0 : sweep.wait(time)
    }

    /// Goes through the namespaces: what is marked there has been applied to all rows, and those that are not used any more go.
    /// - Returns: false when there are more.
    private func forgetMarks(_ time: UInt64) -> Bool {
        while sweep.namespace < namespaces.end {
            var next: Int?
            if let namespace = namespaces[sweep.namespace], !namespace.isLeaving {
                next = namespace.marks.forget(before: sweep.began, from: sweep.tag, atMost: Self.slice.tags) {
                    kind, name in
                    guard namespace.persists else { return }
                    name.withBytes { outbox.batch.mark(namespace, kind: kind, name: $0, ModelMarks()) }
                }
                outbox.submitIfLarge()
                if next == nil { forgetIfUnused(namespace) }
            }
            sweep.passMarks(until: next)
            if next != nil || caches.configuration.clock.monotonic - time > Self.slice.time { return false }
        }
        return true
    }

    /// A namespace goes that has neither entries nor a configuration, and that somebody makes nothing for: when it was so in the sweep before, too.
    private func forgetIfUnused(_ namespace: ModelNamespace) {
        guard namespace.count == 0, namespace.configuration == ModelConfiguration(), namespace.holders == 0,
            !caches.claims.concerns(.models, scope: namespace.number)
        else { return namespace.unusedAt = nil }
        guard namespace.unusedAt == namespace.counts.puts else { return namespace.unusedAt = namespace.counts.puts }
        outbox.batch.note(namespace, configuration: Bytes())
        namespaces.forget(namespace)
    }

    private func look(at row: UInt32) {
        let number = rows[row].namespace
        guard number != 0, let namespace = namespaces[number], sweep.concerns(number) else { return }
        guard state(of: row, namespace, maxAge: nil) == .miss else {
            // What is marked stale keeps that when the mark is forgotten.
            keepStale(row, namespace)
            return
        }
        // What failed fetches would have kept may still come to be used.
        guard rows[row].errorUntil <= caches.clock || marks(of: row, namespace).dropBefore > rows[row].sequence else {
            return
        }
        sweep.noteRemoved(bytes: rows[row].charge)
        // What has gone with its file has been counted then.
        if rows[row].sequence > namespace.unlinkedBefore { namespace.counts.expired += 1 }
        discard(row, namespace)
    }

    private func keepStale(_ row: UInt32, _ namespace: ModelNamespace) {
        // Marks of all and of tags stay as long as they are about somebody.
        guard !namespace.marks.prefixes.isEmpty, !rows[row].flags.contains(.stale),
            state(of: row, namespace, maxAge: nil) == .stale, caches.clock < rows[row].freshUntil
        else { return }
        rows[row].flags.insert(.stale)
        outbox.touch(row, of: namespace, rows)
    }
}
