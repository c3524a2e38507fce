import KuraBytes
import Testing

struct Base64Tests {
    private func encode(_ bytes: [UInt8]) -> String {
        var output = ByteBuffer()
        bytes.withBytes { Base64.encode($0, into: &output) }
        return String(decoding: output.bytes, as: UTF8.self)
    }

    private func decode(_ text: String) -> [UInt8]? {
        var output = ByteBuffer()
        let isGood = text.withBytes { Base64.decode($0, into: &output) }
        return isGood ? Array(output.bytes) : nil
    }

    /// Source: RFC 4648, 10.
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors of RFC 4648 go both ways`(_ plain: String, _ text: String) {
        #expect(encode(Array(plain.utf8)) == text)
        #expect(decode(text) == Array(plain.utf8))
    }

    @Test func `every byte goes both ways`() {
        for count in 0..<260 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) }
            #expect(decode(encode(bytes)) == bytes)
        }
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Z", "Zm9v=", "Zg==Zg==", "Zh==", "Zm9=", "Zm 9", "Zm9v\n", "Zm-_", "====", "=Zg=",
    ])
    func `what is no base64 is refused`(_ text: String) {
        #expect(decode(text) == nil)
    }
}
