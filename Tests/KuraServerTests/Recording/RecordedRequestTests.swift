import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct RecordedRequestTests {
    private func recorded(_ line: String, _ request: inout RecordedRequest) -> String {
        var output = ByteBuffer()
        line.withBytes { request.append($0, to: &output) }
        return String(output.bytes)
    }

    private func request() throws -> RecordedRequest { try RecordedRequest(.standard, batchLimit: 3) }

    @Test func `what has nothing to hide is written as it came, but for white space`() throws {
        var request = try request()
        let line =
            #"{"jsonrpc":"2.0","id":"a","method":"settings.put","params":{"domain":"app","key":"secret","value":"é"}}"#
        #expect(recorded(line.replacing("\":", with: "\" : "), &request) == line)
        #expect(request.calls.map { $0.id.map { String(decoding: $0, as: UTF8.self) } } == ["\"a\""])
        #expect(request.calls.first?.method == MethodTable.standard.methods.firstIndex { $0.name == "settings.put" })
    }

    @Test func `each request has the id that its reply has, whatever is wrong with the line`() throws {
        var request = try request()
        func ids(_ line: String, last: UInt8? = nil) -> [String?] {
            var bytes = Array(line.utf8)
            if let last { bytes.replace([UInt8(ascii: "?")], with: [last]) }
            var output = ByteBuffer()
            bytes.withBytes { request.append($0, to: &output) }
            return request.calls.map { $0.id.map { String(decoding: $0, as: UTF8.self) } }
        }
        let ping = #"{"jsonrpc":"2.0","id":1,"method":"storage.ping"}"#
        #expect(ids(#"{"jsonrpc":"2.0","id":500,"method":"storage.ping","x":"?"}"#, last: 0xFF) == ["500"])
        #expect(request.calls[0].isHidden)
        #expect(ids(ping) == ["1"] && !request.calls[0].isHidden)
        #expect(ids(#"{"jsonrpc":"2.0","method":"storage.ping"}"#) == [nil])
        #expect(ids(#"{"jsonrpc":"2.0","id":1,"id":2,"method":"storage.ping"}"#) == ["null"])
        #expect(ids(#"{"jsonrpc":"2.0","id":{},"method":"storage.ping"}"#) == ["null"])
        #expect(ids("[]") == ["null"] && ids("[\(ping),\(ping.dropFirst(0)),7]") == ["1", "1", "null"])
        // Refused as a whole: too many, or no JSON of the wire's.
        #expect(ids("[\(ping),\(ping),\(ping),\(ping)]") == ["null"])
        #expect(ids("[\(ping),{\"a\":1,\"a\":2}]") == ["null"])
        #expect(recorded("\"text\"", &request) == "true" && request.calls.count == 1)
    }

    @Test func `secrets and their names are replaced, by name and by position`() throws {
        var request = try request()
        let named = try JSON(
            recorded(
                #"{"jsonrpc":"2.0","id":1,"method":"secrets.put","params":{"service":"mail","account":"ada","secret":"open sesame","ifRev":7,"accessibility":"always","expiresAt":"2030-01-31T12:00:00Z"}}"#,
                &request))
        let params = try #require(named["params"])
        #expect(params["secret"]?.text?.count == 11 && params["service"]?.text?.count == 4)
        for plain in ["mail", "ada", "sesame"] { #expect(!"\(named)".contains(plain)) }
        #expect(params["ifRev"]?.int == 7 && params["accessibility"]?.text == "always")
        #expect(params["expiresAt"]?.text == "2030-01-31T12:00:00Z")
        let positions = try JSON(
            recorded(
                #"{"jsonrpc":"2.0","id":1,"method":"secrets.put","params":["mail","ada",{"user":"open sesame"}]}"#,
                &request))
        #expect(positions["params"]?[0] == params["service"] && positions["params"]?[1] == params["account"])
        #expect(!"\(positions)".contains("sesame") && !"\(positions)".contains("user"))
    }

    @Test func `calls within a call are looked into, in batches too`() throws {
        var request = try request()
        let put = #"{"method":"secrets.put","params":{"service":"mail","account":"ada","secret":"sesame"}}"#
        let plain = #"{"method":"settings.put","params":{"domain":"app","key":"k","value":"seen"}}"#
        let batch = try JSON(
            recorded(
                """
                [{"jsonrpc":"2.0","id":1,"method":"transaction.apply","params":{"operations":[\(put),\(plain)]}},\
                {"jsonrpc":"2.0","id":2,"method":"session.can","params":\(put)},\
                {"jsonrpc":"2.0","id":3,"method":"session.can","params":["secrets.put",{"secret":"sesame"}]}]
                """, &request))
        #expect(!"\(batch)".contains("sesame") && "\(batch)".contains("seen"))
        #expect(batch[0]?["params"]?["operations"]?[0]?["method"]?.text == "secrets.put")
        #expect(request.calls.count == 3)
    }

    @Test func `a request for the changes of secrets hides their scope`() throws {
        var request = try request()
        func scope(_ stores: String) throws -> String? {
            let line =
                #"{"jsonrpc":"2.0","id":1,"method":"changes.wait","params":{"afterRev":0,"stores":[\#(stores)],"scope":"mail"}}"#
            return try JSON(recorded(line, &request))["params"]?["scope"]?.text
        }
        #expect(try scope("\"secrets\"") != "mail")
        #expect(try scope("\"settings\"") == "mail")
    }

    @Test
    func
        `a request for changes of any store hides what items are called, and a scope that names a store what is behind it`()
        throws
    {
        var request = try request()
        let any = #"{"jsonrpc":"2.0","id":1,"method":"changes.watch","params":{"prefix":"sesame"}}"#
        #expect(!recorded(any, &request).contains("sesame"))
        let clear =
            #"{"jsonrpc":"2.0","id":1,"method":"changes.watch","params":{"prefix":"seen","stores":["settings"]}}"#
        #expect(recorded(clear, &request).contains("seen"))
        let scope =
            #"{"jsonrpc":"2.0","id":1,"method":"storage.backup","params":{"include":["secrets/sesame","documents/seen"]}}"#
        let found = recorded(scope, &request)
        #expect(!found.contains("sesame") && found.contains("secrets/") && found.contains("documents/seen"))
    }

    @Test func `what cannot be told apart is replaced as a whole`() throws {
        var request = try request()
        for line in [
            #"{"jsonrpc":"2.0","id":1,"method":"transaction.apply","params":{"operations":{"method":"secrets.put","params":{"secret":"sesame"}}}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.scopes","params":{"name":"sesame"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.scopes","params":["sesame"]}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{"domain":"a","passphrase":"sesame"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"settings.put","params":{},"extra":"sesame"}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":["sesame"],"key":{"a":"sesame"}}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.typo","params":{"secret":"sesame"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.put","method":"settings.get","params":{"secret":"sesame"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.put","params":{"secrte":"sesame"}}"#,
            #"{"jsonrpc":"2.0","id":1,"method":"secrets.put","params":"sesame"}"#,
            #"{"jsonrpc":"2.0","id":1,"sesame":"sesame"}"#, #""sesame sesame""#, #"{"secret":"sesame""#, "sesame",
        ] {
            let found = recorded(line, &request)
            #expect(!found.contains(": \"sesame\"") && !found.contains(":\"sesame\""), "\(line): \(found)")
        }
        let broken = recorded(#"{"secret":"sesame""#, &request)
        #expect(broken == "\"" + String(repeating: "x", count: 18) + "\"")
        #expect(request.calls.map { $0.id.map { String(decoding: $0, as: UTF8.self) } } == ["null"])
    }
}
