import KuraBytes
import KuraStorage

/// How far the audit of secrets has been told of the request that is being answered, and of which secret.
struct RequestAudit: ~Copyable {
    /// The handler has noted by itself what the request has come to.
    private(set) var isNoted = false
    /// The reply waits until the turn is in the audit.
    private(set) var isAwaited = false
    /// A secret that the parameters do not name: service, account and group, one behind the other. Zeroed when it is forgotten.
    private var name = ByteBuffer()
    private var accountAt = 0
    private var groupAt = 0

    init() { name.wipes = true }

    /// Another request is answered, or the same one again.
    mutating func begin() {
        isNoted = false
        isAwaited = false
        // Hardly ever there, and each request comes by here.
        if !name.isEmpty { name.removeAll() }
    }

    /// The request has been noted, and is not noted again when its handler is through.
    mutating func noted() { isNoted = true }

    /// The reply leaves when what has been noted is in the log.
    mutating func awaitsLog() { isAwaited = true }

    /// The request is about a secret that its parameters do not name.
    mutating func isAbout(_ secret: SecretName) {
        name.removeAll()
        name.append(secret.service)
        accountAt = name.count
        name.append(secret.account)
        groupAt = name.count
        name.append(secret.group)
    }

    /// The secret that the request is about. `given`: what its parameters say.
    func secret(given: SecretName) -> SecretName {
        guard !name.isEmpty else { return given }
        return SecretName(
            service: name.bytes(0..<accountAt), account: name.bytes(accountAt..<groupAt),
            group: name.bytes(groupAt..<name.count))
    }
}
