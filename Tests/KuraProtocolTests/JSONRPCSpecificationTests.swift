import KuraProtocol
import Testing

/// Every example of the JSON-RPC 2.0 specification's page (section 7), as far as the reader decides it: what is called with
/// what, what is answered, and under which id.
@Suite struct JSONRPCSpecificationTests {
    private static func integers(_ names: [String]) -> [Field] {
        names.map { Field($0, .integer(-1000...1000), required: true, "") }
    }

    private let reader = RequestReader(
        table: MethodTable([
            Method(
                "subtract", .rpc, .read, needs: .nothing, "", parameters: Self.integers(["minuend", "subtrahend"]),
                result: []),
            Method(
                "update", .rpc, .read, needs: .nothing, "", parameters: Self.integers(["a", "b", "c", "d", "e"]),
                result: []),
            Method("sum", .rpc, .read, needs: .nothing, "", parameters: Self.integers(["a", "b", "c"]), result: []),
            Method(
                "notify_sum", .rpc, .read, needs: .nothing, "", parameters: Self.integers(["a", "b", "c"]), result: []),
            Method("notify_hello", .rpc, .read, needs: .nothing, "", parameters: Self.integers(["a"]), result: []),
            Method("get_data", .rpc, .read, needs: .nothing, "", result: []),
        ]))

    /// The replies to a line, as the specification prints them; `data` of errors is ours and left out. Nil: silence.
    private func answer(_ line: String) -> String? {
        var results: [String] = []
        let found = reader.read(line: line) { reader in
            func value(_ position: Int) -> Int64 { reader.integer(position) ?? 0 }
            switch reader.table.methods[reader.methodIndex].name {
            case "subtract": results.append("\(value(0) - value(1))")
            case "sum": results.append("\(value(0) + value(1) + value(2))")
            case "get_data": results.append("[\"hello\",5]")
            default: results.append("null")
            }
        }
        func reply(_ request: ReadRequest) -> String? {
            let result = request.error == nil ? results.removeFirst() : ""
            guard request.hasReply else { return nil }
            let head = "{\"jsonrpc\":\"2.0\",\"id\":\(request.id),"
            guard let facts = request.kind?.facts else { return head + "\"result\":\(result)}" }
            let error = "\"error\":{\"code\":\(facts.code),\"message\":\"\(facts.message)\""
            // The error that the reader's reply really starts with.
            #expect(request.error?.hasPrefix(head + error + ",\"data\":{\"kind\":\"\(facts.name)\",") == true)
            return head + error + "}}"
        }
        guard let batch = found.batch else { return reply(found) }
        let replies = batch.compactMap(reply)
        return replies.isEmpty ? nil : "[" + replies.joined(separator: ",") + "]"
    }

    @Test func `calls with positional parameters`() {
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#)
                == #"{"jsonrpc":"2.0","id":1,"result":19}"#)
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#)
                == #"{"jsonrpc":"2.0","id":2,"result":-19}"#)
    }

    @Test func `calls with named parameters`() {
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#)
                == #"{"jsonrpc":"2.0","id":3,"result":19}"#)
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#)
                == #"{"jsonrpc":"2.0","id":4,"result":19}"#)
    }

    @Test func `notifications`() {
        #expect(answer(#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#) == nil)
        #expect(answer(#"{"jsonrpc": "2.0", "method": "foobar"}"#) == nil)
    }

    @Test func `a call of a method that does not exist`() {
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#)
                == #"{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"Method not found"}}"#)
    }

    @Test func `a call with invalid JSON`() {
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#)
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#)
    }

    @Test func `a call with an invalid request object`() {
        #expect(
            answer(#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#)
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#)
    }

    @Test func `a batch with invalid JSON`() {
        #expect(
            answer(#"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"},{"jsonrpc": "2.0", "method"]"#)
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#)
    }

    @Test func `an empty batch`() {
        #expect(answer("[]") == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#)
    }

    @Test func `an invalid batch that is not empty`() {
        #expect(answer("[1]") == #"[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}]"#)
    }

    @Test func `an invalid batch of several`() {
        let one = #"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}"#
        #expect(answer("[1,2,3]") == "[\(one),\(one),\(one)]")
    }

    @Test func `a batch of calls and notifications`() {
        let batch = """
            [ {"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, \
            {"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, \
            {"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, \
            {"foo": "boo"}, \
            {"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, \
            {"jsonrpc": "2.0", "method": "get_data", "id": "9"} ]
            """
        let expected = """
            [{"jsonrpc":"2.0","id":"1","result":7},{"jsonrpc":"2.0","id":"2","result":19},\
            {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}},\
            {"jsonrpc":"2.0","id":"5","error":{"code":-32601,"message":"Method not found"}},\
            {"jsonrpc":"2.0","id":"9","result":["hello",5]}]
            """
        #expect(answer(batch) == expected)
    }

    @Test func `a batch of notifications only`() {
        #expect(
            answer(
                #"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]},{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#
            )
                == nil)
    }
}
