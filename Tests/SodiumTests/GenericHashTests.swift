import KuraBytes
import Sodium
import Testing

struct GenericHashTests {
    private func hash(_ pieces: [[UInt8]]) -> String {
        var hash = GenericHash()
        for piece in pieces { piece.withBytes { hash.update($0) } }
        return hash.finish().map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// Made by `b2sum -l 256` (coreutils).
    @Test func `digests are BLAKE2b's with 256 bits`() {
        #expect(hash([]) == "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8")
        #expect(
            hash([Array("abc".utf8)]) == "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319")
    }

    @Test func `pieces make the digest of the whole`() {
        let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let whole = hash([bytes])
        #expect(hash([Array(bytes[..<1]), [], Array(bytes[1..<70_001]), Array(bytes[70_001...])]) == whole)
        #expect(hash([Array(bytes.dropLast())]) != whole)
    }
}
