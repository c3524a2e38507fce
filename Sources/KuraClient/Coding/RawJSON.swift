import KuraBytes
import KuraProtocol

/// One JSON value as its text: what is of no fixed type, and what is passed on as it came, every digit kept.
///
/// Only `WireEncoder` and `WireDecoder` know it; other coders see a string that holds the text.
public struct RawJSON: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Compact, and checked.
    public let text: [UInt8]

    /// - Throws: `notEncodable` when it is not one JSON value.
    public init(_ text: [UInt8]) throws(KuraError) {
        do throws(JSONFault) { self.text = try JSONDocument.compact(text) } catch {
            throw KuraError(.notEncodable, "a text is not JSON: \(error.explanation)")
        }
    }

    /// - Throws: `notEncodable` when it is not one JSON value.
    public init(_ text: String) throws(KuraError) { try self.init(Array(text.utf8)) }

    /// Of a text that has been checked.
    init(checked text: [UInt8]) { self.text = text }

    /// The text of a value.
    /// - Throws: `notEncodable`.
    public init(encoding value: some Encodable) throws(KuraError) { text = try WireEncoder().encode(value) }

    /// The value that the text stands for.
    /// - Throws: `wrongType`.
    public func decode<T: Decodable>(_ type: T.Type = T.self) throws(KuraError) -> T {
        try WireDecoder().decode(type, from: text)
    }

    public static let null = RawJSON(checked: Array("null".utf8))

    public var description: String { String(decoding: text, as: UTF8.self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    public init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }
}

/// No parameters, or no result of interest.
public struct Nothing: Sendable, Codable, Hashable {
    public init() {}
}
