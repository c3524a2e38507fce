import KuraBytes
import KuraProtocol
import KuraStorage

/// Rooms whose keys can be claimed, as `CacheClaims.Subject` has them.
enum ClaimRoom: UInt8 {
    case models = 1
    case blobs = 2
}

/// A reply to a request that was parked: it leaves when its turn is through.
struct ParkedReply {
    /// The connection.
    var token: UInt64
    var line: [UInt8]
}

extension Call {
    /// What a parameter's win token is worth for a subject.
    /// - Throws: `tokenInvalid`.
    func standing(
        _ parameter: Int, for subject: CacheClaims.Subject, _ storage: isolated Storage
    ) throws(Refusal) -> CacheClaims.Standing {
        do throws(CacheClaims.Fault) {
            return try storage.caches.claims.standing(of: reader.string(parameter), for: subject)
        } catch { throw refusal(error, parameter) }
    }

    /// What a parameter's win token is about; nil when it has lost the claim.
    /// - Throws: `tokenInvalid`.
    func claimed(
        _ parameter: Int, of room: ClaimRoom, _ storage: isolated Storage
    ) throws(Refusal) -> CacheClaims.Subject? {
        do throws(CacheClaims.Fault) {
            let subject = try storage.caches.claims.subject(of: reader.string(parameter))
            if let subject, subject.room != room.rawValue { throw .ofAnotherKey }
            return subject
        } catch { throw refusal(error, parameter) }
    }

    private func refusal(_ fault: CacheClaims.Fault, _ parameter: Int) -> Refusal {
        var error = RPCError(.tokenInvalid, parameter: reader.name(parameter))
        error.reason =
            switch fault {
            case .unknown: "unknown"
            case .ofAnotherKey: "ofAnotherKey"
            case .spent: "spent"
            }
        return .error(error)
    }

    /// Requests that one connection may have parked.
    static let parkedLimit = 1024

    /// Bytes of the id of one of them; with a longer one a request does not wait.
    static let parkedBytes = 1024

    /// - Throws: `overloaded` when there are too many claims.
    func admitClaim(_ storage: isolated Storage) throws(Refusal) {
        guard storage.caches.claims.isFull else { return }
        throw .error(
            RPCError(.overloaded, hint: "too many keys are being fetched at once", limit: CacheClaims.limit))
    }

    /// - Throws: `overloaded`.
    func admitParked(_ connection: Connection) throws(Refusal) {
        try refuseWhenTight()
        guard connection.parked < Self.parkedLimit else {
            throw .error(
                RPCError(.overloaded, hint: "too many requests of this connection wait", limit: Self.parkedLimit))
        }
    }

    /// Answers a request that was parked with the members that `render` appends.
    func tell(_ waiter: CacheClaims.Waiter, _ render: (inout ByteBuffer) -> Void) {
        var line = ByteBuffer()
        waiter.request.withBytes { line.appendReplyHead(id: $0) }
        line.append("\"result\":{")
        render(&line)
        line.append("}}\n")
        parkedReplies.append(ParkedReply(token: waiter.owner, line: Array(line.bytes)))
    }

    /// What the request is about to change is not in the log, and would not be taken back with the turn: so the turn is not
    /// taken back behind it either. When earlier requests of the connection may still be, it waits for the next turn.
    /// - Throws: `.pause`.
    func keepTurn() throws(Refusal) {
        guard let connection else { return }
        guard !connection.state.dependsOnTurn, connection.starting.isEmpty else { throw .pause }
        keepsTurn = true
    }
}
