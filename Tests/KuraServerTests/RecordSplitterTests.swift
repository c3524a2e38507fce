import KuraBytes
import Testing

@testable import KuraServer

@Suite struct RecordSplitterTests {
    // What comes out, as text: a record with its line, `!line` for an oversize one, `?line` for a malformed array.
    private func split(
        _ text: String, chunk: Int = .max, limit: Int = 1000, format: RecordSplitter.Format? = nil, offset: Int = 0
    ) -> [String] {
        let bytes = Array(text.utf8.dropFirst(offset))
        var splitter = RecordSplitter(limit: limit, format: format, offset: offset)
        var found: [String] = []
        var place = 0
        while true {
            switch splitter.next() {
            case .record(let record):
                let contents = splitter.bytes(of: record)
                found.append("\(record.line):\(String(decoding: contents, as: UTF8.self))")
                // The offset is where it stands in the whole input.
                #expect(Array(text.utf8)[record.offset...].starts(with: contents))
                #expect(record.end <= text.utf8.count)
            case .oversize(let record): found.append("!\(record.line)")
            case .malformed(let record): found.append("?\(record.line)")
            case .needsMore:
                let piece = bytes[place..<place + min(chunk, bytes.count - place)]
                if piece.isEmpty { splitter.finish() } else { piece.withBytes { splitter.append($0) } }
                place += piece.count
            case .end:
                return found
            }
        }
    }

    // The same whatever the pieces are that it comes in.
    private func expect(
        _ text: String, limit: Int = 1000, format: RecordSplitter.Format? = nil, _ wanted: [String],
        _ location: SourceLocation = #_sourceLocation
    ) {
        for chunk in [1, 2, 3, 7, Int.max / 2] {
            let found = split(text, chunk: chunk, limit: limit, format: format)
            #expect(found == wanted, "pieces of \(chunk)", sourceLocation: location)
        }
        for cut in 0..<text.utf8.count {
            let bytes = Array(text.utf8)
            var splitter = RecordSplitter(limit: limit, format: format)
            var parts = [Array(bytes[..<cut]), Array(bytes[cut...])][...]
            var found: [String] = []
            loop: while true {
                switch splitter.next() {
                case .record(let record):
                    found.append("\(record.line):\(String(decoding: splitter.bytes(of: record), as: UTF8.self))")
                case .oversize(let record): found.append("!\(record.line)")
                case .malformed(let record): found.append("?\(record.line)")
                case .needsMore:
                    if let part = parts.popFirst() {
                        part.withBytes { splitter.append($0) }
                    } else {
                        splitter.finish()
                    }
                case .end: break loop
                }
            }
            #expect(found == wanted, "cut at \(cut)", sourceLocation: location)
        }
    }

    // What fuzzing found: white space at the end made a record oversize in pieces, and not in one.
    @Test func `white space at its end counts for a record's length, whatever the pieces`() {
        expect("[1234  ,123 ,12]", limit: 4, ["!1", "1:123", "1:12"])
        expect("1234  \n123 \n1234\r\n", limit: 4, ["!1", "2:123", "3:1234"])
        expect("  1234\n \t123\n\r12345\n", limit: 4, ["1:1234", "2:123", "!3"])
    }

    // What fuzzing found: a line that begins with CR was handed on with it, but without when an import went on there.
    @Test func `a line end's CR that stands in front of a line is no part of it`() {
        expect("1\n\r2\n \r\t3\n", ["1:1", "2:2", "3:3"])
    }

    @Test func `lines are records, blank ones are none, CR belongs to the end, the last may lack its own`() {
        expect("{\"a\":1}\n\n  \t\r\n{\"b\": 2}\r\n 3 \n\"é\"", ["1:{\"a\":1}", "4:{\"b\": 2}", "5:3", "6:\"é\""])
        expect("", [])
        expect("\n \r\n", [])
        expect("1", ["1:1"])
    }

    @Test func `a byte order mark is passed over, once`() {
        expect("\u{FEFF}1\n2", ["1:1", "2:2"])
        expect("\u{FEFF}[1]", ["1:1"])
        expect("1\n\u{FEFF}2", ["1:1", "2:\u{FEFF}2"])
    }

    @Test func `the elements of an array are records, whatever is in them`() {
        expect(
            "\n [ {\"a\":[1,{\"b\":\"],[\\\"\\\\\"}]} ,\n\n2,\"x,]\" , [ ], {\"n\":\n1}\n]\n ",
            ["2:{\"a\":[1,{\"b\":\"],[\\\"\\\\\"}]}", "4:2", "4:\"x,]\"", "4:[ ]", "4:{\"n\":\n1}"])
        expect("[]", [])
        expect(" [ ] ", [])
        expect("[[1,2],[3]]", ["1:[1,2]", "1:[3]"])
    }

    @Test func `an array whose own text is wrong says so, with the line`() {
        expect("[1,2", ["1:1", "1:2", "?1"])
        expect("[1,\n2,\n", ["1:1", "2:2", "?3"])
        expect("[1]\n2", ["1:1", "?2"])
        expect("[1,,2]", ["1:1", "?1", "1:2"])
        expect("[,1]", ["?1", "1:1"])
        expect("[1,]", ["1:1", "?1"])
        expect("[", ["?1"])
        // What stands between two commas is one record, right or wrong.
        expect("[{\"a\":1} {\"b\":2},3]", ["1:{\"a\":1} {\"b\":2}", "1:3"])
    }

    @Test func `the format can be forced`() {
        expect("[1]\n[2]", format: .lines, ["1:[1]", "2:[2]"])
        expect("[1]", format: .array, ["1:1"])
    }

    @Test func `a record over the limit is skipped, and the others are not`() {
        let long = String(repeating: "x", count: 50)
        expect("1\n\(long)\n2", limit: 20, ["1:1", "!2", "3:2"])
        expect("\(long)", limit: 20, ["!1"])
        expect("[1,\n\"\(long),]\",2]", limit: 20, ["1:1", "!2", "2:2"])
        let exact = String(repeating: "y", count: 20)
        expect("\(exact)\r\n2", limit: 20, ["1:\(exact)", "2:2"])
    }

    @Test func `memory is bounded while a record without end is skipped`() {
        var splitter = RecordSplitter(limit: 1000, format: .lines)
        let chunk = [UInt8](repeating: 0x78, count: 4096)
        for _ in 0..<1000 {
            chunk.withBytes { splitter.append($0) }
            #expect(splitter.next() == .needsMore)
        }
        #expect(splitter.inputEnd == 4096 * 1000)
        splitter.fill(upTo: 4096) { #expect($0.spare.count >= 4096) }
        #expect(splitter.heldBytes <= 3 * 4096)
    }

    @Test(arguments: ["1\n{\"a\":[2,3]}\r\n\n\"4\"\n", " [1, {\"a\":[2,3]} ,\n\"4\" ,[5]] "])
    func `an input can be gone on with behind any record`(text: String) {
        let all = split(text).map { $0.drop { $0 != ":" } }
        var splitter = RecordSplitter(limit: 1000)
        Array(text.utf8).withBytes { splitter.append($0) }
        splitter.finish()
        var count = 0
        while true {
            guard case .record(let record) = splitter.next() else { break }
            count += 1
            let rest = split(text, offset: record.end).map { $0.drop { $0 != ":" } }
            #expect(rest == Array(all[count...]), "behind record \(count)")
        }
        #expect(count == all.count)
    }
}
