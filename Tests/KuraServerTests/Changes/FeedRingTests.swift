import Testing

@testable import KuraServer

@Suite struct FeedRingTests {
    private static func ring(_ tokens: UInt64...) -> FeedRing {
        var ring = FeedRing()
        for token in tokens { ring.insert(.lone(token)) }
        return ring
    }

    /// Looks at all that are left.
    private static func round(_ ring: inout FeedRing) -> [UInt64] {
        var tokens: [UInt64] = []
        while let connection = ring.current() {
            tokens.append(connection.token)
            ring.moveOn(isDone: true)
        }
        return tokens
    }

    @Test func `nobody is looked at before somebody has been woken, then each is`() {
        var ring = Self.ring(1, 2, 3)
        #expect(ring.current() == nil)
        #expect(!ring.isEmpty)
        ring.wake()
        #expect(ring.round == 1)
        #expect(Set(Self.round(&ring)) == [1, 2, 3])
        #expect(ring.current() == nil)
        #expect(ring.left == 0)
    }

    @Test func `a connection stands in it once`() {
        var ring = FeedRing()
        let connection = Connection.lone(1)
        ring.insert(connection)
        ring.insert(connection)
        ring.wake()
        #expect(ring.current() === connection)
        ring.removeCurrent()
        #expect(ring.current() == nil)
        #expect(ring.isEmpty && ring.left == 0)
        ring.insert(connection)
        #expect(!ring.isEmpty)
    }

    @Test func `one that is not done with is looked at again in the round, and all others with it`() {
        var ring = Self.ring(1, 2)
        ring.wake()
        #expect(ring.current()?.token == 1)
        ring.moveOn(isDone: false)
        #expect(Set(Self.round(&ring)) == [1, 2])
    }

    @Test func `nobody is passed over when some leave and others come in the middle of a round`() {
        var ring = Self.ring(1, 2, 3, 4)
        ring.wake()
        #expect(ring.current()?.token == 1)
        ring.moveOn(isDone: true)
        #expect(ring.current()?.token == 2)
        ring.removeCurrent()
        ring.insert(.lone(5))
        let tokens = Self.round(&ring)
        #expect(Set([3, 4, 5]).isSubset(of: tokens))
    }
}

@Suite struct FeedPaceTests {
    @Test func `while requests come in three times as long passes as the last slice took`() {
        var pace = FeedPace()
        #expect(pace.pause(at: 0, requests: 7) == 0)
        pace.endSlice(began: 100, at: 200, requests: 7)
        #expect(pace.pause(at: 200, requests: 8) == 300)
        #expect(pace.pause(at: 499, requests: 8) == 1)
        #expect(pace.pause(at: 500, requests: 8) == 0)
    }

    @Test func `while none come nobody is held up`() {
        var pace = FeedPace()
        pace.endSlice(began: 100, at: 200, requests: 7)
        #expect(pace.pause(at: 200, requests: 7) == 0)
    }
}
