import Synchronization

/// Has a daemon drain that gets no signals, since the process it is in belongs to somebody else. From any thread.
final class StopRequest: Sendable {
    private let request = Atomic<Bool>(false)

    var isMade: Bool { request.load(ordering: .acquiring) }

    /// The loop has to be woken after it.
    func make() { request.store(true, ordering: .releasing) }
}
