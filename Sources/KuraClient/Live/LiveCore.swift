import Synchronization

/// What a `LiveCollection` is about, without observation: it lives until its last edit is saved, also when nobody holds the collection
/// any more.
///
/// All state is under one lock, which is never held over a wait. Whatever comes from the daemon is older or newer than what is known by its
/// revision, so it does not matter in which order answers and changes arrive.
final class LiveCore<Model>: Sendable
where Model: Codable & Identifiable & Sendable, Model.ID: Codable & Sendable {
    typealias Entry = LiveEntry<Model>

    /// What observers may look at.
    enum Aspect: Sendable { case values, lastProblem, isLoaded, isSaved }

    struct State {
        var entries: LiveEntries<Model>
        var lastProblem: LiveProblem<Model>?
        var listeners: [Int: AsyncStream<LiveProblem<Model>>.Continuation] = [:]
        var listenerCount = 0
        var isLoaded = false
        var loadWaiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var waiterCount = 0
        /// Nothing is followed any more.
        var isClosed = false
        /// Nothing can be read any more: the client is closed.
        var hasEnded = false
        /// The client is closed: nothing can be saved any more.
        var isOver = false
        /// Waits for the interval.
        var timer: Task<Void, Never>?
        var save: Task<KuraError?, Never>?
        var follower: Task<Void, Never>?
    }

    let collection: DocumentCollection<Model>
    let selector: [UInt8]?
    let order: LiveOrder
    let saving: LiveSaving
    let allowsScan: Bool
    let actor: (any Actor)?
    let state: Mutex<State>
    /// Makes a change known. In a struct: a bare closure would be wrapped once more each time that the lock hands it out.
    private struct Observer { let tell: @Sendable (Aspect) -> Void }
    private let observer: Mutex<Observer?> = Mutex(nil)

    init(
        collection: DocumentCollection<Model>, selector: [UInt8]?, order: LiveOrder, saving: LiveSaving,
        allowsScan: Bool,
        actor: (any Actor)?
    ) {
        self.collection = collection
        self.selector = selector
        self.order = order
        self.saving = saving
        self.allowsScan = allowsScan
        self.actor = actor
        state = Mutex(State(entries: LiveEntries(order: order)))
    }

    deinit { collection.kura.session.edits.forget(ObjectIdentifier(self)) }

    func observe(_ observer: @escaping @Sendable (Aspect) -> Void) {
        self.observer.withLock { $0 = Observer(tell: observer) }
    }

    /// Tells who looks at it that it has changed. Not before: who looks again on another thread would see what was there, and be told no more.
    private func announce(_ aspect: Aspect) { observer.withLock { $0 }?.tell(aspect) }

    /// The same where observers are told of what is no edit. Nobody waits for that.
    func announceThere(_ aspect: Aspect) {
        guard let actor else { return announce(aspect) }
        Task { await announce(aspect, isolation: actor) }
    }

    private func announce(_ aspect: Aspect, isolation: isolated (any Actor)) { announce(aspect) }

    /// Changes what is shown, and tells of it.
    func change<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        let (result, isSavedOrNot) = state.withLock { state in
            let wasSaved = state.entries.isSaved
            let result = body(&state)
            return (result, state.entries.isSaved != wasSaved)
        }
        announce(.values)
        if isSavedOrNot { announce(.isSaved) }
        return result
    }

    // MARK: Looking

    var values: [Model] { state.withLock { $0.entries.values() } }

    func show(_ value: Model, _ key: String) throws(KuraError) -> Entry.Shown {
        let own = try DocumentKey.text(value.id)
        guard own == key else { throw .otherID("a value with the id \(own) in the place of \(key)") }
        let text = try FaceCoding.encode(value)
        return Entry.Shown(value: value, text: text, sortValues: order.values(key: key, text: text))
    }

    func base(_ row: DocumentRow) throws(KuraError) -> Entry.Base {
        let value = try collection.read(row).value
        return Entry.Base(row: row, value: value, text: try FaceCoding.encode(value))
    }

    // MARK: Problems

    func tell(_ problem: LiveProblem<Model>) {
        let listeners = state.withLock { state in
            state.lastProblem = problem
            return Array(state.listeners.values)
        }
        announce(.lastProblem)
        for listener in listeners { listener.yield(problem) }
    }

    func forgetProblem() {
        state.withLock { $0.lastProblem = nil }
        announce(.lastProblem)
    }

    /// For somebody who does not read them.
    private static var keptProblems: Int { 1000 }

    func problems() -> AsyncStream<LiveProblem<Model>> {
        AsyncStream(bufferingPolicy: .bufferingNewest(Self.keptProblems)) { continuation in
            let number = state.withLock { state -> Int? in
                if state.isClosed { return nil }
                state.listenerCount += 1
                state.listeners[state.listenerCount] = continuation
                return state.listenerCount
            }
            guard let number else { return continuation.finish() }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
            }
        }
    }

    // MARK: What the daemon has

    /// What is known of a document: as it is at `row`'s revision, or gone as of `rev`.
    struct News: Sendable {
        let key: String
        let row: DocumentRow?
        let rev: Int64
        /// It does not match as of `rev`; whether it is there is not known.
        var isOut = false
        /// It was read without the selector, as it was edited: whether it matches is not known.
        var isUntested = false
    }

    /// Takes in what the daemon has.
    /// - Returns: keys that are to be read again: their save is under way, they are edited and do not match, or they are edited no more
    ///   and whether they match is not known.
    func absorb(_ news: [News], isolation: isolated (any Actor)?) -> [String] {
        let use = state.withLock { state in news.map { Self.use(of: $0, state) } }
        guard use.contains(.now) else { return zip(news, use).compactMap { $1 == .later ? $0.key : nil } }
        let (later, problems) = change { state in
            var later: [String] = []
            var problems: [LiveProblem<Model>] = []
            for item in news {
                switch Self.use(of: item, state) {
                case .never: break
                case .later: later.append(item.key)
                case .now:
                    take(item, &state, &problems)
                    // What was edited may be just that: nothing is left to save, and nothing will be told of it.
                    if item.isUntested, state.entries[item.key]?.isEdited != true { later.append(item.key) }
                }
            }
            return (later, problems)
        }
        for problem in problems { tell(problem) }
        schedule()
        return later
    }

    private enum Use { case never, now, later }

    private static func use(of item: News, _ state: State) -> Use {
        let entry = state.entries[item.key]
        // It was edited when it was read, and is not any more: now it shows only if it matches, also when it is one's own write.
        if item.isUntested, entry?.isEdited != true { return .later }
        guard isNews(item, state) else { return .never }
        // What is edited is held against the document itself.
        return entry?.isUnderWay == true || item.isOut && entry?.isEdited == true ? .later : .now
    }

    private static func isNews(_ item: News, _ state: State) -> Bool {
        guard let entry = state.entries[item.key] else { return item.row != nil }
        if case .conflict(let theirs) = entry.hold { return theirs.map { $0.row.rev < item.rev } ?? (item.row != nil) }
        guard let base = entry.base else { return item.row != nil }
        // One's own write may have made it one that does not match.
        return item.row == nil ? base.row.rev <= item.rev : base.row.rev < item.rev
    }

    private func take(_ item: News, _ state: inout State, _ problems: inout [LiveProblem<Model>]) {
        var entry = state.entries[item.key] ?? Entry()
        let theirs: Entry.Base?
        do throws(KuraError) {
            theirs = if let row = item.row { try base(row) } else { nil }
        } catch {
            problems.append(.unreadable(key: item.key, error))
            // An edit that is not saved is kept in sight; nothing is written over what cannot be read.
            if entry.isEdited { entry.hold = .refused } else { entry.shown = nil }
            entry.base = nil
            state.entries[item.key] = entry.shown == nil ? nil : entry
            return
        }
        switch entry.merged(with: theirs, showing: { value throws(KuraError) in try show(value, item.key) }) {
        case .theirs:
            entry.base = theirs
            entry.hold = nil
            entry.shown = theirs.flatMap { theirs in try? show(theirs.value, item.key) }
            state.entries[item.key] = theirs == nil ? nil : entry
        case .both(let shown):
            entry.base = theirs
            entry.shown = shown
            entry.hold = nil
            state.entries[item.key] = entry
        case .conflict:
            entry.hold = .conflict(theirs)
            state.entries[item.key] = entry
            guard let id = entry.shown?.value.id ?? entry.base?.value.id ?? theirs?.value.id else { return }
            problems.append(.conflict(LiveConflict(id: id, mine: entry.shown?.value, theirs: theirs?.value)))
        }
    }

    func conflicts() -> [LiveConflict<Model>] {
        state.withLock { state in
            state.entries.unsettled.compactMap { key in
                guard let entry = state.entries[key], case .conflict(let theirs) = entry.hold,
                    let id = entry.shown?.value.id ?? entry.base?.value.id ?? theirs?.value.id
                else { return nil }
                return LiveConflict(id: id, mine: entry.shown?.value, theirs: theirs?.value)
            }
        }
    }

    /// - Returns: false when there is no conflict about it.
    func resolve(_ key: String, _ resolution: LiveResolution<Model>) throws(KuraError) -> Bool {
        let chosen: Entry.Shown? = if case .value(let value) = resolution { try show(value, key) } else { nil }
        let isResolved = change { state in
            guard var entry = state.entries[key], case .conflict(let theirs) = entry.hold else { return false }
            entry.base = theirs
            entry.hold = nil
            switch resolution {
            case .mine: break
            case .theirs: entry.shown = theirs.flatMap { theirs in try? show(theirs.value, key) }
            case .value: entry.shown = chosen
            }
            state.entries[key] = entry.base == nil && entry.shown == nil ? nil : entry
            return true
        }
        if isResolved { test([key]) }
        schedule()
        return isResolved
    }
}
