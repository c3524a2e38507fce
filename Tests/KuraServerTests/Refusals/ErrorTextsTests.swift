import KuraBytes
import KuraProtocol
import Testing

@testable import KuraServer

/// The texts that an error points at.
@Suite struct ErrorTextsTests {
    private func text(_ bytes: Bytes?) -> String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func `an error has all of its texts at once`() {
        var texts = ErrorTexts()
        var error = texts.fault(.schemaViolation, path: "/a/0", "is no number", limit: 3)
        texts.name(document: bytes("d1"), in: &error)
        texts.name(index: bytes("byName"), in: &error)
        texts.name(referrer: bytes("c"), field: bytes("f"), ids: [bytes("x"), bytes("\"y")], count: 7, in: &error)
        let grant = texts.missing([.read], .documents, scope: bytes("scope"))
        #expect(error.kind == .schemaViolation && error.limit == 3)
        #expect(text(error.path) == "/a/0")
        #expect(text(error.explanation) == "is no number")
        #expect(text(error.documentID) == "d1")
        #expect(text(error.indexName) == "byName")
        #expect(text(error.referrer) == #""collection":"c","field":"f","ids":["x","\"y"],"count":7"#)
        #expect(text(grant.scope) == "scope" && grant.verbs == [.read])
    }

    @Test func `a text takes the place of the one before in the same member`() {
        var texts = ErrorTexts()
        _ = texts.fault(.invalidParams, path: "/a/long/path", "a long reason")
        var error = RPCError(.invalidParams)
        texts.point(&error, at: "/b")
        texts.explain(&error, "why")
        #expect(text(error.path) == "/b" && text(error.explanation) == "why")
        texts.name(referrer: bytes("one"), field: bytes("f"), ids: [bytes("x")], count: 1, in: &error)
        texts.name(referrer: bytes("two"), ids: [bytes("y")], in: &error)
        #expect(text(error.referrer) == #""collection":"two","ids":["y"]"#)
    }

    @Test func `the element of a list and its member are a pointer`() {
        var texts = ErrorTexts()
        var error = RPCError(.invalidParams)
        texts.point(&error, at: 12)
        #expect(text(error.path) == "/12")
        texts.point(&error, at: 3, member: bytes("a/b~c"))
        #expect(text(error.path) == "/3/a~1b~0c")
    }

    @Test func `an empty pointer names the whole value`() {
        var texts = ErrorTexts()
        let error = texts.fault(.invalidParams, path: "", "why")
        #expect(error.path?.count == 0)
    }
}
