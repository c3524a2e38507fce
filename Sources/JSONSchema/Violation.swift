import KuraBytes

/// Where and how a value breaks a schema. Nothing in it repeats the value, which may be secret; names of members are told,
/// since without them nobody would find the place.
public struct Violation: Equatable, Sendable {
    public enum Cause: Sendable {
        /// The value breaks the keyword.
        case value
        /// The bounds of a validation (`SchemaLimits`) were reached: whether the value is valid is not known.
        case tooComplex
        /// The value is not JSON.
        case notJSON
    }
    public var cause: Cause
    /// Where in the value, as a JSON pointer (RFC 6901); empty for the whole. `additionalProperties` and `propertyNames` point
    /// at the member, `required` and `dependencies` at the object that lacks one.
    public var instancePointer: String
    /// The keyword that is broken; for a schema that is `false` the one that it stands under, at the root `false`.
    public var keyword: String
    /// Where the keyword stands in the schema, as a JSON pointer; references are followed, not spelled out.
    public var schemaPointer: String
    /// In plain words, without a full stop: what the schema asks for.
    public var message: String

    public init(
        cause: Cause = .value, instancePointer: String, keyword: String, schemaPointer: String, message: String
    ) {
        self.cause = cause
        self.instancePointer = instancePointer
        self.keyword = keyword
        self.schemaPointer = schemaPointer
        self.message = message
    }
}
