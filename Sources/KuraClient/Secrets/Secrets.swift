import KuraBytes
import KuraProtocol

extension Kura {
    /// The secrets of all services.
    public var secrets: Secrets { Secrets(kura: self) }
}

/// The secrets: sealed values by service and account.
public struct Secrets: Sendable {
    let kura: Kura

    /// One service's: an application's or a server's; 1 to 128 bytes.
    public subscript(service: String) -> ServiceSecrets { ServiceSecrets(kura: kura, service: service) }
}

/// One service's secrets.
///
///     let secrets = kura.secrets["mail.example.org"]
///     try await secrets.put("ada", Secret(text: password))
///     guard let found = try await secrets.get("ada") else { … }
///     found.secret.withUnsafeBytes { … }
///
/// What a secret passes through in this process (requests, replies, what was read) is zeroed behind it. While the store is sealed everything here throws `sealed`.
public struct ServiceSecrets: Sendable {
    public let kura: Kura
    public let service: String

    /// A secret as it was read.
    public struct Item: Sendable {
        public let secret: Secret
        /// Revision of the item's last change.
        public let rev: Int64
        /// Number of the version, from 1.
        public let version: Int64
    }

    /// What is known of a secret without opening it.
    public struct Info: Sendable, Decodable {
        public let account: String
        public let label: String?
        public let attributes: [String: String]?
        /// `text`, `binary`, `dictionary` or `key`.
        public let kind: String
        public let rev: Int64
        public let version: Int64
        /// RFC 3339, UTC; nil for never.
        public let expiresAt: String?
    }

    // MARK: Reading

    /// The secret of an account; nil when there is none.
    /// - Parameters:
    ///   - account: whose, 1 to 512 bytes.
    ///   - version: which one; the newest when left out.
    ///   - options: how long to wait.
    /// - Returns: the secret, which is zeroed with its last owner.
    /// - Throws: `sealed`, `integrity`, `notFound` when the version was destroyed, `installationMismatch`; whatever any call throws.
    public func get(
        _ account: String, version: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Item? {
        let call = begin("secrets.get", account)
        if let version {
            call.request.append(",\"version\":")
            call.request.append(integer: version)
        }
        call.request.append("}}\n")
        try await perform(call, "secrets.get", nil, options)
        defer { kura.link.release(call) }
        do throws(JSONFault) { return try Self.read(call.reply.bytes, call.names) } catch {
            throw KuraError(.badReply, "the reply is not JSON: \(error.explanation)", method: "secrets.get")
        }
    }

    /// What is known of all secrets of the service, in an order of its own; their values are not read.
    /// - Parameters:
    ///   - attributes: only those with all of these.
    ///   - options: how long to wait, for each thousand of them.
    /// - Returns: one a secret.
    /// - Throws: `sealed`, `integrity`; whatever any call throws.
    public func list(
        attributes: [String: String]? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> [Info] {
        struct Params: Encodable {
            let service: String
            let attributes: [String: String]?
            let cursor: String?
        }
        struct Page: Decodable {
            let items: [Info]
            let cursor: String?
        }
        var items: [Info] = []
        var cursor: String?
        repeat {
            let page: Page = try await kura.call(
                "secrets.list", Params(service: service, attributes: attributes, cursor: cursor), options: options)
            items += page.items
            cursor = try KuraError.next(page.cursor, after: cursor, "secrets.list")
        } while cursor != nil
        return items
    }

    // MARK: Writing

    /// Stores a secret, as a new version; what is left out of what is known of it stays as it was.
    /// - Parameters:
    ///   - account: whose, 1 to 512 bytes.
    ///   - secret: at most 1 MiB.
    ///   - label: what to show people.
    ///   - attributes: texts to find it by, sealed like the secret; they take the place of all that were there.
    ///   - expiresAt: RFC 3339, UTC, as in 2030-01-31T12:00:00Z: from then on it is absent.
    ///   - ifRev: only when this is the item's revision; 0: only when there is none.
    ///   - options: how long to wait, and under which request key.
    /// - Returns: the revision of this change.
    /// - Throws: `sealed`, `conflict`, `valueTooLarge`, `quotaExceeded`, `noSpace`, `outcomeUnknown`; whatever any call throws.
    @discardableResult
    public func put(
        _ account: String, _ secret: Secret, label: String? = nil, attributes: [String: String]? = nil,
        expiresAt: String? = nil, ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Int64 {
        let known = try attributes.map { (attributes) throws(KuraError) in try WireEncoder().encode(attributes) }
        let call = begin("secrets.put", account)
        secret.write(to: &call.request)
        if let label {
            call.request.append(",\"label\":")
            call.request.append(string: label)
        }
        if let known {
            call.request.append(",\"attributes\":")
            call.request.append(known)
        }
        if let expiresAt {
            call.request.append(",\"expiresAt\":")
            call.request.append(string: expiresAt)
        }
        return try await write(call, "secrets.put", ifRev, options).rev
    }

    /// Removes a secret with all its versions.
    /// - Returns: whether there was one.
    @discardableResult
    public func delete(
        _ account: String, ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Bool {
        try await write(begin("secrets.delete", account), "secrets.delete", ifRev, options).deleted ?? false
    }

    // MARK: Calling

    private struct Done: Decodable {
        let rev: Int64
        let deleted: Bool?
    }

    private func begin(_ method: String, _ account: String) -> PendingCall {
        let call = kura.link.take(isSecret: true)
        call.request.append(",\"method\":")
        call.request.append(string: method)
        call.request.append(",\"params\":{\"service\":")
        call.request.append(string: service)
        call.request.append(",\"account\":")
        call.request.append(string: account)
        return call
    }

    private func write(
        _ call: PendingCall, _ method: String, _ ifRev: Int64?, _ options: CallOptions
    ) async throws(KuraError) -> Done {
        if let ifRev {
            call.request.append(",\"ifRev\":")
            call.request.append(integer: ifRev)
        }
        let key: String? =
            switch options.over(kura.scope).requestKey {
            case .none: nil
            case .named(let name): name
            case .automatic: kura.link.options.requestKeys ? kura.nextKey() : nil
            }
        if let key {
            call.request.append(",\"requestKey\":")
            call.request.append(string: key)
        }
        call.request.append("}}\n")
        var isNamed = false
        if case .named = options.over(kura.scope).requestKey { isNamed = true }
        try await perform(call, method, key, isNamed: isNamed, options)
        defer { kura.link.release(call) }
        return try WireDecoder().decode(Done.self, from: call.reply.bytes)
    }

    private func perform(
        _ call: PendingCall, _ method: String, _ key: String?, isNamed: Bool = false, _ options: CallOptions
    ) async throws(KuraError) {
        let rule = MethodRule.of(method)
        let manner = Kura.Manner(
            method: method, rule: rule, key: key, isNamed: isNamed, isSafe: rule.isRead || key != nil)
        try await kura.perform(call, manner, timeout: kura.timeout(options))
    }

    /// Reads a reply without a copy of the secret besides the one that is returned.
    private static func read(_ reply: Bytes, _ names: NameStack) throws(JSONFault) -> Item? {
        var kind: Secret.Kind?
        var bytes = ByteBuffer()
        bytes.wipes = true
        var rev: Int64 = 0
        var version: Int64 = 0
        var reader = JSONReader(reply, grammar: .rfc8259, names: names)
        try reader.expect(UInt8(ascii: "{"))
        if !reader.take(UInt8(ascii: "}")) {
            repeat {
                let name = try reader.name()
                let value = try reader.value()
                let text = reply.extracting(Int(value.start)..<Int(value.end))
                let label = reply.extracting(Int(name.start)..<Int(name.end))
                if label.equals("rev") { rev = JSONNumber.integer(text) ?? 0 }
                if label.equals("version") { version = JSONNumber.integer(text) ?? 0 }
                let isText = value.kind == .string
                if label.equals("secret") {
                    bytes.reserve(text.count)
                    kind = isText ? .text : .fields
                    if isText {
                        JSONText.unescape(text.extracting(1..<text.count - 1), into: &bytes)
                    } else {
                        bytes.append(text)
                    }
                } else if label.equals("secretBase64"), isText {
                    bytes.reserve(text.count)
                    kind = .binary
                    guard Base64.decode(text.extracting(1..<text.count - 1), into: &bytes) else {
                        throw JSONFault(reason: .unexpectedByte, offset: Int(value.start))
                    }
                }
            } while reader.take(UInt8(ascii: ","))
        }
        guard let kind else { return nil }
        return Item(secret: Secret(kind, bytes), rev: rev, version: version)
    }
}
