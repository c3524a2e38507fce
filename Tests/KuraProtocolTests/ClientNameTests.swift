import Testing

@testable import KuraProtocol

@Suite struct ClientNameTests {
    private func bytes(_ field: Field?) -> Int? {
        switch field?.type {
        case .name(let maxBytes)?, .text(let maxBytes)?: maxBytes
        default: nil
        }
    }

    // What the live fuzzer found: a client with a long name and a version was told in more bytes than `client` may have.
    @Test(arguments: ["changes.list", "changes.wait"])
    func `a change's client may be as long as a client and its version together`(method: String) throws {
        let hello = try #require(Method.all.first { $0.name == "session.hello" })
        let client = try #require(bytes(hello.parameters.first { $0.name == "client" }))
        let version = try #require(bytes(hello.parameters.first { $0.name == "version" }))
        let feed = try #require(Method.all.first { $0.name == method })
        guard case .list(of: .object(let change), _)? = feed.result.first(where: { $0.name == "changes" })?.type else {
            Issue.record("changes is a list of objects")
            return
        }
        #expect(bytes(change.first { $0.name == "client" }) == client + 1 + version)
    }
}
