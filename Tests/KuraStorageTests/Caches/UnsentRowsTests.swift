import Testing

@testable import KuraStorage

@Suite struct UnsentRowsTests {
    private let unsent = UnsentRows()

    @Test func `values wait a tenth of a second from when they are seen`() {
        #expect(unsent.wait(5, isUrgent: true) == nil)
        unsent.append(1, bytes: 10)
        #expect(unsent.wait(1000, isUrgent: false) == 100_000_000)
        unsent.append(2, bytes: 10)
        #expect(unsent.wait(60_001_000, isUrgent: false) == 40_000_000)
        #expect(unsent.wait(60_001_000, isUrgent: true) == 0)
        #expect(unsent.wait(100_001_000, isUrgent: false) == 0)
        unsent.removeFirst(2)
        #expect(unsent.wait(200_000_000, isUrgent: false) == nil)
        // The next ones wait anew.
        unsent.append(3, bytes: 10)
        #expect(unsent.wait(200_000_000, isUrgent: false) == 100_000_000)
    }

    @Test func `many bytes do not wait`() {
        unsent.append(1, bytes: 4 << 20)
        #expect(unsent.wait(1, isUrgent: false) == 0)
        unsent.noteSent(bytes: 1)
        #expect(unsent.wait(1, isUrgent: false) == 100_000_000)
    }

    @Test func `what replaces one that waits has its place`() {
        unsent.append(1, bytes: 10)
        unsent.vacate(1, bytes: 10)
        unsent.append(1, bytes: 30)
        #expect(unsent.count == 1 && unsent.bytes == 30)
        unsent.vacate(1, bytes: 30)
        unsent.append(2, bytes: 5)
        #expect(unsent.count == 2 && unsent.bytes == 5 && unsent[1] == 2)
    }
}
