import KuraBytes

/// The words of JSON Schema draft-07 (json-schema-validation-01 and json-schema-01).
enum Keyword: String, CaseIterable, Sendable {
    case type, `enum`, const
    case minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
    case minLength, maxLength, pattern
    case items, additionalItems, minItems, maxItems, uniqueItems, contains
    case properties, patternProperties, additionalProperties, propertyNames, required, minProperties, maxProperties
    case dependencies
    case `if`, then, `else`, allOf, anyOf, oneOf, not
    case reference = "$ref"
    case definitions
    // Annotations: checked for their own type, and not held against any value. `format` is one of them.
    case title, description, `default`, examples, format, comment = "$comment", schema = "$schema", id = "$id"
    case readOnly, writeOnly, contentEncoding, contentMediaType
    /// Not a word of a schema: what the root is blamed for when it is `false`.
    case never = "false"

    var isAnnotation: Bool {
        switch self {
        case .title, .description, .default, .examples, .format, .comment, .schema, .id, .readOnly, .writeOnly,
            .contentEncoding, .contentMediaType:
            true
        default: false
        }
    }

    /// What other drafts' words are called in draft-07.
    static func hint(_ word: String) -> String? {
        switch word {
        case "$defs": "draft-07 says definitions"
        case "id": "draft-07 says $id"
        case "prefixItems": "draft-07 says items, with an array"
        case "dependentRequired", "dependentSchemas": "draft-07 says dependencies"
        case "extends": "draft-07 says allOf"
        case "disallow": "draft-07 says not"
        default: nil
        }
    }
}
