import Glibc

package func usleepFor(milliseconds: UInt32) { usleep(milliseconds * 1000) }

/// Runs `body` on as many threads of its own, waits for all, and throws the first error.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    final class Start {
        let index: Int
        let body: @Sendable (Int) throws -> Void
        var failure: (any Error)?
        init(index: Int, body: @escaping @Sendable (Int) throws -> Void) {
            self.index = index
            self.body = body
        }
    }
    let starts = (0..<count).map { Start(index: $0, body: body) }
    let handles = starts.map { start in
        var handle = pthread_t()
        pthread_create(
            &handle, nil,
            { argument in
                let start = Unmanaged<Start>.fromOpaque(argument!).takeUnretainedValue()
                do { try start.body(start.index) } catch { start.failure = error }
                return nil
            }, Unmanaged.passUnretained(start).toOpaque())
        return handle
    }
    for handle in handles { pthread_join(handle, nil) }
    for start in starts { if let failure = start.failure { throw failure } }
}
