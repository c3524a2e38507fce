import KuraBytes
import Testing

@testable import KuraJSON

struct FieldPathTests {
    private static func path(_ text: String) throws -> FieldPath {
        try text.withBytes { try FieldPath($0) }
    }

    private static func find(_ path: String, in document: String) throws -> String? {
        let path = try path.withBytes { try FieldPath($0) }
        return document.withBytes { path.find(in: StoredValue($0)).map { String($0.text) } }
    }

    @Test func `dots lead into objects, and numbers to the elements of arrays`() throws {
        let document = #"{"a":{"b":[10,{"c":"x"},[7]],"0":"zero"},"":1,"n":null}"#
        #expect(try Self.find("a.b.0", in: document) == "10")
        #expect(try Self.find("a.b.1.c", in: document) == #""x""#)
        #expect(try Self.find("a.b.2.0", in: document) == "7")
        #expect(try Self.find("a.0", in: document) == #""zero""#)
        #expect(try Self.find("n", in: document) == "null")
        for nowhere in ["a.b.3", "a.b.00", "a.b.-1", "a.b.c", "n.x", "b", "a.b.0.x", "a.b.99999999999999999999"] {
            #expect(try Self.find(nowhere, in: document) == nil, "\(nowhere)")
        }
    }

    @Test func `a backslash makes a dot part of a name`() throws {
        let document = #"{"a.b":{"c\\d":1},"a":{"b":2},"\u0061\u002eé":3}"#
        #expect(try Self.find(#"a\.b.c\\d"#, in: document) == "1")
        #expect(try Self.find("a.b", in: document) == "2")
        #expect(try Self.find(#"a\.é"#, in: document) == "3")
        #expect(try String(decoding: Self.path(#"a\.b.c\\d"#).text, as: UTF8.self) == #"a\.b.c\\d"#)
    }

    @Test func `what is no path is refused`() {
        for text in ["", ".", "a.", ".a", "a..b"] {
            #expect(throws: FieldPathError.emptyComponent) { try Self.path(text) }
        }
        for text in [#"a\b"#, #"a\"#] { #expect(throws: FieldPathError.escape) { try Self.path(text) } }
        let deep = Array(repeating: "a", count: 129).joined(separator: ".")
        #expect(throws: FieldPathError.tooDeep) { try Self.path(deep) }
    }

    @Test func `names are found in any spelling, and no other ones`() {
        var generator = ValueGenerator(seed: 5)
        for _ in 0..<10_000 {
            let (name, other) = (generator.string(), generator.string())
            let document = "{\(generator.spell(.string(other))):1}"
            let found = document.withBytes { bytes in name.withBytes { StoredValue(bytes).member(named: $0) != nil } }
            #expect(found == (name.unicodeScalars.elementsEqual(other.unicodeScalars)), "\(name) \(other)")
        }
    }
}
