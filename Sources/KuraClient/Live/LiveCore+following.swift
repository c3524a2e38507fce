import Synchronization

extension LiveCore {
    /// Reads the documents, and goes on with what changes.
    func start() {
        collection.kura.session.edits.add(ObjectIdentifier(self)) { [weak self] in
            await self?.saveBeforeClosing() ?? true
        }
        // It holds the core until `stop`.
        state.withLock { state in state.follower = Task { await follow() } }
    }

    private func follow() async {
        var pause = Duration.milliseconds(250)
        while !Task.isCancelled {
            do throws(KuraError) {
                // It begins when it is made: what happens while the documents are read is told behind them.
                let events = collection.kura.changes(.documents(collection.name)).makeAsyncIterator()
                try await load()
                pause = .milliseconds(250)
                while let event = try await events.next() {
                    switch event {
                    case .changes(let changes, rev: _): try await take(changes)
                    case .resync(let resync):
                        if resync.reason == .epochChanged || resync.reason == .lost { forgetRevisions() }
                        try await load()
                    case .progress: break
                    }
                }
                return end()
            } catch {
                guard !Task.isCancelled, error.kind != .closed else { return end() }
                await tellProblem(.notFollowed(error), isolation: actor)
                // Asked again it would be refused again, until somebody changes what is behind that.
                if error.code != 0, !error.isRetryable { letGo() }
            }
            try? await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(10))
        }
    }

    /// In another history, and where changes were lost, everything that the daemon says is news.
    private func forgetRevisions() {
        state.withLock { state in
            for key in state.entries.keys { state.entries[key]?.forgetRevision() }
        }
    }

    /// Reads everything.
    private func load() async throws(KuraError) {
        let query = all
        var keys: Set<String> = []
        var cursor: String?
        var first: Int64?
        repeat {
            let page = try await query.rows(from: cursor, size: 1000)
            guard let rev = page.rev else { throw .badAnswer("documents.find") }
            first = first ?? rev
            cursor = page.cursor
            keys.formUnion(page.rows.map(\.key))
            try await absorbAll(page.rows.map { News(key: $0.key, row: $0, rev: $0.rev) })
        } while cursor != nil
        // What is gone: what was known, is not there, and was not changed since.
        let gone = state.withLock { state in
            state.entries.stored.filter { !keys.contains($0) }
        }
        try await absorbAll(gone.map { News(key: $0, row: nil, rev: first ?? 0, isOut: selector != nil) })
        let isFirst = state.withLock { state in
            defer { state.isLoaded = true }
            return !state.isLoaded
        }
        if isFirst { announceThere(.isLoaded) }
        letGo()
    }

    /// Nobody waits for the first reading any more.
    private func letGo() {
        let waiters = state.withLock { state in
            defer { state.loadWaiters = [:] }
            return state.loadWaiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Nothing is read any more, so nobody is to wait for it.
    private func end() {
        state.withLock { $0.hasEnded = true }
        letGo()
    }

    private var all: DocumentQuery<Model> {
        let query = DocumentQuery(
            collection: collection, selector: .success(selector), sort: .success([]), isList: selector == nil)
        return allowsScan ? query.allowingScan() : query
    }

    /// What has changed is read as it is now.
    private func take(_ changes: [Change]) async throws(KuraError) {
        if changes.contains(where: { $0.isDropped || $0.key == nil }) { return try await load() }
        let keys = state.withLock { state in
            var keys: Set<String> = []
            for change in changes {
                guard let key = change.key else { continue }
                // One's own writes are known; whether they match still is not.
                if selector == nil, let base = state.entries[key]?.base, base.row.rev >= change.rev { continue }
                if selector == nil, change.isDeleted, state.entries[key] == nil { continue }
                keys.insert(key)
            }
            return Array(keys)
        }
        try await absorbAll(try await read(keys))
    }

    /// Documents as they are now; those that are not there, or do not match, are gone. What is edited stays in sight until it is saved,
    /// also when it does not match.
    private func read(_ keys: [String]) async throws(KuraError) -> [News] {
        guard let selector else { return try await readAll(keys) }
        let edited = state.withLock { state in keys.filter { state.entries[$0]?.isEdited == true } }
        let others = Set(keys).subtracting(edited)
        return try await readMatching(Array(others), selector) + readAll(edited)
    }

    /// Whether these match is asked again: what was edited of them is settled without having been saved, so no change will tell of it.
    func test(_ keys: [String]) {
        guard selector != nil, !keys.isEmpty else { return }
        Task {
            var pause = Duration.milliseconds(250)
            while !state.withLock({ $0.isClosed }) {
                do throws(KuraError) { return try await absorbAll(try await read(keys)) } catch {
                    // What keeps it from being read is told by who follows.
                    if error.kind == .closed || error.code != 0 && !error.isRetryable { return }
                }
                try? await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(10))
            }
        }
    }

    private func readAll(_ keys: [String]) async throws(KuraError) -> [News] {
        var news: [News] = []
        var rest = keys[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(500))
            rest = rest.dropFirst(500)
            var parameters = collection.parameters
            parameters.add("ids", strings: some)
            let answer = try await collection.kura.call("documents.getMany", parameters)
            let rev = answer.integer("rev") ?? 0
            let rows = try DocumentRow.rows(answer["documents"], "documents.getMany")
            let found = Set(rows.map(\.key))
            news += rows.map { News(key: $0.key, row: $0, rev: $0.rev, isUntested: selector != nil) }
            news += some.filter { !found.contains($0) }.map { News(key: $0, row: nil, rev: rev) }
        }
        return news
    }

    private func readMatching(_ keys: [String], _ selector: [UInt8]) async throws(KuraError) -> [News] {
        var news: [News] = []
        var rest = keys[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(500))
            rest = rest.dropFirst(500)
            var found: Set<String> = []
            var rev: Int64 = 0
            var ids = ParameterText()
            var known = ParameterText()
            known.add("$in", strings: some)
            ids.add("_id", json: known.object)
            var both = ParameterText()
            both.add("$and", json: JSONElements.array([ids.object, selector]))
            let query = DocumentQuery(
                collection: collection, selector: .success(both.object), sort: .success([]), isList: false)
            var cursor: String?
            repeat {
                let page = try await query.rows(from: cursor, size: 1000)
                cursor = page.cursor
                if rev == 0 { rev = page.rev ?? 0 }
                found.formUnion(page.rows.map(\.key))
                news += page.rows.map { News(key: $0.key, row: $0, rev: $0.rev) }
            } while cursor != nil
            news += some.filter { !found.contains($0) }.map { News(key: $0, row: nil, rev: rev, isOut: true) }
        }
        return news
    }

    /// Takes it in; what is being saved meanwhile is read again afterwards.
    private func absorbAll(_ news: [News]) async throws(KuraError) {
        var news = news
        while !news.isEmpty {
            let later = await absorbNews(news, isolation: actor)
            if later.isEmpty { return }
            if let save = state.withLock({ $0.save }) { _ = await save.value } else { await Task.yield() }
            news = try await read(later)
        }
    }

    /// Waits until the documents have been read for the first time, or that is given up.
    func loaded() async {
        let number = state.withLock { state in
            state.waiterCount += 1
            return state.waiterCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLock { state in
                    if state.isLoaded || state.isClosed || state.hasEnded || Task.isCancelled { return true }
                    state.loadWaiters[number] = continuation
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.loadWaiters.removeValue(forKey: number) }?.resume()
        }
    }

    /// Follows no more, and saves what waits for its interval.
    func stop() {
        let (follower, listeners) = state.withLock { state in
            state.isClosed = true
            state.timer?.cancel()
            defer {
                state.follower = nil
                state.listeners = [:]
            }
            return (state.follower, Array(state.listeners.values))
        }
        follower?.cancel()
        letGo()
        for listener in listeners { listener.finish() }
    }
}
