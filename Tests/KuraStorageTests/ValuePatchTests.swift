import KuraBytes
import Testing

@testable import KuraStorage

@Suite struct ValuePatchTests {
    private func patch(_ base: [UInt8], _ value: [UInt8], limit: Int = .max) -> [UInt8]? {
        var buffer = ByteBuffer()
        buffer.append("before")
        let isMade = base.withBytes { base in
            value.withBytes { ValuePatch.append(from: base, rev: 7, to: $0, limit: limit, into: &buffer) }
        }
        #expect(isMade || buffer.count == 6, "what is not made leaves nothing")
        return isMade ? Array(buffer.bytes.dropFirst(6)) : nil
    }

    private func apply(_ patch: [UInt8], to base: [UInt8]) -> [UInt8]? {
        var value = ByteBuffer()
        let isWhole = patch.withBytes { patch in base.withBytes { ValuePatch.apply(patch, to: $0, into: &value) } }
        return isWhole ? Array(value.bytes) : nil
    }

    private static func document(_ generator: inout SplitMix) -> [UInt8] {
        let members = (0..<Int.random(in: 4...40, using: &generator)).map { number in
            "\"m\(number)\":\(Int.random(in: 0...99_999, using: &generator))"
        }
        return Array("{\(members.joined(separator: ",")),\"long\":\"\(String(repeating: "x", count: 300))\"}".utf8)
    }

    @Test func `whatever is changed in a value, the patch makes it of the one before`() throws {
        var generator = SplitMix(state: 31)
        for round in 0..<400 {
            let base = Self.document(&generator)
            var value = base
            for _ in 0..<Int.random(in: 0...6, using: &generator) {
                let place = Int.random(in: 0...value.count, using: &generator)
                let gone = Int.random(in: 0...min(30, value.count - place), using: &generator)
                let come = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                    UInt8.random(in: 32...126, using: &generator)
                }
                value.replaceSubrange(place..<place + gone, with: come)
            }
            let made = try #require(patch(base, value))
            #expect(apply(made, to: base) == value, "round \(round)")
            #expect(made.withBytes { ValuePatch.base(of: $0) } == 7)
        }
    }

    @Test func `a patch costs what differs and little more`() throws {
        let rest = String(repeating: "\"text\":\"all the same\",", count: 20_000)
        let base = Array("{\"n\":41,\(rest)\"at\":\"2026-01-01T00:00:00Z\"}".utf8)
        let value = Array("{\"n\":1042,\(rest)\"at\":\"2026-01-01T00:00:01Z\"}".utf8)
        let made = try #require(patch(base, value))
        #expect(made.count <= ValuePatch.headLength + 40)
        #expect(apply(made, to: base) == value)
    }

    @Test(arguments: [[], Array("abc".utf8)], [[], Array("abd".utf8), Array("abc".utf8)])
    func `short values, and none, are made as well`(base: [UInt8], value: [UInt8]) throws {
        #expect(apply(try #require(patch(base, value)), to: base) == value)
    }

    @Test func `what would be longer than allowed, or differs in too many places, is left`() {
        let base = [UInt8](repeating: UInt8(ascii: "a"), count: 4000)
        let other = [UInt8](repeating: UInt8(ascii: "b"), count: 4000)
        #expect(patch(base, other, limit: 1000) == nil)
        var scattered = base
        for place in stride(from: 0, to: 4000, by: 40) { scattered[place] = UInt8(ascii: "c") }
        #expect(patch(base, scattered) == nil)
    }

    @Test func `whatever byte of a patch or its base is another, nothing else is made of it`() throws {
        var generator = SplitMix(state: 5)
        let base = Self.document(&generator)
        var value = base
        value.replaceSubrange(20..<30, with: Array("another".utf8))
        let made = try #require(patch(base, value))
        for place in made.indices {
            for bit in 0..<8 {
                var damaged = made
                damaged[place] ^= 1 << bit
                let found = apply(damaged, to: base)
                #expect(found == nil || found == value, "byte \(place)")
            }
            #expect(apply(Array(made[..<place]), to: base) == nil)
        }
        for place in base.indices {
            var damaged = base
            damaged[place] ^= 4
            let found = apply(made, to: damaged)
            #expect(found == nil || found == value, "byte \(place)")
        }
    }
}
