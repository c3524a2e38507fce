import CSyscalls
import Glibc
import Synchronization
import Testing

@testable import KuraSocket

@Suite struct DescriptorCloserTests {
    /// Closes that have begun, and whether they may go on.
    private final class Gate: Sendable {
        let begun = Atomic<Int>(0)
        let isOpen = Atomic<Bool>(false)
    }

    private func waits(until isDone: () -> Bool) -> Bool {
        for _ in 0..<30_000 where !isDone() { usleep(1000) }
        return isDone()
    }

    private func pass(_ count: Int, _ use: DescriptorUse) {
        let numbers = (0..<count).map { _ in csys_open("/dev/null", O_RDONLY | O_CLOEXEC, 0) }
        use.add(count)
        numbers.withUnsafeBufferPointer { DescriptorCloser.close($0, use) }
    }

    @Test func `while a close hangs the next one of its user is begun by another thread`() {
        let use = DescriptorUse(of: 4_000_000_001)
        pass(1, use)
        let isClosed = waits { use.count == 0 }
        #expect(isClosed)
        // The thread that has closed it waits for the next.
        usleep(100_000)
        let gate = Gate()
        DescriptorCloser.setTrial {
            gate.begun.add(1, ordering: .relaxed)
            while !gate.isOpen.load(ordering: .relaxed) { usleep(1000) }
        }
        // All of them wake one thread.
        pass(3, use)
        let isBegun = waits { gate.begun.load(ordering: .relaxed) >= 2 }
        #expect(isBegun)
        gate.isOpen.store(true, ordering: .relaxed)
        DescriptorCloser.setTrial {}
        let areClosed = waits { use.count == 0 }
        #expect(areClosed)
    }
}
