import Testing

@testable import KuraClient

@Suite struct NoticeTests {
    private func notice(_ line: String) -> Notice? { Notice(line: Array(line.utf8)) }

    @Test func `a notification has a method and no id`() {
        let found = notice(#"{"jsonrpc":"2.0","method":"changes.changed","params":{"rev":5}}"#)
        #expect(found?.method == "changes.changed")
        #expect(found.map { String(decoding: $0.params, as: UTF8.self) } == #"{"rev":5}"#)
        #expect(notice(#"{"jsonrpc":"2.0","method":"a.progress"}"#)?.isProgress == true)
        #expect(notice(#"{"jsonrpc":"2.0","method":"progressive"}"#)?.isProgress == false)
        #expect(notice(#"{"jsonrpc":"2.0","id":1,"method":"x"}"#) == nil)
        #expect(notice(#"{"jsonrpc":"2.0","id":1,"result":{}}"#) == nil)
        #expect(notice(#"{"method":"x"}"#) == nil)
        #expect(notice("x") == nil)
    }
}

@Suite struct JSONElementsTests {
    @Test func `an array's elements are its texts`() {
        func read(_ text: String) -> [String]? {
            JSONElements.read(Array(text.utf8))?.map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(read(#"[1, "a,]", {"b":[2]} ,null]"#) == ["1", #""a,]""#, #"{"b":[2]}"#, "null"])
        #expect(read("[]") == [])
        #expect(read("{}") == nil && read("[1") == nil && read("[1,]") == nil && read("[1] 2") == nil)
        #expect(JSONElements.array([[0x31], [0x32]]) == Array("[1,2]".utf8))
        #expect(JSONElements.array([]) == Array("[]".utf8))
    }
}
