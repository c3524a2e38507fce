import CSyscalls
import Glibc
import KuraBytes
import Synchronization
import Testing

@testable import KuraClient

/// What a client does where a connection begins and ends.
@Suite struct LinkTests {
    private static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
    }

    private static func error(_ line: String, _ kind: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"error":{"code":-32000,"message":"no","data":{"kind":"\#(kind)"}}}"#
    }

    private static let patient = ConnectOptions(timeout: .seconds(120), patience: .seconds(120))

    @Test func `who is cancelled when the call is already another's takes nothing from that one`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello(), let line = connection.line(), connection.line() != nil else { return }
            connection.send(Self.reply(line, #"{"value":3,"rev":1}"#))
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let waiting = Task { try await kura.settings["app"].get("a", as: Int.self) }
        try await eventually("it is sent") { fake.lines(with: "settings.get").count == 1 }
        let call = try #require(kura.link.lock.withLock { _ in kura.link.calls.first { $0.phase == .sent } })
        // The id that the call had for whoever has had it before.
        kura.link.cancel(call, call.id - 1)
        let other = Outcome { await kind { _ = try await kura.settings["app"].get("b", as: Int.self) } }
        #expect(try await waiting.value == 3)
        await kura.close()
        try await eventually("it ends") { other.known != nil }
    }

    /// The thread looks up by itself every 30 seconds: what it does not know of is late by so much. From now on by an hour.
    private static func sleepLong(_ kura: Kura) {
        kura.link.lock.withLock { _ in kura.link.longestSleep = 3_600_000_000_000 }
    }

    @Test func `a call that has waited for a connection has its time all the same`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello(), connection.line() != nil, number > 1 else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        Self.sleepLong(kura)
        let start = ContinuousClock.now
        let error = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].get("a", as: Int.self, options: CallOptions(timeout: .seconds(1)))
        }
        #expect(error?.kind == .noReply)
        #expect(ContinuousClock.now - start < .seconds(60))
        await kura.close()
    }

    @Test func `a call has its time while a daemon takes the connection and says nothing`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard number == 1 else {
                while connection.line() != nil {}
                return
            }
            guard connection.hello() else { return }
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        Self.sleepLong(kura)
        let start = ContinuousClock.now
        let error = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].get("a", as: Int.self, options: CallOptions(timeout: .seconds(1)))
        }
        #expect(error?.kind == .noReply)
        #expect(ContinuousClock.now - start < .seconds(60))
        await kura.close()
    }

    @Test func `patience counts from when the daemon went, not from when the call was made`() async throws {
        let fake = try FakeDaemon { number, connection in
            // The first answers nothing for longer than the client's patience, the second goes before it says hello.
            guard number != 2, connection.hello(), let line = connection.line() else { return }
            if number == 1 {
                usleep(1_500_000)
            } else {
                connection.send(Self.reply(line, #"{"value":3,"rev":1}"#))
                _ = connection.line()
            }
        }
        let options = ConnectOptions(timeout: .seconds(120), patience: .milliseconds(1_400))
        let kura = try await Kura.connect(to: fake.path, options: options)
        // A machine that is so slow that the second attempt comes after all patience says nothing.
        let start = ContinuousClock.now
        let value = try? await kura.settings["app"].get("a", as: Int.self)
        #expect(value == 3 || ContinuousClock.now - start > .milliseconds(2_900))
        await kura.close()
    }

    @Test func `a daemon that closes every connection is not connected to without a pause`() async throws {
        let connections = Mutex(0)
        let fake = try FakeDaemon { _, connection in
            connections.withLock { $0 += 1 }
            _ = connection.hello()
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let stream = kura.changes()
        let start = ContinuousClock.now
        try await Task.sleep(for: .seconds(2))
        let count = connections.withLock { $0 }
        // Between them 20 ms, 40, 80, then 160, half of each at least.
        #expect(count < 6 + Int((ContinuousClock.now - start) / .milliseconds(80)))
        withExtendedLifetime(stream) {}
        await kura.close()
    }

    /// Who had it to do comes too late: the lines are gone. The next call must not wait for it.
    @Test func `whoever was about to send on a lost connection is not waited for on the next`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path)
        let link = kura.link
        link.lock.withLock { _ in
            link.isFlushDue = true
            link.output.append("{}\n")
            link.forgetOutput()
            #expect(!link.isFlushDue)
            link.isFlushDue = true
        }
        link.flush()
        #expect(link.lock.withLock { _ in !link.isFlushDue && !link.isSending })
        await kura.close()
    }

    @Test func `a stream that ends after a reconnect takes no other's number along`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    let isFirst = line.contains(#""scope":"first""#)
                    // Over the second connection the other stream has the first one's number, which has no answer yet.
                    guard number == 1 || !isFirst else { continue }
                    let own = number == 1 && !isFirst ? 2 : 1
                    connection.send(Self.reply(line, #"{"subscription":\#(own),"rev":5,"epoch":"e"}"#))
                } else if line.contains("settings.get") {
                    guard number > 1 else { return }
                    if line.contains(#""tell""#) {
                        connection.send(
                            #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":6,"changes":[{"store":"settings","scope":"second","key":"k","rev":6}]}}"#
                        )
                    }
                    connection.send(Self.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        var first: ChangeStream? = kura.changes(.settings("first"))
        let second = kura.changes(.settings("second"))
        // Over two connections, the second of which both streams have begun on when this is answered.
        _ = try await kura.settings["app"].get("a", as: Int.self)
        withExtendedLifetime(first) {}
        first = nil
        _ = try await kura.settings["app"].get("tell", as: Int.self)
        await kura.close()
        var told: [String] = []
        for try await event in second {
            if case .changes(let changes, _) = event { told += changes.map { $0.scope ?? "" } }
        }
        #expect(told == ["second"])
        #expect(!fake.lines.withLock { $0 }.contains { $0.line.contains("unwatch") })
    }

    @Test func `what was not read of another history is not taken for this one`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            var (isWatched, isFlooded) = (false, false)
            var held: String?
            while let line = connection.line() {
                if line.contains("unwatch") { continue }
                if number == 1 {
                    guard line.contains("changes.watch") else { return }
                    connection.send(Self.reply(line, #"{"subscription":1,"rev":500,"epoch":"one"}"#))
                } else if line.contains("settings.get") {
                    held = line
                } else if line.contains(#""epoch":"one""#) {
                    connection.send(Self.error(line, "epochChanged"))
                } else {
                    connection.send(Self.reply(line, #"{"subscription":1,"rev":510,"epoch":"two"}"#))
                    isWatched = true
                    if isFlooded {
                        connection.send(
                            #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":521,"changes":[]}}"#
                        )
                    }
                }
                guard isWatched, let line = held else { continue }
                // More than is kept for somebody who does not read, behind what tells of the other history.
                let much = String(repeating: "x", count: 1 << 20)
                for rev in 511..<521 {
                    connection.send(
                        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[],"x":"\#(much)"}}"#
                    )
                }
                (isFlooded, held) = (true, nil)
                connection.send(Self.reply(line, #"{"rev":0}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let events = kura.changes().makeAsyncIterator()
        guard case .progress(rev: 500)? = try await events.next() else { return #expect(Bool(false)) }
        _ = try await kura.settings["app"].get("a", as: Int.self)
        let next = try await events.next()
        guard case .resync(let resync)? = next else {
            Issue.record("\(String(describing: next))")
            return
        }
        #expect(resync == Resync(reason: .epochChanged, rev: 510, epoch: "two"))
        await kura.close()
    }

    @Test func `a value that speaks of descriptors takes no other call's`() async throws {
        var template = Array("/tmp/kura-link-XXXXXX".utf8CString)
        let file = mkstemp(&template)
        try #require(file >= 0 && write(file, "hello", 5) == 5)
        unlink(template)
        let held = OwnedDescriptor(owning: file)
        let fake = try FakeDaemon { _, connection in
            guard connection.hello(), let one = connection.line(), let other = connection.line() else { return }
            let (put, get) = one.contains("settings.put") ? (one, other) : (other, one)
            // Both in one message, as the kernel may join them.
            let blob =
                #"{"found":true,"bytes":5,"digest":"d","createdAt":"2030-01-01T00:00:00.000Z","expiresAt":"2030-01-01T00:00:00.000Z"}"#
            let both = Self.reply(put, #"{"rev":7}"#) + "\n" + Self.reply(get, blob) + "\n"
            let bytes = Array(both.utf8)
            _ = csys_send_descriptor(connection.descriptor, bytes, bytes.count, held.number)
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        async let rev = kura.settings["app"].put("x", ["as": "fd"])
        async let blob = kura.blobs["n"].get("k")
        #expect(try await rev == 7)
        #expect(try await blob?.copy() == Array("hello".utf8))
        await kura.close()
    }

    @Test func `no call has the number of the introduction, however many there are`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() { connection.send(Self.reply(line, #"{"value":3,"rev":1}"#)) }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        kura.link.lock.withLock { _ in kura.link.counter = 0xFFF_FFFE }
        for _ in 0..<4 {
            let options = CallOptions(timeout: .seconds(30))
            #expect(try await kura.settings["app"].get("a", as: Int.self, options: options) == 3)
        }
        await kura.close()
    }

    @Test func `options that would let no call through let one through`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() { connection.send(Self.reply(line, #"{"value":3,"rev":1}"#)) }
        }
        var options = ConnectOptions(timeout: .seconds(30))
        options.maximumInFlight = 0
        options.maximumOutputBytes = 0
        let kura = try await Kura.connect(to: fake.path, options: options)
        #expect(try await kura.settings["app"].get("a", as: Int.self) == 3)
        await kura.close()
    }

    @Test func `what cannot be had now is no reason to give up, and a bad path is`() {
        for code in [EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, ECONNRESET] { #expect(!Link.isForGood(code)) }
        for code in [ENAMETOOLONG, ENOTSOCK, EPROTOTYPE, ELOOP] { #expect(Link.isForGood(code)) }
    }
}
