import KuraBytes
import Testing

@testable import Sodium

/// Vectors of libsodium's own tests (test/default/kdf.exp): key 00…1f, context "KDF test".
@Suite struct DerivationTests {
    private let root = SecretKey.known((0..<32).map { $0 })
    private let context = KeyContext("KDF test")

    private func derive(_ id: UInt64, _ count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        root.derive(context, id: id, to: &bytes, count: count)
        return bytes.hex
    }

    @Test func `derived keys are crypto_kdf's`() throws {
        #expect(
            try root.derive(context, id: 32).array.hex
                == "154b291f11196737f8b7f491e4ca11764e0227d34f94295408a869f007aa8618")
        let ids = [
            "a0c724404728c8bb95e5433eb6a9716171144d61efb23e74b873fcbeda51d8071b5d70aae12066dfc94ce943f145aa176c055040c3dd73b0a15e36254d450614",
            "02507f144fa9bf19010bf7c70b235b4c2663cc00e074f929602a5e2c10a780757d2a3993d06debc378a90efdac196dd841817b977d67b786804f6d3cd585bab5",
            "1944da61ff18dc2028c3578ac85be904931b83860896598f62468f1cb5471c6a344c945dbc62c9aaf70feb62472d17775ea5db6ed5494c68b7a9a59761f39614",
            "131c0ca1633ed074986215b264f6e0474f362c52b029effc7b0f75977ee89cc95d85c3db87f7e399197a25411592beeeb7e5128a74646a460ecd6deb4994b71e",
        ]
        for (id, expected) in ids.enumerated() { #expect(derive(UInt64(id), 64) == expected) }
        #expect(derive(16, 16) == "a529216624ef9161e4cf117272aafff2")
        #expect(derive(31, 31) == "d6565bd3265b6373f4f6a6b6458e981006da5e9d532ce94ca4737e188995e9")
    }

    @Test func `another context, another id and another key give other keys, the same the same`() throws {
        let key = try root.derive(context, id: 1)
        #expect(key.equals(try root.derive(context, id: 1)))
        #expect(!key.equals(try root.derive(context, id: 2)))
        #expect(!key.equals(try root.derive(KeyContext("KDF tesu"), id: 1)))
        #expect(!key.equals(try key.derive(context, id: 1)))
        #expect(!key.equals(root))
    }
}
