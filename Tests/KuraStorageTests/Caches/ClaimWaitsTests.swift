import KuraBytes
import Testing

@testable import KuraStorage

/// Requests that wait for what another client fetches: each way that this can end wakes one once, and nothing of it is left.
@Suite struct ClaimWaitsTests {
    private enum Winner: CaseIterable { case connected, leased }
    private enum Ending: CaseIterable {
        case comes, winnerFails, winnerLeaves, leaseIsOver, isOver, cancelled, forbidden, leaves, shutdown
    }
    private static let lease: UInt64 = 1000

    private static func subject(_ number: Int) -> CacheClaims.Subject { .init(room: 1, scope: 2, key: [UInt8(number)]) }

    /// The requests that are told, and how.
    private static func told(_ news: [CacheClaims.News]) -> [String] {
        news.map { item in
            switch item {
            case .won(_, let waiter, _): "won \(waiter.request[0])"
            case .timedOut(_, let waiter): "over \(waiter.request[0])"
            }
        }
    }

    @Test(arguments: Winner.allCases, Ending.allCases)
    private func `each way that a wait ends tells it once, and leaves nothing`(winner: Winner, ending: Ending) {
        let claims = CacheClaims()
        let subject = Self.subject(1)
        let lease = winner == .leased ? Self.lease : nil
        _ = claims.claim(subject, owner: 1, lease: lease, since: 0, now: 0)
        claims.wait(subject, .init(owner: 2, request: [7], deadline: 100, lease: nil))
        #expect(claims.waiters == 1 && claims.nextDue == 100)
        var told: [String] = []
        switch ending {
        case .comes: told = claims.settle(subject).compactMap { claims.take($0)?.request[0] }.map { "told \($0)" }
        case .winnerFails: told = Self.told(claims.giveUp(subject, since: 0, now: 0).map { [$0] } ?? [])
        case .winnerLeaves:
            told = Self.told(claims.leave(1, since: 0, now: 0))
            guard winner == .connected else {
                #expect(told.isEmpty && claims.waiters == 1)
                return
            }
        case .leaseIsOver:
            let request = claims.cancel(Bytes("\u{7}"), of: 2)
            #expect(request?.deadline == 100)
            claims.wait(subject, .init(owner: 2, request: [7], deadline: 1 << 60, lease: nil))
            let end = lease ?? CacheClaims.usualLease
            #expect(claims.nextDue == end && claims.expire(since: 0, now: end - 1).isEmpty)
            told = Self.told(claims.expire(since: 0, now: end))
        case .isOver:
            #expect(claims.expire(since: 0, now: 99).isEmpty)
            told = Self.told(claims.expire(since: 0, now: 100))
        case .cancelled:
            #expect(claims.cancel(Bytes("\u{7}"), of: 1) == nil && claims.cancel(Bytes("\u{8}"), of: 2) == nil)
            told = claims.cancel(Bytes("\u{7}"), of: 2).map { ["told \($0.request[0])"] } ?? []
        case .forbidden:
            #expect(claims.endWaits(of: 2) { $0 == subject }.isEmpty)
            told = claims.endWaits(of: 2) { $0 != subject }.map { "told \($0.request[0])" }
        case .leaves: told = Self.told(claims.leave(2, since: 0, now: 0))
        case .shutdown: told = Self.told(claims.endAll(atMost: 9))
        }
        switch ending {
        case .comes, .cancelled, .forbidden: #expect(told == ["told 7"])
        case .winnerFails, .winnerLeaves, .leaseIsOver: #expect(told == ["won 7"])
        case .isOver, .shutdown: #expect(told == ["over 7"])
        case .leaves: #expect(told == [])
        }
        #expect(claims.waiters == 0 && claims.count == (ending == .comes ? 0 : 1))
        #expect(claims.cancel(Bytes("\u{7}"), of: 2) == nil && claims.endWaits(of: 2) { _ in false }.isEmpty)
        #expect(claims.endAll(atMost: 9).isEmpty)
        #expect(claims.leave(1, since: 0, now: 0).isEmpty && claims.leave(2, since: 0, now: 0).isEmpty)
        #expect(claims.expire(since: 0, now: 1 << 61).isEmpty)
        #expect(claims.isIdle && claims.nextDue == nil)
    }

    /// As it is meant: lists of who has claimed what, and who waits for it.
    private struct Model {
        struct Wait {
            var request: UInt8
            var owner: UInt64
            var subject: Int
            var deadline: UInt64
            var lease: UInt64?
            /// The value has come; it is yet to be told.
            var isSettled = false
        }
        struct Claim {
            var owner: UInt64
            var isLeased: Bool
            var end: UInt64
        }
        var waits: [Wait] = []
        var claims: [Int: Claim] = [:]

        mutating func claim(_ subject: Int, _ owner: UInt64, _ lease: UInt64?, _ now: UInt64) {
            claims[subject] = Claim(owner: owner, isLeased: lease != nil, end: now + (lease ?? CacheClaims.usualLease))
        }

        mutating func giveUp(_ subject: Int, _ now: UInt64) -> [String] {
            claims[subject] = nil
            guard let next = waits.firstIndex(where: { $0.subject == subject && !$0.isSettled }) else { return [] }
            let wait = waits.remove(at: next)
            claim(subject, wait.owner, wait.lease, now)
            return ["won \(wait.request)"]
        }

        mutating func leave(_ owner: UInt64, _ now: UInt64) -> [String] {
            waits.removeAll { $0.owner == owner }
            return claims.filter { $0.value.owner == owner && !$0.value.isLeased }.keys.flatMap { giveUp($0, now) }
        }

        mutating func expire(_ now: UInt64) -> [String] {
            var told: [String] = []
            while true {
                let wait = waits.min { $0.deadline < $1.deadline }
                let claim = claims.min { $0.value.end < $1.value.end }
                let (waitEnd, claimEnd) = (wait?.deadline ?? .max, claim?.value.end ?? .max)
                guard min(waitEnd, claimEnd) <= now else { return told }
                if waitEnd < claimEnd {
                    told.append("over \(wait!.request)")
                    waits.removeAll { $0.request == wait!.request }
                } else {
                    told += giveUp(claim!.key, now)
                }
            }
        }
    }

    @Test(arguments: 0..<100) func `no history loses a waiter or tells one twice`(seed: UInt64) {
        var random = SplitMix(state: seed)
        let claims = CacheClaims()
        var model = Model()
        /// Whose value has come, in rounds.
        var rounds: [[UInt64]] = []
        var time: UInt64 = 0
        for request: UInt8 in 0..<250 {
            let number = Int.random(in: 0..<6, using: &random)
            let owner = UInt64.random(in: 1...5, using: &random)
            let subject = Self.subject(number)
            // Moments differ, so that there is one order to end in.
            let moment = UInt64.random(in: 1...40, using: &random) * 1000 + UInt64(request)
            let lease = Bool.random(using: &random) ? moment : nil
            switch Int.random(in: 0...15, using: &random) {
            case 0...7:
                let isWon = claims.claim(subject, owner: owner, lease: lease, since: 0, now: time) != nil
                #expect(isWon == (model.claims[number] == nil))
                if isWon {
                    model.claim(number, owner, lease, time)
                } else {
                    claims.wait(
                        subject, .init(owner: owner, request: [request], deadline: time + moment, lease: lease))
                    model.waits.append(
                        .init(
                            request: request, owner: owner, subject: number, deadline: time + moment, lease: lease))
                }
            case 8:
                let isWanted = model.claims[number] != nil
                let numbers = claims.settle(subject)
                if isWanted { rounds.append(numbers) }
                model.claims[number] = nil
                for position in model.waits.indices where model.waits[position].subject == number {
                    model.waits[position].isSettled = true
                }
            case 9 where !rounds.isEmpty:
                let numbers = rounds.removeFirst()
                let told = numbers.compactMap { claims.take($0) }
                for waiter in told {
                    let position = model.waits.firstIndex { $0.isSettled && $0.request == waiter.request[0] }
                    #expect(position != nil)
                    if let position { model.waits.remove(at: position) }
                }
                #expect(rounds.isEmpty ? !model.waits.contains(where: \.isSettled) : true)
                #expect(numbers.allSatisfy { claims.take($0) == nil })
            case 10 where model.claims[number] != nil:
                let told = Self.told(claims.giveUp(subject, since: 0, now: time).map { [$0] } ?? [])
                #expect(told == model.giveUp(number, time))
            case 11:
                #expect(
                    Self.told(claims.leave(owner, since: 0, now: time)).sorted() == model.leave(owner, time).sorted())
            case 12:
                guard let wait = model.waits.randomElement(using: &random) else { break }
                let waiter = [wait.request].withBytes { claims.cancel($0, of: wait.owner) }
                #expect(waiter?.request == [wait.request])
                model.waits.removeAll { $0.request == wait.request }
            case 13:
                let ended = claims.endWaits(of: owner) { $0.key[0] % 2 == 0 }
                let expected = model.waits.filter { $0.owner == owner && $0.subject % 2 != 0 }
                #expect(
                    Set(ended.map(\.request)) == Set(expected.map { [$0.request] }) && ended.count == expected.count)
                model.waits.removeAll { $0.owner == owner && $0.subject % 2 != 0 }
            default:
                time += .random(in: 0...15, using: &random) * 1000
                #expect(Self.told(claims.expire(since: 0, now: time)) == model.expire(time))
            }
            #expect(claims.waiters == model.waits.count && claims.count == model.claims.count)
            #expect(claims.nextDue == (model.waits.map(\.deadline) + model.claims.values.map(\.end)).min())
        }
        #expect(claims.endAll(atMost: .max).count == model.waits.count)
        #expect(rounds.joined().allSatisfy { claims.take($0) == nil })
        for owner in 1...5 as ClosedRange<UInt64> { #expect(claims.leave(owner, since: 0, now: time).isEmpty) }
        #expect(claims.expire(since: 0, now: 1 << 61).isEmpty)
        #expect(claims.waiters == 0 && claims.isIdle && claims.nextDue == nil)
    }
}
