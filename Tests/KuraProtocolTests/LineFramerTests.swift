import KuraBytes
import KuraProtocol
import Testing

@Suite struct LineFramerTests {
    private enum Event: Equatable, CustomStringConvertible {
        case line([UInt8])
        case oversize

        var description: String {
            switch self {
            case .line(let bytes): "line(\(String(decoding: bytes, as: UTF8.self).debugDescription))"
            case .oversize: "oversize"
            }
        }
    }

    /// A connection: bytes come in chunks, whole lines go out, what is done with is dropped after each chunk.
    private struct Driver {
        var framer: LineFramer
        var buffer: [UInt8] = []
        var events: [Event] = []
        var largest = 0

        init(limit: Int) {
            framer = LineFramer(limit: limit)
        }

        mutating func feed(_ chunk: some Sequence<UInt8>) {
            buffer += chunk
            largest = max(largest, buffer.count)
            while let event = step({ $0.next(in: $1) }) { events.append(event) }
            buffer.removeFirst(framer.consumed)
            framer.rebase()
        }

        mutating func end() {
            if let event = step({ $0.last(in: $1) }) { events.append(event) }
            #expect(step { $0.last(in: $1) } == nil)
        }

        private mutating func step(_ body: (inout LineFramer, Bytes) -> LineFramer.Frame) -> Event? {
            buffer.withBytes { bytes in
                switch body(&framer, bytes) {
                case .line(let lower, let upper): .line(Array(bytes[lower..<upper]))
                case .oversize: .oversize
                case .incomplete: nil
                }
            }
        }
    }

    /// The law, said in another way.
    private func expected(_ text: [UInt8], limit: Int) -> [Event] {
        text.split(separator: 0x0A, omittingEmptySubsequences: false).compactMap { piece in
            var line = Array(piece)
            if line.last == 0x0D { line.removeLast() }
            if line.count > limit { return .oversize }
            return line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D } ? nil : .line(line)
        }
    }

    private func events(_ chunks: [[UInt8]], limit: Int) -> [Event] {
        var driver = Driver(limit: limit)
        for chunk in chunks { driver.feed(chunk) }
        driver.end()
        return driver.events
    }

    // MARK: Splits

    @Test func `every text of six bytes gives the frames that the law says, wherever it is split`() {
        let alphabet: [UInt8] = [0x61, 0x20, 0x0D, 0x0A]
        var texts: [[UInt8]] = [[]]
        var judged = 0
        for _ in 0..<6 {
            texts = texts.flatMap { text in alphabet.map { text + [$0] } }
            for text in texts {
                let law = expected(text, limit: 2)
                var runs = (0...text.count).map { [Array(text[..<$0]), Array(text[$0...])] }
                runs.append(text.map { [$0] })
                for run in runs {
                    let found = events(run, limit: 2)
                    if found != law { Issue.record("\(run): \(found) instead of \(law)") }
                    judged += 1
                }
            }
        }
        #expect(judged > 40_000)
    }

    @Test func `random bytes in random chunks give the same frames as in one piece`() {
        var random = SeededGenerator()
        let parts = [
            "{\"a\":1}", "\n", "\r\n", "\r", " ", "\t", "\n\n", "xxxxxxxxxxxx", String(repeating: "y", count: 40), "é",
            "\0",
        ]
        for round in 0..<400 {
            let text = (0..<Int.random(in: 0...30, using: &random)).flatMap { _ in
                Array(parts.randomElement(using: &random)!.utf8)
            }
            var chunks: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let length = min(rest.count, Int.random(in: 0...9, using: &random))
                chunks.append(Array(rest.prefix(length)))
                rest = rest.dropFirst(length)
            }
            #expect(events(chunks, limit: 16) == expected(text, limit: 16), "seed \(random.seed), round \(round)")
        }
    }

    // MARK: Lines

    @Test func `line ends are LF or CRLF, blank lines are passed over`() {
        let text = "one\ntwo\r\n\n\r\n \t \n\t\r\n three \r\r\nlast"
        #expect(
            events([Array(text.utf8)], limit: 100)
                == [
                    .line(Array("one".utf8)), .line(Array("two".utf8)), .line(Array(" three \r".utf8)),
                    .line(Array("last".utf8)),
                ])
    }

    @Test func `a line of exactly the limit passes with any end, one byte more does not`() {
        let limit = 10
        for end in ["\n", "\r\n", "", "\r"] {
            #expect(
                events([[UInt8](repeating: 0x78, count: limit) + Array(end.utf8)], limit: limit).map { $0 != .oversize }
                    == [true])
            #expect(events([[UInt8](repeating: 0x78, count: limit + 1) + Array(end.utf8)], limit: limit) == [.oversize])
        }
    }

    // MARK: Oversize

    @Test func `an endless line is said once, skipped in constant memory, and the next line is read`() {
        var driver = Driver(limit: 1000)
        let chunk = [UInt8](repeating: 0x78, count: 700)
        for _ in 0..<5000 { driver.feed(chunk) }
        #expect(driver.events == [.oversize])
        #expect(driver.framer.isSkipping)
        #expect(driver.largest <= 1000 + 1 + 700)
        driver.feed(Array("end\nnext\n".utf8))
        #expect(driver.events == [.oversize, .line(Array("next".utf8))])
        #expect(!driver.framer.isSkipping)
        driver.feed(chunk + chunk)
        driver.end()
        #expect(driver.events == [.oversize, .line(Array("next".utf8)), .oversize])
    }

    @Test func `it is said before the line has ended`() {
        var driver = Driver(limit: 4)
        driver.feed(Array("12345".utf8))
        // The fifth byte could have been the CR of a line end.
        #expect(driver.events == [])
        driver.feed(Array("6".utf8))
        #expect(driver.events == [.oversize])
    }

    // MARK: Scanning and putting back

    @Test func `bytes that are known to hold no line end are not searched again`() {
        var framer = LineFramer(limit: 100)
        var buffer = Array("abcdef".utf8)
        #expect(buffer.withBytes { framer.next(in: $0) } == .incomplete)
        // Had it looked again, it would find this one.
        buffer[2] = 0x0A
        buffer += Array("gh\n".utf8)
        #expect(buffer.withBytes { framer.next(in: $0) } == .line(lower: 0, upper: 8))
    }

    @Test func `a line that was put back is the next one again, also after the front was dropped`() {
        var framer = LineFramer(limit: 100)
        var buffer = Array("one\ntwo\nthree\nfo".utf8)
        func next() -> LineFramer.Frame { buffer.withBytes { framer.next(in: $0) } }
        #expect(next() == .line(lower: 0, upper: 3))
        #expect(next() == .line(lower: 4, upper: 7))
        framer.putBack(to: 4)
        #expect(framer.consumed == 4)
        buffer.removeFirst(framer.consumed)
        framer.rebase()
        #expect(next() == .line(lower: 0, upper: 3))
        #expect(next() == .line(lower: 4, upper: 9))
        #expect(next() == .incomplete)
        framer.putBack(to: 4)
        #expect(next() == .line(lower: 4, upper: 9))
        buffer += Array("ur\n".utf8)
        #expect(next() == .line(lower: 10, upper: 14))
        #expect(next() == .incomplete && framer.consumed == buffer.count)
    }

    @Test func `a copy of the framer taken before a turn brings the turn's lines again`() {
        var framer = LineFramer(limit: 100)
        let buffer = Array("a\nb\nc".utf8)
        let before = framer
        func lines() -> [LineFramer.Frame] {
            buffer.withBytes { bytes in (0..<3).map { _ in framer.next(in: bytes) } }
        }
        let first = lines()
        framer = before
        #expect(lines() == first && first == [.line(lower: 0, upper: 1), .line(lower: 2, upper: 3), .incomplete])
    }
}

@Suite struct LineFramerAbandonTests {
    @Test func `a line that is given up is skipped to its end, and the next one is a line again`() {
        var framer = LineFramer(limit: 100)
        var bytes = Array("{\"half".utf8)
        bytes.withBytes {
            #expect(framer.next(in: $0) == .incomplete)
            let (isFirst, isSecond) = (framer.abandon(in: $0), framer.abandon(in: $0))
            #expect(isFirst && !isSecond)
        }
        #expect(framer.isSkipping)
        #expect(framer.consumed == bytes.count)
        framer.rebase()
        bytes = Array("rest}\n{}\n".utf8)
        bytes.withBytes {
            #expect(framer.next(in: $0) == .line(lower: 6, upper: 8))
            #expect(framer.next(in: $0) == .incomplete)
        }
        #expect(!framer.isSkipping)
    }

    @Test func `there is nothing to give up between two lines`() {
        var framer = LineFramer(limit: 100)
        Array("{}\n".utf8).withBytes {
            #expect(framer.next(in: $0) == .line(lower: 0, upper: 2))
            let isGivenUp = framer.abandon(in: $0)
            #expect(!isGivenUp)
        }
        #expect(!framer.isSkipping)
    }
}
