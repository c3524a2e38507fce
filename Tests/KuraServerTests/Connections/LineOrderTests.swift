import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

@Suite struct LineOrderTests {
    private static let text = Array("one\ntwo\nthree\nfour\n".utf8)

    private func next(_ lines: inout LineOrder, _ text: [UInt8] = LineOrderTests.text) -> String? {
        text.withBytes { bytes in
            guard case .line(let lower, let upper) = lines.next(in: bytes) else { return nil }
            return String(decoding: bytes[lower..<upper], as: UTF8.self)
        }
    }

    /// Cuts the lines behind the first, which waits, and says of each what becomes of it.
    private func look(_ lines: inout LineOrder, _ text: [UInt8], _ answers: (String) -> Bool?) -> [String] {
        text.withBytes { bytes in
            var seen: [String] = []
            guard var behind = lines.linesBehind(in: bytes) else { return [] }
            while case .line(let lower, let upper) = behind.next(in: bytes) {
                let line = String(decoding: bytes[lower..<upper], as: UTF8.self)
                seen.append(line)
                switch answers(line) {
                case true?: lines.answer(lower..<behind.consumed)
                case false?: lines.pass(to: behind.consumed)
                case nil: lines.stick(to: behind.consumed)
                }
            }
            return seen
        }
    }

    @Test func `a line that could not be answered is the next one again`() {
        var lines = LineOrder(limit: 100)
        #expect(next(&lines) == "one")
        #expect(next(&lines) == "two")
        lines.putBack(to: 4)
        #expect(next(&lines) == "two")
    }

    @Test func `lines that were answered ahead leave the input, and the others come in their order`() {
        var lines = LineOrder(limit: 100)
        #expect(next(&lines) == "one")
        lines.putBack(to: 0)
        #expect(look(&lines, Self.text) { $0 == "three" ? false : true } == ["two", "three", "four"])
        var text = Self.text
        lines.dropAnswered { text.removeSubrange($0) }
        #expect(String(decoding: text, as: UTF8.self) == "one\nthree\n")
        // Nothing is looked at twice; what comes later is.
        text += Array("five\n".utf8)
        #expect(look(&lines, text) { _ in false } == ["five"])
        lines.begin()
        #expect(next(&lines, text) == "one")
        #expect(next(&lines, text) == "three")
        #expect(next(&lines, text) == "five")
        #expect(next(&lines, text) == nil)
    }

    @Test func `in the turn that answered them they are passed over`() {
        var lines = LineOrder(limit: 100)
        #expect(next(&lines) == "one")
        lines.putBack(to: 0)
        _ = look(&lines, Self.text) { $0 == "two" || $0 == "three" }
        lines.begin()
        #expect(next(&lines) == "one")
        #expect(next(&lines) == "four")
    }

    @Test func `behind a second line that has to wait none is answered because its client takes any order`() {
        var lines = LineOrder(limit: 100)
        lines.isUnordered = true
        #expect(lines.mayAnswerAny)
        #expect(next(&lines) == "one")
        lines.putBack(to: 0)
        _ = look(&lines, Self.text) { $0 == "two" ? nil : false }
        #expect(!lines.mayAnswerAny)
        lines.begin()
        #expect(lines.mayAnswerAny)
    }

    @Test func `a copy from before undoes everything`() {
        var lines = LineOrder(limit: 100)
        let before = lines
        #expect(next(&lines) == "one")
        lines.putBack(to: 0)
        _ = look(&lines, Self.text) { _ in true }
        lines = before
        #expect(!lines.hasAnsweredAhead)
        #expect((0..<4).map { _ in next(&lines) } == ["one", "two", "three", "four"])
    }
}
