import JSONSchema
import Testing

@Suite struct SchemaErrorTests {
    /// Schema, pointer, keyword, a part of the message.
    static let refused: [(String, String, String, String)] = [
        (#"{"properties":{"a":{"minimun":1}}}"#, "/properties/a/minimun", "minimun", "unknown"),
        (#"{"$defs":{}}"#, "/$defs", "$defs", "definitions"),
        (#"{"false":1}"#, "/false", "false", "unknown"),
        (#"{"items":[{},{"a/b~c":1}]}"#, "/items/1/a~1b~0c", "a/b~c", "unknown"),
        ("1", "", "false", "object, true or false"),
        ("null", "", "false", "object, true or false"),
        ("{", "", "", "not JSON"),
        (#"{"type":"null","type":"null"}"#, "", "", "twice"),
        (#"{"type":"strng"}"#, "/type", "type", "must be one of"),
        (#"{"type":["null","null"]}"#, "/type/1", "type", "twice"),
        (#"{"type":[]}"#, "/type", "type", "empty"),
        (#"{"type":1}"#, "/type", "type", "must be one of"),
        (#"{"enum":[]}"#, "/enum", "enum", "empty"),
        (#"{"enum":1}"#, "/enum", "enum", "array"),
        (#"{"minimum":"1"}"#, "/minimum", "minimum", "number"),
        (#"{"exclusiveMaximum":true}"#, "/exclusiveMaximum", "exclusiveMaximum", "number"),
        (#"{"multipleOf":0}"#, "/multipleOf", "multipleOf", "more than 0"),
        (#"{"multipleOf":-2}"#, "/multipleOf", "multipleOf", "more than 0"),
        (#"{"multipleOf":1234567890123456789}"#, "/multipleOf", "multipleOf", "18"),
        (#"{"maxLength":-1}"#, "/maxLength", "maxLength", "whole number"),
        (#"{"minLength":1.5}"#, "/minLength", "minLength", "whole number"),
        (#"{"minItems":"1"}"#, "/minItems", "minItems", "whole number"),
        (#"{"pattern":1}"#, "/pattern", "pattern", "string"),
        (#"{"pattern":"a("}"#, "/pattern", "pattern", "not closed (at byte 1)"),
        (#"{"patternProperties":{"ok":{},"[":{}}}"#, "/patternProperties/[", "patternProperties", "at byte 0"),
        (#"{"uniqueItems":1}"#, "/uniqueItems", "uniqueItems", "true or false"),
        (#"{"required":"a"}"#, "/required", "required", "array"),
        (#"{"required":["a",1]}"#, "/required/1", "required", "string"),
        (#"{"required":["a","\u0061"]}"#, "/required/1", "required", "twice"),
        (#"{"properties":[]}"#, "/properties", "properties", "object"),
        (#"{"properties":{"a":1}}"#, "/properties/a", "properties", "object, true or false"),
        (#"{"dependencies":{"a":"b"}}"#, "/dependencies/a", "dependencies", "object, true or false"),
        (#"{"allOf":[]}"#, "/allOf", "allOf", "empty"),
        (#"{"anyOf":{}}"#, "/anyOf", "anyOf", "array"),
        (#"{"not":[]}"#, "/not", "not", "object, true or false"),
        (#"{"then":{}}"#, "/then", "then", "without if"),
        (##"{"$ref":"#/definitions/a","maximum":1,"definitions":{"a":{}}}"##, "/maximum", "maximum", "allOf"),
        (#"{"$ref":"http://example.com/a.json"}"#, "/$ref", "$ref", "not http://example.com/a.json"),
        (#"{"$ref":"other.json#/a"}"#, "/$ref", "$ref", "not other.json#/a"),
        (##"{"$ref":"#name"}"##, "/$ref", "$ref", "leads nowhere"),
        (##"{"$ref":"#/definitions/b","definitions":{"a":{}}}"##, "/$ref", "$ref", "leads nowhere"),
        (##"{"items":{"$ref":"#/enum/0"},"enum":[{}]}"##, "/items/$ref", "$ref", "no schema"),
        (##"{"items":{"$ref":"#/properties"},"properties":{}}"##, "/items/$ref", "$ref", "no schema"),
        (##"{"items":{"$ref":"#\u0301"}}"##, "/items/$ref", "$ref", "leads nowhere"),
        (##"{"not":{"$ref":"#/definitions/%-0"},"definitions":{"\u0000":{}}}"##, "/not/$ref", "$ref", "leads nowhere"),
        (#"{"$ref":1}"#, "/$ref", "$ref", "string"),
        (##"{"$ref":"#"}"##, "/$ref", "$ref", "itself"),
        (#"{"title":1}"#, "/title", "title", "string"),
        (#"{"examples":1}"#, "/examples", "examples", "array"),
        (#"{"readOnly":1}"#, "/readOnly", "readOnly", "true or false"),
        (#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#, "/$schema", "$schema", "draft-07"),
    ]

    @Test(arguments: refused)
    func `what is no schema is refused with its place`(
        _ text: String, _ pointer: String, _ keyword: String, _ part: String
    ) {
        let error = #expect(throws: SchemaError.self) { try JSONSchema.compile(text) }
        #expect(error?.pointer == pointer)
        #expect(error?.keyword == keyword)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
    }

    @Test func `annotations are let pass`() throws {
        let schema = try JSONSchema.compile(
            #"{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","$comment":"c","title":"t","description":"d","#
                + #""default":[1],"examples":[1],"format":"email","readOnly":true,"writeOnly":false,"contentEncoding":"base64","#
                + #""contentMediaType":"image/png","definitions":{}}"#)
        #expect(schema.validate("17") == nil)
    }

    @Test func `a schema is bounded in each direction`() {
        func refused(_ text: String, _ change: (inout SchemaLimits) -> Void, _ part: String) {
            var limits = SchemaLimits()
            change(&limits)
            let error = #expect(throws: SchemaError.self) { try JSONSchema.compile(text, limits: limits) }
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
        refused("{}" + String(repeating: " ", count: 9), { $0.schemaBytes = 10 }, "10 bytes")
        refused(#"{"not":{"not":{"not":{}}}}"#, { $0.schemaDepth = 3 }, "nested")
        refused(#"{"items":[{},{},{}]}"#, { $0.subschemas = 3 }, "3 schemas")
        refused(#"{"pattern":"a","items":{"pattern":"b"}}"#, { $0.patterns = 1 }, "1 patterns")
        refused(#"{"pattern":"abcd"}"#, { $0.patternBytes = 3 }, "3 bytes")
        refused(#"{"pattern":"abcd","items":{"pattern":"ef"}}"#, { $0.patternBytesTogether = 5 }, "5 bytes together")
        #expect(throws: SchemaError.self) {
            try JSONSchema.compile(String(repeating: #"{"not":"#, count: 64) + "{}" + String(repeating: "}", count: 64))
        }
    }
}
