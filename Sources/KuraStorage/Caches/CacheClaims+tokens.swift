public import KuraBytes

/// What tokens are worth, and keys that nobody is to fetch for a while.
extension CacheClaims {
    public func append(_ token: WinToken, to out: inout ByteBuffer) { maker.append(token, to: &out) }

    /// What a token that a client shows is worth for a subject.
    public func standing(of text: Bytes, for subject: Subject) throws(Fault) -> Standing {
        guard let token = maker.read(text), token.number <= lastClaim else { throw .unknown }
        guard token.subject == hash(subject) else { throw .ofAnotherKey }
        if let claim = claims[subject], claim.token == token {
            return claim.isOutdated ? .late : .winner(since: claim.since)
        }
        guard spent.isKnown(token.number), !spent.contains(token.number) else { throw .spent }
        return .late
    }

    /// Whether the token is the one that the claim on the subject was given with.
    public func isHolder(_ text: Bytes, of subject: Subject) -> Bool {
        claims[subject].map { $0.token == maker.read(text) } ?? false
    }

    /// The role that has won the claim which a token holds; nil when it holds none.
    public func role(of text: Bytes) -> String? {
        guard let token = maker.read(text), let subject = leases[token.number] else { return nil }
        return claims[subject]?.role
    }

    /// What a token is about while it holds the claim; nil when it has lost it.
    public func subject(of text: Bytes) throws(Fault) -> Subject? {
        guard let token = maker.read(text), token.number <= lastClaim else { throw .unknown }
        if let subject = leases[token.number] { return subject }
        guard spent.isKnown(token.number), !spent.contains(token.number) else { throw .spent }
        return nil
    }

    /// The winner needs longer: from now on its claim lasts for `lease`, whatever was left of it. It ends with its connection if it did before.
    /// - Returns: `late` when what it is about has been deleted meanwhile.
    /// - Throws: why the token does not hold the claim; nothing has changed then.
    public func renew(_ text: Bytes, of subject: Subject, lease: UInt64, now: UInt64) throws(Fault) -> Standing {
        let standing = try standing(of: text, for: subject)
        guard isHolder(text, of: subject), let claim = claims[subject] else { throw .lost }
        end(claim, of: subject, at: now.later(by: lease))
        return standing
    }

    /// The holder of a token has used it: it is good for nothing any more.
    public func spend(_ text: Bytes) {
        if let token = maker.read(text) { spent.insert(token.number) }
    }

    // MARK: Pauses

    /// Keys that can be held at once; when there are more, the one whose time is over first is let go.
    private static let heldLimit = 65_536

    /// Nobody is to make it before `until`: no token is given for it.
    public func hold(_ subject: Subject, until: UInt64, now: UInt64) {
        endPause(subject)
        // Two go for one that comes, until none is over its time.
        for _ in 0..<2 {
            guard let first = pauses.first, first.at <= now || held.count >= Self.heldLimit,
                let subject = heldSubjects[first.number]
            else { break }
            endPause(subject)
        }
        lastClaim += 1
        held[subject] = Pause(until: until, due: pauses.insert(.init(at: until, isClaim: false, number: lastClaim)))
        heldSubjects[lastClaim] = subject
        count(subject, by: 1)
    }

    func endPause(_ subject: Subject) {
        guard let pause = held.removeValue(forKey: subject) else { return }
        heldSubjects[pauses.remove(pause.due)] = nil
        count(subject, by: -1)
    }

    /// Until when nobody is to make it; nil when anybody may.
    public func heldUntil(_ subject: Subject, now: UInt64) -> UInt64? {
        guard !held.isEmpty, let pause = held[subject] else { return nil }
        if pause.until > now { return pause.until }
        endPause(subject)
        return nil
    }

    /// There are neither claims nor pauses.
    public var isIdle: Bool { claims.isEmpty && held.isEmpty }
}
