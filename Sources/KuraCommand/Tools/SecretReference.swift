import KuraBytes
import KuraClient
import KuraProtocol

/// Where a secret is, as commands write it: `SERVICE/ACCOUNT`, and `SERVICE/ACCOUNT#FIELD` for one text of several.
///
/// The first `/` parts the two, and the last `#` the field; an account with a `#` in it is written with one more at its end.
struct SecretReference: Equatable {
    let service: String
    let account: String
    let field: String?

    /// - Throws: a usage failure that shows the form.
    init(_ text: String) throws(Failure) {
        guard let slash = text.firstIndex(of: "/"), slash != text.startIndex else { throw Self.malformed(text) }
        service = String(text[..<slash])
        let rest = text[text.index(after: slash)...]
        if let sign = rest.lastIndex(of: "#") {
            account = String(rest[..<sign])
            let name = rest[rest.index(after: sign)...]
            field = name.isEmpty ? nil : String(name)
        } else {
            account = String(rest)
            field = nil
        }
        guard !account.isEmpty else { throw Self.malformed(text) }
    }

    private static func malformed(_ text: String) -> Failure {
        .usage("'\(text)' names no secret", hint: "write SERVICE/ACCOUNT, or SERVICE/ACCOUNT#FIELD")
    }

    var name: String { "\(service)/\(account)" + (field.map { "#\($0)" } ?? "") }

    /// Reads the secret.
    /// - Throws: the daemon's refusal; `absent` when there is none.
    func read(_ session: inout Session) throws(Failure) -> SecretValue {
        var params = [("service", JSONParts.string(service)), ("account", JSONParts.string(account))]
        if let field { params.append(("field", JSONParts.string(field))) }
        let result = try session.result(try Catalogue.standard.method(named: "secrets.get"), JSONParts.object(params))
        guard let object = JSONObject(result), let value = SecretValue(object) else {
            throw Failure(
                status: .absent, message: "there is no secret \(name)", hint: "'kura secrets list' names them")
        }
        return value
    }
}

/// A secret as it came.
enum SecretValue {
    /// Text, or what was stored as bytes.
    case bytes([UInt8])
    /// Texts by name: one JSON object.
    case dictionary([UInt8])

    /// `result`: of `secrets.get`.
    /// - Returns: nil when the secret is absent, or came sealed.
    init?(_ result: JSONObject) {
        if let secret = result["secret"] {
            if secret.first == UInt8(ascii: "{") {
                self = .dictionary(secret)
            } else {
                guard let text = JSONObject.string(secret) else { return nil }
                self = .bytes(Array(text.utf8))
            }
        } else if let text = result.string("secretBase64") {
            var decoded = ByteBuffer()
            guard Array(text.utf8).withBytes({ Base64.decode($0, into: &decoded) }) else { return nil }
            self = .bytes(Array(decoded.bytes))
        } else {
            return nil
        }
    }

    /// What goes into a file or a pipe: the very bytes; several texts as one JSON object.
    var raw: [UInt8] {
        switch self {
        case .bytes(let bytes), .dictionary(let bytes): bytes
        }
    }
}
