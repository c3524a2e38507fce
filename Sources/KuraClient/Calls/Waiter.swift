/// A task that waits to be told something.
///
/// Safety: whoever resumes it has taken it out of the one place where it was kept, under the link's lock, so that nobody else does.
@safe
struct Waiter<Value: Sendable>: Sendable {
    private let continuation: UnsafeContinuation<Value, Never>

    fileprivate init(_ continuation: UnsafeContinuation<Value, Never>) { unsafe self.continuation = continuation }

    func resume(_ value: Value) { unsafe continuation.resume(returning: value) }
}

/// Safety: as the type's.
extension Waiter where Value == Void {
    func resume() { unsafe continuation.resume() }
}

/// Waits until somebody resumes the waiter that `body` puts where it is found; allocates nothing.
///
/// Safety: the waiter has been made for one resumption, which its type is for.
func wait<Value: Sendable>(_ body: (Waiter<Value>) -> Void) async -> Value {
    await unsafe withUnsafeContinuation { unsafe body(Waiter($0)) }
}
