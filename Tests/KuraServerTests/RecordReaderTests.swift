import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct RecordReaderTests {
    private func read(_ text: String, idField: String? = nil) throws(RecordFault) -> (
        id: String, value: String, isNew: Bool
    ) {
        let batch = ImportBatch()
        let bytes = Array(text.utf8)
        let reader = RecordReader(idField: idField.map { Array($0.utf8) })
        let borrowed = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 1), alignment: 8)
        defer { borrowed.deallocate() }
        borrowed.copyBytes(from: bytes)
        try reader.read(
            Bytes(rebasing: Bytes(borrowed)[..<bytes.count]), into: batch, now: 5)
        var found = ("", "", false)
        batch.forEach { id, value, isNew in
            found = (String(decoding: id, as: UTF8.self), String(decoding: value, as: UTF8.self), isNew)
        }
        return found
    }

    @Test func `an id is a member's string or number, and the record is the document`() throws {
        #expect(
            try read("{\"k\":\"a\\u00e9\\\"\", \"v\" : 1.50}", idField: "k") == (
                "aé\"", "{\"k\":\"a\\u00e9\\\"\",\"v\":1.50}", false
            ))
        #expect(try read("{\"v\":0,\"k\":-1.0e2}", idField: "k").id == "-1.0e2")
        #expect(try read("{\"\\u006b\":7}", idField: "k").id == "7")
    }

    @Test func `a record without a good id is a fault`() {
        for text in ["{\"v\":1}", "[1]", "{\"k\":null}", "{\"k\":\"\"}", "{\"k\":\"a\\n\"}", "{\"k\":{}}", "7"] {
            #expect(throws: RecordFault.self, "\(text)") { try read(text, idField: "k") }
        }
        #expect(throws: RecordFault.self) {
            try read("{\"k\":\"\(String(repeating: "x", count: 513))\"}", idField: "k")
        }
    }

    @Test func `what an export writes is taken apart`() throws {
        #expect(try read("{\"id\":\"a\\\\b\",\"value\":{\"x\": [1]}}") == ("a\\b", "{\"x\":[1]}", false))
        #expect(try read("{\"value\":null,\"id\":\"n\"}") == ("n", "null", false))
    }

    @Test func `anything else is a document with a new id`() throws {
        for text in [
            "{\"id\":7,\"value\":1,\"x\":2}", "{\"id\":\"a\",\"value\":1,\"x\":2}", "{\"id\":\"a\"}", "[]", "\"text\"", "{}",
        ] {
            let found = try read(text)
            #expect(found.isNew)
            #expect(found.id.count == 36)
            #expect(found.value == text)
        }
    }

    @Test func `what the wire would refuse is a fault`() {
        for text in ["", "{", "{\"a\":1,\"a\":2}", "\"\\ud800\"", "1 2", "nul", "{\"id\":\"a\",\"value\":1,}"] {
            #expect(throws: RecordFault.self, "\(text)") { try read(text) }
        }
    }

    @Test func `a batch takes an id once and hands the second over to the next`() {
        let batch = ImportBatch()
        func put(_ id: String) -> Bool {
            Array(id.utf8).withBytes { id in
                Array("1".utf8).withBytes { batch.append(id: id, value: $0, isNewID: false) }
            }
            return batch.admitLast()
        }
        #expect(put("a") && put("b"))
        #expect(!put("a"))
        let rest = batch.splitLast()
        #expect(batch.count == 2 && rest.count == 1)
        rest.forEach { id, _, _ in #expect(String(decoding: id, as: UTF8.self) == "a") }
    }

    @Test func `a record of id and value whose id is none is refused, not stored as something else`() throws {
        for id in [#""""#, "5", "null", #""a\u0001""#, "\"" + String(repeating: "x", count: 513) + "\"", "{}"] {
            #expect(throws: RecordFault.self, "\(id)") { try read("{\"id\":\(id),\"value\":1}") }
            #expect(throws: RecordFault.self, "\(id)") { try read("{\"value\":1,\"id\":\(id)}") }
        }
        // With another member it is a document that has an id of its own making.
        #expect(try read(#"{"id":5,"value":1,"more":2}"#).value == #"{"id":5,"value":1,"more":2}"#)
    }
}
