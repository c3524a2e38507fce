import KuraBytes
import KuraProtocol
import KuraStorage

/// Answers what has a stored key do something for whoever does not see it. Numbers of parameters are positions in the method table.
enum SecretsUse {
    static let all: [String: Handler] = [
        "secrets.sign": sign, "secrets.verifySignature": verifySignature, "secrets.publicKey": publicKey,
        "secrets.hmac": hmac, "secrets.verifyHmac": verifyHmac, "secrets.encrypt": encrypt, "secrets.decrypt": decrypt,
        "secrets.rewrap": rewrap,
    ]

    // MARK: Signatures and codes

    static func sign(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let (name, data) = try begin(call, group: 5, data: 2, storage)
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.sign(data, name, version: call.version(4), to: &call.scratch)
        }
        append("signature", used, call, &out)
    }

    static func publicKey(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = try begin(call, group: 3, storage)
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.publicKey(name, version: call.version(2), to: &call.scratch)
        }
        append("publicKey", used, call, &out)
    }

    static func hmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let (name, data) = try begin(call, group: 5, data: 2, storage)
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.authenticate(data, name, version: call.version(4), to: &call.scratch)
        }
        append("code", used, call, &out)
    }

    static func verifySignature(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        defer { call.wipePlaintext() }
        let (name, data) = try begin(call, group: 6, data: 3, decoding: 2, storage)
        let signature = call.scratch.bytes
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.verify(signature: signature, of: data, name, version: call.version(5))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    static func verifyHmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let (name, data) = try begin(call, group: 6, data: 3, decoding: 2, storage)
        let code = call.scratch.bytes
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.verify(code: code, of: data, name, version: call.version(5))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    // MARK: Sealing

    static func encrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let (name, data) = try begin(call, group: 5, data: 2, storage)
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.encrypt(
                data, isText: call.reader.has(2), name, associated: call.text(4), to: &call.scratch)
        }
        append("ciphertext", used, call, &out)
    }

    static func decrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let name = try begin(call, group: 4, decoding: 2, storage)
        call.plaintext.removeAll()
        let sealed = call.scratch.bytes
        let (used, isText) = try call.run { () throws(StoreError) in
            try storage.secrets.decrypt(sealed, name, associated: call.text(3), into: &call.plaintext)
        }
        try call.refuseUnlessRoom(for: call.plaintext.count)
        out.wipes = true
        if isText {
            out.append("{\"data\":")
            out.append(quoted: call.plaintext.bytes)
        } else {
            out.append("{\"dataBase64\":\"")
            Base64.encode(call.plaintext.bytes, into: &out)
            out.append("\"")
        }
        append(used, call, &out)
    }

    static func rewrap(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        let name = try begin(call, group: 4, decoding: 2, storage)
        let sealed = call.scratch.bytes
        call.otherScratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.rewrap(sealed, name, associated: call.text(3), to: &call.otherScratch)
        }
        out.append("{\"ciphertext\":\"")
        Base64.encode(call.otherScratch.bytes, into: &out)
        out.append("\"")
        append(used, call, &out)
    }

    // MARK: Beginning

    /// Whose key is asked for what: the name, what the parameter `decoding` has in `scratch`, which is empty without, and the data of
    /// `data` or the parameter behind it.
    private static func begin(
        _ call: Call, group: Int, data: Int, decoding: Int? = nil, _ storage: isolated Storage
    ) throws(Refusal) -> (name: SecretName, data: Bytes) {
        let name = try begin(call, group: group, decoding: decoding, storage)
        return (name, try call.data(data, base64: data + 1))
    }

    /// The same without data.
    /// - Throws: `installationMismatch`; `invalidParams` for what is no base64.
    private static func begin(
        _ call: Call, group: Int, decoding: Int? = nil, _ storage: isolated Storage
    ) throws(Refusal) -> SecretName {
        try call.checkInstallation(storage)
        if let decoding { try call.decode(decoding) } else { call.scratch.removeAll() }
        return call.secretName(group: group)
    }

    // MARK: Rendering

    /// `{"NAME":"…","version":N}` of what is in the call's scratch.
    private static func append(_ name: StaticString, _ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.append("{\"")
        out.append(name)
        out.append("\":\"")
        Base64.encode(call.scratch.bytes, into: &out)
        out.append("\"")
        append(used, call, &out)
    }

    private static func append(isValid: Bool, _ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.append(isValid ? "{\"valid\":true" : "{\"valid\":false")
        append(used, call, &out)
    }

    private static func append(_ used: UsedKey, _ call: Call, _ out: inout ByteBuffer) {
        out.append(",\"version\":")
        out.append(unsigned: UInt64(used.version))
        out.append("}")
        call.shows(used.rev)
    }
}

extension Call {
    /// The data that one of two parameters has: bytes of the request, or of `plaintext`.
    fileprivate func data(_ parameter: Int, base64: Int) throws(Refusal) -> Bytes {
        guard reader.has(parameter) != reader.has(base64) else {
            throw refuse("one of data and dataBase64", reader.has(parameter) ? base64 : parameter)
        }
        if reader.has(parameter) { return reader.string(parameter) }
        plaintext.removeAll()
        guard Base64.decode(reader.string(base64), into: &plaintext) else {
            throw refuse("base64 with padding", base64)
        }
        return plaintext.bytes
    }

    /// Leaves the bytes of a parameter in `scratch`.
    fileprivate func decode(_ parameter: Int) throws(Refusal) {
        scratch.removeAll()
        guard Base64.decode(reader.string(parameter), into: &scratch) else {
            throw refuse("base64 with padding", parameter)
        }
    }

    fileprivate func text(_ parameter: Int) -> Bytes { reader.has(parameter) ? reader.string(parameter) : Bytes() }

    /// 0, which no version has, is asked for as it is.
    func version(_ parameter: Int) -> UInt32? { reader.integer(parameter).map { UInt32(clamping: $0) } }
}
