import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what only looks at `secrets.*`.
extension SecretsHandlers {
    /// Heads that one request opens at most: some two milliseconds.
    private static let looks = 1000

    static func get(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = call.secretName(group: SecretsGet.accessGroup)
        let field = call.has(SecretsGet.field) ? call[SecretsGet.field] : nil
        let recipient = try call.recipient(SecretsGet.sealTo)
        try call.checkInstallation(storage)
        defer { call.memory.wipePlaintext() }
        var found: FoundSecret?
        var hasField = true
        // The rendered secret: sealed, or copied to the output.
        let shown = try call.run { () throws(SecretsError) in
            try storage.secrets.get(name, version: call[SecretsGet.version].map { UInt32(clamping: $0) }) {
                secret, value in
                found = secret
                hasField = call.render(secret.kind, value, field: field)
            }
        }
        call.shows(shown)
        guard let found else {
            out.openObject()
            out.append(.rev, 0)
            out.closeObject()
            return
        }
        guard hasField else {
            throw .error(
                RPCError(.notFound, hint: "the secret has no text of this name", parameter: call.name(SecretsGet.field))
            )
        }
        try call.refuseUnlessRoom(for: call.memory.plaintext.count)
        out.openObject()
        try append(found, name, sealedTo: recipient, parameter: SecretsGet.sealTo, call, &out, storage)
        out.append(rest: found)
    }

    /// What was rendered: as it is, or as `"secretSealed":"…"`, sealed in an object with what it is the answer to.
    /// - Parameters:
    ///   - found: the version.
    ///   - name: the secret's.
    ///   - recipient: an X25519 public key; nil: nobody between is kept from it.
    ///   - parameter: which one said so.
    ///   - call: has it in `plaintext`.
    ///   - out: takes it.
    ///   - storage: whose secret it is.
    /// - Throws: `invalidParams` when nothing can be sealed to the key.
    static func append(
        _ found: FoundSecret, _ name: SecretName, sealedTo recipient: [UInt8]?, parameter: some Parameter, _ call: Call,
        _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        guard let recipient else {
            out.wipes = true
            out.beginMember()
            out.append(call.memory.plaintext.bytes)
            return
        }
        let names = name.service.count + name.account.count + name.group.count
        var object = ByteBuffer(capacity: call.memory.plaintext.count + 256 + names * 6)
        object.wipes = true
        object.openObject()
        object.append(name: TextMember.id)
        if call.reader.replyID.isEmpty { object.append("null") } else { object.append(call.reader.replyID) }
        object.append(name)
        object.append(.version, found.version)
        object.beginMember()
        object.append(call.memory.plaintext.bytes)
        object.closeObject()
        call.memory.scratch.removeAll()
        let bytes = object.bytes
        do throws(SecretsError) {
            try recipient.withBytes { (key) throws(SecretsError) in
                try storage.secrets.seal(bytes, for: key, to: &call.memory.scratch)
            }
        } catch {
            throw .error(
                RPCError(
                    .invalidParams, hint: "nothing can be sealed to this public key",
                    parameter: call.name(parameter)))
        }
        out.append(.secretSealed, base64: call.memory.scratch.bytes)
    }

    static func list(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let limit = Int(call[SecretsList.limit] ?? 100)
        var after: SecretsStore.Position?
        let page = try call.page(
            cursor: SecretsList.cursor, of: SecretsList.service, SecretsList.attributes, SecretsList.accessGroup)
        if let place = page.after {
            after = SecretsStore.Position(text: place)
            guard after != nil else { throw call.refuseCursor(SecretsList.cursor) }
        }
        let wanted = try call.attributes(SecretsList.attributes)
        let group = call.has(SecretsList.accessGroup) ? call[SecretsList.accessGroup] : nil
        out.openObject()
        out.openList(.items)
        let start = out.count
        var count = 0
        let end = try call.run { () throws(SecretsError) in
            try storage.secrets.list(
                service: call.has(SecretsList.service) ? call[SecretsList.service] : nil, after: after, most: looks,
                enters: { call.shows(.list, .secrets, service: $0, group: .any) }
            ) { item in
                if let group, !group.equals(item.name.group) { return true }
                guard call.shows(.list, .secrets, service: item.name.service, group: .of(item.name.group)) else {
                    return true
                }
                if let wanted, !call.holds(item.attributes, all: wanted) { return true }
                guard count < limit, count == 0 || out.count - start < 1 << 20 else { return false }
                out.wipes = true
                out.append(item)
                count += 1
                return true
            }
        }
        out.closeList()
        out.append(.rev, page.rev(storage.rev))
        if let end { end.text.withBytes { page.append(cursor: $0, rev: storage.rev, to: &out) } }
        out.closeObject()
        call.shows(storage.rev)
    }

    static func versions(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        out.openObject()
        out.openList(.versions)
        let (rev, shown) = try call.run { () throws(SecretsError) in
            try storage.secrets.versions(call.secretName(group: SecretsVersions.accessGroup)) { version in
                out.openObject()
                out.append(.version, version.version)
                out.append(.rev, version.rev)
                out.append(.createdAt, version.createdAt)
                if version.expiresAt != 0 { out.append(.expiresAt, version.expiresAt) }
                out.append(.kind, word: version.kind.word)
                if let algorithm = version.kind.algorithm { out.append(.algorithm, word: algorithm) }
                out.append(.bytes, version.size)
                if version.isDestroyed { out.append(.destroyed, true) }
                out.closeObject()
            }
        }
        out.closeList()
        out.append(.rev, rev)
        out.closeObject()
        call.shows(shown)
    }
}

extension ByteBuffer {
    /// What is told of a secret behind its value, with the end of the object.
    mutating func append(rest found: FoundSecret) {
        append(.rev, found.rev)
        append(.version, found.version)
        append(.createdAt, found.createdAt)
        if found.expiresAt != 0 { append(.expiresAt, found.expiresAt) }
        closeObject()
    }

    fileprivate mutating func append(_ item: SecretSummary) {
        openObject()
        append(item.name)
        if !item.label.isEmpty { append(.label, item.label) }
        if !item.attributes.isEmpty { append(.attributes, json: item.attributes) }
        append(.kind, word: item.kind.word)
        if let algorithm = item.kind.algorithm { append(.algorithm, word: algorithm) }
        append(.accessibility, word: item.accessibility.word)
        if item.isDeviceOnly { append(.deviceOnly, true) }
        if !item.isInBackups { append(.backup, false) }
        if item.maxVersions > 0 { append(.maxVersions, item.maxVersions) }
        append(.rev, item.rev)
        append(.version, item.version)
        append(.createdAt, item.createdAt)
        append(.updatedAt, item.updatedAt)
        if item.expiresAt != 0 { append(.expiresAt, item.expiresAt) }
        closeObject()
    }
}

extension SecretKind {
    var word: StaticString {
        switch self {
        case .text: "text"
        case .binary: "binary"
        case .dictionary: "dictionary"
        case .ed25519, .hmacSHA512256, .blake2b256, .xchacha20Poly1305: "key"
        }
    }

    /// Of a key: what it is good for.
    var algorithm: StaticString? {
        switch self {
        case .text, .binary, .dictionary: nil
        case .ed25519: "ed25519"
        case .hmacSHA512256: "hmac-sha512-256"
        case .blake2b256: "blake2b-256"
        case .xchacha20Poly1305: "xchacha20-poly1305"
        }
    }

    init?(algorithm: Bytes) {
        guard
            let known = SecretKind.allCases.first(where: { kind in kind.algorithm.map { algorithm.equals($0) } ?? false
            })
        else { return nil }
        self = known
    }
}

extension SecretAccessibility {
    var word: StaticString {
        switch self {
        case .whenUnlocked: "whenUnlocked"
        case .afterFirstUnlock: "afterFirstUnlock"
        case .always: "always"
        }
    }

    init?(word: Bytes) {
        guard
            let known = [SecretAccessibility.whenUnlocked, .afterFirstUnlock, .always].first(where: {
                word.equals($0.word)
            })
        else { return nil }
        self = known
    }
}
