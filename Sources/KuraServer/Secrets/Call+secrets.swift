import KuraBytes
import KuraProtocol
import KuraStorage

/// Parameters of requests about secrets. What is secret goes from the line into `plaintext` and nowhere else.
extension Call {
    /// `service` and `account` come first wherever both are.
    func secretName(group: TextParameter) -> SecretName {
        SecretName(service: self[SecretsGet.service], account: self[SecretsGet.account], group: self[group])
    }

    /// The service's secrets belong to another installation than the connection says to be.
    func isOfOtherInstallation(_ service: Bytes, _ storage: isolated Storage) throws(Refusal) -> Bool {
        guard let known = connection?.client.installation, !known.isEmpty else { return false }
        var isOther = false
        try run { () throws(SecretsError) in
            try storage.secrets.describe(service: service) { service in
                isOther = !service.installation.isEmpty && !known.withBytes { $0.equals(service.installation) }
            }
        }
        return isOther
    }

    /// - Throws: `installationMismatch`.
    func checkInstallation(_ storage: isolated Storage) throws(Refusal) {
        if try isOfOtherInstallation(self[SecretsGet.service], storage) {
            throw .error(RPCError(.installationMismatch))
        }
    }

    /// Zeroes what the request has left of secrets.
    func wipeSecrets() {
        memory.wipe()
        reader.wipe()
    }

    func refuse(_ hint: StaticString, _ parameter: some Parameter, limit: Int? = nil) -> Refusal {
        .error(RPCError(.invalidParams, hint: hint, parameter: name(parameter), limit: limit))
    }

    // MARK: Reading

    /// Reads the secret that one of three parameters has, into `plaintext`.
    func readSecret(
        _ parameter: JSONParameter, base64: TextParameter, sealed: TextParameter, _ name: SecretName,
        _ storage: isolated Storage
    ) throws(Refusal) -> SecretKind {
        let given = [parameter.position, base64.position, sealed.position].filter { reader.has($0) }
        guard given.count == 1 else {
            let name = reader.name(given.count > 1 ? given[1] : parameter.position)
            throw .error(
                RPCError(.invalidParams, hint: "one of secret, secretBase64 and secretSealed", parameter: name))
        }
        if has(parameter) { return try readSecret(reader.raw(parameter.position), parameter) }
        if has(base64) {
            try readBytes(self[base64], base64)
            return .binary
        }
        return try openSecret(sealed, name, storage)
    }

    /// `text`: a JSON value, checked.
    private func readSecret(_ text: Bytes, _ parameter: some Parameter) throws(Refusal) -> SecretKind {
        memory.plaintext.removeAll()
        memory.plaintext.reserve(text.count)
        switch text.first {
        case UInt8(ascii: "\""):
            JSONText.unescape(text.extracting(1..<text.count - 1), into: &memory.plaintext)
            return .text
        case UInt8(ascii: "{"):
            JSONText.compact(text, into: &memory.plaintext)
            guard isTexts(memory.plaintext.bytes, nameBytes: WireLimits.keyBytes, textBytes: .max) else {
                throw refuse("texts by name: 1 to 64, names of 1 to 512 bytes", parameter)
            }
            return .dictionary
        default: throw refuse("a text, or texts by name", parameter)
        }
    }

    /// Whether an object has 1 to 64 members, and all of them are texts.
    private func isTexts(_ object: Bytes, nameBytes: Int, textBytes: Int) -> Bool {
        var members = JSONWalk(object, storage: memory.walk)
        var count = 0
        while let (name, value) = members.nextMember() {
            count += 1
            guard count <= 64, JSONWalk.isName(name, limit: nameBytes), value.first == UInt8(ascii: "\""),
                value.count - 2 <= textBytes || JSONWalk.string(value, storage: memory.walk)!.count <= textBytes
            else { return false }
        }
        return count > 0
    }

    private func readBytes(_ text: Bytes, _ parameter: some Parameter) throws(Refusal) {
        memory.plaintext.removeAll()
        guard Base64.decode(text, into: &memory.plaintext) else { throw refuse("base64 with padding", parameter) }
    }

    /// Opens a sealed box. It holds `put`'s object: `service`, `account`, `accessGroup` where there is one, and `secret` or
    /// `secretBase64`. A box with other names than the request's is refused: nobody can store it as another secret.
    private func openSecret(_ parameter: TextParameter, _ name: SecretName, _ storage: isolated Storage) throws(Refusal)
        -> SecretKind
    {
        memory.scratch.removeAll()
        guard Base64.decode(self[parameter], into: &memory.scratch) else {
            throw refuse("base64 with padding", parameter)
        }
        var object = ByteBuffer(capacity: memory.scratch.count)
        object.wipes = true
        do throws(SecretsError) { try storage.secrets.open(sealed: memory.scratch.bytes, into: &object) } catch {
            if error == .sealed { throw Refusal(error, call: self) }
            throw refuse("it was not sealed to this daemon's public key, or has changed", parameter)
        }
        guard JSONText.isObject(object.bytes) else { throw refuse("an object is sealed", parameter) }
        let storage = WalkStorage()
        defer { storage.wipe() }
        var kind: SecretKind?
        var (isForService, isForAccount, isForGroup) = (false, false, name.group.isEmpty)
        var members = JSONWalk(object.bytes, storage: storage)
        while let (member, value) = members.nextMember() {
            if member.equals("service") {
                isForService = JSONWalk.string(value, storage: memory.innerWalk)?.equals(name.service) ?? false
            } else if member.equals("account") {
                isForAccount = JSONWalk.string(value, storage: memory.innerWalk)?.equals(name.account) ?? false
            } else if member.equals("accessGroup") {
                isForGroup = JSONWalk.string(value, storage: memory.innerWalk)?.equals(name.group) ?? false
            } else if member.equals("secret"), kind == nil {
                kind = try readSecret(value, parameter)
            } else if member.equals("secretBase64"), kind == nil,
                let text = JSONWalk.string(value, storage: memory.innerWalk)
            {
                try readBytes(text, parameter)
                kind = .binary
            } else {
                throw refuse("members are service, account, accessGroup, and secret or secretBase64", parameter)
            }
        }
        guard isForService, isForAccount, isForGroup, let kind else {
            throw refuse("it names another service, account or accessGroup, or no secret", parameter)
        }
        return kind
    }

    /// What the value that is in `plaintext` is to be: a key, when the parameter says so.
    func keyKind(_ parameter: TextParameter, of kind: SecretKind) throws(Refusal) -> SecretKind {
        guard has(parameter) else { return kind }
        guard kind == .binary, memory.plaintext.count == 32, let key = SecretKind(algorithm: self[parameter]) else {
            throw refuse("a key is 32 bytes: secretBase64", parameter)
        }
        return key
    }

    /// Reads the options of a secret: label, attributes, who may read it, and how long it is kept.
    func options(
        label: TextParameter, attributes: JSONParameter, accessibility: TextParameter, deviceOnly: FlagParameter?,
        backup: FlagParameter, expiresAt: TextParameter, maxVersions: NumberParameter, _ storage: isolated Storage
    ) throws(Refusal) -> SecretOptions {
        var options = SecretOptions()
        if has(label) { options.label = self[label] }
        options.attributes = try self.attributes(attributes)
        if has(accessibility) { options.accessibility = SecretAccessibility(word: self[accessibility]) }
        if let deviceOnly, has(deviceOnly) { options.isDeviceOnly = self[deviceOnly] }
        if has(backup) { options.isInBackups = self[backup] }
        options.maxVersions = self[maxVersions].map { Int($0) }
        if has(expiresAt) {
            let text = self[expiresAt]
            guard let at = text.isEmpty ? 0 : Timestamp.milliseconds(text) else {
                throw refuse("a time as in 2030-01-31T12:00:00Z, or empty for never", expiresAt)
            }
            guard text.isEmpty || at > storage.now else { throw refuse("a time that is still to come", expiresAt) }
            options.expiresAt = at
        }
        return options
    }

    /// Texts by name as JSON, empty for none; nil when the parameter is absent.
    func attributes(_ parameter: JSONParameter) throws(Refusal) -> Bytes? {
        guard has(parameter) else { return nil }
        let object = self[parameter]
        if object.equals("{}") { return Bytes() }
        guard object.count <= WireLimits.attributesBytes else {
            throw refuse("attributes have at most `limit` bytes together", parameter, limit: WireLimits.attributesBytes)
        }
        guard isTexts(object, nameBytes: WireLimits.scopeBytes, textBytes: WireLimits.attributeBytes) else {
            throw refuse("texts of at most 1,024 bytes by name, at most 64", parameter)
        }
        return object
    }

    /// Whether attributes have all of the texts that are wanted. Both are objects of texts, or empty.
    func holds(_ attributes: Bytes, all wanted: Bytes) -> Bool {
        guard !wanted.isEmpty else { return true }
        guard !attributes.isEmpty else { return false }
        var members = JSONWalk(wanted, storage: memory.walk)
        while let (name, value) = members.nextMember() {
            let text = JSONWalk.string(value, storage: memory.walk)
            var isThere = false
            var others = JSONWalk(attributes, storage: memory.innerWalk)
            while !isThere, let (other, known) = others.nextMember() {
                guard other.equals(name), let text, let same = JSONWalk.string(known, storage: memory.innerWalk) else {
                    continue
                }
                guard same.equals(text) else { return false }
                isThere = true
            }
            if !isThere { return false }
        }
        return true
    }

    /// The public key that a reply is to be sealed to.
    func recipient(_ parameter: TextParameter) throws(Refusal) -> [UInt8]? {
        guard has(parameter) else { return nil }
        var key = ByteBuffer()
        guard Base64.decode(self[parameter], into: &key), key.count == 32 else {
            throw refuse("an X25519 public key: 32 bytes as base64", parameter)
        }
        return Array(key.bytes)
    }

    // MARK: Rendering

    /// Leaves `"secret":…` in `plaintext`.
    /// - Parameters:
    ///   - kind: what `value` is.
    ///   - value: in clear.
    ///   - field: only the text of this name; nil for all.
    /// - Returns: false when there is no such field.
    func render(_ kind: SecretKind, _ value: Bytes, field: Bytes?) -> Bool {
        memory.plaintext.removeAll()
        memory.plaintext.reserve(value.count * 2 + 32)
        guard let field else {
            memory.plaintext.append(kind, value)
            return true
        }
        guard kind == .dictionary else { return false }
        var members = JSONWalk(value, storage: memory.walk)
        while let (name, text) = members.nextMember() {
            guard name.equals(field) else { continue }
            memory.plaintext.append(.secret, json: text)
            return true
        }
        return false
    }
}

extension ByteBuffer {
    /// `"secret":…` or `"secretBase64":…`.
    mutating func append(_ kind: SecretKind, _ value: Bytes) {
        switch kind {
        case .text: append(.secret, value)
        case .dictionary: append(.secret, json: value)
        default: append(.secretBase64, base64: value)
        }
    }

    mutating func append(_ member: TextMember, hexadecimal bytes: [UInt8]) {
        append(name: member)
        append(UInt8(ascii: "\""))
        bytes.withBytes { append(hexadecimal: $0) }
        append(UInt8(ascii: "\""))
    }

    /// A secret's name, with the access group that it is in.
    mutating func append(_ name: SecretName) {
        append(.service, name.service)
        append(.account, name.account)
        if !name.group.isEmpty { append(.accessGroup, name.group) }
    }
}
