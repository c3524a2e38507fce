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
        let data = try call.data(2, base64: 3)
        call.scratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.sign(
                data, call.secretName(group: 5), version: call.version(4), to: &call.scratch)
        }
        append("signature", used, call, &out)
    }

    static func publicKey(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        call.scratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.publicKey(call.secretName(group: 3), version: call.version(2), to: &call.scratch)
        }
        append("publicKey", used, call, &out)
    }

    static func hmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let data = try call.data(2, base64: 3)
        call.scratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.authenticate(
                data, call.secretName(group: 5), version: call.version(4), to: &call.scratch)
        }
        append("code", used, call, &out)
    }

    static func verifySignature(
        _ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage
    ) throws(Refusal) {
        defer { call.wipePlaintext() }
        try call.decode(2)
        let data = try call.data(3, base64: 4)
        let signature = call.scratch.bytes
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.verify(
                signature: signature, of: data, call.secretName(group: 6), version: call.version(5))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    static func verifyHmac(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        try call.decode(2)
        let data = try call.data(3, base64: 4)
        let code = call.scratch.bytes
        let result = try call.run { () throws(StoreError) in
            try storage.secrets.verify(code: code, of: data, call.secretName(group: 6), version: call.version(5))
        }
        append(isValid: result.isValid, result.used, call, &out)
    }

    // MARK: Sealing

    static func encrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        let data = try call.data(2, base64: 3)
        call.scratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.encrypt(
                data, isText: call.reader.has(2), call.secretName(group: 5), associated: call.text(4),
                to: &call.scratch)
        }
        append("ciphertext", used, call, &out)
    }

    static func decrypt(_ call: Call, _ out: inout ByteBuffer, _ storage: isolated Storage) throws(Refusal) {
        defer { call.wipePlaintext() }
        try call.decode(2)
        call.plaintext.removeAll()
        let sealed = call.scratch.bytes
        let (used, isText) = try call.run { () throws(StoreError) in
            try storage.secrets.decrypt(
                sealed, call.secretName(group: 4), associated: call.text(3), into: &call.plaintext)
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
        try call.decode(2)
        let sealed = call.scratch.bytes
        call.otherScratch.removeAll()
        let used = try call.run { () throws(StoreError) in
            try storage.secrets.rewrap(
                sealed, call.secretName(group: 4), associated: call.text(3), to: &call.otherScratch)
        }
        out.append("{\"ciphertext\":\"")
        Base64.encode(call.otherScratch.bytes, into: &out)
        out.append("\"")
        append(used, call, &out)
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
