import Synchronization

/// The right to fetch that an iteration has won. Who drops it without fetching gives it back, so that the next one fetches.
final class CacheClaim: Sendable {
    private struct Held {
        var token: String
        /// Before this it was not won.
        var since: ContinuousClock.Instant
    }

    private let cache: ModelCache
    private let held: Mutex<Held?> = Mutex(nil)

    init(cache: ModelCache) { self.cache = cache }

    /// `since`: when it was asked for.
    func take(_ token: String, since: ContinuousClock.Instant) {
        held.withLock { $0 = Held(token: token, since: since) }
    }

    func forget() { held.withLock { $0 = nil } }

    // MARK: Renewing

    /// What is asked for again and again, and how often: two renewals may fail before the right is lost.
    static func renewal(of lease: Duration?) -> (seconds: Int64, interval: Duration) {
        // What the daemon gives who asks for nothing.
        let seconds = lease.map(ModelCache.Lifetime.seconds) ?? 30
        return (seconds, .seconds(seconds) / 3)
    }

    /// Has the right last until the task is cancelled, by renewing it in time. Nothing is told of a right that is lost or of a daemon that is away:
    /// who fetches does so all the same.
    func keep(for key: String, lease: Duration?) async {
        guard let held = held.withLock({ $0 }) else { return }
        let (seconds, interval) = Self.renewal(of: lease)
        var parameters = cache.parameters(key)
        parameters.add("token", held.token)
        parameters.add("leaseSeconds", seconds)
        var next = held.since + interval
        while true {
            do { try await Task.sleep(until: next, clock: .continuous) } catch { return }
            next = .now + interval
            do throws(KuraError) { _ = try await cache.kura.call("models.renew", parameters) } catch {
                switch error.kind {
                case .serverGone, .connectionLost, .outcomeUnknown, .noReply, .overloaded, .shuttingDown: break
                // It is lost, or the daemon knows no renewing.
                default: return
                }
            }
        }
    }

    // MARK: Giving back

    /// Says that nothing was fetched; what is not heard ends with the claim's time.
    func fail(retryAfter: Duration?) async {
        guard
            let token = held.withLock({ held in
                defer { held = nil }
                return held?.token
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
        guard let left = held.withLock({ $0?.token }) else { return }
        let cache = cache
        Task { await Self.fail(left, nil, cache) }
    }
}
