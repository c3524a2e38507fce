import KuraBytes
import Testing

@testable import KuraJSON

struct StoredValueTests {
    @Test func `members are found where they stand`() {
        let text = #"{"a":1,"b\"":{"c":[1,"]}",{"d":"\\"}]},"e":"x","":null,"f":[]}"#
        text.withBytes { bytes in
            let members = Array(StoredValue(bytes).members)
            #expect(members.map { String(decoding: $0.name, as: UTF8.self) } == ["a", #"b\""#, "e", "", "f"])
            #expect(
                members.map { String(decoding: $0.value.text, as: UTF8.self) }
                    == ["1", #"{"c":[1,"]}",{"d":"\\"}]}"#, #""x""#, "null", "[]"])
            #expect(members.map(\.nameHasEscapes) == [false, true, false, false, false])
            #expect(members.map(\.value.kind) == [.number, .object, .string, .null, .array])
        }
    }

    @Test func `elements are found where they stand`() {
        let text = #"[1,-2.5e3,"a,]","\"",[],{},[[1,2],{"a":3}],true,false,null]"#
        text.withBytes { bytes in
            let found = StoredValue(bytes).elements.map { String(decoding: $0.text, as: UTF8.self) }
            #expect(
                found == ["1", "-2.5e3", #""a,]""#, #""\"""#, "[]", "{}", #"[[1,2],{"a":3}]"#, "true", "false", "null"])
        }
        "[]".withBytes { #expect(Array(StoredValue($0).elements.map { $0.text.count }).isEmpty) }
    }

    @Test func `text that is no JSON leads nowhere outside of it`() {
        for text in [
            "", "{", "[", "\"", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":{", "[1", "[\"\\", "{\"a\":\"\\", "]",
            "{1}",
        ] {
            text.withBytes { bytes in
                for member in StoredValue(bytes).members { #expect(member.value.text.count <= bytes.count) }
                for element in StoredValue(bytes).elements { #expect(element.text.count <= bytes.count) }
            }
        }
    }
}
