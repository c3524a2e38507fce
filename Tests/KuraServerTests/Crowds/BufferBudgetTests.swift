import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct BufferBudgetTests {
    @Test func `the bound is a quarter of the memory, at most 256 MiB, and lower when it is told`() {
        #expect(BufferBudget.bound(memory: 64 << 20, configured: nil) == 16 << 20)
        #expect(BufferBudget.bound(memory: 64 << 30, configured: nil) == 256 << 20)
        #expect(BufferBudget.bound(memory: 64 << 30, configured: 1 << 20) == 1 << 20)
        #expect(BufferBudget.bound(memory: 4 << 20, configured: 256 << 20) == 1 << 20)
    }

    @Test func `near the bound only small connections' buffers grow, and at it nobody's`() {
        let budget = BufferBudget(limit: 16 << 20)
        budget.charge(budget.ordinary - 1)
        #expect(!budget.isTight)
        #expect(!budget.admits(2, holding: 1 << 20))
        #expect(budget.admits(16 << 10, holding: 0))
        #expect(budget.admits(16 << 10, holding: 48 << 10))
        #expect(!budget.admits(16 << 10, holding: 48 << 10 + 1))
        budget.charge(1)
        #expect(budget.isTight)
        budget.charge(budget.full - budget.used - 100)
        #expect(budget.admits(100, holding: 0))
        #expect(!budget.admits(101, holding: 0))
        #expect(budget.peak == budget.full - 100)
        budget.charge(-budget.connections)
        #expect(budget.used == 0)
        #expect(budget.admits(1 << 20, holding: 1 << 20))
    }

    @Test func `the longest reply fits between what is ordinary and the bound`() {
        let budget = BufferBudget(limit: 256 << 20)
        var reply = ByteBuffer()
        #expect(reply.capacity(reserving: WireLimits.replyBytes) <= budget.limit - budget.ordinary)
        // As it is when it has grown byte by byte.
        while reply.count < WireLimits.replyBytes {
            reply.reserve(1 << 16)
            reply.commit(1 << 16)
        }
        #expect(reply.capacity <= budget.limit - budget.ordinary)
    }

    @Test func `limits are made to fit the memory and the descriptors`() {
        let small = ServerLimits().fitted(descriptors: 1024, memory: 64 << 20)
        #expect(small.bufferBytes == 16 << 20)
        #expect(small.lineBytes == 4 << 20)
        #expect(small.passedDescriptors == 128)
        #expect(small.connections == 1024 - 64 - 128)
        let large = ServerLimits().fitted(descriptors: 1 << 20, memory: 64 << 30)
        #expect(large.bufferBytes == 256 << 20)
        #expect(large.lineBytes == 16 << 20)
        #expect(large.connections == 16_384)
    }

    @Test func `a crowd of events is one line a second that counts them`() {
        var throttle = LogThrottle()
        #expect(throttle.note(at: 5) == 1)
        #expect(throttle.note(at: 6) == nil)
        #expect(throttle.note(at: 1_000_000_004) == nil)
        #expect(throttle.note(at: 1_000_000_005) == 3)
    }
}
