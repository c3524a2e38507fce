import KuraBytes
import Testing

@testable import KuraServer

@Suite struct ResultWriterTests {
    private static func text(_ body: (inout ByteBuffer) -> Void) -> String {
        var out = ByteBuffer()
        body(&out)
        return String(decoding: out.bytes, as: UTF8.self)
    }

    @Test func `commas stand between members and elements, and nowhere else`() {
        let text = Self.text { out in
            out.openObject()
            out.append(.rev, 1 as UInt64)
            out.openObject(.usage)
            out.closeObject()
            out.openList(.entries)
            for key in ["a", "b"] {
                out.openObject()
                out.append(key: key, 1)
                out.append(.deleted, true)
                out.closeObject()
            }
            out.closeList()
            out.openList(.missing)
            out.append(element: "x")
            out.append(element: "y")
            out.openList()
            out.closeList()
            out.openList()
            out.closeList()
            out.closeList()
            out.append(.count, -2)
            out.closeObject()
        }
        #expect(
            text
                == #"{"rev":1,"usage":{},"entries":[{"a":1,"deleted":true},{"b":1,"deleted":true}],"missing":["x","y",[],[]],"count":-2}"#
        )
    }

    @Test func `an object goes on where a value is due`() {
        // Behind a name, behind a comma that somebody else wrote, at the beginning of a line.
        for head in [#"{"result":"#, "[1,", "{}\n", ""] {
            let text = Self.text { out in
                out.append(text: head)
                out.openObject()
                out.closeObject()
            }
            #expect(text == head + "{}")
        }
    }

    @Test func `members are collected without braces`() {
        let text = Self.text { out in
            out.append(.state, word: "fresh")
            out.append(.rev, 2)
            out.append(key: "k", 7)
        }
        #expect(text == #""state":"fresh","rev":2,"k":7"#)
    }

    /// A value's last byte says nothing of what comes: a text may end in a brace.
    @Test(arguments: ["{", "[", ":", ",", "\n", "\"", "\\", ""])
    func `what a value ends in does not matter`(end: String) throws {
        let text = Self.text { out in
            out.openObject()
            out.append(.client, end)
            out.append(.rev, 3)
            out.openList(.items)
            out.append(element: end)
            out.append(element: end)
            out.closeList()
            out.closeObject()
        }
        let object = try JSON(text)
        #expect(object["client"]?.text == end && object["rev"]?.int == 3)
        #expect(object["items"]?.elements.count == 2)
    }
}
