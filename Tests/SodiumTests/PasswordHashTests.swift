import KuraBytes
import Testing

@testable import Sodium

@Suite struct PasswordHashTests {
    private struct Vector {
        var passphrase: String
        var salt: String
        var passes: Int
        var memoryBytes: Int
        var hash: String
    }

    /// Of libsodium's own tests (test/default/pwhash_argon2id.c and .exp); salts are the first 16 bytes of theirs.
    private static let vectors = [
        Vector(
            passphrase: "b540beb016a5366524d4605156493f9874514a5aa58818cd0c6dfffaa9e90205f17b",
            salt: "44071f6d181561670bda728d43fb79b4", passes: 1, memoryBytes: 1_631_659,
            hash: """
                7fb72409b0987f8190c3729710e98c3f80c5a8727d425fdcde7f3644d467fe973f5b5fee683bd3fce812cb9ae5e9921a2d06c2f1905e4e\
                839692f2b934b682f11a2fe2b90482ea5dd234863516dba6f52dc0702d324ec77d860c2e181f84472bd7104fedce071ffa93c5309494ad\
                51623d214447a7b2b1462dc7d5d55a1f6fd5b54ce024118d86f0c6489d16545aaa87b6689dad9f2fb47fda9894f8e12b87d978b483ccd4\
                cc5fd9595cdc7a818452f915ce2f7df95ec12b1c72e3788d473441d884f9748eb14703c21b45d82fd667b85f5b2d98c13303b3fe762855\
                31a826b6fc0fe8e3dddecf
                """),
        Vector(
            passphrase:
                "4a857e2ee8aa9b6056f2424e84d24a72473378906ee04a46cb05311502d5250b82ad86b83c8f20a23dbb74f6da60b0b6ecffd67134d45946ac8ebfb3064294bc097d43ced68642bfb8bbbdd0f50b30118f5e",
            salt: "39d82eef32010b8b79cc5ba88ed539fb", passes: 3, memoryBytes: 1_432_947,
            hash: """
                08d8cd330c57e1b4643241d05bb468ba4ee4e932cd0858816be9ef15360b27bbd06a87130ee92222be267a29b81f5ae8fe8613324cfc48\
                32dc49387fd0602f1c57b4d0f3855db94fb7e12eb05f9a484aed4a4307abf586cd3d55c809bc081541e00b682772fb2066504ff935b8eb\
                c551a2083882f874bc0fae68e56848ae34c91097c3bf0cca8e75c0797eef3efde3f75e005815018db3cf7c109a812264c4de69dcb22322\
                dbbcfa447f5b00ecd1b04a7be1569c8e556adb7bba48adf81d
                """),
        Vector(
            passphrase:
                "a14975c26c088755a8b715ff2528d647cd343987fcf4aa25e7194a8417fb2b4b3f7268da9f3182b4cfb22d138b2749d673a47ecc7525dd15a0a3c66046971784bb63d7eae24cc84f2631712075a10e10a96b0e0ee67c43e01c423cb9c44e5371017e9c496956b632158da3fe12addecb88912e6759bc37f9af2f45af72c5cae3b179ffb676a697de6ebe45cd4c16d4a9d642d29ddc0186a0a48cb6cd62bfc3dd229d313b301560971e740e2cf1f99a9a090a5b283f35475057e96d7064e2e0fc81984591068d55a3b4169f22cccb0745a2689407ea1901a0a766eb99",
            salt: "3d968b2752b8838431165059319f3ff8", passes: 3, memoryBytes: 1_784_128,
            hash: """
                4e702bc5f891df884c6ddaa243aa846ce3c087fe930fef0f36b3c2be34164ccc295db509254743f18f947159c813bcd5dd8d94a3aec93b\
                be57605d1fad1aef1112687c3d4ef1cb329d21f1632f626818d766915d886e8d819e4b0b9c9307f4b6afc081e13b0cf31db382ff1bf05a\
                16aac7af696336d75e99f82163e0f371e1d25c4add808e215697ad3f779a51a462f8bf52610af21fc69dba6b072606f2dabca7d4ae1d91\
                d919
                """),
    ]

    @Test func `hashes are libsodium's Argon2id`() {
        for vector in Self.vectors {
            let expected = Array(hex: vector.hash)
            var hash = [UInt8](repeating: 0, count: expected.count)
            let isDone = Array(hex: vector.passphrase).withBytes { passphrase in
                Array(hex: vector.salt).withBytes {
                    PasswordHash.hash(
                        passphrase, $0, passes: vector.passes, memoryBytes: vector.memoryBytes, to: &hash,
                        count: hash.count)
                }
            }
            #expect(isDone && hash == expected)
        }
    }

    private func key(_ passphrase: String, _ salt: [UInt8], _ parameters: PasswordHash.Parameters) throws -> SecretKey {
        try passphrase.withBytes { (passphrase) throws(SodiumError) in
            try salt.withBytes { (salt) throws(SodiumError) in
                try PasswordHash.key(from: passphrase, salt: salt, parameters)
            }
        }
    }

    @Test func `passphrase, salt and parameters all count`() throws {
        let parameters = try PasswordHash.Parameters(passes: 1, memoryBytes: 8 << 20)
        let salt = Randomness.bytes(16)
        let same = try key("words", salt, parameters)
        #expect(try key("words", salt, parameters).equals(same))
        #expect(try !key("word", salt, parameters).equals(same))
        #expect(try !key("words", Randomness.bytes(16), parameters).equals(same))
        #expect(try !key("words", salt, try .init(passes: 2, memoryBytes: 8 << 20)).equals(same))
        #expect(try !key("words", salt, try .init(passes: 1, memoryBytes: 9 << 20)).equals(same))
        #expect(throws: SodiumError.malformed) { try key("words", [1, 2], parameters) }
    }

    @Test func `parameters that would take all memory or never end are refused when they are read`() throws {
        let bad = [
            (0, 8 << 20), (-1, 8 << 20), (65, 8 << 20), (1, 0), (1, -1), (1, (8 << 20) - 1024), (1, (1 << 30) + 1024),
            (1, (8 << 20) + 1), (9, 1 << 30), (.max, .max), (64, 256 << 20), (1, .max - 1023),
        ]
        for (passes, memory) in bad {
            #expect(throws: SodiumError.unacceptableParameters, "\(passes), \(memory)") {
                try PasswordHash.Parameters(passes: passes, memoryBytes: memory)
            }
        }
        for (passes, memory) in [(1, 8 << 20), (64, 8 << 20), (8, 1 << 30), (3, 256 << 20)] {
            #expect(throws: Never.self) { try PasswordHash.Parameters(passes: passes, memoryBytes: memory) }
        }
    }

    @Test func `the usual parameters are MODERATE, and never take more memory than they may`() throws {
        let usual = try #require(PasswordHash.Parameters.moderate())
        #expect(usual.passes == 3 && usual.memoryBytes == 256 << 20)
        #expect(PasswordHash.Parameters.moderate(within: 1 << 40) == usual)
        #expect(PasswordHash.Parameters.moderate(within: (8 << 20) - 1) == nil)
        #expect(PasswordHash.Parameters.moderate(within: 0) == nil)
        for limit in stride(from: 8 << 20, through: 300 << 20, by: 7_654_321) {
            let found = try #require(PasswordHash.Parameters.moderate(within: limit))
            #expect(found.memoryBytes <= limit)
            // As much work, as far as passes go.
            #expect(found.passes == 64 || found.passes * found.memoryBytes >= 3 * (256 << 20))
        }
    }
}
