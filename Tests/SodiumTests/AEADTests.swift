import KuraBytes
import KuraJSON
import KuraProtocol
import KuraTestSupport
import Testing

@testable import Sodium

/// Google's and C2SP's Wycheproof.
private enum Wycheproof {
    private static let file = "wycheproof/testvectors_v1/xchacha20_poly1305_test.json"

    static var isThere: Bool { Suites.has(file) }

    struct Case {
        var number: String
        var key, nonce, associated, message, ciphertext, tag: [UInt8]
        var isValid: Bool
    }

    static func cases() -> [Case] {
        guard let bytes = Suites.contents(of: file) else { return [] }
        var compact = ByteBuffer()
        bytes.withBytes { JSONText.compact($0, into: &compact) }
        var cases: [Case] = []
        for group in member("testGroups", StoredValue(compact.bytes))?.elements ?? StoredValue(Bytes()).elements {
            for test in member("tests", group)?.elements ?? StoredValue(Bytes()).elements {
                func text(_ name: String) -> String { String(member(name, test)?.quoted ?? Bytes()) }
                func bytes(_ name: String) -> [UInt8] { Array(hex: text(name)) }
                cases.append(
                    Case(
                        number: String(member("tcId", test)?.text ?? Bytes()), key: bytes("key"), nonce: bytes("iv"),
                        associated: bytes("aad"), message: bytes("msg"), ciphertext: bytes("ct"), tag: bytes("tag"),
                        isValid: text("result") == "valid"))
            }
        }
        return cases
    }

    private static func member(_ name: String, _ value: StoredValue) -> StoredValue? {
        value.members.first { String($0.name) == name }?.value
    }
}

@Suite struct AEADTests {
    private func seal(_ text: [UInt8], _ key: SecretKey, _ associated: [UInt8] = []) -> [UInt8] {
        output { buffer in
            text.withBytes { text in associated.withBytes { AEAD.seal(text, to: &buffer, key: key, associated: $0) } }
        }
    }

    private func open(_ sealed: [UInt8], _ key: SecretKey, _ associated: [UInt8] = []) -> Result<[UInt8], SodiumError> {
        var buffer = SecretBuffer()
        do throws(SodiumError) {
            try sealed.withBytes { (sealed) throws(SodiumError) in
                try associated.withBytes { (associated) throws(SodiumError) in
                    try AEAD.open(sealed, into: &buffer, key: key, associated: associated)
                }
            }
            return .success(buffer.bytes.array)
        } catch {
            #expect(buffer.count == 0)
            return .failure(error)
        }
    }

    @Test(.enabled(if: Wycheproof.isThere, "no Wycheproof vectors: set KURA_SUITES"))
    func `Wycheproof's 315 cases are sealed and opened as they say, and the 69 invalid ones refused`() {
        let cases = Wycheproof.cases()
        #expect(cases.count == 315 && cases.count { !$0.isValid } == 69)
        for test in cases {
            let key = SecretKey.known(test.key)
            let sealed = test.nonce + test.ciphertext + test.tag
            let opened = open(sealed, key, test.associated)
            guard test.isValid else {
                #expect(opened == .failure(.forged) || opened == .failure(.malformed), "case \(test.number)")
                continue
            }
            #expect(opened == .success(test.message), "case \(test.number)")
            let made = output { buffer in
                test.nonce.withBytes { buffer.append($0) }
                test.message.withBytes { message in
                    test.associated.withBytes {
                        AEAD.sealBehindNonce(message, to: &buffer, key: key, associated: $0)
                    }
                }
            }
            #expect(made == sealed, "case \(test.number)")
        }
    }

    @Test func `what was sealed comes back, whatever its length`() throws {
        let key = try SecretKey()
        for count in [0, 1, 15, 16, 17, 63, 64, 65, 1000, 1 << 20] {
            let text = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            let sealed = seal(text, key, [1, 2])
            #expect(sealed.count == count + AEAD.overhead)
            #expect(open(sealed, key, [1, 2]) == .success(text))
        }
    }

    @Test func `any flipped bit, another key, other associated data and any cut are refused`() throws {
        let key = try SecretKey()
        let sealed = seal(Array("a secret".utf8), key, [1, 2])
        for position in sealed.indices {
            for bit in 0..<8 {
                var other = sealed
                other[position] ^= 1 << UInt8(bit)
                #expect(open(other, key, [1, 2]) == .failure(.forged))
            }
        }
        #expect(open(sealed, try SecretKey(), [1, 2]) == .failure(.forged))
        for associated in [[], [1], [1, 2, 0], [2, 1]] as [[UInt8]] {
            #expect(open(sealed, key, associated) == .failure(.forged))
        }
        for count in 0..<sealed.count {
            #expect(
                open(Array(sealed[..<count]), key, [1, 2]) == .failure(count < AEAD.overhead ? .malformed : .forged))
        }
    }

    @Test func `no two seals are alike`() throws {
        let key = try SecretKey()
        let seals = Set((0..<1000).map { _ in seal([1, 2, 3], key) })
        #expect(seals.count == 1000)
        #expect(Set(seals.map { Array($0[..<AEAD.nonceBytes]) }).count == 1000)
    }

    @Test func `a key that was sealed comes back, and nothing else passes for one`() throws {
        let (key, inner) = (try SecretKey(), try SecretKey())
        let sealed = output { AEAD.seal(key: inner, to: &$0, key: key) }
        #expect(sealed.count == AEAD.sealedKeyBytes)
        #expect(try sealed.withBytes { try AEAD.openKey($0, key: key) }.equals(inner))
        #expect(throws: SodiumError.forged) { try sealed.withBytes { try AEAD.openKey($0, key: inner) } }
        let longer = seal([UInt8](repeating: 1, count: 33), key)
        #expect(throws: SodiumError.malformed) { try longer.withBytes { try AEAD.openKey($0, key: key) } }
    }

    @Test func `what was in the buffer before stays, when opening works and when it does not`() throws {
        let key = try SecretKey()
        let sealed = seal([4, 5], key)
        var buffer = SecretBuffer()
        buffer.append(9)
        try sealed.withBytes { try AEAD.open($0, into: &buffer, key: key) }
        #expect(buffer.bytes.array == [9, 4, 5])
        let other = try SecretKey()
        #expect(throws: SodiumError.forged) {
            try sealed.withBytes { (sealed) throws(SodiumError) in try AEAD.open(sealed, into: &buffer, key: other) }
        }
        #expect(buffer.bytes.array == [9, 4, 5])
    }
}
