import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct InboxTests {
    @Test func `what was put in comes out in its order, and nothing when there is none`() {
        let inbox = Inbox<Int>()
        #expect(inbox.next(until: Clock.system.deadline(after: 0)) == nil)
        for number in 1...3 { inbox.append(number) }
        #expect(inbox.next() == 1)
        #expect(inbox.next(until: Clock.system.deadline(after: 0)) == 2)
        #expect(inbox.next() == 3)
        #expect(inbox.next(until: Clock.system.deadline(after: 1_000_000)) == nil)
    }
}
