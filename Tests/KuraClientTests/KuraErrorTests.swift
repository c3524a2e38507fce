import KuraProtocol
import Testing

@testable import KuraClient

/// What an error says: the daemon's as it says it, the client's own, and what the two say of each other's version.
@Suite struct KuraErrorTests {
    private static func answer(_ kind: String, _ details: String = "") -> KuraError {
        let text = #"{"code":-32000,"message":"no","data":{"kind":"\#(kind)"\#(details)}}"#
        return KuraError(answer: Array(text.utf8), method: "m", requestKey: "k")
    }

    @Test func `each kind of the daemon's is told as itself, with what it says besides`() {
        for kind in ErrorKind.allCases {
            let error = Self.answer("\(kind)", #","hint":"Do this","limit":7"#)
            #expect(error.kind.rawValue == "\(kind)" && error.name == "\(kind)" && error.code == -32000)
            #expect(error.limit == 7 && error.message == "no (limit 7)" && error.requestKey == "k")
            #expect(error.advice.hasPrefix("Do this. ") && error.advice.count > "Do this. ".count, "\(kind)")
            #expect(!error.isRetryable)
        }
        #expect(Self.answer("noSpace", #","retryable":true"#).isRetryable)
        #expect(!Self.answer("noSpace", #","retryable":false"#).isRetryable)
    }

    @Test func `a kind that this client does not know is named, and so is what to do`() {
        let error = Self.answer("tooBlue")
        #expect(error.kind == .unknown && error.name == "tooBlue")
        #expect(error.advice == KuraError(.unknown, "").advice && !error.advice.isEmpty)
        #expect(error != Self.answer("tooRed"))
    }

    @Test func `of the client's own errors those may pass that a daemon's coming back ends`() {
        for kind in KuraError.Kind.allCases {
            #expect(KuraError(kind, "no").isRetryable == [.serverGone, .connectionLost].contains(kind), "\(kind)")
        }
    }

    /// What connecting to a daemon throws that answers `session.hello` so.
    private static func refusal(
        _ hello: @escaping @Sendable (inout FakeDaemon.Connection) -> Void
    ) async throws -> KuraError {
        let fake = try FakeDaemon { _, connection in
            hello(&connection)
            _ = connection.line()
        }
        return try #require(await #expect(throws: KuraError.self) { try await Kura.connect(to: fake.path) })
    }

    @Test func `a mismatch names both versions and says what to do`() async throws {
        let newer = try await Self.refusal { _ = $0.hello(protocol: 2) }
        #expect(newer.kind == .versionMismatch && newer.advice == "Update the older one of daemon and client.")
        #expect(newer.message.contains("kurad 9 speaks version 2 of the protocol, this client version 1"))
        // One that does not know the introduction, or something of it.
        for kind in ["methodNotFound", "invalidParams"] {
            let other = try await Self.refusal { connection in
                if let line = connection.line() { connection.send(FakeDaemon.error(line, kind)) }
            }
            #expect(other.kind == .versionMismatch && other.advice == newer.advice, "\(kind)")
        }
        // What is wrong with what the application calls itself is no other version.
        let unnamed = try await Self.refusal { connection in
            guard let line = connection.line() else { return }
            connection.send(FakeDaemon.error(line, "invalidParams", #","parameter":"client""#))
        }
        #expect(unnamed.kind == .invalidParams && unnamed.parameter == "client")
    }
}
