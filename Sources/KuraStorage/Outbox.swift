import SQLite
import Synchronization

/// What threads have done and the loop fetches. It asks in every turn: that costs one load while there is nothing.
final class Outbox<Element: Sendable>: Sendable {
    private let elements = Guarded<[Element]>([])
    private let isFilled = Atomic<Bool>(false)

    /// Puts something in; whoever does so wakes the loop afterwards.
    func append(_ element: Element) {
        elements.withLock { elements in
            elements.append(element)
            isFilled.store(true, ordering: .releasing)
        }
    }

    /// All that is there, in the order in which it came; nil when there is nothing.
    func take() -> [Element]? {
        guard isFilled.load(ordering: .acquiring) else { return nil }
        return elements.withLock { elements in
            defer { elements = [] }
            isFilled.store(false, ordering: .relaxed)
            return elements
        }
    }
}
