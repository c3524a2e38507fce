import Synchronization

extension LiveCore {
    /// Has what was edited saved when the interval is over.
    func schedule() {
        state.withLock { state in
            guard state.timer == nil, !state.isOver, state.entries.isDue else { return }
            // Nobody is to wait for what has been let go of.
            let interval = state.isClosed ? min(saving.interval, .seconds(1)) : saving.interval
            state.timer = Task {
                // Cancelled: at once.
                if interval > .zero { try? await Task.sleep(for: interval) }
                self.state.withLock { $0.timer = nil }
                if let error = await self.save() { await self.report(error) }
                self.schedule()
            }
        }
    }

    private func report(_ error: KuraError) async {
        await tellProblem(.notSaved(error), isolation: actor)
        // Without an interval a daemon that is away would be asked without a pause.
        if saving.interval < .milliseconds(200), error.kind != .closed {
            try? await Task.sleep(for: .milliseconds(200))
        }
        if error.kind == .closed { state.withLock { $0.isOver = true } }
    }

    func tellProblem(_ problem: LiveProblem<Model>, isolation: isolated (any Actor)?) { tell(problem) }

    /// Saves what was edited until now.
    /// - Returns: whether everything that is shown is saved; false: conflicts and refused values are left.
    func flush() async throws(KuraError) -> Bool {
        if let error = await save() { throw error }
        return state.withLock { $0.entries.isSaved }
    }

    /// Saves what was edited, since the client is about to be closed; tells what cannot be saved.
    /// - Returns: whether everything that is shown is saved.
    func saveBeforeClosing() async -> Bool {
        do throws(KuraError) { return try await flush() } catch {
            await tellProblem(.notSaved(error), isolation: actor)
            return false
        }
    }

    /// One save at a time; whoever comes while one is under way has another behind it.
    func save() async -> KuraError? {
        while true {
            let (task, isMine) = state.withLock { state in
                if let save = state.save { return (save, false) }
                let task = Task { await self.saveAll() }
                state.save = task
                return (task, true)
            }
            let error = await task.value
            if isMine { return error }
        }
    }

    private func saveAll() async -> KuraError? {
        defer { state.withLock { $0.save = nil } }
        // What is edited while this goes on waits for its own interval.
        var due = state.withLock { $0.entries.unsettled }
        // So many conflicts are no others' changes any more: what is left waits for the next interval.
        var left = due.count + Self.mostConflicts
        while true {
            let writes = begin(due)
            if writes.isEmpty { return nil }
            do throws(KuraError) {
                let outcome = try await collection.kura.apply(
                    operations: writes.map { $0.operation(collection: collection.name) })
                switch outcome {
                case .done(let rev):
                    finish(writes, rev)
                    due.subtract(writes.map(\.key))
                case .conflict(let operation, _):
                    finish(writes, nil)
                    left -= 1
                    guard writes.indices.contains(operation), left > 0 else { return .badAnswer("transaction.apply") }
                    try await lookAgain(writes[operation].key)
                }
            } catch {
                finish(writes, nil)
                var operation = JSONObject(error.data)?.integer("operation").map { Int($0) }
                // What is larger than the rest may be goes alone.
                if error.kind == .lineTooLong, writes.count == 1 { operation = 0 }
                guard let operation, writes.indices.contains(operation), !error.isRetryable else { return error }
                await refuse(writes[operation].key, error, isolation: actor)
            }
        }
    }

    /// Most operations of a transaction, and about how many bytes of them.
    private static var most: (operations: Int, bytes: Int) { (1000, 4 << 20) }

    /// Most conflicts of one save, besides one for each document.
    private static var mostConflicts: Int { 1000 }

    /// Takes what is to be saved next.
    private func begin(_ due: Set<String>) -> [DocumentWrite] {
        state.withLock { state in
            var writes: [DocumentWrite] = []
            var bytes = 0
            for key in due {
                guard let entry = state.entries[key], let write = entry.write(key) else { continue }
                let size = entry.shown?.text.count ?? 0
                if !writes.isEmpty, writes.count == Self.most.operations || bytes + size > Self.most.bytes { break }
                bytes += size
                writes.append(write)
                state.entries[key]?.isUnderWay = true
                state.entries[key]?.sent = entry.shown
            }
            return writes
        }
    }

    /// `rev`: what was sent is done under it; nil when it is not.
    private func finish(_ writes: [DocumentWrite], _ rev: Int64?) {
        let (undone, isSavedOrNot) = state.withLock { state in
            let wasSaved = state.entries.isSaved
            var undone: [String] = []
            for write in writes {
                guard var entry = state.entries[write.key] else { continue }
                entry.isUnderWay = false
                if let rev {
                    let base = if case .conflict(let theirs) = entry.hold { theirs } else { entry.base }
                    let saved = entry.sent.map { sent in
                        let text: [UInt8] =
                            if case .patch = write.what, let base,
                                let change = DocumentChange(from: base.text, to: sent.text),
                                let whole = change.applied(to: base.row.text)
                            { whole } else { sent.text }
                        return Entry.Base(
                            row: DocumentRow(key: write.key, rev: rev, text: text), value: sent.value, text: sent.text)
                    }
                    // What an editor has made of an earlier version since then is held against what is saved now.
                    if case .conflict = entry.hold { entry.hold = .conflict(saved) } else { entry.base = saved }
                }
                entry.sent = nil
                let isNothing = entry.base == nil && entry.shown == nil
                state.entries[write.key] = isNothing ? nil : entry
                // What is saved will be told of as a change.
                if rev == nil, !isNothing, entry.isSettled { undone.append(write.key) }
            }
            return (undone, state.entries.isSaved != wasSaved)
        }
        if isSavedOrNot { announceThere(.isSaved) }
        test(undone)
    }

    /// Somebody else was faster: what the daemon has is held against what was edited.
    private func lookAgain(_ key: String) async throws(KuraError) {
        let row = try await collection.row(key)
        state.withLock { $0.entries[key]?.forgetRevision() }
        let news = News(key: key, row: row, rev: row?.rev ?? .max)
        _ = await absorbNews([news], isolation: actor)
    }

    func absorbNews(_ news: [News], isolation: isolated (any Actor)?) -> [String] { absorb(news, isolation: isolation) }

    private func refuse(_ key: String, _ error: KuraError, isolation: isolated (any Actor)?) {
        let id = state.withLock { state in
            state.entries[key]?.hold = .refused
            let entry = state.entries[key]
            return entry?.shown?.value.id ?? entry?.base?.value.id
        }
        if let id { tell(.refused(id: id, error)) }
    }
}
