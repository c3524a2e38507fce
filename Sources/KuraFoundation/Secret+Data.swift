public import Foundation
public import KuraClient

extension Secret {
    /// A binary secret, at most 1 MiB: its own copy of the bytes, which is zeroed with its last owner. `data` stays the caller's to forget.
    public convenience init(_ data: Data) { self.init(copying: data.bytes) }

    /// A copy of the secret's bytes, which nobody zeroes: a text's UTF-8, and JSON for `fields`.
    public var data: Data {
        // Safety: the bytes are copied within the call, for which they are lent.
        unsafe withUnsafeBytes { bytes in unsafe Data(bytes) }
    }
}

extension ServiceSecrets {
    /// Stores a secret that is absent from a moment on, to the second. All else is as in `put(_:_:label:attributes:expiresAt:ifRev:options:)`.
    @discardableResult
    public func put(
        _ account: String, _ secret: Secret, label: String? = nil, attributes: [String: String]? = nil, expires: Date,
        ifRev: Int64? = nil, options: CallOptions = .init()
    ) async throws(KuraError) -> Int64 {
        try await put(
            account, secret, label: label, attributes: attributes, expiresAt: Timestamp.text(of: expires), ifRev: ifRev,
            options: options)
    }
}

extension ServiceSecrets.Info {
    /// From when on it is absent; nil for never.
    public var expires: Date? { expiresAt.flatMap(Timestamp.date) }
}
