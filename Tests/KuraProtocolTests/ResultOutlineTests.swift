import KuraBytes
import KuraProtocol
import Testing

@Suite struct ResultOutlineTests {
    private func outline(_ method: String, _ result: String) throws -> [String] {
        let method = try #require(Method.all.first { $0.name == method })
        return result.withBytes { method.outline(of: $0) }.map {
            "\($0.name) \(String(decoding: $0.value, as: UTF8.self))"
        }
    }

    @Test func `an outline says how much was found, and has no value`() throws {
        #expect(try outline("settings.get", #"{"value":{"a":[1,2]},"rev":7}"#) == ["value 1"])
        #expect(try outline("settings.get", #"{"rev":0}"#) == [])
        #expect(try outline("settings.list", #"{"values":{"a":1,"b":2},"rev":7}"#) == ["values 2"])
        #expect(
            try outline("documents.getMany", #"{"documents":[{"id":"a"}],"missing":["b","c"],"rev":7}"#) == [
                "documents 1", "missing 2",
            ])
        #expect(try outline("documents.delete", #"{"rev":7,"deleted":true,"durable":false}"#) == ["deleted true"])
        #expect(try outline("documents.count", #"{"count":5,"rev":7}"#) == ["count 5"])
        #expect(try outline("models.get", #"{"state":"fresh","value":1,"ageMs":5}"#) == ["state \"fresh\"", "value 1"])
    }

    @Test func `what is told of the daemon itself has none`() throws {
        #expect(Method.all.filter { !$0.hasOutline }.contains { $0.name == "storage.status" })
        #expect(Method.all.filter { !$0.hasOutline }.contains { $0.name == "changes.wait" })
    }
}
