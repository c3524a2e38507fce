import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what has a stored key do something for whoever does not see it.
extension SecretsHandlers {
    // MARK: Signatures and codes

    static func sign(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let (name, data) = try begin(
            call, group: SecretsSign.accessGroup, data: SecretsSign.data, base64: SecretsSign.dataBase64, storage)
        let used = try call.run { () throws(SecretsError) in
            try storage.secrets.sign(data, name, version: call.version(SecretsSign.version), to: &call.memory.scratch)
        }
        append(.signature, used, call, &out)
    }

    static func publicKey(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = try begin(call, group: SecretsPublicKey.accessGroup, storage)
        let used = try call.run { () throws(SecretsError) in
            try storage.secrets.publicKey(
                name, version: call.version(SecretsPublicKey.version), to: &call.memory.scratch)
        }
        append(.publicKey, used, call, &out)
    }

    static func hmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let (name, data) = try begin(
            call, group: SecretsHmac.accessGroup, data: SecretsHmac.data, base64: SecretsHmac.dataBase64, storage)
        let used = try call.run { () throws(SecretsError) in
            try storage.secrets.authenticate(
                data, name, version: call.version(SecretsHmac.version), to: &call.memory.scratch)
        }
        append(.code, used, call, &out)
    }

    static func verifySignature(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let (name, data) = try begin(
            call, group: SecretsVerifySignature.accessGroup, data: SecretsVerifySignature.data,
            base64: SecretsVerifySignature.dataBase64, decoding: SecretsVerifySignature.signature, storage)
        let signature = call.memory.scratch.bytes
        let result = try call.run { () throws(SecretsError) in
            try storage.secrets.verify(
                signature: signature, of: data, name, version: call.version(SecretsVerifySignature.version))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    static func verifyHmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let (name, data) = try begin(
            call, group: SecretsVerifyHmac.accessGroup, data: SecretsVerifyHmac.data,
            base64: SecretsVerifyHmac.dataBase64, decoding: SecretsVerifyHmac.code, storage)
        let code = call.memory.scratch.bytes
        let result = try call.run { () throws(SecretsError) in
            try storage.secrets.verify(code: code, of: data, name, version: call.version(SecretsVerifyHmac.version))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    // MARK: Sealing

    static func encrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let (name, data) = try begin(
            call, group: SecretsEncrypt.accessGroup, data: SecretsEncrypt.data, base64: SecretsEncrypt.dataBase64,
            storage)
        let used = try call.run { () throws(SecretsError) in
            try storage.secrets.encrypt(
                data, isText: call.has(SecretsEncrypt.data), name, associated: call[SecretsEncrypt.associatedData],
                to: &call.memory.scratch)
        }
        append(.ciphertext, used, call, &out)
    }

    static func decrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.memory.wipePlaintext() }
        let name = try begin(call, group: SecretsDecrypt.accessGroup, decoding: SecretsDecrypt.ciphertext, storage)
        call.memory.plaintext.removeAll()
        let sealed = call.memory.scratch.bytes
        let (used, isText) = try call.run { () throws(SecretsError) in
            try storage.secrets.decrypt(
                sealed, name, associated: call[SecretsDecrypt.associatedData], into: &call.memory.plaintext)
        }
        try call.refuseUnlessRoom(for: call.memory.plaintext.count)
        out.wipes = true
        out.openObject()
        if isText {
            out.append(.data, call.memory.plaintext.bytes)
        } else {
            out.append(.dataBase64, base64: call.memory.plaintext.bytes)
        }
        append(used, call, &out)
    }

    static func rewrap(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = try begin(call, group: SecretsRewrap.accessGroup, decoding: SecretsRewrap.ciphertext, storage)
        let sealed = call.memory.scratch.bytes
        call.memory.otherScratch.removeAll()
        let used = try call.run { () throws(SecretsError) in
            try storage.secrets.rewrap(
                sealed, name, associated: call[SecretsRewrap.associatedData], to: &call.memory.otherScratch)
        }
        out.openObject()
        out.append(.ciphertext, base64: call.memory.otherScratch.bytes)
        append(used, call, &out)
    }

    // MARK: Beginning

    /// Whose key is asked for what: the name, what the parameter `decoding` has in `scratch`, which is empty without, and the data of
    /// `data` or `base64`.
    private static func begin(
        _ call: Call, group: TextParameter, data: TextParameter, base64: TextParameter, decoding: TextParameter? = nil,
        _ storage: isolated Storage
    ) throws(Refusal) -> (name: SecretName, data: Bytes) {
        let name = try begin(call, group: group, decoding: decoding, storage)
        return (name, try call.data(data, base64: base64))
    }

    /// The same without data.
    /// - Throws: `installationMismatch`; `invalidParams` for what is no base64.
    private static func begin(
        _ call: Call, group: TextParameter, decoding: TextParameter? = nil, _ storage: isolated Storage
    ) throws(Refusal) -> SecretName {
        try call.checkInstallation(storage)
        if let decoding { try call.decode(decoding) } else { call.memory.scratch.removeAll() }
        return call.secretName(group: group)
    }

    // MARK: Rendering

    /// `{"NAME":"…","version":N}` of what is in the call's scratch.
    private static func append(_ member: TextMember, _ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.openObject()
        out.append(member, base64: call.memory.scratch.bytes)
        append(used, call, &out)
    }

    private static func append(isValid: Bool, _ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.openObject()
        out.append(.valid, isValid)
        append(used, call, &out)
    }

    private static func append(_ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.append(.version, used.version)
        out.closeObject()
        call.shows(used.rev)
    }
}

extension Call {
    /// The data that one of two parameters has: bytes of the request, or of `plaintext`.
    fileprivate func data(_ parameter: TextParameter, base64: TextParameter) throws(Refusal) -> Bytes {
        guard has(parameter) != has(base64) else {
            throw refuse("one of data and dataBase64", has(parameter) ? base64 : parameter)
        }
        if has(parameter) { return self[parameter] }
        memory.plaintext.removeAll()
        guard Base64.decode(self[base64], into: &memory.plaintext) else {
            throw refuse("base64 with padding", base64)
        }
        return memory.plaintext.bytes
    }

    /// Leaves the bytes of a parameter in `scratch`.
    fileprivate func decode(_ parameter: TextParameter) throws(Refusal) {
        memory.scratch.removeAll()
        guard Base64.decode(self[parameter], into: &memory.scratch) else {
            throw refuse("base64 with padding", parameter)
        }
    }

    /// 0, which no version has, is asked for as it is.
    func version(_ parameter: NumberParameter) -> UInt32? { self[parameter].map { UInt32(clamping: $0) } }
}
