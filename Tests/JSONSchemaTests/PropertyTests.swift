import JSONSchema
import KuraBytes
import Testing

@Suite struct PropertyTests {
    @Test func `a property tells its default, description and types`() throws {
        let schema = try JSONSchema.compile(
            #"{"properties":{"theme":{"title":"Theme","description":"L\u00f6ok","type":["string","null"],"default":"d\"k"},"#
                + #""size":{"type":"integer","default": [1, 2.50] },"any":true,"free":{}}}"#)
        let theme = try #require(schema.property(named: "theme"))
        #expect(theme.title == "Theme")
        #expect(theme.description == "Löok")
        #expect(theme.types == ["string", "null"])
        #expect(theme.defaultText == Array(#""d\"k""#.utf8))
        let size = try #require(schema.property(named: "size"))
        #expect(size.defaultText == Array("[1, 2.50]".utf8))
        #expect(size.types == ["integer"])
        #expect(size.description == nil)
        #expect(schema.property(named: "any")?.types == [])
        #expect(schema.property(named: "free")?.defaultText == nil)
        #expect(schema.property(named: "none") == nil)
        #expect(schema.properties.map(\.name) == ["theme", "size", "any", "free"])
        #expect(try JSONSchema.compile("true").properties.isEmpty)
        #expect(try JSONSchema.compile("{}").property(named: "a") == nil)
    }

    @Test func `a schema outlives the text that it was made of`() throws {
        var text = Array(#"{"properties":{"a":{"enum":["x"],"default":"x"}}}"#.utf8)
        let schema = try text.withBytes { try JSONSchema.compile($0) }
        for index in text.indices { text[index] = UInt8(ascii: "#") }
        #expect(schema.validate(#"{"a":"x"}"#) == nil)
        #expect(schema.validate(#"{"a":"y"}"#)?.message == #"must be one of "x""#)
        #expect(schema.property(named: "a")?.defaultText == Array(#""x""#.utf8))
    }
}
