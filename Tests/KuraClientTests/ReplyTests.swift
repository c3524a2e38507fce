import Testing

@testable import KuraClient

@Suite struct ReplyTests {
    private static func read(_ line: String, id: Int64 = 7) throws(ClientError) -> Reply {
        try Reply(line: Array(line.utf8), id: id)
    }

    @Test func `a result is handed out as the text that came`() throws {
        let reply = try Self.read(#"{"jsonrpc":"2.0","id":7,"result":{"value":[1.50,"\u00e9"],"rev":3}}"#)
        guard case .result(let text) = reply else { return #expect(Bool(false), "an error came") }
        #expect(String(decoding: text, as: UTF8.self) == #"{"value":[1.50,"\u00e9"],"rev":3}"#)
    }

    @Test func `an error is taken apart`() throws {
        let reply = try Self.read(
            #"{"jsonrpc":"2.0","id":7,"error":{"code":-32003,"message":"Conflict","data":{"kind":"conflict","retryable":false,"currentRev":7}}}"#
        )
        guard case .error(let error) = reply else { return #expect(Bool(false), "a result came") }
        #expect(error.kind == "conflict")
        #expect(error.code == -32003)
        #expect(error.message == "Conflict")
        #expect(!error.isRetryable)
        #expect(error.currentRev == 7)
        #expect(error.hint == nil)
        #expect(error.parameter == nil)
    }

    @Test func `an error for a line that could not be read has no id`() throws {
        let reply = try Self.read(
            #"{"jsonrpc":"2.0","id":null,"error":{"code":-32010,"message":"Overloaded","data":{"kind":"overloaded","retryable":true}}}"#
        )
        guard case .error(let error) = reply else { return #expect(Bool(false), "a result came") }
        #expect(error.isRetryable)
    }

    @Test(arguments: [
        "", "hello", "[]", "{}", #"{"jsonrpc":"2.0","id":7}"#, #"{"jsonrpc":"2.0","id":8,"result":{}}"#,
        #"{"jsonrpc":"2.0","id":"7","result":{}}"#, #"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        #"{"jsonrpc":"1.0","id":7,"result":{}}"#, #"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
        #"{"jsonrpc":"2.0","id":7,"error":{"code":"x","message":"y"}}"#, #"{"jsonrpc":"2.0","id":7,"result":{}} x"#,
    ])
    func `what is no reply to the request is refused`(_ line: String) {
        #expect(throws: ClientError(.badReply, "")) { try Self.read(line) }
    }

    @Test func `values nest deeper in replies than any request may`() throws {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        let reply = try Self.read(#"{"jsonrpc":"2.0","id":7,"result":{"value":\#(deep)}}"#)
        guard case .result(let text) = reply else { return #expect(Bool(false), "an error came") }
        #expect(JSONObject(text)?["value"] == Array(deep.utf8))
    }
}

@Suite struct RequestTests {
    private static func line(_ method: String, _ params: String) throws(ClientError) -> String {
        String(decoding: try Client.request(id: 3, method: method, params: Array(params.utf8)), as: UTF8.self)
    }

    @Test func `a request is one line, however its parameters were laid out`() throws {
        #expect(
            try Self.line("settings.get", "{\n  \"domain\": \"a b\",\r\n  \"key\": \"k\"\n}\n")
                == #"{"jsonrpc":"2.0","id":3,"method":"settings.get","params":{"domain":"a b","key":"k"}}"#)
        #expect(try Self.line("x", "[1, 2]") == #"{"jsonrpc":"2.0","id":3,"method":"x","params":[1,2]}"#)
        #expect(try Self.line("storage.ping", "") == #"{"jsonrpc":"2.0","id":3,"method":"storage.ping"}"#)
    }

    @Test(arguments: ["5", "\"x\"", "null", "{", "{}}", "{\"a\":1,\"a\":2}", " "])
    func `parameters that are no object or array are not sent`(_ params: String) {
        #expect(throws: ClientError(.badParameters, "")) { try Self.line("x", params) }
    }
}

@Suite struct JSONObjectTests {
    @Test func `members are found by their resolved names, in their order`() throws {
        let object = try #require(
            JSONObject(Array(#" {"\u0061":1.0,"b":"x\ny","c":{"d":true},"e":"1","f":[],"g":1.5} "#.utf8)))
        #expect(object.names == ["a", "b", "c", "e", "f", "g"])
        #expect(object.integer("a") == 1)
        #expect(object.string("b") == "x\ny")
        #expect(object.object("c")?.boolean("d") == true)
        #expect(object.integer("e") == nil)
        #expect(object.string("a") == nil)
        #expect(object.object("f") == nil)
        #expect(object.integer("g") == nil)
        #expect(object["h"] == nil)
    }

    @Test func `a number is one that can be reckoned with, or none`() throws {
        let cases: [(String, Int64?)] = [
            ("9007199254740991", 9_007_199_254_740_991), ("-9007199254740991", -9_007_199_254_740_991), ("1e3", 1000),
            ("9007199254740992", nil), ("-9007199254740992", nil), ("9223372036854775807", nil), ("1e400", nil),
            ("-", nil), ("", nil), ("true", nil), ("\"1\"", nil),
        ]
        for (text, number) in cases {
            #expect(JSONObject.integer(Array(text.utf8)) == number, "\(text)")
        }
    }

    @Test(arguments: ["", "[]", "1", "{", "{}x", "{\"a\"}", "{\"a\":}"])
    func `what is no object has no members`(_ text: String) {
        #expect(JSONObject(Array(text.utf8)) == nil)
    }
}

@Suite struct JSONDocumentTests {
    private static func indented(_ text: String) -> String {
        String(decoding: JSONDocument.indented(Array(text.utf8)), as: UTF8.self)
    }

    @Test func `a text is laid out with two spaces a level, strings and numbers untouched`() {
        #expect(
            Self.indented(#"{"a":[1.50,{"b":"{[,:]}\"\\"}],"c":{},"d":[],"é":null}"#) == """
                {
                  "a": [
                    1.50,
                    {
                      "b": "{[,:]}\\"\\\\"
                    }
                  ],
                  "c": {},
                  "d": [],
                  "é": null
                }
                """)
        #expect(Self.indented("{}") == "{}")
        #expect(Self.indented("\"x\"") == "\"x\"")
    }

    @Test func `laying out and compacting again gives the same text`() throws {
        let text = #"{"a":[[],{},[{"b":[1,-2e5,"\u0022"]}]],"":"","z":[true,false,null]}"#
        #expect(try JSONDocument.compact(JSONDocument.indented(Array(text.utf8))) == Array(text.utf8))
    }
}
