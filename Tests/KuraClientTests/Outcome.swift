import KuraClient
import Synchronization

/// What becomes of something that may never end: a test looks whether it is known, and does not wait with it.
final class Outcome<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    var known: Value? { value.withLock { $0 } }

    init(_ body: @escaping @Sendable () async -> Value) {
        Task { [self] in
            let result = await body()
            value.withLock { $0 = result }
        }
    }
}

/// Of the error that `body` throws.
func kind(_ body: @Sendable () async throws -> Void) async -> KuraError.Kind? {
    do { try await body() } catch let error as KuraError { return error.kind } catch {}
    return nil
}
