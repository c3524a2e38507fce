import Testing

@testable import KuraServer

@Suite struct ParkedRepliesTests {
    @Test func `the claims of connections that are gone end one after the other, in their order`() {
        var replies = ParkedReplies()
        #expect(replies.takeDeparted() == nil)
        for token: UInt64 in 1...3 { replies.depart(token) }
        #expect(replies.takeDeparted() == 1)
        replies.depart(4)
        #expect(replies.hasDeparted)
        for token: UInt64 in 2...4 { #expect(replies.takeDeparted() == token) }
        #expect(!replies.hasDeparted)
        // They are no replies.
        #expect(replies.isEmpty && !replies.isDue)
    }
}
