import Testing

@testable import KuraStorage

@Suite struct UUIDv7Tests {
    @Test func `identifiers rise, also when the clock stands still or goes back`() {
        var generator = UUIDv7Generator()
        var last = ""
        for step in 0..<20_000 {
            // Forwards, standing still for longer than the counter lasts, and back.
            let time: Int64 =
                step < 100 ? Int64(1_800_000_000_000 + step) : step < 15_000 ? 1_800_000_000_100 : 1_700_000_000_000
            let text = String(decoding: generator.next(at: time), as: UTF8.self)
            #expect(last < text)
            last = text
        }
    }

    @Test func `an identifier has the time, the version and the variant where RFC 9562 puts them`() {
        var generator = UUIDv7Generator()
        let text = String(decoding: generator.next(at: 0x0123_4567_89AB), as: UTF8.self)
        #expect(text.hasPrefix("01234567-89ab-7000-"))
        #expect(text.count == 36)
        #expect("89ab".contains(text[text.index(text.startIndex, offsetBy: 19)]))
        #expect(generator.next(at: 0x0123_4567_89AB) != Array(text.utf8))
    }

    @Test func `a random one is of version 4`() {
        let text = UUIDv7Generator.random()
        #expect(text.wholeMatch(of: #/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/#) != nil)
        #expect(text != UUIDv7Generator.random())
    }
}
