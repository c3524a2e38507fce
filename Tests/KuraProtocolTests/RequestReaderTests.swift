import KuraProtocol
import Testing

@Suite struct RequestReaderTests {
    private let reader = RequestReader(table: MethodTable(Self.methods))

    private static let methods = [
        Method.allKinds,
        Method("nothing", .rpc, .read, needs: .nothing, "Takes no parameters.", result: []),
    ]

    private func read(_ line: String) -> ReadRequest { reader.read(line: line) }

    /// A request of `all.kinds` with these members in its params.
    private func with(_ params: String, _ body: (RequestReader) -> Void = { _ in }) -> ReadRequest {
        reader.read(line: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"all.kinds\",\"params\":\(params)}", body)
    }

    // MARK: Envelope

    @Test func `members may come in any order, with white space, and params before the method`() {
        for line in [
            #"{"jsonrpc":"2.0","id":7,"method":"all.kinds","params":{"name":"n","integer":3}}"#,
            #"{"params":{"integer":3,"name":"n"},"method":"all.kinds","id":7,"jsonrpc":"2.0"}"#,
            " { \"id\" : 7 ,\t\"params\" : { \"name\" : \"n\" , \"integer\" : 3 } , \"jsonrpc\" : \"2.0\" , \"method\" : \"all.kinds\" } \r",
        ] {
            let found = reader.read(line: line) { reader in
                #expect(String(decoding: reader.string(0), as: UTF8.self) == "n")
                #expect(reader.integer(3) == 3 && reader.integer(0) == 0)
                #expect(reader.has(0) && reader.has(3) && !reader.has(1) && !reader.has(8))
            }
            #expect(found.method == "all.kinds" && found.id == "7" && found.hasReply && found.error == nil)
        }
    }

    @Test func `params may be left out, empty by name or empty by position`() {
        for params in ["", #","params":{}"#, #","params":[]"#] {
            let found = read(#"{"jsonrpc":"2.0","id":1,"method":"nothing"\#(params)}"#)
            #expect(found.method == "nothing" && found.error == nil)
        }
    }

    @Test func `names and words of the envelope may be written with escapes`() {
        let found = read(
            #"{"\u006asonrpc":"\u0032.0","\u0069d":"\u0061","\u006dethod":"noth\u0069ng","p\u0061rams":{}}"#)
        #expect(found.method == "nothing" && found.error == nil)
        #expect(found.id == #""\u0061""#, "an id is echoed as it came")
    }

    @Test(arguments: [
        (#"{"id":1,"method":"nothing"}"#, "1", "jsonrpc is the string 2.0"),
        (#"{"jsonrpc":"1.0","id":1,"method":"nothing"}"#, "1", "jsonrpc is the string 2.0"),
        (#"{"jsonrpc":2.0,"id":1,"method":"nothing"}"#, "1", "jsonrpc is the string 2.0"),
        (#"{"jsonrpc":"2.00","id":1,"method":"nothing"}"#, "1", "jsonrpc is the string 2.0"),
        (#"{"jsonrpc":"2.0","id":1}"#, "1", "method is a string"),
        (#"{"jsonrpc":"2.0","id":1,"method":1}"#, "1", "method is a string"),
        (#"{"jsonrpc":"2.0","id":1,"method":null}"#, "1", "method is a string"),
        (#"{"jsonrpc":"2.0","id":1,"method":"nothing","params":null}"#, "1", "params is an object or an array"),
        (#"{"jsonrpc":"2.0","id":1,"method":"nothing","params":"x"}"#, "1", "params is an object or an array"),
        (#"{"jsonrpc":"2.0","id":1,"method":"nothing","params":1}"#, "1", "params is an object or an array"),
        (#"{"jsonrpc":"2.0","id":1,"method":"nothing","x":1}"#, "1", "members are jsonrpc, id, method and params"),
        (#"{"jsonrpc":"2.0","id":1,"Method":"nothing"}"#, "1", "method is a string"),
        (#"{"jsonrpc":"2.0","id":true,"method":"nothing"}"#, "null", "id is a string, a number or null"),
        (#"{"jsonrpc":"2.0","id":[1],"method":"nothing"}"#, "null", "id is a string, a number or null"),
        (#"{"jsonrpc":"2.0","id":{},"method":"nothing"}"#, "null", "id is a string, a number or null"),
        (#"{}"#, "null", "jsonrpc is the string 2.0"), (#"{"foo":"boo"}"#, "null", "jsonrpc is the string 2.0"),
        (#"{"jsonrpc":"2.0","method":"nothing","params":null}"#, "null", "params is an object or an array"),
        (#"{"jsonrpc":"2.0","method":1}"#, "null", "method is a string"),
        ("1", "null", "a request is an object, a batch is an array"),
        ("\"x\"", "null", "a request is an object, a batch is an array"),
        ("null", "null", "a request is an object, a batch is an array"),
        ("true", "null", "a request is an object, a batch is an array"),
        ("[]", "null", "a batch has at least one member"), (" [ ] ", "null", "a batch has at least one member"),
    ])
    func `what is JSON but no request is an invalid request, answered although it may lack an id`(
        _ line: String, _ id: String, _ hint: String
    ) {
        let found = read(line)
        #expect(found.kind == .invalidRequest && found.id == id && found.hint == hint && found.hasReply, "\(found)")
    }

    @Test(
        arguments: [
            ("", "null"), (" ", "null"), ("{", "null"), ("}", "null"), ("{\"jsonrpc\"", "null"), ("nope", "null"),
            ("[1,2", "null"),
            ("[1,]", "null"), ("{\"a\":1,\"a\":2}", "null"), (#"{"jsonrpc":"2.0","id":5,"method":"nothing"} x"#, "5"),
            // As much the one's as the other's.
            (#"{"jsonrpc":"2.0","id":5,"method":"nothing"}{"jsonrpc":"2.0","id":6,"method":"nothing"}"#, "null"),
            (#"{"jsonrpc":"2.0","method":"nothing"} x"#, "null"),
            (#"{"jsonrpc":"2.0","id":5,"method":"absent"} x"#, "5"),
            (#"{"jsonrpc":"2.0","method":"absent"},"#, "null"), (#"{"foo":1} x"#, "null"),
            (#"{"jsonrpc":"2.0","id":5,"\u0069d":6,"method":"nothing"}"#, "null"), (#"{"id":5,"id":6}"#, "null"),
            (#"[{"a":1,"\u0061":1}]"#, "null"), (#"["\ud800"]"#, "null"), (#"[{"id":5,"a":"\ud800"}]"#, "null"),
            (#"{"jsonrpc":"2.0","id":5,"method":"nothing","params":{"a":1,"a":2}}"#, "5"),
            (#"{"jsonrpc":"2.0","method":"nothing","params":{"a":"\ud800"},"id":"a\"b"}"#, #""a\"b""#),
            (#"{"params":{"id":7,"a":1,"a":2},"id": -1.5e3 ,"jsonrpc":"2.0"}"#, "-1.5e3"),
            (#"{"params":{"a":"\ud800","b":"\"id\":7,{["},"id":8}"#, "8"),
            (#"{"jsonrpc":"2.0","id":5,"method":"nothing","params":[1"#, "5"),
            // What stands behind a fault that leaves no JSON is not believed.
            (#"{"params":{"a":tru},"id":5}"#, "null"), (#"{"id":5"#, "null"), (#"{"id":"5"#, "null"),
            (#"{"id":[5],"params":{"a":1,"a":2}}"#, "null"), (#"{"id":"\ud800","a":1}"#, "null"),
            (#"{"id":05,"a":1}"#, "null"),
        ] as [(String, String)])
    func `what is not JSON is a parse error under its id, or under null where that cannot be told`(
        _ line: String, _ id: String
    ) {
        let found = read(line)
        #expect(found.kind == .parseError && found.id == id && found.hasReply && found.batch == nil, "\(found)")
        #expect(found.error?.contains("\"offset\":") == true && found.error?.contains("\"reason\":\"") == true)
    }

    @Test func `a fault in an unknown method's or a wrong member's value still is a parse error`() {
        #expect(read(#"{"jsonrpc":"2.0","id":1,"method":"absent","params":{"x":01}}"#).kind == .parseError)
        #expect(read(#"{"jsonrpc":"2.0","id":1,"method":"nothing","y":"\x"}"#).kind == .parseError)
    }

    @Test func `without an id nothing is answered, also when the method or a parameter is wrong`() {
        for (line, kind) in [
            (#"{"jsonrpc":"2.0","method":"nothing"}"#, nil), (#"{"jsonrpc":"2.0","method":"absent"}"#, .methodNotFound),
            (#"{"jsonrpc":"2.0","method":"nothing","params":[1]}"#, .invalidParams),
            (#"{"jsonrpc":"2.0","method":"all.kinds"}"#, ErrorKind.invalidParams),
        ] {
            let found = read(line)
            #expect(!found.hasReply && found.kind == kind, "\(line)")
        }
    }

    @Test func `nesting is limited over the line as a whole`() {
        func line(_ depth: Int) -> String {
            let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            return #"{"jsonrpc":"2.0","id":1,"method":"all.kinds","params":{"name":"n","json":\#(value)}}"#
        }
        #expect(read(line(126)).error == nil)
        #expect(read(line(127)).kind == .parseError)
        #expect(read("[\(line(125))]").batch?.first?.method == "all.kinds")
        #expect(read("[\(line(126))]").kind == .parseError)
    }

    // MARK: Ids

    @Test(arguments: [
        "0", "-1", "1", "1.5", "1e3", "12345678901234567890123456789", "-0", "0.10", "\"\"", "\"a\"",
        #""\u0061\"\\\n""#, "\"蔵𝄞\"", "\"1\"",
        #""\ud83d\ude00""#, "null",
    ])
    func `an id comes back byte for byte, in errors too`(_ id: String) {
        #expect(read(#"{"jsonrpc":"2.0","id":\#(id),"method":"nothing"}"#).id == id)
        for line in [
            #"{"jsonrpc":"2.0","id":\#(id),"method":"absent"}"#, #"{"id":\#(id) }"#,
            #"{"jsonrpc":"2.0","method":"nothing","params":{"x":1},"id": \#(id) }"#,
        ] {
            let found = read(line)
            #expect(
                found.hasReply && found.error?.hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":\(id),\"error\":{") == true,
                "\(found)")
            #expect(fault(in: found.error ?? "") == nil)
        }
    }

    @Test func `nothing of one request is seen in the next`() {
        _ = with(#"{"name":"a\u0062","integer":3,"json":[ 1 ],"boolean":true}"#)
        _ = with(#"{"name":"n"}"#) { reader in
            #expect(!reader.has(3) && !reader.has(2) && !reader.boolean(4) && reader.integer(3) == nil)
            #expect(reader.json(2).isEmpty && reader.string(1).isEmpty)
            #expect(String(decoding: reader.string(0), as: UTF8.self) == "n")
        }
        #expect(read(#"{"jsonrpc":"2.0","method":"nothing"}"#).id == "null")
        #expect(read(#"{"jsonrpc":"2.0","id":3,"method":"nothing"}"#).error == nil)
    }

    // MARK: Batches

    @Test func `a batch's members are read one by one, each with its own id and error`() {
        let found = read(
            #" [ {"jsonrpc":"2.0","id":"a","method":"nothing"} , 1,[], {"jsonrpc":"2.0","method":"nothing"},{"id":4},"#
                + #"{"jsonrpc":"2.0","id":5,"method":"absent"}, "x" ,{"jsonrpc":"2.0","id":null,"method":"nothing"} ] "#
        )
        let batch = found.batch ?? []
        #expect(
            batch.map(\.kind) == [
                nil, .invalidRequest, .invalidRequest, nil, .invalidRequest, .methodNotFound, .invalidRequest, nil,
            ])
        #expect(batch.map(\.hasReply) == [true, true, true, false, true, true, true, true])
        #expect(batch.map(\.id) == ["\"a\"", "null", "null", "null", "4", "5", "null", "null"])
    }

    @Test func `a batch within the limit is begun, one over it is not`() {
        let member = #"{"jsonrpc":"2.0","id":1,"method":"nothing"}"#
        func batch(_ count: Int) -> String { "[" + Array(repeating: member, count: count).joined(separator: ",") + "]" }
        #expect(reader.read(line: batch(5), batchLimit: 5).batch?.count == 5)
        let refused = reader.read(line: batch(6), batchLimit: 5)
        #expect(refused.kind == .batchTooLarge && refused.limit == 5 && refused.hasReply && refused.id == "null")
        #expect(reader.read(line: batch(1000)).batch?.allSatisfy { $0.method == "nothing" } == true)
    }
}
