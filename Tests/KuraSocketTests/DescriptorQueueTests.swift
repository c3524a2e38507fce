import CSyscalls
import Glibc
import Testing

@testable import KuraSocket

@Suite struct DescriptorQueueTests {
    // Whether the number is open, and nobody else's: opened by the test itself just before.
    private func isOpen(_ number: Int32) -> Bool { csys_fcntl(number, F_GETFD, 0) >= 0 }

    // A thread closes it, soon.
    private func closes(_ number: Int32) -> Bool {
        for _ in 0..<60_000 where isOpen(number) { usleep(1000) }
        return !isOpen(number)
    }

    private func open() throws -> Int32 {
        // High numbers, so that other tests' files do not come by them meanwhile.
        let low = csys_open("/dev/null", O_RDONLY | O_CLOEXEC, 0)
        defer { close(low) }
        let high = csys_fcntl(low, Int32(F_DUPFD_CLOEXEC), Int.random(in: 5000...9000))
        try #require(high >= 0)
        return high
    }

    private func number(_ taken: DescriptorQueue.Taken) -> Int32? {
        if case .descriptor(let descriptor) = taken { descriptor.number } else { nil }
    }

    @Test func `descriptors are taken in the order of their arrival, each once`() throws {
        var queue = DescriptorQueue()
        let numbers = [try open(), try open(), try open()]
        numbers.withUnsafeBufferPointer { queue.append(owning: $0) }
        #expect(number(queue.take()) == numbers[0])
        #expect(number(queue.take()) == numbers[1])
        queue.commit()
        #expect(closes(numbers[0]) && closes(numbers[1]) && isOpen(numbers[2]))
        #expect(number(queue.take()) == numbers[2])
        guard case .missing = queue.take() else {
            Issue.record("a fourth descriptor was taken")
            return
        }
    }

    @Test func `what a repeated turn took is there again, and is closed with its last owner`() throws {
        var queue = DescriptorQueue()
        let first = try open()
        [first].withUnsafeBufferPointer { queue.append(owning: $0) }
        #expect(number(queue.take()) == first)
        queue.rewind()
        var kept: DescriptorQueue.Taken? = queue.take()
        #expect(number(kept!) == first)
        queue.commit()
        queue.removeAll()
        #expect(isOpen(first))
        kept = nil
        #expect(closes(first))
    }

    @Test func `more than the limit are closed, and nothing is taken for another`() throws {
        var queue = DescriptorQueue()
        let numbers = try (0...DescriptorQueue.limit).map { _ in try open() }
        numbers.withUnsafeBufferPointer { queue.append(owning: $0) }
        #expect(closes(numbers[DescriptorQueue.limit]))
        for position in 0..<DescriptorQueue.limit { #expect(number(queue.take()) == numbers[position]) }
        guard case .lost = queue.take() else {
            Issue.record("the loss was not noticed")
            return
        }
        queue.commit()
        // The one that comes next need not be the one that the next request means.
        let late = try open()
        [late].withUnsafeBufferPointer { queue.append(owning: $0) }
        #expect(closes(late))
        guard case .lost = queue.take() else {
            Issue.record("the loss was forgotten")
            return
        }
        queue.removeAll()
        #expect(queue.isEmpty)
        let again = try open()
        [again].withUnsafeBufferPointer { queue.append(owning: $0) }
        #expect(number(queue.take()) == again)
    }

    @Test func `leftovers are closed`() throws {
        let numbers = [try open(), try open()]
        var queue = DescriptorQueue()
        numbers.withUnsafeBufferPointer { queue.append(owning: $0) }
        queue.removeAll()
        #expect(numbers.allSatisfy { closes($0) })
    }
}
