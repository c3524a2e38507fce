import JSONSchema
import Testing

@Suite struct ViolationTests {
    /// Schema, value, instance pointer, keyword, schema pointer, message.
    static let told: [(String, String, String, String, String, String)] = [
        (#"{"type":["string","null"]}"#, "1", "", "type", "/type", "must be of type null or string"),
        (#"{"minimum":1,"type":"string"}"#, "0", "", "type", "/type", "must be of type string"),
        (
            #"{"properties":{"a/b":{"items":{"maximum":5}}}}"#, #"{"x":1,"a/b":[1,9]}"#, "/a~1b/1", "maximum",
            "/properties/a~1b/items/maximum", "must be at most 5"
        ),
        (#"{"exclusiveMinimum":1.50}"#, "1.5", "", "exclusiveMinimum", "/exclusiveMinimum", "must be more than 1.50"),
        (#"{"required":["a","b"]}"#, #"{"a":1}"#, "", "required", "/required", #"must have the member "b""#),
        (
            #"{"dependencies":{"a":["b"]}}"#, #"{"a":1}"#, "", "dependencies", "/dependencies",
            #"must have the member "b", because of another that it has"#
        ),
        (
            #"{"additionalProperties":false}"#, #"{"a":{"b":1}}"#, "/a", "additionalProperties",
            "/additionalProperties", "is no member that the schema knows"
        ),
        (
            #"{"propertyNames":{"maxLength":1}}"#, #"{"a":1,"b~c":1}"#, "/b~0c", "maxLength",
            "/propertyNames/maxLength", "must have at most 1 characters"
        ),
        (#"{"enum":["light","dark"]}"#, #""blue""#, "", "enum", "/enum", #"must be one of "light" or "dark""#),
        (#"{"enum":[1,2,3,4,5,6,7,8,9]}"#, "0", "", "enum", "/enum", "must be one of 9 listed values"),
        (#"{"pattern":"^a"}"#, #""b""#, "", "pattern", "/pattern", #"must match the pattern "^a""#),
        (
            #"{"uniqueItems":true}"#, "[1,2,1]", "", "uniqueItems", "/uniqueItems",
            "must have no equal items; 0 and 2 are equal, counted from 0"
        ),
        (
            #"{"oneOf":[{},{},false]}"#, "1", "", "oneOf", "/oneOf",
            "must match exactly one of the 3 schemas, and matches 2"
        ),
        (
            ##"{"allOf":[{},{"$ref":"#/definitions/a"}],"definitions":{"a":{"type":"null"}}}"##, "1", "", "type",
            "/definitions/a/type", "must be of type null"
        ),
        (#"{"items":{"not":{"type":"null"}}}"#, "[1,null]", "/1", "not", "/items/not", "must not match this schema"),
        (#"{"properties":{"a":false}}"#, #"{"a":1}"#, "/a", "properties", "/properties/a", "must not be here"),
        ("false", "1", "", "false", "", "must not be here"),
        (
            #"{"items":[{}],"additionalItems":false}"#, "[1,2]", "/1", "additionalItems", "/additionalItems",
            "is an item too many"
        ),
    ]

    @Test(arguments: told.indices) func `a violation tells where and what`(_ index: Int) throws {
        let (schema, value, instance, keyword, place, message) = Self.told[index]
        let violation = try #require(try JSONSchema.compile(schema).validate(value))
        #expect(
            violation == Violation(instancePointer: instance, keyword: keyword, schemaPointer: place, message: message))
    }

    @Test func `no message repeats the value`() throws {
        let secret = "hunter2-770077"
        for schema in [
            #"{"type":"null"}"#, #"{"const":1}"#, #"{"enum":["a"]}"#, #"{"maxLength":3}"#, #"{"minLength":99}"#,
            #"{"pattern":"^x"}"#,
            #"{"not":{}}"#, #"{"anyOf":[false]}"#, #"{"oneOf":[true,true]}"#, "false", #"{"if":{},"then":false}"#,
        ] {
            let violation = try #require(try JSONSchema.compile(schema).validate(#""\#(secret)""#))
            #expect(!"\(violation)".contains(secret))
        }
        for schema in [#"{"maximum":3}"#, #"{"multipleOf":10}"#, #"{"exclusiveMaximum":1}"#] {
            let violation = try #require(try JSONSchema.compile(schema).validate("770077"))
            #expect(!"\(violation)".contains("770077"))
        }
    }

    @Test func `several violations are collected, in the schema's order and no more than asked for`() throws {
        let schema = try JSONSchema.compile(
            #"{"required":["z"],"properties":{"a":{"type":"integer","minimum":1},"b":{"items":{"type":"null"}}},"#
                + #""anyOf":[{"required":["x"]},{"required":["y"]}],"maxProperties":1}"#)
        let value = #"{"b":[1,null,2],"a":"x"}"#
        let all = schema.violations(of: value, upTo: 10)
        #expect(all.map(\.keyword) == ["required", "type", "type", "type", "anyOf", "maxProperties"])
        #expect(all.map(\.instancePointer) == ["", "/b/0", "/b/2", "/a", "", ""])
        #expect(schema.violations(of: value, upTo: 2) == Array(all.prefix(2)))
        #expect(schema.violations(of: value, upTo: 1).first == schema.validate(value))
        #expect(schema.violations(of: #"{"z":1,"x":2}"#, upTo: 10).map(\.keyword) == ["maxProperties"])
    }

    @Test func `what fails inside of a question is no violation`() throws {
        for (schema, value, found) in [
            (#"{"if":{"minimum":10},"else":{"multipleOf":3}}"#, "8", ["multipleOf"]),
            (#"{"contains":{"minimum":5},"items":{"maximum":7}}"#, "[1,6,8]", ["maximum"]),
            (#"{"anyOf":[{"type":"null"},{"type":"string"}],"maxLength":1}"#, #""ab""#, ["maxLength"]),
            (#"{"oneOf":[{"type":"null"},{}],"not":{"type":"null"},"const":1}"#, "2", ["const"]),
        ] {
            #expect(try JSONSchema.compile(schema).violations(of: value, upTo: 9).map(\.keyword) == found)
        }
    }

    @Test func `what is not JSON is a violation of its own kind`() throws {
        let schema = try JSONSchema.compile("{}")
        for value in ["", "{", "[1,]", #"{"a" 1}"#, "tru", "1 2", #""\x""#, "[" + String(repeating: "[", count: 200)] {
            #expect(schema.validate(value)?.cause == .notJSON, "\(value)")
        }
        #expect(schema.validate(" [ 1 ] ") == nil)
    }
}
