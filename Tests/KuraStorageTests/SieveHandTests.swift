import Testing

@testable import KuraStorage

@Suite struct SieveHandTests {
    /// A queue of numbers, the oldest first.
    private final class Queue {
        var numbers: [Int] = []
        var visited: Set<Int> = []
        var hand = SieveHand<Int>()

        func newer(_ number: Int) -> Int? {
            numbers.firstIndex(of: number).flatMap { $0 + 1 < numbers.count ? numbers[$0 + 1] : nil }
        }

        func pass(_ looks: inout Int) -> Int? {
            hand.pass(
                from: numbers.first, looks: &looks, takeVisit: { visited.remove($0) != nil }, newer: { newer($0) })
        }

        func take() -> Int? {
            var looks = 100
            guard let next = pass(&looks) else { return nil }
            hand.leaves(next, newer: newer(next))
            numbers.removeAll { $0 == next }
            return next
        }
    }

    @Test func `it spares what was read, once, and goes on where it stood`() {
        let queue = Queue()
        queue.numbers = [1, 2, 3, 4]
        queue.visited = [1, 3]
        #expect(queue.take() == 2)
        queue.numbers.append(5)
        #expect(queue.take() == 4)
        #expect(queue.take() == 5)
        // Behind the newest comes the oldest again.
        #expect(queue.take() == 1)
        #expect(queue.take() == 3)
        #expect(queue.take() == nil)
    }

    @Test func `it passes over so many and no more`() {
        let queue = Queue()
        queue.numbers = [1, 2, 3]
        queue.visited = [1, 2, 3]
        var looks = 2
        let place = queue.pass(&looks)
        #expect(place == 3 && looks == 0 && queue.visited == [3])
        // All of them were read: it comes round.
        looks = 5
        let next = queue.pass(&looks)
        #expect(next == 1 && looks == 4)
    }
}
