import KuraProtocol
import Testing

@Suite struct JSONReaderTests {
    // MARK: Depth

    @Test func `nesting of 128 is accepted and of 129 refused`() {
        for (open, inner, close) in [("[", "", "]"), ("{\"a\":", "1", "}"), ("[{\"a\":", "0", "}]")] {
            let levels = open.count { $0 == "[" || $0 == "{" }
            let fits = 128 / levels
            func nested(_ count: Int) -> String {
                String(repeating: open, count: count) + inner + String(repeating: close, count: count)
            }
            for grammar in [JSONGrammar.wire, .rfc8259] {
                #expect(fault(in: nested(fits), grammar) == nil)
                #expect(fault(in: nested(fits + 1), grammar)?.reason == .tooDeep)
            }
        }
        let deep = String(repeating: "[", count: 128) + "[" + String(repeating: "]", count: 129)
        #expect(fault(in: deep) == JSONFault(reason: .tooDeep, offset: 128))
    }

    @Test func `siblings do not count as depth`() {
        let leaf = String(repeating: "[", count: 127) + String(repeating: "]", count: 127)
        #expect(fault(in: "[" + Array(repeating: leaf, count: 50).joined(separator: ",") + "]") == nil)
    }

    @Test func `a million opening brackets are refused and do not exhaust the stack`() {
        #expect(fault(in: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))?.reason == .tooDeep)
    }

    // MARK: UTF-8

    @Test func `every sequence of up to four bytes is judged as the standard library judges it`() {
        // Edges of every row of RFC 3629's table, and their neighbours; behind the second byte, those of a continuation.
        let bytes: [UInt8] = [
            0x20, 0x7F, 0x80, 0x81, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xC3, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
            0xEE,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFB, 0xFC, 0xFE, 0xFF,
        ]
        let later: [UInt8] = [0x20, 0x7F, 0x80, 0x8F, 0x90, 0xBF, 0xC0, 0xFF]
        var sequences: [[UInt8]] = [[]]
        var judged = 0
        var accepted = 0
        let guarded = GuardedBytes()
        let names = NameStack()
        for place in 1...4 {
            sequences = sequences.flatMap { start in (place < 3 ? bytes : later).map { start + [$0] } }
            for sequence in sequences {
                let isAccepted = guarded.with([0x22] + sequence + [0x22]) { bytes in
                    var reader = JSONReader(bytes, names: names)
                    return (try? reader.value()) != nil && reader.peek() == nil
                }
                let isValid = String(validating: sequence, as: UTF8.self) != nil
                if isAccepted != isValid { Issue.record("\(sequence): accepted \(isAccepted), valid \(isValid)") }
                judged += 1
                accepted += isAccepted ? 1 : 0
            }
        }
        #expect(judged == 31 + 31 * 31 * (1 + 8 + 8 * 8))
        #expect(accepted > 300 && accepted < judged / 10)
    }

    @Test func `invalid UTF-8 is refused in both grammars, in names and values, with its place`() {
        for grammar in [JSONGrammar.wire, .rfc8259] {
            #expect(fault(in: [0x22, 0x61, 0xFF, 0x22], grammar) == JSONFault(reason: .badUTF8, offset: 2))
            #expect(fault(in: Array("{\"a".utf8) + [0xC0, 0x80] + Array("\":1}".utf8), grammar)?.reason == .badUTF8)
            // CESU-8: a surrogate pair as two three-byte sequences.
            #expect(fault(in: [0x22, 0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80, 0x22], grammar)?.reason == .badUTF8)
        }
    }

    @Test func `a multi-byte sequence may stand at any place of the eight-byte stride`() {
        for lead in 0..<24 {
            for character in ["é", "蔵", "𝄞", "\u{7F}"] {
                let text = "\"" + String(repeating: "x", count: lead) + character + "yyyyyyyyyy\""
                #expect(fault(in: text) == nil)
                var broken = Array(text.utf8)
                broken[1 + lead] = 0x1F
                #expect(fault(in: broken) == JSONFault(reason: .controlCharacter, offset: 1 + lead))
            }
        }
    }

    @Test func `a byte order mark is refused`() {
        #expect(fault(in: [0xEF, 0xBB, 0xBF, 0x7B, 0x7D])?.reason == .unexpectedByte)
    }

    // MARK: Strings and escapes

    @Test func `every byte below 0x20 is refused inside a string and every other ASCII byte passes`() {
        for byte in UInt8(0)..<0x80 where byte != 0x22 && byte != 0x5C {
            // In the slow tail, and in the middle of the fast stride.
            for around in [0, 20] {
                let pad = [UInt8](repeating: 0x61, count: around)
                let found = fault(in: [0x22] + pad + [byte] + pad + [0x22])
                if byte < 0x20 {
                    #expect(found == JSONFault(reason: .controlCharacter, offset: 1 + around))
                } else {
                    #expect(found == nil, "\(byte)")
                }
            }
        }
    }

    @Test func `only the nine escapes of the RFC are escapes`() {
        for byte in UInt8(0x20)..<0x7F {
            let text = [0x22, 0x5C, byte] + Array("0041\"".utf8)
            let found = fault(in: text)
            if "\"\\/bfnrtu".utf8.contains(byte) {
                // After an escaped quote the string goes on and ends rightly.
                #expect(found == nil, "\(byte)")
            } else {
                #expect(found == JSONFault(reason: .badEscape, offset: 1), "\(byte)")
            }
        }
        for hex in ["", "0", "00", "000", "00g0", "00 0", "+041", "-041", "００"] {
            #expect(fault(in: "\"\\u\(hex)\"")?.reason == .badEscape, "\(hex)")
        }
        #expect(fault(in: "\"\\")?.reason == .unexpectedEnd)
        #expect(fault(in: "\"\\\"")?.reason == .unexpectedEnd)
    }

    @Test(arguments: [
        #""\uD800""#, #""\uDBFF""#, #""\uDC00""#, #""\uDFFF""#, #""\uDC00\uD800""#, #""\uD800\uD800""#,
        #""\uD800\u0041""#,
        #""\uD800x\uDC00""#, #""\uD800\n""#, #""\ud800\\uDC00""#, #""\uD83D\uDE00\uDE00""#, #"{"\uD800":1}"#,
        #"[{"a":"\uDFAA"}]"#,
    ])
    func `a lone surrogate escape passes RFC 8259 and is refused on the wire`(_ text: String) {
        #expect(fault(in: text, .rfc8259) == nil)
        #expect(fault(in: text, .wire)?.reason == .loneSurrogate)
    }

    @Test(arguments: [
        #""\uD800\uDC00""#, #""\uDBFF\uDFFF""#, #""\ud83d\uDE00\uD83D\ude00""#, #""\uD7FF\uE000""#, #""\uFFFE\uFFFF""#,
        String(decoding: [0x22, 0xEF, 0xBF, 0xBE, 0xF4, 0x8F, 0xBF, 0xBF, 0xEF, 0xB7, 0x90, 0x22], as: UTF8.self),
    ])
    func `pairs, their neighbours and noncharacters pass in both grammars`(_ text: String) {
        #expect(fault(in: text, .rfc8259) == nil)
        #expect(fault(in: text, .wire) == nil)
    }

    // MARK: Names

    @Test(arguments: [
        #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, #"{"":0,"":0}"#, #"{"x":{"b":1,"c":2,"b":3}}"#,
        #"[{"é":1,"\u00e9":1}]"#,
        #"{"\ud834\udd1e":1,"𝄞":2}"#, #"{"a/b":1,"a\/b":2}"#, #"{"\n":1,"\u000A":2}"#, #"{"\\":1,"\u005c":2}"#,
    ])
    func `a repeated name, escaped-equal ones too, passes RFC 8259 and is refused on the wire`(_ text: String) {
        #expect(fault(in: text, .rfc8259) == nil)
        #expect(fault(in: text, .wire)?.reason == .duplicateName)
    }

    @Test(arguments: [
        #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":1}]"#, #"{"a":1,"A":2}"#, #"{"a":1,"\\u0061":2}"#,
        #"{"é":1,"e\u0301":2}"#,
        #"{"a":[{"a":1},{"a":1}],"b":{"a":1,"b":2},"c":1}"#, #"{"a\u0000":1,"a":2,"a\u0000\u0000":3}"#,
    ])
    func `the same name in another object, or one that merely looks the same, passes`(_ text: String) {
        #expect(fault(in: text, .wire) == nil)
    }

    @Test(arguments: [2, 11, 12, 13, 14, 64, 65, 1000])
    func `a repeated name is found wherever it stands among many`(_ count: Int) {
        let names = (0..<count).map { "\"name\($0)\":\($0)" }
        #expect(fault(in: "{" + names.joined(separator: ",") + "}") == nil)
        for place in Set([0, 1, count / 2, count - 1]) {
            for repeated in [0, count - 1, count / 3] where repeated != place {
                var some = names
                some[place] = "\"\\u006eame\(repeated)\":0"
                #expect(
                    fault(in: "{" + some.joined(separator: ",") + "}")?.reason == .duplicateName, "\(place) \(repeated)"
                )
            }
        }
    }

    @Test func `a repeated name is found although an inner object came between`() {
        let inner = "{" + (0..<40).map { "\"n\($0)\":0" }.joined(separator: ",") + "}"
        #expect(fault(in: "{\"n1\":\(inner),\"n2\":\(inner),\"n1\":1}")?.reason == .duplicateName)
        #expect(fault(in: "{\"n1\":\(inner),\"n2\":\(inner),\"n3\":1}") == nil)
    }

    @Test func `an object of 100,000 names is read quickly, and a repetition in it found`() {
        let clock = ContinuousClock()
        for isRepeated in [false, true] {
            var text: [UInt8] = [UInt8(ascii: "{")]
            for number in 0..<100_000 { text += Array("\"key-\(number)\":0,".utf8) }
            text += Array((isRepeated ? "\"key-777\":1}" : "\"last\":1}").utf8)
            var found: JSONFault?
            let time = clock.measure { found = fault(in: text) }
            #expect((found?.reason == .duplicateName) == isRepeated)
            // Quadratic work would take minutes; this is a debug build on a busy machine.
            #expect(time < .seconds(60), "\(time)")
        }
    }

    // MARK: Places

    @Test func `a value's place, kind and white space are told`() throws {
        let text = Array(" [1, 2] ,{\"a\":\"b c\"},\"d e\" , 12 ,{ },[1,[2 ]],null".utf8)
        let expected: [(String, JSONKind, Bool)] = [
            ("[1, 2]", .array, true), ("{\"a\":\"b c\"}", .object, false), ("\"d e\"", .string, false),
            ("12", .number, false),
            ("{ }", .object, true), ("[1,[2 ]]", .array, true), ("null", .null, false),
        ]
        try GuardedBytes.with(text) { bytes in
            var reader = JSONReader(bytes, names: NameStack())
            for (part, kind, hasWhitespace) in expected {
                let value = try reader.value()
                #expect(String(decoding: text[Int(value.start)..<Int(value.end)], as: UTF8.self) == part)
                #expect(value.kind == kind && value.hasWhitespace == hasWhitespace, "\(part)")
                _ = reader.take(UInt8(ascii: ","))
            }
            try reader.expectEnd()
        }
    }

    @Test(arguments: [
        ("", JSONFault.Reason.unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("{\"a\"", .unexpectedEnd, 4),
        ("[1", .unexpectedEnd, 2),
        ("tru", .unexpectedEnd, 0), ("trux", .unexpectedByte, 0), ("nul", .unexpectedEnd, 0),
        ("[1 2]", .unexpectedByte, 3),
        ("[1,]", .unexpectedByte, 3), ("{\"a\":1,}", .unexpectedByte, 7), ("{a:1}", .unexpectedByte, 1),
        ("1 2", .trailingBytes, 2),
        ("01", .trailingBytes, 1), ("-", .unexpectedEnd, 1), ("-x", .badNumber, 1), ("1.", .unexpectedEnd, 2),
        ("1.e1", .badNumber, 2),
        ("1e", .unexpectedEnd, 2), ("1e+x", .badNumber, 3), ("+1", .unexpectedByte, 0), (".5", .unexpectedByte, 0),
        ("NaN", .unexpectedByte, 0), ("\"a", .unexpectedEnd, 2), ("'a'", .unexpectedByte, 0),
        ("[\u{B}1]", .unexpectedByte, 1),
        ("[1]//", .trailingBytes, 3), ("{\"a\":1 \"b\":2}", .unexpectedByte, 7),
    ])
    func `a fault says what is wrong and where`(_ text: String, _ reason: JSONFault.Reason, _ offset: Int) {
        #expect(fault(in: text) == JSONFault(reason: reason, offset: offset))
    }

    @Test func `every beginning of a good text is refused, none is read past its end`() {
        let text =
            Array(#"{"a":[1,-2.5e+10,true,false,null,"\u00e9\ud83d\ude00é蔵𝄞\n"],"bb":{"c":{}},"d":"#.utf8)
            + Array("0.0}".utf8)
        #expect(fault(in: text) == nil)
        for length in 0..<text.count {
            #expect(fault(in: text[..<length]) != nil, "\(length)")
        }
    }
}
