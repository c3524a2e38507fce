import KuraBytes
import KuraProtocol

/// A secret in memory: shown to nobody by accident, and zeroed with its last owner.
///
/// Descriptions, interpolations and dumps show that there is one, and not what it is. What is copied out of it is the caller's own to forget.
///
/// Safe to share: nothing changes after `init`.
public final class Secret: @unchecked Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    public enum Kind: Sendable {
        case text
        case binary
        /// Texts by name: the bytes are those of a JSON object.
        case fields
    }

    public let kind: Kind
    private(set) var bytes: ByteBuffer

    init(_ kind: Kind, _ bytes: consuming ByteBuffer) {
        self.kind = kind
        self.bytes = bytes
        self.bytes.wipes = true
    }

    public convenience init(text: String) {
        var buffer = ByteBuffer(capacity: text.utf8.count)
        buffer.append(text: text)
        self.init(.text, buffer)
    }

    public convenience init(bytes: [UInt8]) {
        var buffer = ByteBuffer(capacity: bytes.count)
        buffer.append(bytes)
        self.init(.binary, buffer)
    }

    /// With no copy in between that nobody zeroes.
    ///
    /// Safety: the bytes are lent for the call, and read within it.
    package convenience init(copying bytes: RawSpan) {
        var buffer = ByteBuffer(capacity: bytes.byteCount)
        unsafe bytes.withUnsafeBytes { lent in unsafe buffer.append(Bytes(lent)) }
        self.init(.binary, buffer)
    }

    /// Texts by name: user, password, host…
    /// - Throws: `notEncodable`.
    public convenience init(fields: [String: String]) throws(KuraError) {
        let text = try WireEncoder().encode(fields)
        var buffer = ByteBuffer(capacity: text.count)
        buffer.append(text)
        self.init(.fields, buffer)
    }

    public var count: Int { bytes.count }

    /// Lends the bytes for a call.
    ///
    /// Safety: they stay in place as long as the secret, which this call holds; nobody keeps the address past it.
    public func withUnsafeBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
        defer { withExtendedLifetime(self) {} }
        return try unsafe body(UnsafeRawBufferPointer(start: bytes.bytes.baseAddress, count: bytes.count))
    }

    /// A copy as text, which nobody zeroes; nil when it is no UTF-8.
    public var text: String? { String(validating: bytes.bytes, as: UTF8.self) }
    /// A copy of the texts by name; nil when it is no such secret.
    public var fields: [String: String]? {
        kind == .fields ? try? WireDecoder().decode([String: String].self, from: Array(bytes.bytes)) : nil
    }

    /// What is written on the wire.
    func write(to request: inout ByteBuffer) {
        switch kind {
        case .text:
            request.append(",\"secret\":")
            request.append(quoted: bytes.bytes)
        case .fields:
            request.append(",\"secret\":")
            request.append(bytes.bytes)
        case .binary:
            request.append(",\"secretBase64\":\"")
            Base64.encode(bytes.bytes, into: &request)
            request.append("\"")
        }
    }

    public var description: String { "Secret(hidden)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
