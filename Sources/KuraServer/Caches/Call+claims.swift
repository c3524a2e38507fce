import KuraBytes
import KuraProtocol
import KuraStorage

extension Call {
    /// What a parameter's win token is worth for a subject.
    /// - Throws: `tokenInvalid`.
    func standing(
        _ parameter: TextParameter, for subject: CacheClaims.Subject, _ storage: isolated Storage
    ) throws(Refusal) -> CacheClaims.Standing {
        do throws(CacheClaims.Fault) {
            try checkRole(parameter, storage)
            return try storage.caches.claims.standing(of: self[parameter], for: subject)
        } catch { throw refusal(error, parameter) }
    }

    /// What a parameter's win token is about; nil when it has lost the claim.
    /// - Throws: `tokenInvalid`.
    func claimed(
        _ parameter: TextParameter, of room: CacheStore, _ storage: isolated Storage
    ) throws(Refusal) -> CacheClaims.Subject? {
        do throws(CacheClaims.Fault) {
            try checkRole(parameter, storage)
            let subject = try storage.caches.claims.subject(of: self[parameter])
            if let subject, subject.room != room.rawValue { throw .ofAnotherKey }
            return subject
        } catch { throw refusal(error, parameter) }
    }

    /// Has the claim of a parameter's win token last for so many seconds from now on.
    /// - Returns: what the token is worth.
    /// - Throws: `tokenInvalid`; then nothing has changed.
    func renew(
        _ parameter: TextParameter, of subject: CacheClaims.Subject, seconds: Int64, _ storage: isolated Storage
    ) throws(Refusal) -> CacheClaims.Standing {
        do throws(CacheClaims.Fault) {
            try checkRole(parameter, storage)
            return try storage.caches.claims.renew(
                self[parameter], of: subject, lease: .nanoseconds(seconds: seconds), now: clock.monotonic)
        } catch { throw refusal(error, parameter) }
    }

    /// A token is of use to the role alone that has won it.
    private func checkRole(_ parameter: TextParameter, _ storage: isolated Storage) throws(CacheClaims.Fault) {
        if let winner = storage.caches.claims.role(of: self[parameter]), winner != role { throw .unknown }
    }

    /// To whoever may not use it, a token is as if it had never been given.
    func unknownToken(_ parameter: some Parameter) -> Refusal { refusal(.unknown, parameter) }

    private func refusal(_ fault: CacheClaims.Fault, _ parameter: some Parameter) -> Refusal {
        var error = RPCError(.tokenInvalid, parameter: name(parameter))
        error.reason =
            switch fault {
            case .unknown: "unknown"
            case .ofAnotherKey: "ofAnotherKey"
            case .spent: "spent"
            case .lost: "lost"
            }
        return .error(error)
    }

    /// Requests that one connection may have parked.
    static let parkedLimit = 1024

    /// Bytes of the id of one of them; with a longer one a request does not wait.
    static let parkedBytes = 1024

    /// - Throws: `overloaded` when there are too many claims.
    func admitClaim(_ connection: Connection, _ storage: isolated Storage) throws(Refusal) {
        let limit = storage.caches.claims.limit(of: connection.token, role: connection.client.admission.role)
        guard let limit else { return }
        let hint: StaticString =
            switch limit {
            case CacheClaims.limitOfOne: "this connection has claimed too many keys, and brought none of them yet"
            case CacheClaims.limitOfRole: "this role has claimed too many keys, and brought none of them yet"
            default: "too many keys are being fetched at once"
            }
        throw .error(RPCError(.overloaded, hint: hint, limit: limit))
    }

    /// - Throws: `overloaded`.
    func admitParked(_ connection: Connection) throws(Refusal) {
        try refuseWhenTight()
        guard connection.outstanding.parked < Self.parkedLimit else {
            throw .error(
                RPCError(.overloaded, hint: "too many requests of this connection wait", limit: Self.parkedLimit))
        }
    }

    /// Answers a request that was parked with the members that `render` appends.
    func tell(_ waiter: CacheClaims.Waiter, _ render: (inout ByteBuffer) -> Void) {
        parkedReplies.append(waiter, .result(Self.text(render)))
    }

    /// The same of many, by their numbers: what they are told is rendered once.
    func tell(_ numbers: [UInt64], _ render: (inout ByteBuffer) -> Void) {
        if !numbers.isEmpty { parkedReplies.append(numbers, .result(Self.text(render))) }
    }

    static func text(_ render: (inout ByteBuffer) -> Void) -> [UInt8] {
        var text = ByteBuffer()
        render(&text)
        return Array(text.bytes)
    }

    /// What the request is about to change is not in the log, and would not be taken back with the turn: so the turn is not
    /// taken back behind it either. When earlier requests of the connection may still be, it waits for the next turn.
    /// - Parameter waits: it begins something and waits for that. Ahead of another request it would begin it twice.
    /// - Throws: `.waits`.
    func keepTurn(waits: Bool = false) throws(Refusal) {
        guard let connection else { return }
        if waits { try mustBeInOrder() }
        guard !connection.state.barriers.dependsOnTurn, connection.undo.starting.isEmpty else { throw .waits(.commit) }
        attempt.keepTurn()
    }
}

extension ByteBuffer {
    /// The member `token`.
    mutating func append(_ token: WinToken, of claims: CacheClaims) {
        append(name: .token)
        append("\"")
        claims.append(token, to: &self)
        append("\"")
    }
}
