/// What is cached, then what is fetched: one element or two. See `ModelCache.value(for:orFetch:)`.
///
/// Each iteration is a request of its own.
public struct FetchedValues<Value: Codable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = CachedValue<Value>
    public typealias Failure = any Error
    typealias Fetch = @Sendable (CachedValue<Value>?) async throws -> Refreshed<Value>

    let request: FetchRequest
    let fetch: Fetch

    public func makeAsyncIterator() -> Iterator { Iterator(flow: FetchFlow(request: request, fetch: fetch)) }

    /// The newest there is: fetched when it has to be, else as it is cached.
    /// - Throws: what the fetch threw, also when something stale is there; iterate to have that.
    public func newest() async throws -> Value {
        var newest: Value?
        for try await element in self { newest = element.value }
        // The sequence has one element at least, or throws.
        guard let newest else { throw KuraError.badAnswer("models.get") }
        return newest
    }

    public struct Iterator: AsyncIteratorProtocol {
        private let flow: FetchFlow<Value>

        init(flow: FetchFlow<Value>) { self.flow = flow }

        public mutating func next() async throws -> CachedValue<Value>? { try await flow.next() }
    }
}

/// What is asked for, whatever its type.
struct FetchRequest: Sendable {
    let cache: ModelCache
    let key: String
    let maxAge: Duration?
    let lifetime: ModelCache.Lifetime
    let tags: [String]
    let store: Bool
    let patience: Duration
    let lease: Duration?
}

/// One iteration. It belongs to one iterator, which one task uses at a time; the token that it holds is given back with it.
actor FetchFlow<Value: Codable & Sendable> {
    private enum Phase {
        case begun
        /// Something stale was shown, or nothing; this flow is to fetch.
        case mustFetch(token: String, known: CachedValue<Value>?)
        /// Something stale was shown, as of a request made at this moment; somebody else fetches.
        case mustWait(since: ContinuousClock.Instant, shown: [UInt8])
        case ended
    }

    private let request: FetchRequest
    private let fetch: FetchedValues<Value>.Fetch
    private let claim: CacheClaim
    private var phase = Phase.begun

    init(request: FetchRequest, fetch: @escaping FetchedValues<Value>.Fetch) {
        self.request = request
        self.fetch = fetch
        claim = CacheClaim(cache: request.cache)
    }

    func next() async throws -> CachedValue<Value>? {
        switch phase {
        case .begun: return try await first()
        case .mustFetch(let token, let known): return try await fetched(token, known)
        case .mustWait(let asked, let shown): return try await others(since: asked, shown: shown)
        case .ended: return nil
        }
    }

    private var now: ContinuousClock.Instant { ContinuousClock.now }

    /// What is cached, or the fetched value when nothing is.
    private func first() async throws -> CachedValue<Value>? {
        phase = .ended
        let deadline = now + request.patience
        var maxAge = request.maxAge
        while true {
            let asked = now
            let entry = try await request.cache.entry(
                request.key, maxAge: maxAge, claims: true, lease: request.lease,
                wait: max(.zero, min(deadline - now, .seconds(10))))
            if let token = entry.token { claim.take(token, since: asked) }
            if let text = entry.value, let known = entry.cached(text, as: Value.self) {
                if let token = entry.token {
                    phase = .mustFetch(token: token, known: known)
                } else if !known.isFresh {
                    phase = .mustWait(since: asked, shown: text)
                }
                return known
            }
            if let token = entry.token { return try await fetched(token, nil) }
            if entry.value != nil {
                // In another shape: whatever its age, it has to be fetched. While somebody does so already there is no token to have.
                if maxAge == .zero { try await Task.sleep(for: .milliseconds(50)) }
                maxAge = .zero
            }
            if let retryAfter = entry.retryAfter {
                throw KuraError(
                    .timeout,
                    "\(request.cache.namespace) \(request.key) is not cached, and its source asks to be left alone",
                    method: "models.get", advice: "Ask again in \(retryAfter).")
            }
            guard now < deadline else {
                throw KuraError(
                    .noReply,
                    "\(request.cache.namespace) \(request.key): somebody else has been fetching it for \(request.patience)",
                    method: "models.get", advice: "Give `patience` more when fetching takes so long.")
            }
        }
    }

    /// The winner's part: fetches, and brings it or says that it failed.
    private func fetched(_ token: String, _ known: CachedValue<Value>?) async throws -> CachedValue<Value>? {
        phase = .ended
        let cache = request.cache
        let refreshed: Refreshed<Value>
        do {
            refreshed = try await fetched(known)
            if case .notModified = refreshed, known == nil {
                throw KuraError(.notFound, "nothing is cached that could be unmodified", advice: "Fetch the value.")
            }
        } catch {
            await claim.fail(retryAfter: (error as? any RetryLater)?.retryAfter)
            throw error
        }
        var parameters = cache.parameters(request.key)
        request.lifetime.add(to: &parameters)
        parameters.add("token", token)
        switch refreshed {
        case .value(let value, let etag):
            let text: [UInt8]
            do throws(KuraError) { text = try FaceCoding.encode(value) } catch {
                await claim.fail(retryAfter: nil)
                throw error
            }
            parameters.add("value", json: text)
            parameters.add("etag", etag)
            if !request.tags.isEmpty { parameters.add("tags", strings: request.tags) }
            if !request.store { parameters.add("store", json: Array("false".utf8)) }
            await handOver("models.put", parameters)
            return CachedValue(value: value, isFresh: true, age: .zero, etag: etag)
        case .notModified:
            await handOver("models.touch", parameters)
            return known.map { CachedValue(value: $0.value, isFresh: true, age: .zero, etag: $0.etag) }
        }
    }

    /// Fetches, for as long as it takes: until then nobody else does.
    private func fetched(_ known: CachedValue<Value>?) async throws -> Refreshed<Value> {
        // Cancelled and waited for at the end, however that comes.
        async let _ = claim.keep(for: request.key, lease: request.lease)
        return try await fetch(known)
    }

    /// Gives the others what was fetched. That is what was asked for: a cache that is away or declines takes nothing from it. Also for a task
    /// that was cancelled meanwhile: others wait. What the cache refuses gives the right to fetch back.
    private func handOver(_ method: String, _ parameters: ParameterText) async {
        let cache = request.cache
        let error: KuraError? = await Task {
            do throws(KuraError) { _ = try await cache.kura.call(method, parameters) } catch { return error }
            return nil
        }.value
        switch error?.kind {
        case nil, .serverGone, .connectionLost, .outcomeUnknown, .noReply, .closed: claim.forget()
        default: await claim.fail(retryAfter: nil)
        }
    }

    /// Something stale has been shown and somebody else fetches: what that has brought since it was asked for; nil when it brings nothing
    /// in time.
    private func others(
        since asked: ContinuousClock.Instant, shown: [UInt8]
    ) async throws -> CachedValue<Value>? {
        phase = .ended
        let start = now
        var pause = Duration.milliseconds(10)
        var isOver = false
        while !isOver {
            try await Task.sleep(for: min(pause, max(.zero, request.patience - (now - start))))
            pause = min(pause * 2, .milliseconds(500))
            // Asked once more then: on a busy machine this task may have slept for longer than it wanted.
            isOver = now - start >= request.patience
            let (waited, asking) = (now - asked, now)
            // What has come since is young enough, also for who wants nothing that is older than this moment: it is not fetched again.
            let entry = try await request.cache.entry(
                request.key, maxAge: request.maxAge.map { max($0, waited + .seconds(1)) }, claims: true,
                lease: request.lease)
            if let token = entry.token {
                claim.take(token, since: asking)
                return try await fetched(token, entry.value.flatMap { entry.cached($0, as: Value.self) })
            }
            guard let text = entry.value, let value = entry.cached(text, as: Value.self) else { continue }
            // The age alone does not tell: it may be a millisecond less than it is, and grows while the answer is under way.
            let isNew = text != shown || entry.isFresh && (request.maxAge == nil || entry.age <= waited)
            if isNew { return value }
        }
        return nil
    }
}
