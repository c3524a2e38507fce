import KuraBytes
import KuraProtocol
import Testing

@Suite struct JSONWalkTests {
    private func members(_ text: String) -> [[String]] {
        GuardedBytes.with(text.utf8) { bytes in
            var walk = JSONWalk(bytes, storage: WalkStorage())
            var result: [[String]] = []
            while let (name, value) = walk.nextMember() {
                result.append([String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)])
            }
            #expect(walk.nextMember() == nil)
            return result
        }
    }

    private func elements(_ text: String) -> [String] {
        GuardedBytes.with(text.utf8) { bytes in
            var walk = JSONWalk(bytes, storage: WalkStorage())
            var result: [String] = []
            while let element = walk.nextElement() { result.append(String(decoding: element, as: UTF8.self)) }
            #expect(walk.nextElement() == nil)
            return result
        }
    }

    @Test func `members come in their order, names without escapes, values as they stand`() {
        #expect(members("{}") == [] && members("{ }") == [])
        #expect(
            members(#"{"a":1,"b\u0062":[1,{"x":2}],"":"\u0061"}"#) == [
                ["a", "1"], ["bb", #"[1,{"x":2}]"#], ["", #""\u0061""#],
            ])
        #expect(members(" { \"a\" : 1 , \"b\" : { } } ") == [["a", "1"], ["b", "{ }"]])
    }

    @Test func `elements come in their order, as they stand`() {
        #expect(elements("[]") == [] && elements("[ ]") == [])
        #expect(elements(#"[1,"a,b",[2,[3]],{"c":"]"},null]"#) == ["1", #""a,b""#, "[2,[3]]", #"{"c":"]"}"#, "null"])
        #expect(elements(" [ 1 , 2 ] ") == ["1", "2"])
    }

    @Test func `a container at the depth limit can be walked to its core`() {
        var text = String(repeating: "[", count: 128) + String(repeating: "]", count: 128)
        var levels = 0
        while let inner = elements(text).first {
            text = inner
            levels += 1
        }
        #expect(levels == 127 && text == "[]")
    }

    @Test func `a string's text gives its bytes, other texts none`() {
        func string(_ text: String) -> String? {
            let storage = WalkStorage()
            return Array(text.utf8).withBytes { bytes in
                JSONWalk.string(bytes, storage: storage).map { String(decoding: $0, as: UTF8.self) }
            }
        }
        #expect(string("\"\"") == "" && string("\"abc\"") == "abc" && string(#""\u0061\n""#) == "a\n")
        for other in ["1", "null", "[\"a\"]", "{}", "true"] { #expect(string(other) == nil) }
    }

    @Test func `a name is not empty, not over its limit and has no control characters`() {
        func isName(_ text: String, limit: Int = 4) -> Bool {
            Array(text.utf8).withBytes { JSONWalk.isName($0, limit: limit) }
        }
        #expect(isName("a") && isName("abcd") && isName("é é".replacing(" ", with: ""), limit: 4) && isName("a/ b"))
        #expect(
            !isName("") && !isName("abcde") && !isName("a\n") && !isName("\0") && !isName("\u{7F}") && !isName("\u{1F}")
        )
    }
}
