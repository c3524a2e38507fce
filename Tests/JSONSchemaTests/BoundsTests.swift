import JSONSchema
import Testing

@Suite struct BoundsTests {
    @Test func `nested anyOf that doubles at each level ends as too complex`() throws {
        var definitions = #""d0":{"type":"null"}"#
        for level in 1...40 {
            let half = ##"{"$ref":"#/definitions/d\##(level - 1)"}"##
            definitions += #","d\#(level)":{"anyOf":[\#(half),\#(half)]}"#
        }
        let schema = ##"{"definitions":{\##(definitions)},"allOf":[{"$ref":"#/definitions/d40"}]}"##
        let compiled = try JSONSchema.compile(schema)
        #expect(compiled.validate("null") == nil)
        let violation = try #require(compiled.validate("1"))
        #expect(violation.cause == .tooComplex)
        #expect(violation.message.contains("steps"))
    }

    @Test func `not does not turn what is too complex into what is valid`() throws {
        var limits = SchemaLimits()
        limits.patternSteps = 100
        let bomb = #"{"pattern":"^(a+)+$"}"#
        for schema in [
            bomb, #"{"not":\#(bomb)}"#, #"{"anyOf":[\#(bomb),{}]}"#, #"{"if":\#(bomb)}"#, #"{"oneOf":[{},\#(bomb)]}"#,
        ] {
            let compiled = try JSONSchema.compile(schema, limits: limits)
            #expect(compiled.validate(#""aaaaaaaaaaaaaaaaaaaaaaaaaaaab""#)?.cause == .tooComplex, "\(schema)")
        }
    }

    @Test func `a chain of references longer than the bound ends`() throws {
        var limits = SchemaLimits()
        limits.evaluationDepth = 20
        let schema = try JSONSchema.compile(##"{"items":{"$ref":"#"}}"##, limits: limits)
        #expect(schema.validate("[[[[[]]]]]") == nil)
        let deep = String(repeating: "[", count: 30) + String(repeating: "]", count: 30)
        let violation = try #require(schema.validate(deep))
        #expect(violation.cause == .tooComplex)
        #expect(violation.message.contains("20 schemas"))
    }

    @Test func `the deepest value that a schema may follow does not end the stack`() throws {
        let schema = try JSONSchema.compile(
            ##"{"definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"}]},"b":{"items":{"$ref":"#/definitions/a"}}},"items":{"$ref":"#/definitions/a"}}"##
        )
        let deep = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        #expect(schema.validate(deep) == nil)
    }

    @Test func `comparing costs steps too`() throws {
        var limits = SchemaLimits()
        limits.steps = 200
        limits.stepsPerByte = 0
        let elements = (0..<100).map { "[\($0)]" }.joined(separator: ",")
        for schema in [#"{"uniqueItems":true}"#, #"{"enum":[\#((0..<300).map(String.init).joined(separator: ","))]}"#] {
            let compiled = try JSONSchema.compile(schema, limits: limits)
            #expect(compiled.validate("[\(elements)]")?.cause == .tooComplex, "\(schema)")
        }
        let names = (0..<100).map { #""m\#($0)""# }
        let required = try JSONSchema.compile(#"{"required":[\#(names.joined(separator: ","))]}"#, limits: limits)
        let object = "{" + names.map { "\($0):1" }.joined(separator: ",") + "}"
        #expect(required.validate(object)?.cause == .tooComplex)
        #expect(try JSONSchema.compile(#"{"required":[\#(names.joined(separator: ","))]}"#).validate(object) == nil)
    }

    @Test func `a large value gets steps for its size`() throws {
        let schema = try JSONSchema.compile(#"{"items":{"type":"integer","minimum":0}}"#)
        let value = "[" + (0..<200_000).map { String($0 + 100_000) }.joined(separator: ",") + "]"
        #expect(schema.validate(value) == nil)
        #expect(schema.validate(value.dropLast() + ",-1]")?.instancePointer == "/200000")
    }

    @Test func `long numbers are no way around the steps`() throws {
        var limits = SchemaLimits()
        limits.steps = 1000
        limits.stepsPerByte = 0
        let schema = try JSONSchema.compile(
            #"{"allOf":[\#(Array(repeating: #"{"maximum":1e99999}"#, count: 50).joined(separator: ","))]}"#,
            limits: limits)
        #expect(schema.validate("1" + String(repeating: "7", count: 10_000))?.cause == .tooComplex)
        #expect(schema.validate("17") == nil)
    }
}
