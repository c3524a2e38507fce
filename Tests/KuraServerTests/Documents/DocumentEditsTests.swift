import KuraBytes
import KuraJSON
import Testing

@testable import KuraServer

/// What the server makes of documents by itself.
@Suite struct DocumentEditsTests {
    private static let document: StaticString = "{\"a\":1,\"b\":[1,2]}"
    private func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    private func apply(_ patch: StaticString, isMerge: Bool, _ edits: inout DocumentEdits) throws -> String {
        var output = ByteBuffer()
        try edits.apply(
            StoredValue(Bytes(patch)), isMerge: isMerge, to: StoredValue(Bytes(Self.document)), into: &output)
        return text(output.bytes)
    }

    @Test func `each new id is greater than the one before, also when the clock goes back`() {
        var edits = DocumentEdits()
        var ids: [String] = []
        for time in [1_000_000, 1_000_000, 999_999, 1_000_001] as [Int64] { ids.append(text(edits.newID(at: time))) }
        #expect(ids == ids.sorted() && Set(ids).count == 4)
        #expect(ids.allSatisfy { $0.utf8.count == 36 })
    }

    @Test func `a patch is read as what it is`() throws {
        var edits = DocumentEdits()
        let merged = try apply("{\"a\":null,\"c\":3}", isMerge: true, &edits)
        let patched = try apply("[{\"op\":\"remove\",\"path\":\"/b/0\"}]", isMerge: false, &edits)
        #expect(merged == "{\"b\":[1,2],\"c\":3}")
        #expect(patched == "{\"a\":1,\"b\":[2]}")
    }

    @Test func `a patch that was refused leaves nothing for the next`() throws {
        var edits = DocumentEdits()
        var isRefused = false
        do {
            _ = try apply(
                "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"test\",\"path\":\"/b\",\"value\":0}]", isMerge: false,
                &edits)
        } catch { isRefused = true }
        let next = try apply("[{\"op\":\"remove\",\"path\":\"/b\"}]", isMerge: false, &edits)
        #expect(isRefused && next == "{\"a\":1}")
    }

    @Test func `a sum is told, and stands in the document`() throws {
        var edits = DocumentEdits()
        var output = ByteBuffer()
        let sum = try edits.add(
            Bytes("0.50"), at: FieldPath(Bytes("a")), in: StoredValue(Bytes(Self.document)), into: &output)
        let (told, document) = (text(sum), text(output.bytes))
        #expect(told == "1.50" && document == "{\"a\":1.50,\"b\":[1,2]}")
    }
}
