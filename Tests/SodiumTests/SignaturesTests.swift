import KuraBytes
import Testing

@testable import Sodium

/// Codes, hashes, signatures and boxes against public facts.
@Suite struct SignaturesTests {
    /// RFC 4231, cases 1 and 2, cut to 32 bytes; HMAC fills shorter keys up with zeros.
    @Test func `codes are HMAC-SHA-512's first half`() throws {
        let cases = [
            (
                [UInt8](repeating: 0x0B, count: 20), "Hi There",
                "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
            ),
        ]
        for (bytes, text, expected) in cases {
            let key = SecretKey.known(bytes + [UInt8](repeating: 0, count: 32 - bytes.count))
            let code = output { buffer in text.withBytes { MAC.append($0, key: key, to: &buffer) } }
            #expect(code.hex == expected)
            func verifies(_ code: [UInt8], _ text: String) -> Bool {
                code.withBytes { code in text.withBytes { MAC.verify(code, of: $0, key: key) } }
            }
            #expect(verifies(code, text))
            #expect(!verifies(code, text + " ") && !verifies(Array(code.dropLast()), text) && !verifies([], text))
            for position in code.indices {
                var other = code
                other[position] ^= 1
                #expect(!verifies(other, text))
            }
        }
    }

    /// Made by Python's `hashlib.blake2b(text, key=bytes(range(32)), digest_size=32)`.
    @Test func `keyed hashes are BLAKE2b's`() {
        let key = SecretKey.known((0..<32).map { $0 })
        let cases = [
            ([], "4e51e7a913fc80137da52880fecca175bf81e117d5c68126dc2774033517ea0d"),
            (Array("abc".utf8), "d63a32d3e44738d7907f964316c241adaba0abfeabc32349677578a15a203f7f"),
            (
                (0..<1000).map { UInt8($0 % 251) },
                "bf9c0d3a2590251349ad634ad07f03958d0be63d5f9533daf62752de734b2c76"
            ),
        ]
        for (text, expected) in cases {
            #expect(output { buffer in text.withBytes { KeyedHash.append($0, key: key, to: &buffer) } }.hex == expected)
            var pieces = KeyedHash(key: key)
            for piece in stride(from: 0, to: text.count, by: 13) {
                Array(text[piece..<min(piece + 13, text.count)]).withBytes { pieces.update($0) }
            }
            var digest = ByteBuffer()
            pieces.finish(to: &digest)
            #expect(digest.bytes.array.hex == expected)
        }
    }

    /// RFC 8032, 7.1, tests 1 and 2.
    @Test func `signatures are Ed25519's`() throws {
        let cases: [(String, String, [UInt8], String)] = [
            (
                "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", [],
                "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
            ),
            (
                "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", [0x72],
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ]
        for (seed, publicKey, message, expected) in cases {
            let pair = SigningKeyPair(seed: .known(hex: seed))
            #expect(pair.publicKey.hex == publicKey)
            let signature = output { buffer in message.withBytes { pair.sign($0, to: &buffer) } }
            #expect(signature.hex == expected)
            func verifies(_ signature: [UInt8], _ message: [UInt8], _ key: [UInt8]) -> Bool {
                signature.withBytes { signature in
                    message.withBytes { message in
                        key.withBytes { SigningKeyPair.verify(signature, of: message, publicKey: $0) }
                    }
                }
            }
            #expect(verifies(signature, message, pair.publicKey))
            #expect(!verifies(signature, message + [0], pair.publicKey))
            #expect(!verifies(Array(signature.dropLast()), message, pair.publicKey))
            #expect(!verifies(signature, message, Array(pair.publicKey.dropLast())))
            for position in signature.indices {
                var other = signature
                other[position] ^= 1
                #expect(!verifies(other, message, pair.publicKey))
            }
        }
    }

    /// The pair of a seed is X25519's for the first half of its SHA-512; made by RFC 7748's ladder in Python.
    @Test func `a seed makes libsodium's pair`() throws {
        let pair = try BoxKeyPair(
            seed: .known(hex: "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"))
        #expect(pair.publicKey.hex == "ed7749b4d989f6957f3bfde6c56767e988e21c9f8784d91d610011cd553f9b06")
        #expect(
            pair.secretKey.array.hex != "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    }

    private func seal(_ text: [UInt8], _ recipient: [UInt8]) throws -> [UInt8] {
        try output { buffer in
            try text.withBytes { text in
                try recipient.withBytes { try SealedBox.seal(text, for: $0, to: &buffer) }
            }
        }
    }

    private func open(_ sealed: [UInt8], _ pair: BoxKeyPair) throws -> [UInt8] {
        var buffer = SecretBuffer()
        try sealed.withBytes { (sealed) throws(SodiumError) in try SealedBox.open(sealed, into: &buffer, with: pair) }
        return buffer.bytes.array
    }

    @Test func `a sealed box opens with its recipient's pair and with no other, and shows any change`() throws {
        let (pair, other) = (try BoxKeyPair(), try BoxKeyPair())
        let sealed = try seal([1, 2, 3], pair.publicKey)
        #expect(sealed.count == 3 + SealedBox.overhead)
        #expect(try open(sealed, pair) == [1, 2, 3])
        #expect(try open(seal([], pair.publicKey), pair) == [])
        #expect(try seal([1, 2, 3], pair.publicKey) != sealed)
        #expect(throws: SodiumError.forged) { try open(sealed, other) }
        for position in sealed.indices {
            var changed = sealed
            changed[position] ^= 1
            #expect(throws: SodiumError.forged) { try open(changed, pair) }
        }
        for count in 0..<SealedBox.overhead {
            #expect(throws: SodiumError.malformed) { try open(Array(sealed[..<count]), pair) }
        }
    }

    @Test func `nothing is sealed to what is no key`() {
        for recipient in [[], [UInt8](repeating: 1, count: 31), [UInt8](repeating: 0, count: 32)] {
            #expect(throws: SodiumError.unusableKey) { try seal([1], recipient) }
        }
    }

    @Test func `bytes are compared by all of them`() {
        func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            left.withBytes { left in right.withBytes { ConstantTime.equal(left, $0) } }
        }
        #expect(equal([], []) && equal([1, 2], [1, 2]))
        #expect(!equal([1, 2], [1, 3]) && !equal([1, 2], [0, 2]) && !equal([1], [1, 2]))
    }

    @Test func `random numbers stay below their bound and reach every value`() {
        #expect(Set((0..<1000).map { _ in Randomness.number(below: 7) }) == Set(0..<7))
        #expect(Randomness.bytes(16) != Randomness.bytes(16))
        #expect(Randomness.bytes(0).isEmpty)
    }
}
