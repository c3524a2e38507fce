import KuraBytes
import Synchronization

/// What the named request keys of a client were spent on.
///
/// The daemon refuses a key that was spent on another request, but it keeps no digest of what is about secrets. So the client remembers
/// for itself, for as long as the daemon keeps results, the keys under which something was done.
final class SpentKeys: Sendable {
    private struct Call {
        let hash: UInt64
        let at: Int64
    }

    /// Keys that are remembered at most; then all are forgotten, and the daemon alone judges.
    private static let most = 10_000
    /// Nanoseconds for which the daemon keeps a result.
    private static let lifetime: Int64 = 86_400_000_000_000

    private let seed = UInt64.random(in: 0 ... .max)
    private let calls: Mutex<[String: Call]> = Mutex([:])

    /// Stands for a request.
    func hash(_ request: Bytes) -> UInt64 { Hash.bytes(request, seed: seed) }

    /// Whether the key was spent on another request.
    func isSpent(_ key: String, onOtherThan hash: UInt64) -> Bool {
        let now = Clock.now()
        return calls.withLock { calls in
            guard let call = calls[key] else { return false }
            guard now - call.at < Self.lifetime else {
                calls[key] = nil
                return false
            }
            return call.hash != hash
        }
    }

    func spend(_ key: String, on hash: UInt64) {
        let now = Clock.now()
        calls.withLock { calls in
            if calls[key] != nil { return }
            if calls.count >= Self.most { calls.removeAll() }
            calls[key] = Call(hash: hash, at: now)
        }
    }
}
