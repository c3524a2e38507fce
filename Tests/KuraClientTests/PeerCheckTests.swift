import Glibc
import KuraProtocol
import Testing

@testable import KuraClient

/// Whom a client takes for the daemon, and how much it takes from whoever answers.
@Suite struct PeerCheckTests {
    /// Somebody who listens in a directory that is the usual place of a user whom there need not be.
    private final class Stranger {
        let folder: String
        let user: UInt32
        let daemon: FakeDaemon

        init(mode: UInt32 = 0o700) throws {
            var template = Array("/tmp/kura-runtime-XXXXXX".utf8CString)
            try #require(mkdtemp(&template) != nil)
            folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            try #require(mkdir(folder + "/kura", 0o700) == 0 && chmod(folder + "/kura", mode) == 0)
            user = geteuid()
            daemon = try FakeDaemon(at: folder + "/kura/kura.sock") { _, connection in
                guard connection.hello() else { return }
                while let line = connection.line() { connection.send(FakeDaemon.reply(line, #"{"pong":true}"#)) }
            }
        }

        deinit {
            unlink(daemon.path)
            rmdir(folder + "/kura")
            rmdir(folder)
        }

        func check(
            named: [UInt32]? = nil, from user: UInt32, _ environment: [String: String] = [:]
        ) throws(ClientError) -> ClientError? {
            let runtime = ["XDG_RUNTIME_DIR": folder]
            let check = try PeerCheck(path: daemon.path, named: named, user: user) {
                (environment.merging(runtime) { $1 })[$0]
            }
            do throws(PeerCheck.Failure) { _ = try check.connect(to: daemon.path) } catch {
                if case .stranger(let error) = error { return error }
            }
            return nil
        }
    }

    @Test func `a named user has to listen, whatever the place is`() throws {
        let stranger = try Stranger(mode: 0o777)
        let (own, other) = (stranger.user, stranger.user + 1)
        #expect(try stranger.check(named: [own], from: own) == nil)
        let refusal = try stranger.check(named: [other, 7], from: own)
        #expect(refusal?.code == .notAllowed)
        #expect(
            refusal?.message
                == "user \(own) listens at \(stranger.daemon.path), and user \(other) or user 7 is expected: nothing was sent"
        )
        #expect(refusal?.hint?.contains("$KURA_PEER_UID") == true)
        #expect(try stranger.check(from: own, ["KURA_PEER_UID": "7,\(own)"]) == nil)
        #expect(try stranger.check(from: own, ["KURA_PEER_UID": "\(other)"]) != nil)
        // What the program says counts.
        #expect(try stranger.check(named: [own], from: own, ["KURA_PEER_UID": "\(other)"]) == nil)
        #expect(try stranger.check(named: [], from: own)?.message.contains("nobody is expected") == true)
    }

    @Test func `what names no user is refused before anybody is connected to`() throws {
        let stranger = try Stranger()
        for text in ["kura", "1,", ",", "-1", "4294967296"] {
            let error = #expect(throws: ClientError.self) {
                try stranger.check(from: stranger.user, ["KURA_PEER_UID": text])
            }
            #expect(error?.code == .notAllowed && error?.message.hasSuffix("not '\(text)'") == true)
        }
        #expect(Client.users("10001") == [10001] && Client.users("0, 7") == [0, 7] && Client.users("") == nil)
    }

    @Test(.enabled(if: geteuid() == 0, "takes root, who may be two users"))
    func `at the usual place the user, root or nobody listens`() throws {
        // Root's usual place is another one.
        let stranger = try Stranger(mode: 0o755)
        #expect(try stranger.check(from: 4242) == nil)
        try #require(chown(stranger.folder + "/kura", 65_534, 0) == 0)
        #expect(
            try stranger.check(from: 4242)?.message.contains("belongs to user 65534, and user 4242 or root") == true)
        try #require(chown(stranger.folder + "/kura", 4242, 0) == 0 && chmod(stranger.folder + "/kura", 0o775) == 0)
        #expect(try stranger.check(from: 4242)?.message.contains("may be written by others (mode 775)") == true)
        #expect(stranger.daemon.lines.withLock { $0.isEmpty })
    }

    @Test(.enabled(if: geteuid() != 0, "takes a user whose usual place is not the host's"))
    func `one's own usual place is taken, and not when others write there`() throws {
        let stranger = try Stranger()
        #expect(try stranger.check(from: stranger.user) == nil)
        #expect(try stranger.check(from: stranger.user + 1) != nil)
        try #require(chmod(stranger.folder + "/kura", 0o770) == 0)
        #expect(try stranger.check(from: stranger.user)?.message.contains("may be written by others") == true)
    }

    @Test func `neither client sends a byte to somebody else`() async throws {
        let stranger = try Stranger()
        let other = [stranger.user + 1]
        let expected =
            "user \(stranger.user) listens at \(stranger.daemon.path), and user \(other[0]) is expected: nothing was sent"
        let error = await #expect(throws: KuraError.self) {
            try await Kura.connect(to: stranger.daemon.path, options: ConnectOptions(peerUIDs: other))
        }
        #expect(error?.kind == .notAllowed && error?.message == expected)
        #expect(error?.advice.contains("$KURA_PEER_UID") == true)
        let refusal = #expect(throws: ClientError.self) {
            var client = try Client.connect(to: stranger.daemon.path, peerUIDs: other)
            _ = try client.call("storage.ping")
        }
        #expect(refusal?.message == expected)
        #expect(stranger.daemon.lines.withLock { $0.isEmpty })
        // The same listener under its own user is served.
        let kura = try await Kura.connect(
            to: stranger.daemon.path, options: ConnectOptions(peerUIDs: [stranger.user]))
        #expect(stranger.daemon.lines(with: "session.hello").count == 1)
        await kura.close()
    }

    /// Answers everything by a line that does not end. What was sent of it when the client hung up is `sent`.
    private static func endless(answersHello: Bool, _ sent: @escaping @Sendable (Int) -> Void) throws -> FakeDaemon {
        try FakeDaemon { _, connection in
            if answersHello, !connection.hello() { return }
            guard connection.line() != nil else { return }
            let block = [UInt8](repeating: 0x78, count: 1 << 20)
            var count = 0
            while case let more = Glibc.send(connection.descriptor, block, block.count, Int32(MSG_NOSIGNAL)), more > 0 {
                count += more
            }
            sent(count)
        }
    }

    @Test(arguments: [false, true])
    func `a line without an end ends the call and the connection`(answersHello: Bool) async throws {
        let (counts, told) = AsyncStream<Int>.makeStream()
        let daemon = try Self.endless(answersHello: answersHello) { told.yield($0) }
        let options = ConnectOptions(timeout: .seconds(300), patience: .zero)
        let error = await #expect(throws: KuraError.self) {
            let kura = try await Kura.connect(to: daemon.path, options: options)
            _ = try await kura.settings["a"].get(SettingKey("k", default: ""))
        }
        #expect(
            error?.kind == .badReply && error?.message.hasPrefix("more than 128 MiB came without a line end") == true)
        let limit = WireLimits.replyLineBytes
        let sent = try #require(await counts.first { _ in true })
        #expect(sent > limit && sent < limit + (16 << 20))
    }

    @Test func `the client that blocks bounds a line, too`() async throws {
        let (counts, told) = AsyncStream<Int>.makeStream()
        let daemon = try Self.endless(answersHello: false) { told.yield($0) }
        var client = try Client.connect(to: daemon.path)
        do throws(ClientError) {
            _ = try client.call("storage.ping")
            Issue.record("there was an answer")
        } catch {
            #expect(error.code == .badReply && error.message.hasPrefix("more than 128 MiB came without a line end"))
        }
        let sent = try #require(await counts.first { _ in true })
        #expect(sent < WireLimits.replyLineBytes + (16 << 20))
    }
}
