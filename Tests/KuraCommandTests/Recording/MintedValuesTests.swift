import KuraClient
import Testing

@testable import KuraCommand

@Suite struct MintedValuesTests {
    private func rewritten(_ values: MintedValues, _ method: String, _ params: String, _ connection: Int64 = 1)
        -> String
    {
        let line = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\(method)\",\"params\":\(params)}"
        let found = values.rewritten(Array(line.utf8), connection)
        return JSONObject(found)?["params"].map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private func learnt(_ recorded: String, _ result: String, _ connection: Int64 = 1, isWrite: Bool = false)
        -> MintedValues
    {
        var values = MintedValues()
        values.learn(Array(recorded.utf8), Array(result.utf8), connection, isWrite: isWrite)
        return values
    }

    @Test func `a revision is replaced where the method has one, and a number of a document is not`() {
        let values = learnt(#"{"rev":7}"#, #"{"value":1,"rev":107}"#)
        #expect(
            rewritten(values, "documents.put", #"{"collection":"c","id":"a","value":{"rev":7,"ifRev":7},"ifRev":7}"#)
                == #"{"collection":"c","id":"a","value":{"rev":7,"ifRev":7},"ifRev":107}"#)
        #expect(
            rewritten(values, "changes.wait", #"{"afterRev":7,"timeoutMs":7}"#, 2) == #"{"afterRev":107,"timeoutMs":7}"#
        )
        #expect(rewritten(values, "settings.put", #"["d","k",7,7]"#) == #"["d","k",7,107]"#)
    }

    @Test func `an id is replaced wherever a string is the same, by where it stood in the result`() {
        let values = learnt(
            #"{"documents":[{"id":"one","rev":1},{"id":"two","rev":2}]}"#,
            #"{"documents":[{"id":"eins","value":{"id":"no"},"rev":1},{"id":"zwei","rev":2}],"cursor":"c"}"#)
        #expect(
            rewritten(
                values, "documents.put", #"{"collection":"one more","id":"two","value":{"parents":["one","none"]}}"#)
                == #"{"collection":"one more","id":"zwei","value":{"parents":["eins","none"]}}"#)
    }

    @Test func `a subscription is its connection's own`() {
        let values = learnt(#"{"subscription":3}"#, #"{"subscription":1}"#, 5)
        #expect(rewritten(values, "changes.unwatch", #"{"subscription":3}"#, 5) == #"{"subscription":1}"#)
        #expect(rewritten(values, "changes.unwatch", #"{"subscription":3}"#, 6) == #"{"subscription":3}"#)
    }

    @Test func `operations of a transaction and requests of a batch are rewritten`() {
        let values = learnt(#"{"rev":7,"results":[{"id":"one"}]}"#, #"{"rev":9,"results":[{"id":"eins"}]}"#)
        #expect(
            rewritten(
                values, "transaction.apply",
                #"{"operations":[{"method":"documents.delete","params":{"collection":"c","id":"one","ifRev":7}}]}"#)
                == #"{"operations":[{"method":"documents.delete","params":{"collection":"c","id":"eins","ifRev":9}}]}"#)
        let batch = #"[{"jsonrpc":"2.0","id":1,"method":"documents.get","params":{"collection":"c","id":"one"}}]"#
        #expect(String(decoding: values.rewritten(Array(batch.utf8), 1), as: UTF8.self).contains("\"id\":\"eins\""))
    }

    @Test func `a value that comes to mean itself again is left alone`() {
        var values = learnt(#"{"rev":7}"#, #"{"rev":9}"#)
        values.learn(Array(#"{"rev":7}"#.utf8), Array(#"{"rev":7}"#.utf8), 1, isWrite: false)
        #expect(
            rewritten(values, "settings.put", #"{"domain":"d","key":"k","value":1,"ifRev":7}"#).contains("\"ifRev\":7"))
    }

    @Test func `what a read sees takes no place of what a write was answered`() {
        var values = learnt(#"{"id":"one","rev":7}"#, #"{"id":"eins","rev":9}"#, isWrite: true)
        values.learn(
            Array(#"{"documents":[{"id":"one","rev":7}]}"#.utf8), Array(#"{"documents":[{"id":"zwei","rev":8}]}"#.utf8),
            1,
            isWrite: false)
        #expect(
            rewritten(values, "documents.delete", #"{"collection":"c","id":"one","ifRev":7}"#)
                == #"{"collection":"c","id":"eins","ifRev":9}"#)
    }

    @Test func `a list of another length teaches nothing, nor does a revision of nothing`() {
        let shorter = learnt(
            #"{"documents":[{"id":"one","rev":6},{"id":"two","rev":7}]}"#, #"{"documents":[{"id":"two","rev":7}]}"#)
        let request = #"{"collection":"c","id":"one","ifRev":6}"#
        #expect(rewritten(shorter, "documents.delete", request) == request)
        for (then, now) in [(6, 0), (0, 6)] {
            let values = learnt("{\"rev\":\(then)}", "{\"rev\":\(now)}")
            let request = "{\"collection\":\"c\",\"id\":\"one\",\"ifRev\":\(then)}"
            #expect(rewritten(values, "documents.delete", request) == request)
        }
    }
}
