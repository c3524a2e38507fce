import Glibc
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
        #expect(claims.settle(subject).compactMap { claims.take($0)?.owner } == [4])
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

    @Test func `a lease that is renewed ends so long after, and then the next that waits wins`() throws {
        let token = text(try #require(claims.claim(subject, owner: 1, lease: 100, since: 7, now: 0)))
        claims.wait(subject, waiter(2))
        for now in [60, 150, 240] as [UInt64] {
            #expect(claims.expire(since: 0, now: now).isEmpty)
            let standing = try token.withBytes { try claims.renew($0, of: subject, lease: 100, now: now) }
            #expect(standing == .winner(since: 7))
            #expect(claims.nextDue == now + 100)
        }
        // It outlives its connection as before, and there is one moment of it only.
        #expect(claims.leave(1, since: 0, now: 250).isEmpty && claims.expire(since: 0, now: 339).isEmpty)
        #expect(winner(claims.expire(since: 0, now: 340).first) == 2)
        #expect(claims.nextDue == 340 + CacheClaims.usualLease && claims.count == 1)
        // From now on, not on top: a shorter time ends it sooner.
        let other = CacheClaims.Subject(room: 1, scope: 2, key: [9])
        let second = text(try #require(claims.claim(other, owner: 3, lease: 5000, since: 0, now: 400)))
        _ = try second.withBytes { try claims.renew($0, of: other, lease: 10, now: 400) }
        #expect(claims.nextDue == 410 && claims.expire(since: 0, now: 410).isEmpty && claims.count == 1)
    }

    @Test func `what ends with its connection still does when it was renewed`() throws {
        let token = text(try #require(claims.claim(subject, owner: 1, lease: nil, since: 0, now: 0)))
        claims.wait(subject, waiter(2))
        _ = try token.withBytes { try claims.renew($0, of: subject, lease: CacheClaims.usualLease, now: 20) }
        #expect(claims.expire(since: 0, now: CacheClaims.usualLease + 19).isEmpty)
        #expect(winner(claims.leave(1, since: 0, now: 30).first) == 2)
    }

    @Test func `a token that counts no longer renews nothing`() throws {
        func fault(_ text: [UInt8], _ subject: CacheClaims.Subject) -> CacheClaims.Fault? {
            do throws(CacheClaims.Fault) {
                _ = try text.withBytes { bytes throws(CacheClaims.Fault) in
                    try claims.renew(bytes, of: subject, lease: 1 << 50, now: 110)
                }
                return nil
            } catch { return error }
        }
        let first = text(try #require(claims.claim(subject, owner: 1, lease: 100, since: 0, now: 0)))
        claims.wait(subject, waiter(2, lease: 100))
        guard case .won(_, _, let next)? = claims.expire(since: 0, now: 100).first else {
            Issue.record("nobody has won")
            return
        }
        #expect(fault(first, subject) == .lost)
        #expect(fault(first, .init(room: 1, scope: 2, key: [4])) == .ofAnotherKey)
        #expect(fault([UInt8](repeating: 0x30, count: 64), subject) == .unknown && fault([], subject) == .unknown)
        #expect(claims.nextDue == 200, "the one who has it now has it for as long as before")
        #expect(try text(next).withBytes { try claims.standing(of: $0, for: subject) } == .winner(since: 0))
        _ = claims.settle(subject)
        #expect(fault(text(next), subject) == .lost)
        text(next).withBytes { claims.spend($0) }
        #expect(fault(text(next), subject) == .spent)
        #expect(claims.count == 0 && claims.nextDue == nil)
        // What was deleted meanwhile is still claimed.
        let outdated = text(try #require(claims.claim(subject, owner: 1, lease: 100, since: 0, now: 110)))
        claims.outdate(subject)
        #expect(try outdated.withBytes { try claims.renew($0, of: subject, lease: 300, now: 110) } == .late)
        #expect(claims.nextDue == 410)
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

    @Test func `very many that wait for one key end in no time, so many at once as is wanted`() {
        _ = claims.claim(subject, owner: 1, lease: nil, since: 0, now: 0)
        let count = 60_000
        for number in 0..<count {
            claims.wait(subject, waiter(2 + UInt64(number % 60), until: UInt64(1000 + number)))
        }
        /// The processor's time of this thread, which says the same on a busy machine.
        func spent() -> Int {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec
        }
        let began = spent()
        #expect(claims.expire(since: 0, now: 1 << 30, atMost: 100).count == 100)
        #expect(claims.waiters == count - 100 && claims.nextDue == 1100)
        // Half of them leave, half are told.
        for owner in 2..<32 as Range<UInt64> { #expect(claims.leave(owner, since: 0, now: 0).isEmpty) }
        #expect(claims.expire(since: 0, now: 1 << 30).count == count / 2 - 40)
        #expect(claims.waiters == 0)
        // A second for each would be two thousand millions of looks.
        #expect(spent() - began <= 5)
    }

    @Test func `those whose value has come are told one by one, and may still leave`() {
        _ = claims.claim(subject, owner: 1, lease: nil, since: 0, now: 0)
        for owner in 2...5 as ClosedRange<UInt64> { claims.wait(subject, waiter(owner, until: owner * 100)) }
        let numbers = claims.settle(subject)
        #expect(numbers.count == 4 && claims.waiters == 4)
        // Somebody claims it anew, and another one waits for that.
        _ = claims.claim(subject, owner: 6, lease: nil, since: 0, now: 0)
        claims.wait(subject, waiter(7))
        #expect(claims.take(numbers[0])?.owner == 2)
        #expect(claims.leave(3, since: 0, now: 0).isEmpty)
        #expect(claims.expire(since: 0, now: 400).count == 1)
        #expect(numbers.compactMap { claims.take($0)?.owner } == [5])
        #expect(winner(claims.leave(6, since: 0, now: 0).first) == 7)
        #expect(claims.waiters == 0 && claims.count == 1)
    }

    @Test func `one connection and one role can claim so much, and others go on`() {
        func claim(_ number: Int, _ owner: UInt64, _ role: String, lease: UInt64? = nil) -> Bool {
            guard claims.limit(of: owner, role: role) == nil else { return false }
            let key = (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            return claims.claim(
                .init(room: 1, scope: 1, key: key), owner: owner, role: role, lease: lease, since: 0, now: 0) != nil
        }
        for number in 0..<1024 { #expect(claim(number, 1, "app", lease: number % 2 == 0 ? 1000 : nil)) }
        #expect(claims.limit(of: 1, role: "app") == CacheClaims.limitOfOne)
        // Leases outlast their connection, and count on for its role.
        #expect(claims.leave(1, since: 0, now: 0).isEmpty && claims.count == 512)
        #expect(claim(2000, 1, "app"))
        _ = claims.expire(since: 0, now: 1000)
        #expect(claims.count == 1)
        for number in 3000..<3000 + CacheClaims.limitOfRole - 1 {
            #expect(claim(number, UInt64(2 + number / 1000), "app"))
        }
        #expect(claims.limit(of: 900, role: "app") == CacheClaims.limitOfRole)
        #expect(claim(1_000_000, 900, "other"))
        #expect(claims.leave(10, since: 0, now: 0).isEmpty)
        #expect(claim(1_000_001, 900, "app"))
    }

    @Test func `a scope is concerned while something of it is claimed or held`() {
        #expect(!claims.concerns(.models, scope: 2))
        _ = claims.claim(subject, owner: 1, lease: nil, since: 0, now: 0)
        claims.hold(subject, until: 100, now: 0)
        #expect(claims.concerns(.models, scope: 2) && !claims.concerns(.blobs, scope: 2))
        _ = claims.leave(1, since: 0, now: 0)
        #expect(claims.concerns(.models, scope: 2))
        #expect(claims.heldUntil(subject, now: 200) == nil && !claims.concerns(.models, scope: 2))
    }

    @Test func `the pause that ends first makes room for another one`() {
        func key(_ number: Int) -> CacheClaims.Subject {
            .init(room: 1, scope: 1, key: (0..<4).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) })
        }
        for number in 0..<65_536 { claims.hold(key(number), until: UInt64(1_000_000 - number), now: 0) }
        claims.hold(key(70_000), until: 2_000_000, now: 0)
        #expect(claims.heldUntil(key(65_535), now: 0) == nil)
        for number in [0, 30_000, 60_000, 70_000] { #expect(claims.heldUntil(key(number), now: 0) != nil, "\(number)") }
        #expect(claims.held.count <= 65_536)
    }

    @Test func `moments leave the heap in their order, whoever has left before`() {
        var heap = DeadlineHeap()
        var places: [UInt64: Int32] = [:]
        var state: UInt64 = 1
        for number in 0..<5000 as Range<UInt64> {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            places[number] = heap.insert(.init(at: state >> 40, isClaim: false, number: number))
            if number % 3 == 2 { #expect(heap.remove(places.removeValue(forKey: number - 1)!) == number - 1) }
        }
        var last: UInt64 = 0
        while let first = heap.first {
            #expect(first.at >= last)
            last = first.at
            heap.remove(places.removeValue(forKey: first.number)!)
        }
        #expect(places.isEmpty && heap.count == 0)
    }
}
