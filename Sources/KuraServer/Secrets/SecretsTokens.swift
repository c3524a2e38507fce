import KuraBytes
import KuraProtocol
import KuraStorage
import KuraTransport

/// Answers what makes tokens for secrets, and takes them.
extension SecretsHandlers {
    static func issueToken(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        try call.checkInstallation(storage)
        let seconds = Int(call[SecretsIssueToken.ttlSeconds] ?? 0)
        defer { call.memory.wipePlaintext() }
        call.memory.plaintext.removeAll()
        try call.run { () throws(SecretsError) in
            try storage.secrets.issueToken(
                call.secretName(group: SecretsIssueToken.accessGroup), version: call.version(SecretsIssueToken.version),
                seconds: seconds,
                user: connection.client.uid, role: call.role, issuer: connection.token,
                to: &call.memory.plaintext)
        }
        out.wipes = true
        out.openObject()
        out.append(.token, base64: call.memory.plaintext.bytes)
        out.append(.expiresAt, storage.now.later(by: .milliseconds(seconds: seconds)))
        out.closeObject()
    }

    static func redeemToken(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        guard let connection = call.connection else { return }
        var token = ByteBuffer(capacity: 48)
        token.wipes = true
        // What is no base64 is no token either.
        if !Base64.decode(call[SecretsRedeemToken.token], into: &token) { token.removeAll() }
        let bytes = token.bytes
        defer {
            token.wipe()
            call.memory.wipePlaintext()
        }
        let start = out.count
        out.wipes = true
        var found: FoundSecret?
        let shown = try call.run { () throws(SecretsError) in
            try storage.secrets.redeem(token: bytes, by: connection.token) { user, role, name in
                call.server.access.allows(
                    .read, .secrets, name.service, group: .of(name.group), role: role, uid: user)
            } _: { name, secret, value in
                found = secret
                call.audit.isAbout(name)
                out.openObject()
                out.append(name)
                _ = call.render(secret.kind, value, field: nil)
            }
        }
        guard let found else { return }
        do throws(Refusal) { try call.refuseUnlessRoom(for: call.memory.plaintext.count) } catch {
            out.truncate(to: start)
            throw error
        }
        out.beginMember()
        out.append(call.memory.plaintext.bytes)
        out.append(rest: found)
        call.shows(shown)
        // Nothing can go wrong any more.
        try call.run { () throws(SecretsError) in try storage.secrets.spend(token: bytes) }
    }
}

extension UnusableToken {
    var word: StaticString {
        switch self {
        case .unknown: "unknown"
        case .spent: "spent"
        case .own: "own"
        }
    }
}
