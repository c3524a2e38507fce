/// Types of the method table as JSON Schema draft-07.
///
/// A schema counts characters where Kura counts bytes of UTF-8, so `maxLength` is the looser bound; `x-maxBytes` is the one
/// that holds.
enum JSONSchema {
    static func schema(_ type: ValueType) -> JSONTree {
        .object(members(type))
    }

    /// An object with these members and no others.
    static func object(_ fields: [Field]) -> JSONTree {
        let properties = fields.map { field in
            (name: field.name, value: JSONTree.object(members(field.type) + [("description", .string(field.summary))]))
        }
        return .object([
            ("type", "object"), ("properties", .object(properties)),
            ("required", .array(fields.filter(\.isRequired).map { .string($0.name) })),
            ("additionalProperties", .boolean(false)),
        ])
    }

    private static func members(_ type: ValueType) -> [(name: String, value: JSONTree)] {
        switch type {
        case .name(let maxBytes):
            [("type", "string"), ("minLength", .integer(1))] + bound(maxBytes)
                + [("pattern", "^[^\\u0000-\\u001f\\u007f-\\u009f]*$")]
        case .text(let maxBytes):
            [("type", "string")] + bound(maxBytes)
        case .json: []
        case .integer(let range):
            [("type", "integer"), ("minimum", .integer(range.lowerBound)), ("maximum", .integer(range.upperBound))]
        case .boolean:
            [("type", "boolean")]
        case .timestamp:
            [
                ("type", "string"), ("format", "date-time"),
                ("pattern", "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$"),
            ]
        case .map(let element):
            [("type", "object"), ("additionalProperties", schema(element))]
        case .list(let element, let maxItems):
            [("type", "array"), ("items", schema(element))]
                + (maxItems < Int32.max ? [("maxItems", .integer(Int64(maxItems)))] : [])
        case .object(let fields):
            if fields.isEmpty {
                [("type", "object")]
            } else if case .object(let inner) = object(fields) {
                inner
            } else {
                []
            }
        case .word(let words):
            [("type", "string"), ("enum", .array(words.map { .string($0) }))]
        }
    }

    private static func bound(_ maxBytes: Int) -> [(name: String, value: JSONTree)] {
        [("maxLength", .integer(Int64(maxBytes))), ("x-maxBytes", .integer(Int64(maxBytes)))]
    }
}
