public import JSONSchema
public import KuraBytes
import KuraProtocol

/// What the schemas of domains and collections may be: for who configures one, and for records of files.
public enum StoredSchema {
    /// Smaller than a schema may be elsewhere, since it is compiled on the loop: when it is configured, and at its next use
    /// after the domain's configuration has changed. 250 properties took 1.2 ms, 1,000 took 3.2 ms (42,920 bytes), the most
    /// costly of the patterns tried 0.3 ms (a whole `settings.configure` with `dryRun`, release build, 2 virtual cores).
    private static let limits: SchemaLimits = {
        var limits = SchemaLimits()
        limits.schemaBytes = 65_536
        limits.subschemas = 1024
        limits.patterns = 64
        limits.patternBytes = 256
        limits.patternBytesTogether = 1024
        return limits
    }()

    /// Settings are written one by one, so only what speaks of single settings may stand at the top of a domain's.
    private static let topLevel: Set<String> = [
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "readOnly", "writeOnly",
        "definitions", "type", "properties", "patternProperties", "additionalProperties", "propertyNames",
    ]

    /// A collection's.
    public static func ofCollection(_ text: Bytes) throws(SchemaError) -> JSONSchema {
        try JSONSchema.compile(text, limits: limits)
    }

    /// A domain's: that of an object whose members are the settings.
    public static func ofDomain(_ text: Bytes) throws(SchemaError) -> JSONSchema {
        let schema = try JSONSchema.compile(text, limits: limits)
        guard text.first == UInt8(ascii: "{") else { return schema }
        var walk = JSONWalk(text, storage: WalkStorage())
        while let (name, value) = walk.nextMember() {
            let keyword = String(decoding: name, as: UTF8.self)
            guard topLevel.contains(keyword) else {
                throw SchemaError(
                    pointer: "/" + keyword, keyword: keyword,
                    message: "at the top only what speaks of single settings may stand, such as properties")
            }
            if keyword == "type", Array(value) != Array("\"object\"".utf8) {
                throw SchemaError(pointer: "/type", keyword: keyword, message: "a domain is an object")
            }
        }
        return schema
    }
}

/// What becomes of a value that breaks its scope's schema.
public enum SchemaMode: String, CaseIterable, Sendable {
    /// The schema describes and brings defaults; nothing is checked.
    case off
    /// It is stored, and the reply warns of it.
    case warn
    /// It is refused.
    case enforce

    /// From its JSON text.
    public init?(_ text: Bytes) {
        guard let mode = Self.allCases.first(where: { Array("\"\($0.rawValue)\"".utf8) == Array(text) }) else {
            return nil
        }
        self = mode
    }
}
