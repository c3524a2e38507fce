import Glibc
public import KuraBytes
import Sodium

/// Why a token leads to nothing.
public enum UnusableToken: Sendable {
    /// It was never given out, has expired, or was given out before the secrets were locked or the daemon was started.
    case unknown
    /// Somebody has used it.
    case spent
    /// It is for another connection than the one that asked for it.
    case own
}

/// Tokens, each of which leads to a secret once. In memory alone: what a restart or locking forgets nobody can use.
///
/// A token is 32 random bytes, of which nothing is kept but a hash under a key of its own that goes with the tokens: who reads this memory
/// cannot use them, and how long looking one up takes says nothing of those that there are. Names go when a token is used or has expired.
///
/// What a turn has changed is taken back with it: its requests are answered again.
final class SecretTokens {
    static let tokenBytes = 32

    private final class Token {
        let digest: [UInt8]
        /// Service, account and group.
        var name = ByteBuffer()
        let version: UInt32?
        let issuer: UInt64
        let user: UInt32
        let role: String
        /// Nanoseconds since the machine was started.
        let expiresAt: UInt64
        var isSpent = false

        init(_ digest: [UInt8], version: UInt32?, issuer: UInt64, user: UInt32, role: String, expiresAt: UInt64) {
            (self.digest, self.version, self.issuer, self.user) = (digest, version, issuer, user)
            (self.role, self.expiresAt) = (role, expiresAt)
            name.wipes = true
        }
    }
    private let key: SecretKey
    private let clock: Clock
    private var tokens: [UInt64: Token] = [:]
    private var issued: [UInt64] = []
    private var spent: [UInt64] = []

    init(_ clock: Clock) throws(SecretsError) {
        self.clock = clock
        do throws(SodiumError) { key = try SecretKey() } catch { throw .engine(.overloaded) }
    }

    /// Half of a hash in a dictionary, and all of it in the comparison.
    private func hash(_ token: Bytes) -> (place: UInt64, digest: [UInt8]) {
        var digest = ByteBuffer(capacity: KeyedHash.digestBytes)
        KeyedHash.append(token, key: key, to: &digest)
        return (digest.bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self), Array(digest.bytes))
    }

    /// Appends a new token for whatever is called so.
    /// - Throws: `.quotaExceeded` when there are too many, or too many of that user's.
    func issue(
        _ name: SecretName, version: UInt32?, seconds: Int, user: UInt32, role: String, issuer: UInt64,
        to output: inout ByteBuffer
    ) throws(SecretsError) {
        removeExpired()
        guard tokens.count < SecretsStore.tokensLimit else {
            throw .engine(.quotaExceeded(limit: SecretsStore.tokensLimit))
        }
        guard tokens.values.count(where: { $0.user == user }) < SecretsStore.userTokensLimit else {
            throw .engine(.quotaExceeded(limit: SecretsStore.userTokensLimit))
        }
        var random = SecretBuffer()
        Randomness.append(Self.tokenBytes, to: &random)
        let (place, digest) = hash(random.bytes)
        let token = Token(
            digest, version: version, issuer: issuer, user: user, role: role,
            expiresAt: now.later(by: .nanoseconds(seconds: seconds)))
        for part in [name.service, name.account, name.group] { token.name.append(prefixed: part) }
        tokens[place] = token
        issued.append(place)
        output.append(random.bytes)
    }

    /// Lends the name and version that a token is for. `mayRead`: whether the user in the role that has asked for it still could read the secret.
    /// - Returns: what `body` does.
    /// - Throws: `.unusableToken`, and what `body` throws.
    func look<R>(
        _ text: Bytes, by connection: UInt64, mayRead: (UInt32, String, SecretName) -> Bool,
        _ body: (SecretName, UInt32?) throws(SecretsError) -> R
    ) throws(SecretsError) -> R {
        let (_, token) = try find(text)
        guard !token.isSpent else { throw .unusableToken(.spent) }
        guard token.issuer != connection else { throw .unusableToken(.own) }
        let bytes = token.name.bytes
        var parts: [Bytes] = []
        var position = 0
        while position < bytes.count {
            let count = Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self)))
            parts.append(bytes.extracting(position + 4..<position + 4 + count))
            position += 4 + count
        }
        let name = SecretName(service: parts[0], account: parts[1], group: parts[2])
        guard mayRead(token.user, token.role, name) else { throw .unusableToken(.unknown) }
        return try body(name, token.version)
    }

    /// From now on it leads to nothing.
    func spend(_ text: Bytes) throws(SecretsError) {
        let (place, token) = try find(text)
        token.isSpent = true
        spent.append(place)
    }

    private func find(_ text: Bytes) throws(SecretsError) -> (UInt64, Token) {
        guard text.count == Self.tokenBytes else { throw .unusableToken(.unknown) }
        let (place, digest) = hash(text)
        guard let token = tokens[place], token.expiresAt > now,
            digest.withBytes({ digest in token.digest.withBytes { ConstantTime.equal(digest, $0) } })
        else { throw .unusableToken(.unknown) }
        return (place, token)
    }

    private func removeExpired() {
        let now = clock.boottime
        tokens = tokens.filter { $0.value.expiresAt > now }
    }

    /// The turn is over, or was taken back.
    func endTurn(isStored: Bool) {
        guard !issued.isEmpty || !spent.isEmpty else { return }
        for place in spent {
            if isStored { tokens[place]?.name.releaseMemory() } else { tokens[place]?.isSpent = false }
        }
        if !isStored { for place in issued { tokens[place] = nil } }
        issued.removeAll()
        spent.removeAll()
    }

    /// Also while the machine sleeps.
    private var now: UInt64 { clock.boottime }
}

extension SecretsStore {
    /// Tokens that there may be at once, used ones counted until they expire, and those of one user.
    public static let tokensLimit = 1024
    public static let userTokensLimit = 128

    /// Appends a token that leads to a secret once, and not on the connection that it is given to.
    /// - Parameters:
    ///   - name: the secret; nobody looks whether there is one.
    ///   - version: which one; nil for the newest at that time.
    ///   - seconds: how long the token is good.
    ///   - user: who asks.
    ///   - role: in which role.
    ///   - issuer: the connection that asks.
    ///   - output: gets 32 bytes, and zeroes what leaves it.
    /// - Throws: `.sealed`, `.integrity`, `.preparing`, `.quotaExceeded`.
    public func issueToken(
        _ name: SecretName, version: UInt32?, seconds: Int, user: UInt32, role: String, issuer: UInt64,
        to output: inout ByteBuffer
    ) throws(SecretsError) {
        let vault = try keeper.open()
        let tokens: SecretTokens
        if let known = vault.tokens {
            tokens = known
        } else {
            tokens = try SecretTokens(ledger.clock)
            vault.tokens = tokens
        }
        try tokens.issue(name, version: version, seconds: seconds, user: user, role: role, issuer: issuer, to: &output)
    }

    /// Lends what a token leads to, as `get` does. The token is as good as before: `spend` makes it worthless.
    /// - Throws: `.unusableToken`, and as `get`.
    public func redeem(
        token: Bytes, by connection: UInt64, mayRead: (UInt32, String, SecretName) -> Bool,
        _ body: (SecretName, FoundSecret, Bytes) -> Void
    ) throws(SecretsError) -> UInt64 {
        guard let tokens = try keeper.open().tokens else { throw .unusableToken(.unknown) }
        do throws(SecretsError) {
            return try tokens.look(token, by: connection, mayRead: mayRead) { (name, version) throws(SecretsError) in
                var isThere = false
                let rev = try get(name, version: version) { secret, value in
                    isThere = true
                    body(name, secret, value)
                }
                guard isThere else { throw .absent(shownRev: rev) }
                return rev
            }
        } catch {
            if error == .unusableToken(.spent) { noteSpentToken() }
            throw error
        }
    }

    /// The token that has just been redeemed is worthless from now on.
    public func spend(token: Bytes) throws(SecretsError) {
        try keeper.open().tokens?.spend(token)
    }

    /// Somebody has used it, or has it, who should not: the operator is told, once a second at most.
    private func noteSpentToken() {
        let time = ledger.clock.monotonic
        guard time >= spentTokensToldAt + 1_000_000_000 else { return }
        spentTokensToldAt = time
        report("secrets: a token was presented that had been used already")
    }

    /// The turn's changes are in the log, or were taken back.
    func endTurn(isStored: Bool) {
        noteSwept(isStored: isStored)
        vault?.tokens?.endTurn(isStored: isStored)
        audit.endTurn(isStored: isStored)
    }
}
