import KuraBytes

/// Who makes what many want: one client holds the claim on a key and fetches, others wait for what it brings.
///
/// A claim ends when its winner brings a value or says that it failed, when the winner's connection is lost (unless it asked for a lease), or
/// when its time is over; then the next that waits wins. So one winner's failure never reaches the others. Decides and does no I/O: whoever
/// asks tells those that are named in the answers. Belongs to the loop.
public final class CacheClaims {
    /// What is claimed: a key of a scope of a room.
    public struct Subject: Hashable, Sendable {
        public var room: UInt8
        public var scope: UInt32
        public var key: [UInt8]

        public init(room: UInt8, scope: UInt32, key: [UInt8]) {
            self.room = room
            self.scope = scope
            self.key = key
        }
    }

    /// Somebody who waits for a value that another one makes.
    public struct Waiter: Sendable {
        /// The connection.
        public var owner: UInt64
        /// The id of its request.
        public var request: [UInt8]
        /// When it wants to know that nothing has come, on the monotonic clock.
        public var deadline: UInt64
        /// How long it may hold the claim when it wins, nanoseconds; nil: as long as its connection, and `usualLease` at most.
        public var lease: UInt64?
        var number: UInt64 = 0

        public init(owner: UInt64, request: [UInt8], deadline: UInt64, lease: UInt64?) {
            self.owner = owner
            self.request = request
            self.deadline = deadline
            self.lease = lease
        }
    }

    /// Something that somebody who waits is to be told.
    public enum News: Sendable {
        /// The claim is its own now.
        case won(Subject, Waiter, WinToken)
        /// Its time is over.
        case timedOut(Subject, Waiter)
    }

    /// What a token is worth.
    public enum Standing: Equatable, Sendable {
        /// Its holder has the claim, since the moment that `since` stands for.
        case winner(since: UInt64)
        /// It had the claim and lost it, to time, to another one or to a value that came.
        case late
    }

    /// Why a token is refused.
    public enum Fault: Error, Sendable {
        /// This daemon has not made it since it started.
        case unknown
        /// It is of another key.
        case ofAnotherKey
        /// Its holder has used it.
        case spent
    }

    struct Claim {
        var token: WinToken
        /// Connection whose end ends the claim; 0 for none.
        var owner: UInt64
        /// What the room had come to when it was won.
        var since: UInt64
        var waiters: [Waiter] = []
        /// What it is about has been deleted meanwhile.
        var isOutdated = false
    }

    var claims: [Subject: Claim] = [:]
    /// What a connection has to do with: its claims without a lease, and what it waits for.
    private var owners: [UInt64: Set<Subject>] = [:]
    private var waiting: [UInt64: Subject] = [:]
    /// Claims by their numbers.
    var leases: [UInt64: Subject] = [:]
    private var dues = DeadlineHeap()
    /// Until when nobody is to try.
    var held: [Subject: UInt64] = [:]
    let maker = WinTokenMaker()
    var lastClaim: UInt64 = 0
    private var lastWaiter: UInt64 = 0
    var spent = SpentNumbers()

    /// Claims that there can be, and requests that wait for them.
    public static let limit = 131_072
    /// Longest that a winner without a lease keeps the others waiting.
    public static let usualLease: UInt64 = 30_000_000_000

    public init() {}

    /// Claims that are held, and requests that wait for them.
    public var count: Int { claims.count }
    public var waiters: Int { waiting.count }
    public var isFull: Bool { claims.count >= Self.limit || waiting.count >= Self.limit }

    // MARK: Claiming

    /// Claims a subject for a connection.
    /// `since`: what the room has come to; the winner is told it when it brings a value.
    /// - Returns: nil when somebody else has it.
    public func claim(_ subject: Subject, owner: UInt64, lease: UInt64?, since: UInt64, now: UInt64) -> WinToken? {
        guard claims[subject] == nil else { return nil }
        return grant(subject, owner: owner, lease: lease, since: since, waiters: [], now: now)
    }

    /// Waits for what the winner brings. Somebody has the claim.
    public func wait(_ subject: Subject, _ waiter: Waiter) {
        lastWaiter += 1
        var waiter = waiter
        waiter.number = lastWaiter
        claims[subject]?.waiters.append(waiter)
        waiting[lastWaiter] = subject
        owners[waiter.owner, default: []].insert(subject)
        note(.init(at: waiter.deadline, isClaim: false, number: lastWaiter))
    }

    private func grant(
        _ subject: Subject, owner: UInt64, lease: UInt64?, since: UInt64, waiters: [Waiter], now: UInt64
    ) -> WinToken {
        lastClaim += 1
        let token = WinToken(number: lastClaim, subject: hash(subject))
        claims[subject] = Claim(token: token, owner: lease == nil ? owner : 0, since: since, waiters: waiters)
        if lease == nil { owners[owner, default: []].insert(subject) }
        leases[lastClaim] = subject
        note(.init(at: now + (lease ?? Self.usualLease), isClaim: true, number: lastClaim))
        return token
    }

    /// Something ends at its time. What has ended before it stays in the heap, but never much of that.
    private func note(_ due: DeadlineHeap.Entry) {
        dues.insert(due)
        guard dues.count > 1024 + 4 * (claims.count + waiting.count) else { return }
        dues.keep { $0.isClaim ? leases[$0.number] != nil : waiting[$0.number] != nil }
    }

    // MARK: Ending

    /// What is being made may be older than what has just been deleted.
    public func outdate(_ subject: Subject) { claims[subject]?.isOutdated = true }

    /// A value has come, or is not wanted any more: the claim is over.
    /// - Returns: who waited for it.
    public func settle(_ subject: Subject) -> [Waiter] {
        if !held.isEmpty { held[subject] = nil }
        guard !claims.isEmpty, let claim = claims.removeValue(forKey: subject) else { return [] }
        leases[claim.token.number] = nil
        release(subject, claim.owner)
        for waiter in claim.waiters {
            waiting[waiter.number] = nil
            release(subject, waiter.owner)
        }
        return claim.waiters
    }

    /// The winner gives up: the next that waits wins.
    /// `since`: as for `claim`.
    public func giveUp(_ subject: Subject, since: UInt64, now: UInt64) -> News? {
        guard var claim = claims.removeValue(forKey: subject) else { return nil }
        leases[claim.token.number] = nil
        release(subject, claim.owner)
        guard !claim.waiters.isEmpty else { return nil }
        let next = claim.waiters.removeFirst()
        waiting[next.number] = nil
        let token = grant(
            subject, owner: next.owner, lease: next.lease, since: since, waiters: claim.waiters, now: now)
        return .won(subject, next, token)
    }

    /// A connection is gone: its claims without a lease are over, and what it waited for is not told.
    public func leave(_ owner: UInt64, since: UInt64, now: UInt64) -> [News] {
        guard !owners.isEmpty, let subjects = owners.removeValue(forKey: owner) else { return [] }
        var news: [News] = []
        for subject in subjects {
            guard var claim = claims[subject] else { continue }
            for waiter in claim.waiters where waiter.owner == owner { waiting[waiter.number] = nil }
            claim.waiters.removeAll { $0.owner == owner }
            claims[subject] = claim
            if claim.owner == owner, let next = giveUp(subject, since: since, now: now) { news.append(next) }
        }
        return news
    }

    /// When the next lease or wait ends; nil when there is none.
    public var nextDue: UInt64? { dues.first?.at }

    /// Ends what is due.
    public func expire(since: UInt64, now: UInt64) -> [News] {
        var news: [News] = []
        while let due = dues.first, due.at <= now {
            dues.removeFirst()
            if due.isClaim {
                guard let subject = leases[due.number], let next = giveUp(subject, since: since, now: now) else {
                    continue
                }
                news.append(next)
            } else if let timedOut = endWait(due.number) {
                news.append(timedOut)
            }
        }
        return news
    }

    /// The daemon stops: whoever waits is told at once.
    public func endAll() -> [News] { waiting.keys.sorted().compactMap { endWait($0) } }

    private func endWait(_ number: UInt64) -> News? {
        guard let subject = waiting.removeValue(forKey: number),
            let position = claims[subject]?.waiters.firstIndex(where: { $0.number == number }),
            let waiter = claims[subject]?.waiters.remove(at: position)
        else { return nil }
        release(subject, waiter.owner)
        return .timedOut(subject, waiter)
    }

    /// A connection may have no more to do with a subject.
    private func release(_ subject: Subject, _ owner: UInt64) {
        guard owner != 0, var subjects = owners[owner] else { return }
        if let claim = claims[subject], claim.owner == owner || claim.waiters.contains(where: { $0.owner == owner }) {
            return
        }
        subjects.remove(subject)
        owners[owner] = subjects.isEmpty ? nil : subjects
    }

    func hash(_ subject: Subject) -> UInt64 {
        let scope = UInt64(subject.room) << 32 | UInt64(subject.scope)
        return subject.key.withBytes { Hash.bytes($0, seed: Hash.number(scope, seed: maker.seed)) }
    }
}
