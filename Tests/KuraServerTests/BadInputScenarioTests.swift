import Glibc
import Testing

/// What is wrong with a request is told with its place, and nothing is changed.
@Suite struct BadInputScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
        try client.result("documents.put", #"{"collection":"c","id":"a","value":{"a":{"b":1},"l":[1]}}"#)
    }

    @Test(arguments: [
        (#"[5]"#, "/0"), (#"[{"op":"test","path":"/l","value":[1]},{"op":"rename","path":"/a"}]"#, "/1/op"),
        (#"[{"op":"remove"}]"#, "/0/path"), (#"[{"op":"remove","path":"a"}]"#, "/0/path"),
        (#"[{"op":"add","path":"/x"}]"#, "/0/value"), (#"[{"op":"move","path":"/x"}]"#, "/0/from"),
        (#"[{"op":"move","from":"/~2","path":"/x"}]"#, "/0/from"),
    ])
    func `a patch that is none names the operation and its member`(_ patch: String, _ path: String) throws {
        let refusal = try client.refusal(
            "documents.patch", "{\"collection\":\"c\",\"id\":\"a\",\"jsonPatch\":\(patch)}")
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == "jsonPatch", "\(refusal)")
        #expect(refusal["path"]?.text == path, "\(refusal)")
    }

    @Test func `a patch that does not fit names the place in the document, escaped`() throws {
        let refusal = try client.refusal(
            "documents.patch",
            #"{"collection":"c","id":"a","jsonPatch":[{"op":"remove","path":"/a/x~1y~0z"}]}"#)
        #expect(refusal["kind"]?.text == "patchFailed" && refusal["path"]?.text == "/a/x~1y~0z", "\(refusal)")
        #expect(refusal["index"]?.int == 0)
    }

    @Test func `a value that is too large names its parameter`() throws {
        let large = String(repeating: "x", count: 8 << 20)
        for (method, more, parameter) in [
            ("put", ",\"value\":\"\(large)\"", "value"),
            ("patch", ",\"mergePatch\":{\"a\":\"\(large)\"}", "mergePatch"),
            ("patch", ",\"jsonPatch\":[{\"op\":\"add\",\"path\":\"/a\",\"value\":\"\(large)\"}]", "jsonPatch"),
        ] {
            let refusal = try client.refusal("documents.\(method)", "{\"collection\":\"c\",\"id\":\"a\"\(more)}")
            #expect(refusal["kind"]?.text == "valueTooLarge" && refusal["parameter"]?.text == parameter, "\(refusal)")
        }
        let medium = String(repeating: "x", count: 1 << 20)
        let setting = try client.refusal(
            "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(medium)\"}")
        #expect(setting["parameter"]?.text == "value", "\(setting)")
        let settings = try client.refusal(
            "settings.putMany", "{\"domain\":\"d\",\"values\":{\"a\":1,\"k/1\":\"\(medium)\"}}")
        #expect(settings["parameter"]?.text == "values" && settings["path"]?.text == "/k~11", "\(settings)")
        let schema = try client.refusal(
            "documents.configure", "{\"collection\":\"c\",\"schema\":{\"description\":\"\(medium)\"}}")
        #expect(schema["parameter"]?.text == "schema", "\(schema)")
        let whole = try client.refusal(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(medium)\"}}]}"
        )
        #expect(whole["parameter"]?.text == "value" && whole["operation"]?.int == 0, "\(whole)")
    }

    private func nested(_ levels: Int, _ member: String = "a") -> String {
        String(repeating: "{\"\(member)\":", count: levels) + "1" + String(repeating: "}", count: levels)
    }

    @Test func `a value of 126 levels is kept, and where there is one more is told`() throws {
        func put(_ value: String) throws -> JSON {
            try client.call("documents.put", "{\"collection\":\"c\",\"id\":\"deep\",\"value\":\(value)}")
        }
        #expect(try put(nested(126))["error"] == nil)
        let reply = try put("[0,\(nested(126))]")
        let data = reply["error"]?["data"]
        #expect(data?["kind"]?.text == "parseError" && data?["reason"]?.text == "tooDeep", "\(reply)")
        #expect(data?["parameter"]?.text == "value" && data?["limit"]?.int == 128, "\(reply)")
        #expect(data?["path"]?.text == "/1" + String(repeating: "/a", count: 125), "\(reply)")
        // Long names: a place further out.
        let long = String(repeating: "n", count: 100)
        let cut = try put(nested(127, long))["error"]?["data"]?["path"]?.text
        #expect(cut == String(repeating: "/" + long, count: 10), "\(cut ?? "")")
    }

    @Test(
        arguments: [
            (
                #"{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{"collection":"c","value":{"x~/":[1,{"b":1,"b":2}]}}}"#,
                "value", "/x~0~1/1"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"documents.put","params":["c","a",{"k":[0,"\ud800"]}]}"#, nil,
                "/params/2/k/1"
            ),
            (
                #"{"jsonrpc":"2.0","id":1,"method":"documents.put","params":{"collection":"c","value":{"a":1,"\udc00":1}}}"#,
                "value", ""
            ),
            (
                #"[{"jsonrpc":"2.0","id":1,"method":"rpc.discover"},{"id":1,"params":{"value":{"b":1,"b":2}}}]"#, nil,
                "/1/params/value"
            ),
            (#"{"jsonrpc":"2.0","id":1,"id":2}"#, nil, "/id"),
        ] as [(String, String?, String)])
    func `what would be JSON and not the wire's is told with its place`(
        _ line: String, _ parameter: String?, _ path: String
    ) throws {
        client.send(line + "\n")
        let reply = try JSON(#require(try client.line()))
        let data = reply["error"]?["data"]
        let isTold = line.hasPrefix("{") && path != "/id"
        #expect(data?["kind"]?.text == "parseError" && reply["id"] == (isTold ? .number("1") : .null), "\(reply)")
        #expect(data?["parameter"]?.text == parameter && data?["path"]?.text == path, "\(reply)")
    }

    @Test(arguments: ["\u{0}", "\u{1F}", "\u{7F}", "\u{80}", "\u{85}", "\u{9F}"])
    func `names have no control characters, C1 ones neither`(_ character: String) throws {
        let escaped = "\\u00" + String(character.unicodeScalars.first!.value + 0x100, radix: 16).dropFirst()
        for id in character < "\u{20}" ? ["x\(escaped)y"] : ["x\(escaped)y", "x\(character)y", character] {
            let one = try client.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":1}")
            #expect(one["kind"]?.text == "invalidParams" && one["parameter"]?.text == "id", "\(one)")
            let many = try client.refusal(
                "documents.putMany", "{\"collection\":\"c\",\"documents\":[{\"id\":\"\(id)\",\"value\":1}]}")
            #expect(many["path"]?.text == "/0/id", "\(many)")
            let scope = try client.refusal("documents.put", "{\"collection\":\"\(id)\",\"value\":1}")
            #expect(scope["parameter"]?.text == "collection", "\(scope)")
        }
        // Neighbours of theirs, and others that have such bytes.
        for id in ["\u{A0}", "\u{20}", "Â", "ÂÀ", "\u{2028}", "\u{C80}", "x\u{10080}"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":1}")
        }
    }

    @Test(arguments: ["{}", "[]", "true", "{\"id\":7}"])
    func `what is cancelled is named by an id`(_ id: String) throws {
        let refusal = try client.refusal("rpc.cancel", "{\"id\":\(id)}")
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == "id", "\(refusal)")
        for id in ["7", "\"x\"", "null"] {
            #expect(try client.result("rpc.cancel", "{\"id\":\(id)}")["cancelled"]?.bool == false)
        }
    }
}
