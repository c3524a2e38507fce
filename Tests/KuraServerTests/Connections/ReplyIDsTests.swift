import KuraBytes
import Testing

@testable import KuraServer

@Suite struct ReplyIDsTests {
    private func ids(_ line: String) -> [String] {
        Array(line.utf8).withBytes { ReplyIDs.read($0) }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a notification is known by its beginning, and has no id`() {
        var out = ByteBuffer()
        out.openNotification("progress")
        out.append(.done, 1)
        out.closeNotification()
        #expect(ReplyIDs.read(out.bytes).isEmpty)
        #expect(String(decoding: ReplyIDs.notification, as: UTF8.self) == #"{"jsonrpc":"2.0","method":"#)
    }

    @Test func `a reply has one id, a batch has those of its members, and what has none has null`() {
        #expect(ids(#"{"jsonrpc":"2.0","id":7,"result":{}}"#) == ["7"])
        #expect(
            ids(#"[{"jsonrpc":"2.0","id":"a","result":{}},{"jsonrpc":"2.0","id":null,"error":{}}]"#) == [
                #""a""#, "null",
            ])
        #expect(ids(#"{"jsonrpc":"2.0","error":{}}"#) == ["null"])
    }
}
