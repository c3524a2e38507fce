public import KuraBytes

/// Who makes what many want: one client holds the claim on a key and fetches, others wait for what it brings.
///
/// A claim ends when its winner brings a value or says that it failed, when the winner's connection is lost (unless it asked for a lease), or
/// when its time is over and was not renewed; then the next that waits wins. So one winner's failure never reaches the others. Decides and does no I/O: whoever
/// asks tells those that are named in the answers. Belongs to the loop.
public final class CacheClaims {
    /// What is claimed: a key of a scope of a room.
    public struct Subject: Hashable, Sendable {
        /// The number of a `CacheStore`.
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
        /// What the connection may do.
        public var role: String

        public init(owner: UInt64, role: String = "", request: [UInt8], deadline: UInt64, lease: UInt64?) {
            self.owner = owner
            self.role = role
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
        /// It had the claim and lost it, to time, to another one or to a value that came: there is nothing to renew.
        case lost
    }

    struct Claim {
        var token: WinToken
        /// Connection whose end ends the claim; 0 for none.
        var owner: UInt64
        /// Who has won it, for the bounds.
        var winner: UInt64
        var role: String
        /// What the room had come to when it was won.
        var since: UInt64
        /// Where its end stands among the moments.
        var due: Int32
        var queue = WaiterQueue()
        /// What it is about has been deleted meanwhile.
        var isOutdated = false
    }

    /// Those who wait, by their numbers: some may wait no longer.
    struct WaiterQueue {
        private var numbers: [UInt64] = []
        private var head = 0
        private var tidyAt = 64

        var rest: ArraySlice<UInt64> { numbers[head...] }

        /// `isWaiting`: of those that came before; asked now and then.
        mutating func append(_ number: UInt64, _ isWaiting: (UInt64) -> Bool) {
            if numbers.count >= tidyAt {
                numbers = rest.filter(isWaiting)
                head = 0
                tidyAt = max(64, numbers.count * 2)
            }
            numbers.append(number)
        }

        mutating func next() -> UInt64? {
            guard head < numbers.count else { return nil }
            defer { head += 1 }
            return numbers[head]
        }
    }

    private struct Wait {
        var subject: Subject
        var waiter: Waiter
        var due: Int32
    }

    /// What a connection has to do with: its claims without a lease, and what it waits for.
    private struct Ties {
        var claims: Set<Subject> = []
        var waits: Set<UInt64> = []
        var isEmpty: Bool { claims.isEmpty && waits.isEmpty }
    }

    var claims: [Subject: Claim] = [:]
    private var owners: [UInt64: Ties] = [:]
    private var waiting: [UInt64: Wait] = [:]
    /// Claims by their numbers.
    var leases: [UInt64: Subject] = [:]
    private var dues = DeadlineHeap()
    /// Claims that were won by each connection and role, leased ones included.
    private var winners: [UInt64: Int] = [:]
    private var roles: [String: Int] = [:]
    /// Claims and pauses by scope.
    private var scopes: [UInt64: Int] = [:]
    /// Until when nobody is to try.
    var held: [Subject: Pause] = [:]
    var heldSubjects: [UInt64: Subject] = [:]
    var pauses = DeadlineHeap()
    let maker = WinTokenMaker()
    var lastClaim: UInt64 = 0
    private var lastWaiter: UInt64 = 0
    var spent = SpentNumbers()

    struct Pause {
        var until: UInt64
        var due: Int32
    }

    /// Claims that there can be, and requests that wait for them.
    public static let limit = 131_072
    /// Claims that one connection can win, and those of one role: what one of them does not bring keeps nobody else from claiming.
    public static let limitOfOne = 1024
    public static let limitOfRole = 65_536
    /// Longest that a winner without a lease keeps the others waiting.
    public static let usualLease: UInt64 = 30_000_000_000

    public init() {}

    /// Claims that are held, and requests that wait for them.
    public var count: Int { claims.count }
    public var waiters: Int { waiting.count }

    /// Which bound keeps somebody from claiming one more; nil when none does.
    public func limit(of owner: UInt64, role: String) -> Int? {
        if claims.count >= Self.limit || waiting.count >= Self.limit { return Self.limit }
        if winners[owner] ?? 0 >= Self.limitOfOne { return Self.limitOfOne }
        return roles[role] ?? 0 >= Self.limitOfRole ? Self.limitOfRole : nil
    }

    /// Whether something of a scope is claimed, or held.
    public func concerns(_ room: CacheStore, scope: UInt32) -> Bool { scopes[Self.scope(room.rawValue, scope)] != nil }

    private static func scope(_ room: UInt8, _ scope: UInt32) -> UInt64 { UInt64(room) << 32 | UInt64(scope) }

    func count(_ subject: Subject, by difference: Int) {
        let scope = Self.scope(subject.room, subject.scope)
        let left = scopes[scope, default: 0] + difference
        scopes[scope] = left > 0 ? left : nil
    }

    // MARK: Claiming

    /// Claims a subject for a connection.
    /// `since`: what the room has come to; the winner is told it when it brings a value.
    /// - Returns: nil when somebody else has it.
    public func claim(
        _ subject: Subject, owner: UInt64, role: String = "", lease: UInt64?, since: UInt64, now: UInt64
    ) -> WinToken? {
        guard claims[subject] == nil else { return nil }
        return grant(subject, owner: owner, role: role, lease: lease, since: since, queue: WaiterQueue(), now: now)
    }

    /// Waits for what the winner brings. Somebody has the claim.
    public func wait(_ subject: Subject, _ waiter: Waiter) {
        lastWaiter += 1
        claims[subject]?.queue.append(lastWaiter) { waiting[$0] != nil }
        let due = dues.insert(.init(at: waiter.deadline, isClaim: false, number: lastWaiter))
        waiting[lastWaiter] = Wait(subject: subject, waiter: waiter, due: due)
        owners[waiter.owner, default: Ties()].waits.insert(lastWaiter)
    }

    private func grant(
        _ subject: Subject, owner: UInt64, role: String, lease: UInt64?, since: UInt64, queue: WaiterQueue, now: UInt64
    ) -> WinToken {
        lastClaim += 1
        let token = WinToken(number: lastClaim, subject: hash(subject))
        let due = dues.insert(.init(at: now.later(by: lease ?? Self.usualLease), isClaim: true, number: lastClaim))
        claims[subject] = Claim(
            token: token, owner: lease == nil ? owner : 0, winner: owner, role: role, since: since, due: due,
            queue: queue)
        if lease == nil { owners[owner, default: Ties()].claims.insert(subject) }
        leases[lastClaim] = subject
        winners[owner, default: 0] += 1
        roles[role, default: 0] += 1
        count(subject, by: 1)
        return token
    }

    /// A claim ends at another moment than it was to.
    func end(_ claim: Claim, of subject: Subject, at moment: UInt64) {
        dues.remove(claim.due)
        claims[subject]?.due = dues.insert(.init(at: moment, isClaim: true, number: claim.token.number))
    }

    // MARK: Ending

    /// What is being made may be older than what has just been deleted.
    public func outdate(_ subject: Subject) { claims[subject]?.isOutdated = true }

    /// Takes a claim out. Those who wait for it do so still.
    private func end(_ subject: Subject) -> Claim? {
        guard !claims.isEmpty, let claim = claims.removeValue(forKey: subject) else { return nil }
        leases[claim.token.number] = nil
        dues.remove(claim.due)
        if claim.owner != 0 { owners[claim.owner]?.claims.remove(subject) }
        forgetIfFree(claim.owner)
        let left = winners[claim.winner, default: 1] - 1
        winners[claim.winner] = left > 0 ? left : nil
        let leftOfRole = roles[claim.role, default: 1] - 1
        roles[claim.role] = leftOfRole > 0 ? leftOfRole : nil
        count(subject, by: -1)
        return claim
    }

    /// A connection may have nothing to do with any subject any more.
    private func forgetIfFree(_ owner: UInt64) { if owners[owner]?.isEmpty == true { owners[owner] = nil } }

    /// A value has come, or is not wanted any more: the claim is over.
    /// - Returns: the numbers of those who waited for it, to be taken (`take`) as they are told. Until then they may still leave.
    public func settle(_ subject: Subject) -> [UInt64] {
        if !held.isEmpty { endPause(subject) }
        return end(subject).map { Array($0.queue.rest) } ?? []
    }

    /// Somebody who waited is told now; nil when that is not so any more.
    public func take(_ number: UInt64) -> Waiter? {
        guard let wait = waiting.removeValue(forKey: number) else { return nil }
        dues.remove(wait.due)
        owners[wait.waiter.owner]?.waits.remove(number)
        forgetIfFree(wait.waiter.owner)
        return wait.waiter
    }

    /// Somebody waits no longer; nil when no request with this id does.
    public func cancel(_ request: Bytes, of owner: UInt64) -> Waiter? {
        let number = owners[owner]?.waits.first { waiting[$0]?.waiter.request.withBytes { $0.equals(request) } == true }
        return number.flatMap { take($0) }
    }

    /// Takes the waits of a connection out whose subjects are not for it any more.
    public func endWaits(of owner: UInt64, unless mayWait: (Subject) -> Bool) -> [Waiter] {
        let numbers = owners[owner]?.waits.filter { waiting[$0].map { !mayWait($0.subject) } ?? false } ?? []
        return numbers.compactMap { take($0) }
    }

    /// The winner gives up: the next that waits wins.
    /// `since`: as for `claim`.
    public func giveUp(_ subject: Subject, since: UInt64, now: UInt64) -> News? {
        guard var claim = end(subject) else { return nil }
        while let number = claim.queue.next() {
            guard let next = take(number) else { continue }
            let token = grant(
                subject, owner: next.owner, role: next.role, lease: next.lease, since: since, queue: claim.queue,
                now: now)
            return .won(subject, next, token)
        }
        return nil
    }

    /// A connection is gone: its claims without a lease are over, and what it waited for is not told.
    public func leave(_ owner: UInt64, since: UInt64, now: UInt64) -> [News] {
        guard !owners.isEmpty, let ties = owners[owner] else { return [] }
        for number in ties.waits { _ = take(number) }
        return ties.claims.compactMap { claims[$0]?.owner == owner ? giveUp($0, since: since, now: now) : nil }
    }

    /// When the next lease or wait ends; nil when there is none.
    public var nextDue: UInt64? { dues.first?.at }

    /// Ends what is due, so much of it at most.
    public func expire(since: UInt64, now: UInt64, atMost limit: Int = .max) -> [News] {
        var news: [News] = []
        var left = limit
        while left > 0, let due = dues.first, due.at <= now {
            left -= 1
            if due.isClaim {
                guard let subject = leases[due.number] else { break }
                if let next = giveUp(subject, since: since, now: now) { news.append(next) }
            } else if let timedOut = endWait(due.number) {
                news.append(timedOut)
            }
        }
        return news
    }

    /// The daemon stops: whoever waits is told, so many at once.
    public func endAll(atMost limit: Int) -> [News] { waiting.keys.prefix(limit).compactMap { endWait($0) } }

    private func endWait(_ number: UInt64) -> News? {
        guard let subject = waiting[number]?.subject, let waiter = take(number) else { return nil }
        return .timedOut(subject, waiter)
    }

    func hash(_ subject: Subject) -> UInt64 {
        let scope = UInt64(subject.room) << 32 | UInt64(subject.scope)
        return subject.key.withBytes { Hash.bytes($0, seed: Hash.number(scope, seed: maker.seed)) }
    }
}
