import KuraProtocol
import Testing

@testable import KuraCommand

@Suite struct RecordedTrafficTests {
    static let head = #"{"recording":1,"version":"0.1.0","startedAt":"2026-11-27T12:00:00.000Z","leftOut":[]}"# + "\n"
    static let end = #"{"at":90,"end":{"requests":2,"replies":1,"dropped":0}}"# + "\n"
    static let body = """
        {"at":1,"connection":1,"role":"admin"}
        {"at":2,"connection":1,"request":{"jsonrpc":"2.0","id":1,"method":"settings.get","params":{"domain":"d","key":"k"}}}
        {"at":3,"connection":1,"request":{"jsonrpc":"2.0","method":"storage.ping"}}
        {"at":50,"connection":1,"reply":1,"error":"notFound"}

        """

    private func read(_ text: String) throws -> RecordedTraffic { try RecordedTraffic(Array(text.utf8), "file") }

    private func failure(_ text: String) -> String? {
        do { _ = try read(text) } catch let failure as Failure { return failure.message } catch {}
        return nil
    }

    @Test func `a reply belongs to the request of its connection that has its id`() throws {
        let traffic = try read(Self.head + Self.body + Self.end)
        #expect(traffic.isWhole && traffic.calls.count == 2 && traffic.connections == 1 && traffic.dropped == 0)
        #expect(traffic.calls.map(\.method) == ["settings.get", "storage.ping"])
        #expect(traffic.calls[0].reply?.error == "notFound" && traffic.calls[0].reply?.at == 50)
        #expect(traffic.calls[1].id == nil && traffic.calls[1].reply == nil)
    }

    @Test func `each request of a batch has a reply of its own, and what was no JSON one under null`() throws {
        let traffic = try read(
            Self.head + """
                {"at":1,"connection":1,"role":"admin"}
                {"at":2,"connection":1,"request":[{"jsonrpc":"2.0","id":1,"method":"storage.ping"},{"jsonrpc":"2.0","id":2,"method":"storage.status"}]}
                {"at":3,"connection":1,"request":"xxxx"}
                {"at":4,"connection":1,"reply":2}
                {"at":4,"connection":1,"reply":1}
                {"at":5,"connection":1,"reply":null,"error":"parseError"}
                {"at":6,"dropped":7}

                """)
        #expect(!traffic.isWhole && traffic.dropped == 7)
        #expect(traffic.calls.map { $0.reply?.error } == [nil, nil, "parseError"])
        #expect(traffic.calls.map(\.line) == [3, 3, 4])
        #expect(traffic.calls.allSatisfy { $0.reply != nil })
        guard case .request(let line, _) = traffic.events[2].kind else {
            Issue.record("no request")
            return
        }
        #expect(line == Array("xxxx".utf8))
    }

    @Test func `a line is answered under the ids that the daemon reads in it`() throws {
        let traffic = try read(
            Self.head + """
                {"at":1,"connection":1,"role":"admin"}
                {"at":2,"connection":1,"request":{"jsonrpc":"2.0","id":1,"id":2,"method":"storage.ping"}}
                {"at":3,"connection":1,"reply":null,"error":"parseError"}
                {"at":4,"connection":1,"request":[]}
                {"at":5,"connection":1,"reply":null,"error":"invalidRequest"}
                {"at":6,"connection":1,"request":true}
                {"at":7,"connection":1,"reply":null,"error":"invalidRequest"}

                """ + Self.end)
        #expect(traffic.calls.map { $0.reply?.error } == ["parseError", "invalidRequest", "invalidRequest"])
    }

    @Test func `a recording that was cut off is read up to its last whole line`() throws {
        let whole = Self.head + Self.body + Self.end
        #expect(try !read(Self.head + Self.body).isWhole)
        let cut = try read(String(whole.dropLast(10)))
        #expect(!cut.isWhole && cut.calls.count == 2)
    }

    @Test func `what is no recording, is damaged or newer is refused with where and why`() {
        #expect(failure("") == "file is no recording")
        #expect(failure("{\"a\":1}\n") == "file is no recording")
        #expect(failure(Self.head.replacing(":1,", with: ":2,"))?.contains("newer version: format 2") == true)
        #expect(failure(Self.head + "{\n" + Self.end)?.contains("line 2 of file") == true)
        #expect(failure(Self.head + Self.body + Self.end + Self.end)?.contains("line 7 of file") == true)
        #expect(
            failure(Self.head + #"{"at":1,"connection":1,"what":9}"# + "\n" + Self.end)?.contains("line 2 of file")
                == true)
    }
}
