import Synchronization

/// The right to fetch that an iteration has won. Who drops it without fetching gives it back, so that the next one fetches.
final class CacheClaim: Sendable {
    private let cache: ModelCache
    private let token: Mutex<String?> = Mutex(nil)

    init(cache: ModelCache) { self.cache = cache }

    func take(_ token: String) { self.token.withLock { $0 = token } }

    func forget() { token.withLock { $0 = nil } }

    /// Says that nothing was fetched; what is not heard ends with the claim's time.
    func fail(retryAfter: Duration?) async {
        guard
            let token = token.withLock({ held in
                defer { held = nil }
                return held
            })
        else { return }
        await Self.fail(token, retryAfter, cache)
    }

    private static func fail(_ token: String, _ retryAfter: Duration?, _ cache: ModelCache) async {
        var parameters = ParameterText()
        parameters.add("token", token)
        parameters.add("retryAfterSeconds", retryAfter.map(ModelCache.Lifetime.seconds))
        // Also for a task that was cancelled.
        await Task { [parameters] in _ = try? await cache.kura.call("models.fail", parameters) }.value
    }

    deinit {
        guard let left = token.withLock({ $0 }) else { return }
        let cache = cache
        Task { await Self.fail(left, nil, cache) }
    }
}
