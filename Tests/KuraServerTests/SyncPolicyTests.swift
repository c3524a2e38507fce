import KuraSocket
import KuraTransport
import Testing

@testable import KuraServer

@Suite struct SyncPolicyTests {
    private let sync: UInt64 = 100_000
    private let start: UInt64 = 1_000_000_000

    /// A policy that has seen two syncs, each of which released the clients given.
    private func policy(releasing clients: [[Int]], cores: Int = 2) -> SyncPolicy {
        var policy = SyncPolicy(cores: cores)
        var lastRounds: [Int: UInt32] = [:]
        for group in clients {
            policy.beginRound()
            for client in group {
                policy.release(lastRound: lastRounds[client] ?? 0)
                lastRounds[client] = policy.round
            }
        }
        return policy
    }

    @Test func `a client alone is synced on the loop at once`() {
        var policy = policy(releasing: [[1], [1]])
        #expect(policy.companions == 1)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: start) == .inline)
    }

    @Test func `a client that comes back in each sync counts once, two groups that take turns count both`() {
        #expect(policy(releasing: [[1, 2, 3], [1, 2, 3]]).companions == 3)
        #expect(policy(releasing: [[1, 2], [3, 4]]).companions == 4)
        #expect(policy(releasing: [[1], [1, 2]]).companions == 2)
        #expect(policy(releasing: []).companions == 0)
    }

    @Test func `changes wait for those who wrote lately, until they are there`() {
        var policy = policy(releasing: [[1, 2, 3], [1, 2, 3]])
        #expect(policy.decide(waiting: 1, syncTime: sync, at: start) == .gather)
        #expect(policy.decide(waiting: 2, syncTime: sync, at: start + 10_000) == .gather)
        #expect(policy.decide(waiting: 3, syncTime: sync, at: start + 20_000) == .inline)
    }

    @Test func `changes wait no longer than half a sync, and never longer than the bound`() {
        var quick = policy(releasing: [[1, 2], [1, 2]])
        #expect(quick.decide(waiting: 1, syncTime: 20_000, at: start) == .gather)
        #expect(quick.decide(waiting: 1, syncTime: 20_000, at: start + 10_000) == .thread)
        var slow = policy(releasing: [[1, 2], [1, 2]])
        #expect(slow.decide(waiting: 1, syncTime: 50_000_000, at: start) == .gather)
        #expect(slow.decide(waiting: 1, syncTime: 50_000_000, at: start + SyncPolicy.longestGather) == .thread)
    }

    @Test func `after waiting in vain it does not wait for a while, longer each time, until it was right again`() {
        var policy = policy(releasing: [[1, 2], [1, 2]])
        var time = start
        var pauses: [Int] = []
        for _ in 0..<8 {
            #expect(policy.decide(waiting: 1, syncTime: sync, at: time) == .gather)
            time += SyncPolicy.longestGather
            #expect(policy.decide(waiting: 1, syncTime: sync, at: time) == .thread)
            var pause = 0
            while pause < 100, policy.decide(waiting: 1, syncTime: sync, at: time) != .gather { pause += 1 }
            pauses.append(pause)
        }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 64])
        #expect(policy.decide(waiting: 2, syncTime: sync, at: time) == .inline)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: time) == .gather)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: time + SyncPolicy.longestGather) == .thread)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: time) == .thread)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: time) == .gather)
    }

    @Test func `with one core it never waits: looking without sleeping would keep the clients from running`() {
        var policy = policy(releasing: [[1, 2], [1, 2]], cores: 1)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: start) == .thread)
    }

    @Test func `the loop does not sync by itself while others are being served, or when the disk is slow`() {
        var policy = policy(releasing: [[1], [1]])
        policy.servedOthers(at: start)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: start + 1000) == .thread)
        #expect(policy.decide(waiting: 1, syncTime: sync, at: start + SyncPolicy.presence) == .inline)
        #expect(
            policy.decide(waiting: 1, syncTime: SyncPolicy.longestInline + 1, at: start + SyncPolicy.presence)
                == .thread)
    }
}

@Suite struct ConnectionTableTests {
    @Test func `a token finds its connection, and never the next one in its slot`() {
        var table = ConnectionTable()
        let first = table.insert { .lone($0) }
        let second = table.insert { .lone($0) }
        #expect(table[first.token] === first)
        #expect(table[second.token] === second)
        #expect(table.count == 2)
        table.remove(first.token)
        #expect(table[first.token] == nil)
        let third = table.insert { .lone($0) }
        #expect(third.token != first.token)
        #expect(table[first.token] == nil)
        #expect(table[third.token] === third)
        table.remove(first.token)
        #expect(table[third.token] === third)
        #expect(table.count == 2)
        #expect(table.all.count == 2)
    }

    @Test func `tokens of connections never meet those that the server keeps for itself`() {
        var table = ConnectionTable()
        #expect(table.insert { .lone($0) }.token > UInt64(UInt32.max))
        for token in [0, 1, 2, 15, UInt64.max] { #expect(table[token] == nil) }
    }

    @Test func `all leave together`() {
        var table = ConnectionTable()
        let tokens = (0..<5).map { _ in table.insert { .lone($0) }.token }
        table.removeAll()
        #expect(table.isEmpty)
        for token in tokens { #expect(table[token] == nil) }
    }
}
