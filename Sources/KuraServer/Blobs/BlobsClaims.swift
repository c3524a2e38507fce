import KuraBytes
import KuraProtocol
import KuraStorage

/// Win tokens of blobs: of many who miss a variant one makes it. The others are not kept waiting: they take its parent, or ask again.
extension Call {
    private func claimed(variant: TextParameter = BlobsGet.variant) -> CacheClaims.Subject {
        let name = blobName(variant: variant)
        // None of the names has a zero in it.
        let key = Array(name.namespace) + [0] + Array(name.key) + [0] + Array(name.variant)
        return .init(room: CacheStore.blobs.rawValue, scope: 0, key: key)
    }

    /// A token for what a get has not found, when it asks for one and nobody else has it.
    func claimBlob(_ claim: FlagParameter, lease: NumberParameter, _ storage: isolated Storage) throws(Refusal)
        -> WinToken?
    {
        guard self[claim], let connection else { return nil }
        try admitClaim(connection, storage)
        try keepTurn()
        let seconds = self[lease].map { UInt64.nanoseconds(seconds: $0) }
        let token = storage.caches.claims.claim(
            claimed(), owner: connection.token, role: connection.client.admission.role, lease: seconds, since: 0,
            now: clock.monotonic)
        if token != nil, seconds == nil { connection.outstanding.holdsCaches = true }
        return token
    }

    /// Whether the token of a put still has its claim; true without one.
    /// - Throws: `tokenInvalid`.
    func holdsBlobClaim(_ parameter: TextParameter, _ storage: isolated Storage) throws(Refusal) -> Bool {
        guard has(parameter) else { return true }
        if case .winner = try standing(parameter, for: claimed(), storage) { return true }
        return false
    }

    /// Has the claim of a token last for so many seconds from now on.
    /// - Throws: `tokenInvalid`; then nothing has changed.
    func renewBlobClaim(_ parameter: TextParameter, variant: TextParameter, seconds: Int64, _ storage: isolated Storage)
        throws(Refusal)
    {
        _ = try renew(parameter, of: claimed(variant: variant), seconds: seconds, storage)
    }

    /// The put with the token has come to its end, whatever that was.
    func endBlobClaim(_ parameter: TextParameter, _ storage: isolated Storage) {
        guard has(parameter) else { return }
        let claims = storage.caches.claims
        let subject = claimed()
        let isHolder = claims.isHolder(self[parameter], of: subject)
        claims.spend(self[parameter])
        // Nobody waits: whoever asks next finds it, or gets the next token.
        if isHolder { _ = claims.settle(subject) }
    }
}
