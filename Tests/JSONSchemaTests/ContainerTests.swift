import JSONSchema
import Testing

/// json-schema-validation-01, 6.4 and 6.5.
@Suite struct ContainerTests {
    private static let many = (0..<40).map(String.init).joined(separator: ",")

    static let arrays = [
        Case(
            #"{"items":{"type":"integer"}}"#, valid: ["[]", "[1,2]", #"{"0":"x"}"#], invalid: [#"[1,"x"]"#, "[1.5]"]),
        Case(#"{"items":true}"#, valid: ["[]", "[1]"]),
        Case(#"{"items":false}"#, valid: ["[]", "1"], invalid: ["[1]"]),
        Case(
            #"{"items":[{"type":"integer"},{"type":"string"}]}"#, valid: ["[]", "[1]", #"[1,"a"]"#, #"[1,"a",null]"#],
            invalid: [#"["a"]"#, "[1,2]"]),
        Case(
            #"{"items":[{}],"additionalItems":{"type":"integer"}}"#, valid: [#"["x",2,3]"#, "[]"],
            invalid: [#"["x",2,"y"]"#]),
        Case(#"{"additionalItems":false,"items":[{},{}]}"#, valid: ["[]", "[1]", "[1,2]"], invalid: ["[1,2,3]"]),
        Case(#"{"items":[],"additionalItems":false}"#, valid: ["[]"], invalid: ["[1]"]),
        // Without an array of items it says nothing.
        Case(#"{"additionalItems":false}"#, valid: ["[1,2,3]"]),
        Case(#"{"items":{},"additionalItems":false}"#, valid: ["[1,2,3]"]),
        Case(#"{"minItems":1}"#, valid: ["[1]", "[1,2]", #""""#], invalid: ["[]"]),
        Case(#"{"maxItems":2}"#, valid: ["[]", "[1,[2,3,4]]", #""abc""#], invalid: ["[1,2,3]"]),
        Case(
            #"{"uniqueItems":true}"#,
            valid: [
                "[]", "[1]", "[1,2]", "[1,true]", "[0,false]", #"["1",1]"#, #"[{"a":1},{"a":2}]"#, "[[1,2],[2,1]]",
                "[\(many)]", "[[0],[false]]",
            ],
            invalid: [
                "[1,1]", "[1,1.0]", "[1e2,100]", #"["a","\u0061"]"#, #"[{"a":1,"b":2},{"b":2,"a":1.0}]"#, "[[1],[1]]",
                "[null,null]", "[\(many),5]", "[\(many),5.0]", "[{},\(many),{}]",
                #"[{"a":1,"b":[2]},\#(many),{"b":[2e0],"a":1}]"#,
                "[0,-0]", "[0.0,\(many)]",
            ]),
        Case(#"{"uniqueItems":false}"#, valid: ["[1,1]"]),
        Case(#"{"contains":{"minimum":5}}"#, valid: ["[3,4,5]", "[5]", "{}", "7"], invalid: ["[]", "[2,3,4]"]),
        Case(#"{"contains":true}"#, valid: ["[1]"], invalid: ["[]"]),
        Case(#"{"contains":false}"#, valid: [#""x""#], invalid: ["[1]", "[]"]),
    ]
    static let objects = [
        Case(
            #"{"properties":{"a":{"type":"integer"},"b":false}}"#, valid: ["{}", #"{"a":1}"#, #"{"c":2}"#, "[]"],
            invalid: [#"{"a":"x"}"#, #"{"b":1}"#, #"{"\u0061":"x"}"#]),
        Case(#"{"properties":{"":{"type":"null"}}}"#, valid: [#"{"":null}"#], invalid: [#"{"":1}"#]),
        Case(
            #"{"patternProperties":{"f.*o":{"type":"integer"}}}"#,
            valid: [#"{"foo":1,"bar":"x"}"#, #"{"foooooo":1}"#, "[]"], invalid: [#"{"foo":"x"}"#, #"{"xfoox":"y"}"#]),
        Case(
            #"{"patternProperties":{"a":{"type":"integer"},"aa":{"maximum":20}}}"#,
            valid: [#"{"a":21}"#, #"{"aa":18}"#], invalid: [#"{"a":"x"}"#, #"{"aa":21}"#, #"{"aaa":31}"#]),
        Case(
            #"{"properties":{"a":{},"b":{}},"patternProperties":{"^v":{}},"additionalProperties":false}"#,
            valid: [#"{"a":1}"#, #"{"a":1,"vroom":2}"#, "{}", "[1]"],
            invalid: [#"{"quux":1}"#, #"{"a":1,"b":2,"x":3}"#, #"{"A":1}"#]),
        Case(
            #"{"additionalProperties":{"type":"boolean"},"properties":{"a":{}}}"#, valid: [#"{"a":1,"b":true}"#],
            invalid: [#"{"b":12}"#]),
        Case(#"{"additionalProperties":false}"#, valid: ["{}"], invalid: [#"{"a":1}"#]),
        // A member may break either of them: both count.
        Case(
            #"{"properties":{"foo":{"type":"array","maxItems":3}},"patternProperties":{"f.o":{"minItems":2}}}"#,
            valid: [#"{"foo":[1,2]}"#], invalid: [#"{"foo":[]}"#, #"{"foo":[1,2,3,4]}"#]),
        Case(
            #"{"propertyNames":{"maxLength":3}}"#, valid: ["{}", #"{"f":1,"foo":2}"#, "[1]", #"{"\u0061bc":1}"#],
            invalid: [#"{"foobar":1}"#]),
        Case(#"{"propertyNames":{"pattern":"^[a-z]+$"}}"#, valid: [#"{"abc":1}"#], invalid: [#"{"a1":1}"#]),
        Case(#"{"propertyNames":false}"#, valid: ["{}"], invalid: [#"{"a":1}"#]),
        Case(
            #"{"required":["a","b"]}"#, valid: [#"{"b":null,"a":1,"c":2}"#, "[]", "1"],
            invalid: ["{}", #"{"a":1}"#, #"{"b":1}"#]),
        Case(#"{"required":[]}"#, valid: ["{}"]),
        Case(#"{"required":["foo\nbar","é"]}"#, valid: [#"{"foo\u000abar":1,"\u00e9":2}"#], invalid: [#"{"foo":1}"#]),
        Case(#"{"minProperties":1}"#, valid: [#"{"a":1}"#, #""""#], invalid: ["{}"]),
        Case(
            #"{"maxProperties":2}"#, valid: ["{}", #"{"a":1,"b":{"x":1,"y":2,"z":3}}"#, "[1,2,3]"],
            invalid: [#"{"a":1,"b":2,"c":3}"#]),
        Case(
            #"{"dependencies":{"bar":["foo"]}}"#, valid: ["{}", #"{"foo":1}"#, #"{"foo":1,"bar":2}"#, #"["bar"]"#],
            invalid: [#"{"bar":2}"#]),
        Case(
            #"{"dependencies":{"q":["a","b"],"e":[]}}"#, valid: [#"{"a":1,"b":2,"q":3}"#, #"{"e":1}"#],
            invalid: [#"{"a":1,"q":2}"#, #"{"q":1}"#]),
        Case(
            #"{"dependencies":{"bar":{"properties":{"foo":{"type":"integer"}}},"no":false}}"#,
            valid: [#"{"foo":1,"bar":2}"#, #"{"foo":"x"}"#], invalid: [#"{"foo":"x","bar":2}"#, #"{"no":1}"#]),
    ]

    @Test(arguments: arrays) func `arrays are held against their items`(_ example: Case) throws { try example.check() }
    @Test(arguments: objects) func `objects are held against their members`(_ example: Case) throws {
        try example.check()
    }

    @Test func `a twin is found whichever of many items it is`() throws {
        let schema = try JSONSchema.compile(#"{"uniqueItems":true}"#)
        for twin in 0..<40 {
            let message = "must have no equal items; \(twin) and 40 are equal, counted from 0"
            #expect(schema.validate("[\(Self.many),\(twin).0]")?.message == message)
        }
    }

    @Test func `each of very many properties is found`() throws {
        let names = (0..<500).map { "p\($0)" }
        let members = names.enumerated().map { #""\#($1)":{"const":\#($0)}"# }.joined(separator: ",")
        let schema = try JSONSchema.compile(#"{"properties":{\#(members)},"additionalProperties":false}"#)
        for (index, name) in names.enumerated() {
            #expect(schema.validate(#"{"\#(name)":\#(index)}"#) == nil)
            #expect(schema.validate(#"{"\#(name)":\#(index + 1)}"#)?.schemaPointer == "/properties/\(name)/const")
        }
        #expect(schema.validate(#"{"p500":1}"#)?.keyword == "additionalProperties")
    }
}
