import KuraProtocol
import Testing

@Suite struct JSONTextTests {
    // MARK: Unescape

    @Test(arguments: [
        ("", ""), ("plain", "plain"), (#"\"\\\/"#, "\"\\/"), (#"\b\f\n\r\t"#, "\u{8}\u{C}\n\r\t"),
        (#"a\u0041b"#, "aAb"),
        (#"\u00e9\u00E9"#, "éé"), (#"\u0000"#, "\0"),
        (#"\u007f\u0080\u07ff\u0800\uffff"#, "\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}"),
        (#"\ud834\udd1e"#, "𝄞"), (#"\uD800\uDC00\uDBFF\uDFFF"#, "\u{10000}\u{10FFFF}"), (#"\\u0041"#, #"\u0041"#),
        ("蔵é", "蔵é"),
        (#"x\ud83d\ude00y"#, "x😀y"),
    ])
    func `escapes become what they stand for`(_ text: String, _ expected: String) {
        #expect(Array(unescaped(text).utf8) == Array(expected.utf8))
    }

    @Test(arguments: [
        (#"\ud800"#, "\u{FFFD}"), (#"\udc00"#, "\u{FFFD}"), (#"a\ud800b"#, "a\u{FFFD}b"),
        (#"\ud800\u0041"#, "\u{FFFD}A"),
        (#"\ud800\ud834\udd1e"#, "\u{FFFD}𝄞"), (#"\udd1e\ud834"#, "\u{FFFD}\u{FFFD}"), (#"\ud800\n"#, "\u{FFFD}\n"),
    ])
    func `a lone surrogate becomes the replacement character`(_ text: String, _ expected: String) {
        #expect(unescaped(text) == expected)
    }

    @Test func `every code point comes back from its escape`() {
        for value in UInt32(0)...0x10FFFF
        where value % 7 == 0 || value < 0x3000 || value & 0xFFFF < 4 || value & 0xFFFF > 0xFFFB {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let units = Array(String(Character(scalar)).utf16)
            let text = units.map { unit in
                "\\u" + String(repeating: "0", count: 4 - String(unit, radix: 16).count) + String(unit, radix: 16)
            }
            let result = unescaped(text.joined())
            if !result.unicodeScalars.elementsEqual([scalar]) {
                Issue.record("U+\(String(value, radix: 16)): \(result)")
            }
        }
    }

    // MARK: Compact

    @Test func `white space between tokens goes, white space in strings stays`() {
        #expect(
            compacted(" { \"a b\" : [ 1 ,\t2 , \r\n\"c  d\" ] , \"e\":\t{ } }\n") == "{\"a b\":[1,2,\"c  d\"],\"e\":{}}"
        )
        #expect(compacted("  null  ") == "null")
        #expect(compacted("\" \\\" \" ") == "\" \\\" \"")
        #expect(compacted("[ \"\\\\\" , \" \" ]") == "[\"\\\\\",\" \"]")
        #expect(compacted("[\"\\\\\\\" \" , 1]") == "[\"\\\\\\\" \",1]")
    }

    @Test func `strings stay byte for byte, escapes as they were written`() {
        let strings = [#""\u0041\/\"\\ \t\ud83d\ude00""#, "\"蔵 é 𝄞 \u{2028} \u{7F}\"", #""\u00e9""#, "\"\"", #""   ""#]
        for string in strings {
            #expect(compacted(" [ \(string) , { \(string) : \(string) } ] ") == "[\(string),{\(string):\(string)}]")
        }
    }

    @Test func `numbers keep every digit`() {
        let numbers = [
            "0", "-0", "-0.0", "1.0", "1.10", "1E+2", "1e2", "100000000000000000000000000000000000001",
            "0.1000000000000000055511151231",
            "123456789.123456789e-1234567890", "-9007199254740993",
            "3.141592653589793238462643383279502884197169399375105820974944",
        ]
        #expect(compacted("[ " + numbers.joined(separator: " , ") + " ]") == "[" + numbers.joined(separator: ",") + "]")
    }
}
