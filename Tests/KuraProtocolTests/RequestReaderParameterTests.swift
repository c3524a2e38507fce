import KuraBytes
import KuraProtocol
import Testing

/// The reader's second half: binding parameters and checking their types.
@Suite struct RequestReaderParameterTests {
    private let reader = RequestReader(table: MethodTable(Self.methods))

    private static let methods = [
        Method.allKinds,
        Method(
            "full", .rpc, .read, needs: .nothing, "Takes as many parameters as a method may.",
            parameters: (0..<MethodTable.maximumParameters).map { Field("p\($0)", .integer(0...99), "") }, result: []),
    ]

    private func read(_ params: String, method: String = "all.kinds", _ body: (RequestReader) -> Void = { _ in })
        -> ReadRequest
    {
        reader.read(line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\",\"params\":\(params)}", body)
    }

    private func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Names and positions

    @Test(arguments: [
        (#"{"name":"n","nmae":1}"#, "nmae"), (#"{"name":"n","":1}"#, ""), (#"{"name":"n","Name":1}"#, "Name"),
        (#"{"name":"n","names":1}"#, "names"),
        (#"{"x\u0022\n":1}"#, #"x\u0022\n"#), (#"{"name":"n","蔵":1}"#, "蔵"),
    ])
    func `an unknown parameter is refused by name`(_ params: String, _ name: String) {
        let found = read(params)
        #expect(found.kind == .invalidParams && found.hint == "unknown parameter" && found.parameter == name)
        #expect(fault(in: found.error ?? "") == nil, "\(found)")
    }

    @Test func `a very long unknown name is refused without repeating it`() {
        let found = read("{\"\(String(repeating: "x", count: 65))\":1}")
        #expect(found.kind == .invalidParams && found.hint == "unknown parameter" && found.parameter == nil)
        #expect(read("{\"\(String(repeating: "x", count: 64))\":1}").parameter?.count == 64)
    }

    @Test func `a required parameter that is missing is named`() {
        for params in ["{}", "[]", #"{"text":"t"}"#] {
            let found = read(params)
            #expect(found.kind == .invalidParams && found.hint == "missing parameter" && found.parameter == "name")
        }
    }

    @Test func `parameters are found by name, escapes in it resolved`() {
        let found = read(#"{"n\u0061me":"n","\u0069\u006e\u0074eger":3}"#) { reader in
            #expect(text(reader.string(0)) == "n" && reader.integer(3) == 3)
        }
        #expect(found.error == nil)
    }

    @Test func `parameters go by position in the order of the table, the last ones may be left out`() {
        let found = read(#"["n","t",{"a":1},7,true]"#) { reader in
            #expect(
                text(reader.string(0)) == "n" && text(reader.string(1)) == "t" && text(reader.json(2)) == #"{"a":1}"#)
            #expect(reader.integer(3) == 7 && reader.boolean(4) && !reader.has(5))
        }
        #expect(found.error == nil)
        #expect(read(#"["n","t",1,7,true,{},[],{},"on"]"#).error == nil)
        let refused = read(#"["n","t",1,7,true,{},[],{},"on",0]"#)
        #expect(refused.kind == .invalidParams && refused.hint == "too many parameters" && refused.limit == 9)
        #expect(read(#"["n","t",1,"seven"]"#).parameter == "integer")
        #expect(
            read("[" + Array(repeating: "0", count: 5000).joined(separator: ",") + "]", method: "full").hint
                == "too many parameters")
    }

    @Test func `a method may have so many parameters, and one more is seen`() {
        let most = MethodTable.maximumParameters
        let all = (0..<most).map { "\"p\($0)\":\($0)" }
        let found = read("{" + all.joined(separator: ",") + "}", method: "full") { reader in
            for position in 0..<most { #expect(reader.integer(position) == Int64(position)) }
        }
        #expect(found.error == nil)
        for place in [0, 8, most] {
            var more = all
            more.insert("\"other\":1", at: place)
            #expect(read("{" + more.joined(separator: ",") + "}", method: "full").parameter == "other")
        }
        let many = (0..<500).map { "\"q\($0)\":1" }.joined(separator: ",")
        #expect(read("{\(many)}", method: "full").parameter == "q0")
    }

    // MARK: Types

    @Test(arguments: [
        ("name", "\"a\""), ("name", "\"12345678\""), ("name", #""\u0061\/蔵""#), ("name", "\" \""), ("text", "\"\""),
        ("text", "\"蔵x\""), ("text", "\"\\n\\u0000\\\\\""),
        ("json", "null"), ("json", "1e999"), ("json", "[[],{}]"), ("json", "\"\""), ("json", "false"),
        ("integer", "-5"), ("integer", "10"), ("integer", "0"), ("integer", "-0"), ("integer", "5.0"),
        ("integer", "1e1"), ("integer", "20e-1"),
        ("boolean", "true"), ("boolean", "false"), ("map", "{}"), ("map", #"{"a":1}"#), ("object", "{}"),
        ("list", "[]"), ("list", "[1,[2],3]"),
        ("word", "\"on\""), ("word", "\"off\""), ("word", "\"\""), ("word", #""\u006fn""#),
    ])
    func `a value of the type and within its limits is accepted`(_ name: String, _ value: String) {
        let found = read(name == "name" ? "{\"name\":\(value)}" : "{\"name\":\"n\",\"\(name)\":\(value)}")
        #expect(found.error == nil)
    }

    @Test(
        arguments: [
            ("name", "\"\"", 8), ("name", "\"123456789\"", 8), ("name", "1", 8), ("name", "null", 8),
            ("name", #""a\n""#, 8), ("name", #""\u007f""#, 8),
            ("name", #""\u0000""#, 8), ("name", "\"\u{7F}\"", 8), ("name", "\"蔵蔵蔵\"", 8), ("text", "\"12345\"", 4),
            ("text", "\"蔵蔵\"", 4), ("text", "[]", 4),
            ("integer", "-6", nil), ("integer", "11", nil), ("integer", "1.5", nil), ("integer", "\"1\"", nil),
            ("integer", "1e99", nil), ("integer", "null", nil),
            ("integer", "9.99999999999999999999999", nil), ("integer", "99999999999999999999", nil),
            ("integer", "true", nil),
            ("boolean", "1", nil), ("boolean", "\"true\"", nil), ("boolean", "null", nil), ("map", "[]", nil),
            ("map", "null", nil), ("object", "\"{}\"", nil),
            ("list", "{}", 3), ("list", "null", 3), ("list", "\"[]\"", 3),
            ("word", "\"On\"", nil), ("word", "\"offf\"", nil), ("word", "\"o\"", nil), ("word", "1", nil),
            ("word", "null", nil),
        ] as [(String, String, Int?)])
    func `a value of another type or beyond its limits is refused by the parameter's name, without the value`(
        _ name: String, _ value: String, _ limit: Int?
    ) {
        let found = read(name == "name" ? "{\"name\":\(value)}" : "{\"name\":\"n\",\"\(name)\":\(value)}")
        #expect(found.kind == .invalidParams && found.parameter == name && found.limit == limit, "\(found)")
        #expect(found.hint?.isEmpty == false)
        #expect((found.limit != nil) == (found.hint?.contains("`limit`") == true), "\(found)")
        #expect(fault(in: found.error ?? "") == nil)
        #expect(value.count < 3 || found.error?.contains(value) == false)
    }

    @Test func `strings are measured after their escapes are resolved`() {
        for (name, expected) in [
            (#"\u0061\u0062\u0063\u0064\u0065\u0066\u0067\u0068"#, "abcdefgh"), (#"\ud834\udd1e\u00e9\u00e9"#, "𝄞éé"),
        ] {
            let found = read("{\"name\":\"\(name)\"}") { #expect(text($0.string(0)) == expected) }
            #expect(found.error == nil)
            #expect(read("{\"name\":\"\(name)x\"}").limit == 8)
        }
    }

    // MARK: Values

    @Test func `a JSON parameter loses the white space between its tokens and nothing else`() {
        let found = read(
            "{\"name\":\"n\",\"json\" : { \"a b\" : [ 1.50 , \"\\u0041 \\/\" ] ,\t\"c\":1E+2 } ,\"map\":{\"x\" :1},\"list\":[1,2]}"
        ) { reader in
            #expect(text(reader.json(2)) == "{\"a b\":[1.50,\"\\u0041 \\/\"],\"c\":1E+2}")
            #expect(text(reader.json(5)) == "{\"x\":1}" && text(reader.json(6)) == "[1,2]")
            // Each has scratch of its own: looking at one does not spoil the other.
            #expect(text(reader.json(2)) == "{\"a b\":[1.50,\"\\u0041 \\/\"],\"c\":1E+2}")
        }
        #expect(found.error == nil)
    }

    @Test func `true and false are told apart`() {
        for value in [true, false] {
            _ = read("{\"name\":\"n\",\"boolean\":\(value)}") { #expect($0.has(4) && $0.boolean(4) == value) }
        }
    }

    @Test func `null is a JSON value and not an absent one`() {
        _ = read(#"{"name":"n","json":null}"#) { #expect($0.has(2) && text($0.json(2)) == "null") }
    }

    @Test func `names and list limits come from the table`() {
        _ = read(#"{"name":"n"}"#) {
            #expect(text($0.name(0)) == "name" && text($0.name(8)) == "word" && $0.listLimit(6) == 3)
        }
    }

    @Test func `giving scratch back leaves the reader usable`() {
        let long = String(repeating: "[1, 2],", count: 20_000)
        _ = read("{\"name\":\"n\",\"json\":[\(long)0]}") { #expect($0.json(2).count == long.count - 20_000 + 3) }
        reader.trim()
        let found = read(#"{"name":"\u006e","json":[ 1 ]}"#) {
            #expect(text($0.json(2)) == "[1]" && text($0.string(0)) == "n")
        }
        #expect(found.error == nil)
    }
}
