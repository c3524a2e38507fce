import KuraBytes

/// Removing what nobody can see any more, a slice at a time: entries past their time, deleted logically, or dropped by a mark.
extension ModelsStore {
    /// A walk over all rows.
    struct Sweep {
        /// The next row; 0 while no sweep is under way.
        var next = 0
        /// The store's sequence when it began: marks from before have been applied when it ends.
        var began: UInt64 = 0
        var isAgainWanted = false
        /// Namespaces that it is about; nil: all.
        var only: Set<UInt32>?
        var progress = CacheSweep()
        var nextAt: UInt64 = 0
        /// Behind the rows: the namespace whose marks are looked at, and which of its tags is next.
        var namespace = 0
        var tag = 0
    }

    /// Nanoseconds between two sweeps that nobody asked for, rows of one slice, and nanoseconds of one.
    private static let pause: UInt64 = 60_000_000_000
    private static let slice = (rows: 4096, tags: 4096, time: UInt64(1_000_000))

    var sweepProgress: CacheSweep { sweep.progress }

    func beginSweep() {
        guard sweep.next == 0 else {
            sweep.isAgainWanted = true
            return
        }
        sweep.next = 1
        sweep.began = sequence
        sweep.progress = CacheSweep(isRunning: true, total: rows.pointee.count - 1)
    }

    func beginSweep(of application: ApplicationScopes) {
        guard sweep.next == 0 else {
            sweep.isAgainWanted = true
            return
        }
        let numbers = all.filter { application.contains($0.name) }.map(\.number)
        guard !numbers.isEmpty else { return sweep.progress = CacheSweep() }
        beginSweep()
        sweep.only = Set(numbers)
    }

    func sweepSoon() { if isLoaded { beginSweep() } }

    /// Goes on with the sweep, or begins one when it is time.
    /// - Returns: nanoseconds until it wants to be called again.
    func sweep(_ time: UInt64) -> UInt64? {
        guard isLoaded else { return nil }
        if sweep.next == 0 {
            // Marks, tags and names outlast entries.
            guard !names.isEmpty else { return nil }
            if sweep.nextAt == 0 { sweep.nextAt = time }
            guard time >= sweep.nextAt else { return sweep.nextAt - time }
            beginSweep()
        }
        let end = min(sweep.next + Self.slice.rows, rows.pointee.count)
        while sweep.next < end {
            look(at: UInt32(sweep.next))
            sweep.next += 1
            if sweep.next % 64 == 0, caches.configuration.clock.monotonic - time > Self.slice.time { break }
        }
        sweep.progress.done = min(sweep.next - 1, sweep.progress.total)
        // Marks are about rows that some of were not looked at.
        guard sweep.next >= rows.pointee.count, sweep.only != nil || forgetMarks(time) else { return 1_000_000 }
        endSweep(time)
        guard sweep.next == 0 else { return 0 }
        return sweep.nextAt > time ? sweep.nextAt - time : 0
    }

    /// Goes through the namespaces: what is marked there has been applied to all rows, and those that are not used any more go.
    /// - Returns: false when there are more.
    private func forgetMarks(_ time: UInt64) -> Bool {
        while sweep.namespace < namespaces.count {
            if let namespace = namespaces[sweep.namespace], !namespace.isLeaving {
                let next = namespace.marks.forget(before: sweep.began, from: sweep.tag, atMost: Self.slice.tags) {
                    kind, name in
                    guard namespace.persists else { return }
                    name.withBytes { batch.mark(namespace, kind: kind, name: $0, ModelMarks()) }
                }
                submitIfLarge()
                sweep.tag = next ?? 0
                guard next == nil else { return false }
                forgetIfUnused(namespace)
            }
            sweep.namespace += 1
            if caches.configuration.clock.monotonic - time > Self.slice.time { return false }
        }
        return true
    }

    /// A namespace goes that has neither entries nor a configuration, and that somebody makes nothing for: when it was so in the sweep before, too.
    private func forgetIfUnused(_ namespace: ModelNamespace) {
        guard namespace.count == 0, namespace.configuration == ModelConfiguration(), namespace.holders == 0,
            !caches.claims.concerns(.models, scope: namespace.number)
        else { return namespace.unusedAt = nil }
        guard namespace.unusedAt == namespace.counts.puts else { return namespace.unusedAt = namespace.counts.puts }
        batch.note(namespace, configuration: Bytes())
        forget(namespace)
    }

    private func look(at row: UInt32) {
        let place = Int(row)
        let number = rows.pointee[place].namespace
        guard number != 0, let namespace = namespaces[Int(number)], sweep.only?.contains(number) ?? true else {
            return
        }
        guard state(of: row, namespace, maxAge: nil) == .miss else {
            // What is marked stale keeps that when the mark is forgotten.
            keepStale(row, namespace)
            return
        }
        // What failed fetches would have kept may still come to be used.
        guard rows.pointee[place].errorUntil <= caches.clock || isDropped(row, namespace) else { return }
        sweep.progress.removed += 1
        sweep.progress.bytes += rows.pointee[place].charge
        // What has gone with its file has been counted then.
        if rows.pointee[place].sequence > namespace.unlinkedBefore { namespace.counts.expired += 1 }
        discard(row, namespace)
    }

    private func isDropped(_ row: UInt32, _ namespace: ModelNamespace) -> Bool {
        let place = Int(row)
        let written = rows.pointee[place].sequence
        return namespace.marks.about(rows.pointee[place].key, tags: rows.pointee[place].tags, since: written).dropBefore
            > written
    }

    private func keepStale(_ row: UInt32, _ namespace: ModelNamespace) {
        // Marks of all and of tags stay as long as they are about somebody.
        guard !namespace.marks.prefixes.isEmpty else { return }
        let place = Int(row)
        guard !rows.pointee[place].flags.contains(.stale), state(of: row, namespace, maxAge: nil) == .stale,
            caches.clock < rows.pointee[place].freshUntil
        else { return }
        rows.pointee[place].flags.insert(.stale)
        noteTouched(row, namespace)
    }

    private func endSweep(_ time: UInt64) {
        sweep.next = 0
        // All are swept when it is their time.
        if sweep.only == nil { sweep.nextAt = time + Self.pause }
        sweep.only = nil
        sweep.progress.isRunning = false
        (sweep.namespace, sweep.tag) = (0, 0)
        clearedBytes = 0
        if sweep.isAgainWanted {
            sweep.isAgainWanted = false
            beginSweep()
        }
    }
}
