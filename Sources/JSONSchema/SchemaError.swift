import KuraBytes

/// Why a text is no schema. The message never repeats values of the schema.
public struct SchemaError: Error, Equatable, Sendable {
    /// Where in the schema, as a JSON pointer (RFC 6901); empty for the whole.
    public var pointer: String
    /// The keyword that is at fault; empty when none is, as in a text that is not JSON.
    public var keyword: String
    /// In plain words, without a full stop.
    public var message: String

    public init(pointer: String, keyword: String, message: String) {
        self.pointer = pointer
        self.keyword = keyword
        self.message = message
    }
}
