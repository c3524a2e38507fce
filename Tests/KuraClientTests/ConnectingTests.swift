import CSyscalls
import Glibc
import KuraClient
import Synchronization
import Testing

/// What a client does while a daemon takes no connection: one that is stopped, with as many waiting as its queue holds.
@Suite struct ConnectingTests {
    /// Connections that nobody takes, as many as a listener's queue has room for.
    private final class Crowd {
        private var descriptors: [Int32] = []

        /// Fills the queue up.
        init(at path: String) throws {
            while true {
                let descriptor = csys_stream_socket()
                try #require(descriptor >= 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
                descriptors.append(descriptor)
                guard csys_connect_unix(descriptor, path) != 0 else { continue }
                try #require(errno == EAGAIN)
                return
            }
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }

    /// Something that one side does and the other waits for.
    private final class Step: Sendable {
        private let isDone = Mutex(false)

        func reached() { isDone.withLock { $0 = true } }

        /// Blocks the thread.
        func wait() { while !isDone.withLock({ $0 }) { usleep(1_000) } }
    }

    @Test(.timeLimit(.minutes(1)))
    func `an introduction with any number of limits is read in no more time than its length takes`() async throws {
        let limits = (0..<100_000).map { "\"limit\($0)\":\($0)" }.joined(separator: ",")
        let fake = try FakeDaemon { _, connection in
            guard connection.line() != nil else { return }
            let text =
                #"{"jsonrpc":"2.0","id":0,"result":{"server":"kurad","version":"9","protocol":1,"limits":{\#(limits),"none":"x"}}}"#
            var rest = Array((text + "\n").utf8)[...]
            while !rest.isEmpty {
                let sent = Array(rest).withUnsafeBytes {
                    Glibc.send(connection.descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(600)))
        #expect(kura.server?.limits.count == 100_000 && kura.server?.limits["limit99999"] == 99_999)
        await kura.close()
    }

    @Test func `a call has its time while the daemon takes no connection, and the next one is answered when it does`()
        async throws
    {
        let (isFull, hasRoom) = (Step(), Step())
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            if number == 1 {
                isFull.wait()
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                return hasRoom.wait()
            }
            while let line = connection.line() {
                connection.send(
                    #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":{"value":3,"rev":1}}"#)
            }
        }
        // Whatever fails: the fake's thread is waited for.
        defer {
            isFull.reached()
            hasRoom.reached()
        }
        let kura = try await Kura.connect(
            to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(120)))
        var crowd: Crowd? = try Crowd(at: fake.path)
        isFull.reached()
        let app = kura.settings["app"]
        let calls = (1...2).map { seconds in
            Outcome {
                await kind {
                    _ = try await app.get("a", as: Int.self, options: CallOptions(timeout: .seconds(seconds)))
                }
            }
        }
        try await eventually("both are told") { calls.allSatisfy { $0.known != nil } }
        #expect(calls.allSatisfy { $0.known == .noReply })
        withExtendedLifetime(crowd) {}
        crowd = nil
        hasRoom.reached()
        #expect(try await app.get("a", as: Int.self) == 3)
        await kura.close()
    }

    @Test func `a client that waits for a connection can be closed, and connecting has its time`() async throws {
        let isOver = Step()
        let fake = try FakeDaemon { number, connection in
            guard number == 1, connection.hello() else { return }
            _ = connection.line()
            shutdown(connection.descriptor, Int32(SHUT_RDWR))
            isOver.wait()
        }
        defer { isOver.reached() }
        let kura = try await Kura.connect(
            to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(120)))
        let crowd = try Crowd(at: fake.path)
        // The first of them ends the connection.
        let call = Outcome { await kind { _ = try await kura.settings["app"].get("a", as: Int.self) } }
        let path = fake.path
        let connected = Outcome {
            await kind { _ = try await Kura.connect(to: path, options: .init(timeout: .seconds(1))) }
        }
        try await eventually("connecting is given up") { connected.known != nil }
        #expect(connected.known == .serverGone)
        let cancelled = Task { await kind { _ = try await Kura.connect(to: path) } }
        cancelled.cancel()
        let told = Outcome { await cancelled.value }
        try await eventually("so it is when it is cancelled") { told.known != nil }
        #expect(told.known == .cancelled)
        let closing = Outcome { await kura.close() }
        try await eventually("the client is closed") { closing.known != nil && call.known != nil }
        #expect(call.known == .closed)
        withExtendedLifetime(crowd) {}
    }
}
