import KuraBytes
import SQLite

/// What a thread is given to do, in its order.
final class Inbox<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])
    private let pending = Semaphore()

    func append(_ element: Element) {
        elements.withLock { $0.append(element) }
        pending.signal()
    }

    /// Waits for the next one.
    func next() -> Element {
        pending.wait()
        return elements.withLock { $0.removeFirst() }
    }

    /// - Returns: nil when none has come until then.
    func next(until deadline: Deadline) -> Element? {
        pending.wait(until: deadline) ? elements.withLock { $0.removeFirst() } : nil
    }
}
