import KuraBytes

/// What a schema may be and what a validation may cost.
///
/// A schema comes from a client and runs where nothing may take long, so that everything has a bound: a schema over its bounds
/// is refused by `compile`, a validation over its bounds ends with a violation whose cause is `tooComplex`. A step is about 15
/// ns of work, one of a pattern 20 to 50 ns; with these bounds what was made to take long held the thread 1.1 ms at most, and
/// large values took 20 ns a byte (release build, 2 virtual cores; the heaviest of 27 hostile patterns, medians of 9).
public struct SchemaLimits: Sendable {
    /// Bytes of a schema's text.
    public var schemaBytes = 262_144
    /// Levels of nesting of a schema's text, at most `JSONReader.defaultMaximumDepth`.
    public var schemaDepth = 64
    /// Subschemas of one schema, boolean ones too.
    public var subschemas = 4096
    /// Patterns of one schema: `pattern` and the names of `patternProperties`.
    public var patterns = 256
    /// Bytes of UTF-8 of one pattern.
    public var patternBytes = 1024
    /// Bytes of UTF-8 of all patterns of one schema: compiling the most costly of this size took 12 ms.
    public var patternBytesTogether = 16_384
    /// Bytes of UTF-8 of a string that is held against a pattern.
    public var subjectBytes = 65_536
    /// Steps of one validation, whatever the value's size.
    public var steps = 50_000
    /// Steps of one validation for each byte of the value, besides.
    public var stepsPerByte = 2
    /// Steps that all patterns of one validation may take together.
    public var patternSteps = 20_000
    /// KiB of memory that one match may take for going back.
    public var patternKibibytes: UInt32 = 256
    /// Schemas within schemas, references counted, that one validation may be inside of.
    public var evaluationDepth = 512

    public init() {}
}
