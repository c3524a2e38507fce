import KuraBytes
import Testing

@testable import KuraServer

/// Request keys as they are kept, and the records of what requests with them were answered.
@Suite struct KeyedRequestTests {
    private static let digest = String(repeating: "01234567", count: 5)
    private func text(_ bytes: Bytes) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test func `a key is kept with the role that it belongs to`() {
        var keyed = KeyedRequest()
        let own = text(keyed.key(Bytes("k"), role: "reader"))
        let other = text(keyed.key(Bytes("k"), role: "writer"))
        let admin = text(keyed.key(Bytes("k"), role: nil))
        #expect(own == "k\u{1F}reader" && other == "k\u{1F}writer" && admin == "k")
    }

    @Test func `a request is about secrets when its method or an operation is, and the next one begins anew`() {
        var keyed = KeyedRequest()
        keyed.begin(isAboutSecrets: true)
        let byMethod = keyed.isAboutSecrets
        keyed.begin(isAboutSecrets: false)
        let next = keyed.isAboutSecrets
        keyed.meetsSecrets()
        let byOperation = keyed.isAboutSecrets
        #expect(byMethod && !next && byOperation)
    }

    @Test func `a record tells its result to its own method, with a digest and without`() {
        for digest in ["", Self.digest] {
            var keyed = KeyedRequest()
            let record = digest.withBytes { digest in
                Array(
                    keyed.record(
                        Bytes("{\"rev\":7}"), method: Bytes("a.put"), digest: digest.isEmpty ? nil : digest))
            }
            record.withBytes { record in
                let found = RecordedResult(record, method: Bytes("a.put"))
                #expect(found.map { text($0.result) } == "{\"rev\":7}")
                #expect(found?.digest.map { text($0) } ?? "" == digest)
                for method in ["a.pu", "a.puts", "b.put"] {
                    method.withBytes { #expect(RecordedResult(record, method: $0)?.result == nil) }
                }
            }
        }
    }

    @Test func `what is no record is nobody's`() {
        for text in ["", "[]", "[\"\"]", "[\"a.put\"]", "[\"\(Self.digest)\"]", "[\"\(Self.digest)\",\"a.put\"]"] {
            text.withBytes { #expect(RecordedResult($0, method: Bytes("a.put"))?.result == nil) }
        }
    }

    @Test func `a record is made anew, whatever came before`() {
        var keyed = KeyedRequest()
        let long = [UInt8](repeating: 0x31, count: 100_000)
        let first = Array(long.withBytes { keyed.record($0, method: Bytes("a.put"), digest: nil) })
        keyed.end()
        let second = Array(keyed.record(Bytes("1"), method: Bytes("a.put"), digest: nil))
        #expect(first.count == long.count + 10 && String(decoding: second, as: UTF8.self) == "[\"a.put\",1]")
    }
}
