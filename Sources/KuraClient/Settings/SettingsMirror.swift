import KuraBytes
public import Observation
import Synchronization

/// A copy of one domain's settings that follows its changes, so that reading one waits for nothing.
///
///     let mirror = try await kura.settings["app"].mirror()
///     let theme = mirror[.theme]                                   // synchronous
///     let rev = try await kura.settings["app"].put(.theme, "dark")
///     try await mirror.refreshed(to: rev)                          // now it shows that write, whoever made it
///
/// How fresh it is can be proved: everything up to `rev` is in it. It shows what all layers give. It goes on over reconnects, and reads the domain anew when the daemon's history
/// is another one. While the daemon is away it shows what was there last.
///
/// It is `Observable`: views that read a value follow the values, and so does `Observations { mirror[.theme] }`. They are told when it has taken a change in,
/// on any thread, and before `refreshed` returns; what is told there must not block until the mirror is refreshed.
public final class SettingsMirror: Observable, Sendable {
    public let settings: DomainSettings
    private let state: Mutex<State>
    /// Held while the state changes and the observers are notified. A second reader of the same change waits until both are done.
    private let telling = Mutex(())
    private let follower = Mutex<Task<Void, Never>?>(nil)
    private let registrar = ObservationRegistrar()

    private struct State {
        var values: [String: RawJSON] = [:]
        /// The revision that each value was read at, of those that were read one by one.
        var readAt: [String: Int64] = [:]
        var rev: Int64 = 0
        var epoch = ""
        var failure: KuraError?
    }

    init(_ settings: DomainSettings) async throws(KuraError) {
        self.settings = settings
        state = Mutex(State())
        // In this order: what changes while the domain is read is told.
        let stream = settings.watch(values: false)
        let iterator = stream.makeAsyncIterator()
        // A stream waits for a daemon for ever, a call has its time.
        _ = try await settings.kura.call("storage.ping", ParameterText())
        guard case .progress(let rev)? = try await iterator.next() else {
            throw KuraError(.closed, "the client was closed before the settings were read")
        }
        try await load(rev: rev, epoch: stream.place?.epoch ?? "")
        follower.withLock { $0 = Task { [weak self] in await Self.follow(iterator) { self } } }
    }

    deinit { follower.withLock { $0?.cancel() } }

    // MARK: Reading

    /// Everything up to here is in the mirror.
    public var rev: Int64 {
        registrar.access(self, keyPath: \.rev)
        return state.withLock { $0.rev }
    }
    /// The history that `rev` belongs to (UUID).
    public var epoch: String {
        registrar.access(self, keyPath: \.epoch)
        return state.withLock { $0.epoch }
    }
    /// Why the mirror follows no more; nil while it does.
    public var failure: KuraError? {
        registrar.access(self, keyPath: \.failure)
        return state.withLock { $0.failure }
    }

    /// The value that shows; the key's default when there is none, or one of another type.
    public subscript<Value>(key: SettingKey<Value>) -> Value {
        (try? value(key.name, as: Value.self)) ?? key.defaultValue
    }

    /// Why a key's default shows although there is a value: it is of another type. nil when it is not so.
    public func mismatch<Value>(_ key: SettingKey<Value>) -> KuraError? {
        do throws(KuraError) { _ = try value(key.name, as: Value.self) } catch { return error }
        return nil
    }

    /// The value under a name; nil when none shows.
    /// - Throws: `wrongType` when something else is stored.
    public func value<Value: Decodable>(_ name: String, as type: Value.Type = Value.self) throws(KuraError) -> Value? {
        registrar.access(self, keyPath: \.values)
        guard let text = state.withLock({ $0.values[name] })?.text else { return nil }
        return try text.withBytes { (bytes) throws(KuraError) in try WireDecoder().decode(type, from: bytes) }
    }

    /// All values that show, as of one moment.
    public var values: [String: RawJSON] {
        registrar.access(self, keyPath: \.values)
        return state.withLock { $0.values }
    }

    /// Changes the state, and tells then who looks at what has changed: told before, they would look too early.
    /// - Parameter change: says whether it has changed values.
    private func change(_ change: (inout State) -> Bool) {
        telling.withLock { _ in
            let (values, rev, epoch) = state.withLock { state in
                let (rev, epoch) = (state.rev, state.epoch)
                return (change(&state), state.rev != rev, state.epoch != epoch)
            }
            if values { registrar.withMutation(of: self, keyPath: \.values) {} }
            if rev { registrar.withMutation(of: self, keyPath: \.rev) {} }
            if epoch { registrar.withMutation(of: self, keyPath: \.epoch) {} }
        }
    }

    // MARK: Freshness

    /// Returns once the mirror has every change up to `rev` and has notified its observers. It reads changes that the stream has not delivered yet.
    /// - Parameter rev: a revision of the history `epoch`, as writes return it.
    /// - Throws: `invalidParams` when it has not been given out; whatever any call throws.
    public func refreshed(to rev: Int64) async throws(KuraError) {
        while self.rev < rev { try await catchUp(to: rev) }
    }

    /// Whether the daemon's history is still the one that is shown, as far as the newest connection tells.
    fileprivate var isOfThisHistory: Bool { settings.kura.server?.epoch == state.withLock { $0.epoch } }

    /// Returns once everything that was written before this call is in the mirror.
    public func refreshed() async throws(KuraError) {
        while try await catchUp(to: 0) {}
    }

    /// Reads what has changed since `rev`, a page of it.
    /// - Parameter wanted: a revision that must have been given out.
    /// - Returns: whether there is more.
    /// - Throws: `invalidParams` when it has not; whatever any call throws.
    @discardableResult
    private func catchUp(to wanted: Int64) async throws(KuraError) -> Bool {
        struct Params: Encodable {
            let afterRev: Int64
            let epoch: String
            let stores = ["settings"]
            let scope: String
        }
        struct Page: Decodable {
            let changes: [Change]
            let rev: Int64
            let hasMore: Bool
            /// Relaxed changes that are gone; the mirror may have them.
            let lost: Lost?
            struct Lost: Decodable { let toRev: Int64 }
        }
        let (from, epoch) = state.withLock { ($0.rev, $0.epoch) }
        do throws(KuraError) {
            let page: Page = try await settings.kura.call(
                "changes.list", Params(afterRev: from, epoch: epoch, scope: settings.domain))
            if page.lost != nil { try await reload() }
            try await apply(page.changes, rev: page.rev, of: epoch)
            if !page.hasMore, page.rev < wanted {
                throw KuraError(
                    .invalidParams, "revision \(wanted) has not been given out yet: it comes from another history",
                    advice: "Compare `epoch` with the history that the revision is of.")
            }
            return page.hasMore
        } catch {
            // The stream tells what was missed, and has everything read anew.
            guard error.kind == .compacted || error.kind == .epochChanged else { throw error }
            try await reload()
            return self.rev < wanted
        }
    }

    // MARK: Following

    private static func follow(_ iterator: ChangeStream.AsyncIterator, _ mirror: () -> SettingsMirror?) async {
        do {
            while let event = try await iterator.next() {
                let epoch = ChangeStream(feed: iterator.feed).place?.epoch ?? ""
                // A daemon that is away comes back, and the event is still to be applied then; nobody holds the mirror meanwhile.
                var attempt = 0
                while try await mirror()?.take(event, of: epoch) == false {
                    try await Task.sleep(for: .nanoseconds(Link.longestPause(attempt)))
                    attempt += 1
                }
            }
            mirror()?.end(KuraError(.closed, "the client was closed"))
        } catch let error as KuraError {
            mirror()?.end(error)
        } catch {}
    }

    private func end(_ failure: KuraError) {
        state.withLock { $0.failure = failure }
        registrar.withMutation(of: self, keyPath: \.failure) {}
    }

    /// - Returns: false when the daemon is away.
    private func take(_ event: ChangeEvent, of epoch: String) async throws(KuraError) -> Bool {
        do throws(KuraError) {
            switch event {
            case .progress(let rev): reach(rev, of: epoch)
            case .changes(let changes, let rev): try await apply(changes, rev: rev, of: epoch)
            case .resync(let resync): try await load(rev: resync.rev, epoch: resync.epoch)
            }
            return true
        } catch {
            switch error.kind {
            case .serverGone, .connectionLost, .noReply, .overloaded, .shuttingDown: return false
            default: throw error
            }
        }
    }

    // The stream and `refreshed` may read at the same time, and what was read first may be taken in last. So each reading counts by its own
    // revision, and a revision only for the history that it is of.

    /// Reads what has changed as it is now; then everything up to `rev` of that history is in the mirror.
    private func apply(_ changes: [Change], rev: Int64, of epoch: String) async throws(KuraError) {
        var names: [String] = []
        for change in changes {
            guard let name = change.key else { return try await reload() }
            names.append(name)
        }
        var rest = names[...]
        while !rest.isEmpty {
            let some = Array(rest.prefix(1000))
            let known = self.epoch
            let (values, readAt) = try await settings.getMany(some)
            var isTaken = false
            change { state in
                guard state.epoch == known else { return false }
                isTaken = true
                var isOther = false
                for name in some where state.readAt[name, default: 0] <= readAt {
                    if state.values[name] != values[name] { isOther = true }
                    state.values[name] = values[name]
                    state.readAt[name] = readAt
                }
                return isOther
            }
            // The history has changed meanwhile, and of which one these values are is not known: they are read again.
            if isTaken { rest = rest.dropFirst(1000) }
        }
        reach(rev, of: epoch)
    }

    private func reach(_ rev: Int64, of epoch: String) {
        change { state in
            if state.epoch == epoch { state.rev = max(state.rev, rev) }
            return false
        }
    }

    private func reload() async throws(KuraError) {
        let epoch = settings.kura.server?.epoch ?? ""
        let (_, rev) = try await settings.getMany([])
        try await load(rev: rev, epoch: epoch)
    }

    /// Reads the whole domain, which is as of `rev` or later.
    private func load(rev: Int64, epoch: String) async throws(KuraError) {
        let (values, readAt) = try await settings.listing(prefix: nil)
        change { state in
            let before = state.values
            guard state.epoch == epoch else {
                (state.values, state.readAt, state.rev, state.epoch) = (values, [:], rev, epoch)
                return values != before
            }
            let newer = state.readAt.filter { $0.value > readAt }
            var merged = values
            for name in newer.keys { merged[name] = state.values[name] }
            (state.values, state.readAt, state.rev) = (merged, newer, max(state.rev, rev))
            return merged != before
        }
    }
}

/// A setting as a property that is read without waiting, out of a mirror.
///
///     struct Preferences {
///         @Setting var theme: String
///         init(_ mirror: SettingsMirror) { _theme = Setting(.theme, in: mirror) }
///     }
///     print(preferences.theme)
///     try await preferences.$theme.set("dark")
@propertyWrapper
public struct Setting<Value: Codable & Sendable>: Sendable {
    public let key: SettingKey<Value>
    public let mirror: SettingsMirror

    public init(_ key: SettingKey<Value>, in mirror: SettingsMirror) {
        self.key = key
        self.mirror = mirror
    }

    /// The value that shows, as of `mirror.rev` or later.
    public var wrappedValue: Value { mirror[key] }
    public var projectedValue: Setting<Value> { self }
    /// Why the default shows although there is a value: it is of another type. nil when it is not so.
    public var mismatch: KuraError? { mirror.mismatch(key) }

    /// Writes a value, and returns when the property shows it, or what somebody has written since.
    /// - Returns: the revision of the setting's last change.
    /// - Throws: what `DomainSettings.put` throws.
    @discardableResult
    public func set(_ value: Value) async throws(KuraError) -> Int64 {
        let rev = try await mirror.settings.put(key, value)
        // Revisions of two histories say nothing of each other.
        if mirror.isOfThisHistory { try await mirror.refreshed(to: rev) } else { try await mirror.refreshed() }
        return rev
    }
}
