import KuraBytes
import KuraProtocol
import Testing

@Suite struct RPCErrorTests {
    private func reply(_ error: RPCError, id: String = "7") -> String {
        Array(id.utf8).withBytes { id in written { $0.append(error: error, id: id) } }
    }

    @Test func `an error reply carries code, message, kind and whether to retry`() {
        #expect(
            reply(RPCError(.noSpace))
                == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32008,"message":"No space left on the disk","data":{"kind":"noSpace","retryable":true}}}"#
        )
        #expect(
            reply(RPCError(.methodNotFound), id: "")
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found","data":{"kind":"methodNotFound","retryable":false}}}"#
        )
    }

    @Test func `what is known besides stands in data, numbers in full`() {
        Array(#"na\"me"#.utf8).withBytes { name in
            var error = RPCError(
                .invalidParams, hint: "hint", parameter: name, limit: 5, currentRev: 9_007_199_254_740_991, index: 3)
            error.reason = "why"
            error.offset = 12
            let data =
                #"{"kind":"invalidParams","retryable":false,"parameter":"na\"me","index":3,"limit":5,"currentRev":9007199254740991,"#
                + #""reason":"why","offset":12,"hint":"hint"}"#
            #expect(
                reply(error)
                    == #"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"Invalid params","data":\#(data)}}"#)
            #expect(reply(error.at(index: 0)).contains("\"index\":0"))
        }
        #expect(reply(RPCError(.conflict, currentRev: 0)).contains("\"currentRev\":0"))
    }

    @Test func `each fault of a text has its own reason`() {
        let reasons: [JSONFault.Reason] = [
            .unexpectedEnd, .unexpectedByte, .badNumber, .badEscape, .controlCharacter, .badUTF8, .loneSurrogate,
            .duplicateName, .tooDeep,
            .trailingBytes,
        ]
        let shown = reasons.map { reply(RPCError(JSONFault(reason: $0, offset: 4))) }
        for (reason, text) in zip(reasons, shown) {
            #expect(
                text.contains("\"kind\":\"parseError\"") && text.contains("\"reason\":\"\(reason)\",\"offset\":4"),
                "\(text)")
        }
    }
}

@Suite struct ErrorKindTests {
    @Test func `names are the cases' names, codes are in their ranges, each once`() {
        let facts = ErrorKind.allCases.map(\.facts)
        for (kind, facts) in zip(ErrorKind.allCases, facts) {
            #expect("\(facts.name)" == "\(kind)")
            let isStandard = [.parseError, .invalidRequest, .methodNotFound, .invalidParams, .internalError].contains(
                kind)
            #expect((-32_099 ... -32_000).contains(facts.code) != isStandard, "\(kind)")
        }
        #expect(Set(facts.map(\.code)).count == facts.count)
        #expect(Set(facts.map { "\($0.message)" }).count == facts.count)
    }

    @Test func `JSON-RPC's own codes and messages are as its table has them`() {
        let table: [(ErrorKind, Int, String)] = [
            (.parseError, -32700, "Parse error"), (.invalidRequest, -32600, "Invalid Request"),
            (.methodNotFound, -32601, "Method not found"),
            (.invalidParams, -32602, "Invalid params"), (.internalError, -32603, "Internal error"),
        ]
        for (kind, code, message) in table { #expect(kind.facts.code == code && "\(kind.facts.message)" == message) }
    }

    @Test func `every kind renders to a reply that is JSON, and its prose to whole sentences`() {
        for kind in ErrorKind.allCases {
            let reply = written { $0.append(error: RPCError(kind), id: Bytes()) }
            #expect(fault(in: reply) == nil)
            for prose in ["\(kind.facts.when)", "\(kind.facts.remedy)"] {
                #expect(prose.hasSuffix(".") && !prose.contains("\n") && !prose.contains("|"), "\(kind): \(prose)")
            }
        }
    }
}
