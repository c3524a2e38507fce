import JSONSchema
import Testing

/// json-schema-validation-01, 6.6 and 6.7; json-schema-01, 8.3.
@Suite struct CombiningTests {
    static let combined = [
        Case(#"{"allOf":[{"minimum":2},{"maximum":4}]}"#, valid: ["3", #""x""#], invalid: ["1", "5"]),
        Case(#"{"allOf":[true,false]}"#, invalid: ["1"]),
        Case(#"{"anyOf":[{"type":"integer"},{"minimum":2}]}"#, valid: ["1", "2.5", "3", #""x""#], invalid: ["1.5"]),
        Case(#"{"anyOf":[false,false]}"#, invalid: ["1"]),
        Case(#"{"oneOf":[{"type":"integer"},{"minimum":2}]}"#, valid: ["1", "2.5", #""x""#], invalid: ["3", "1.5"]),
        Case(#"{"oneOf":[true,true,false]}"#, invalid: ["1"]),
        Case(#"{"oneOf":[false,true,false]}"#, valid: ["1"]),
        Case(#"{"not":{"type":"integer"}}"#, valid: [#""x""#, "1.5"], invalid: ["1", "1.0"]),
        Case(#"{"not":{"not":{"type":"integer"}}}"#, valid: ["1"], invalid: ["1.5"]),
        Case(#"{"not":false}"#, valid: ["1"]),
        Case(
            #"{"if":{"minimum":10},"then":{"multipleOf":2},"else":{"multipleOf":3}}"#, valid: ["12", "9"],
            invalid: ["11", "8"]),
        Case(#"{"if":{"minimum":10},"then":{"multipleOf":2}}"#, valid: ["12", "7"], invalid: ["11"]),
        Case(#"{"else":{"multipleOf":3},"if":{"minimum":10}}"#, valid: ["11", "9"], invalid: ["8"]),
        Case(#"{"if":false}"#, valid: ["1"]),
        Case(#"{"if":true,"then":false}"#, invalid: ["1"]),
    ]
    static let references = [
        Case(
            ##"{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}"##, valid: ["{}", ##"{"a":{"a":{}}}"##],
            invalid: [##"{"b":1}"##, ##"{"a":{"b":1}}"##]),
        Case(
            ##"{"properties":{"a":{"type":"integer"},"b":{"$ref":"#/properties/a"}}}"##, valid: [##"{"b":3}"##],
            invalid: [##"{"b":"x"}"##]),
        Case(##"{"items":[{"type":"integer"},{"$ref":"#/items/0"}]}"##, valid: ["[1,2]"], invalid: [##"[1,"x"]"##]),
        Case(
            ##"{"definitions":{"a~b":{"type":"integer"},"c/d":{"type":"string"},"e%f":{"type":"null"},"g\"h":{"type":"array"}},"items":[{"$ref":"#/definitions/a~0b"},{"$ref":"#/definitions/c~1d"},{"$ref":"#/definitions/e%25f"},{"$ref":"#/definitions/g%22h"}]}"##,
            valid: [#"[1,"x",null,[]]"#], invalid: ["[null]", "[1,1]", #"[1,"x",1]"#, #"[1,"x",null,1]"#]),
        Case(
            ##"{"$ref":"#/definitions/c","definitions":{"a":{"type":"integer"},"b":{"$ref":"#/definitions/a"},"c":{"$ref":"#/definitions/b"}}}"##,
            valid: ["5"], invalid: [##""x""##]),
        // A combining mark behind a slash makes one character of the two; the pointer is of bytes.
        Case(
            ##"{"definitions":{"\u0301a":{"type":"null"}},"not":{"$ref":"#/definitions/\u0301a"}}"##,
            valid: ["1"], invalid: ["null"]),
        // `$ref` as a member's name and as a value is none.
        Case(#"{"properties":{"$ref":{"type":"string"}}}"#, valid: [#"{"$ref":"x"}"#], invalid: [#"{"$ref":2}"#]),
        Case(##"{"enum":[{"$ref":"#/nowhere"}]}"##, valid: [##"{"$ref":"#/nowhere"}"##], invalid: ["1"]),
        Case(
            ##"{"definitions":{"tree":{"type":"object","required":["v"],"properties":{"v":{"type":"number"},"kids":{"type":"array","items":{"$ref":"#/definitions/tree"}}}}},"allOf":[{"$ref":"#/definitions/tree"}]}"##,
            valid: [#"{"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]}"#],
            invalid: [#"{"v":1,"kids":[{"v":2,"kids":[{"v":"x"}]}]}"#, #"{"v":1,"kids":[{}]}"#]),
    ]

    @Test(arguments: combined) func `schemas are combined`(_ example: Case) throws { try example.check() }
    @Test(arguments: references) func `references lead to any schema of the document`(_ example: Case) throws {
        try example.check()
    }

    @Test func `a reference that leads to itself on the same value is refused`() {
        for schema in [
            ##"{"$ref":"#"}"##, ##"{"allOf":[{"$ref":"#"}]}"##, ##"{"not":{"$ref":"#"}}"##,
            ##"{"anyOf":[{"if":{"$ref":"#"}}]}"##,
            ##"{"dependencies":{"a":{"$ref":"#"}}}"##,
            ##"{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"oneOf":[true,{"$ref":"#/definitions/a"}]}}}"##,
        ] {
            #expect(throws: SchemaError.self, "\(schema)") { try JSONSchema.compile(schema) }
        }
    }
}
