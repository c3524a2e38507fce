import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct CacheClaimsTests {
    private let claims = CacheClaims()
    private let subject = CacheClaims.Subject(room: 1, scope: 2, key: [1, 2, 3])

    private func text(_ token: WinToken) -> [UInt8] {
        var out = ByteBuffer()
        claims.append(token, to: &out)
        return Array(out.bytes)
    }

    private func waiter(_ owner: UInt64, until: UInt64 = 1 << 60, lease: UInt64? = nil) -> CacheClaims.Waiter {
        .init(owner: owner, request: [UInt8(owner)], deadline: until, lease: lease)
    }

    /// The owner of the request that has won.
    private func winner(_ news: CacheClaims.News?) -> UInt64? {
        if case .won(_, let waiter, _)? = news { waiter.owner } else { nil }
    }

    @Test func `one wins, and those that wait win in their order as winners give up`() {
        #expect(claims.claim(subject, owner: 1, lease: nil, since: 5, now: 0) != nil)
        #expect(claims.claim(subject, owner: 2, lease: nil, since: 5, now: 0) == nil)
        for owner in 2...4 as ClosedRange<UInt64> { claims.wait(subject, waiter(owner)) }
        #expect(winner(claims.giveUp(subject, since: 6, now: 0)) == 2)
        #expect(winner(claims.leave(2, since: 7, now: 0).first) == 3)
        #expect(claims.settle(subject).map(\.owner) == [4])
        #expect(claims.count == 0 && claims.waiters == 0 && claims.isIdle)
    }

    @Test func `who leaves is not waited for, and leaves nothing`() {
        _ = claims.claim(subject, owner: 1, lease: nil, since: 0, now: 0)
        claims.wait(subject, waiter(2))
        claims.wait(subject, waiter(3))
        #expect(claims.leave(2, since: 0, now: 0).isEmpty)
        #expect(claims.waiters == 1)
        #expect(winner(claims.leave(1, since: 0, now: 0).first) == 3)
        #expect(claims.leave(3, since: 0, now: 0).isEmpty)
        #expect(claims.count == 0)
        #expect(claims.claim(subject, owner: 4, lease: nil, since: 0, now: 0) != nil)
    }

    @Test func `a lease outlives its owner and ends with its time`() {
        _ = claims.claim(subject, owner: 1, lease: 100, since: 0, now: 0)
        claims.wait(subject, waiter(2, lease: 50))
        #expect(claims.leave(1, since: 0, now: 10).isEmpty)
        #expect(claims.expire(since: 0, now: 99).isEmpty)
        #expect(winner(claims.expire(since: 0, now: 100).first) == 2)
        claims.wait(subject, waiter(3))
        #expect(claims.nextDue == 150)
        #expect(winner(claims.expire(since: 0, now: 150).first) == 3)
        // Without a lease it is not for ever either.
        claims.wait(subject, waiter(4, until: 170))
        #expect(claims.expire(since: 0, now: 160).isEmpty)
        if case .timedOut(_, let late)? = claims.expire(since: 0, now: 200).first {
            #expect(late.owner == 4)
        } else {
            Issue.record("the wait did not end")
        }
        #expect(claims.expire(since: 0, now: 150 + CacheClaims.usualLease).isEmpty)
        #expect(claims.count == 0)
    }

    @Test func `tokens stand for their claim, and for nothing else`() throws {
        let token = try #require(claims.claim(subject, owner: 1, lease: nil, since: 42, now: 0))
        let shown = text(token)
        #expect(shown.count == WinToken.textBytes)
        let standing = try shown.withBytes { try claims.standing(of: $0, for: subject) }
        #expect(standing == .winner(since: 42))
        let other = CacheClaims.Subject(room: 2, scope: 2, key: [1, 2, 3])
        #expect(throws: CacheClaims.Fault.ofAnotherKey) {
            try shown.withBytes { try claims.standing(of: $0, for: other) }
        }
        for position in shown.indices {
            var forged = shown
            forged[position] = forged[position] == 0x30 ? 0x31 : 0x30
            #expect(throws: CacheClaims.Fault.unknown) {
                try forged.withBytes { try claims.standing(of: $0, for: subject) }
            }
        }
        // Another daemon's, or the same one's before it was started again.
        #expect(throws: CacheClaims.Fault.unknown) {
            try shown.withBytes { try CacheClaims().standing(of: $0, for: subject) }
        }
        _ = claims.giveUp(subject, since: 0, now: 0)
        let late = try shown.withBytes { try claims.standing(of: $0, for: subject) }
        #expect(late == .late)
        shown.withBytes { claims.spend($0) }
        #expect(throws: CacheClaims.Fault.spent) { try shown.withBytes { try claims.standing(of: $0, for: subject) } }
    }

    @Test func `what is deleted meanwhile makes its winner late`() throws {
        let token = try #require(claims.claim(subject, owner: 1, lease: nil, since: 1, now: 0))
        claims.outdate(subject)
        let standing = try text(token).withBytes { try claims.standing(of: $0, for: subject) }
        #expect(standing == .late)
    }

    @Test func `a pause ends with its time or with a value`() {
        claims.hold(subject, until: 100, now: 0)
        #expect(claims.heldUntil(subject, now: 99) == 100)
        #expect(claims.heldUntil(subject, now: 100) == nil)
        claims.hold(subject, until: 300, now: 0)
        _ = claims.settle(subject)
        #expect(claims.heldUntil(subject, now: 200) == nil && claims.isIdle)
    }

    @Test func `the numbers that were spent are known over a window`() {
        var spent = SpentNumbers()
        for number in stride(from: 1 as UInt64, through: 200_000, by: 3) { spent.insert(number) }
        #expect(spent.contains(199_999) && !spent.contains(199_998))
        #expect(!spent.isKnown(100) && spent.isKnown(199_998 - 60_000))
        for number in stride(from: 140_000 as UInt64, through: 199_999, by: 1) {
            #expect(spent.contains(number) == (number % 3 == 1))
        }
    }
}
