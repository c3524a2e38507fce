import Glibc
import KuraBytes
import Synchronization
import Testing

@testable import KuraClient

/// What is sent, under which key, how often and for how long, and what it is called when it fails.
@Suite struct ResendingTests {
    private static let patient = ConnectOptions(timeout: .seconds(120), patience: .seconds(120))

    private static func json(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func kind(_ body: () async throws -> Void) async -> KuraError.Kind? {
        do { try await body() } catch let error as KuraError { return error.kind } catch {}
        return nil
    }

    @Test func `what would not be done once is sent once, with a token or a condition or a secret`() async throws {
        // Each connection takes one call, and goes.
        let fake = try FakeDaemon { _, connection in if connection.hello() { _ = connection.line() } }
        var options = Self.patient
        options.requestKeys = false
        let kura = try await Kura.connect(to: fake.path, options: options)
        let put = #"{"namespace":"n","key":"k","value":1"#
        let (won, absent) = (Self.json(put + #","token":"t"}"#), Self.json(put + #","ifAbsent":true}"#))
        #expect(await Self.kind { _ = try await kura.call("models.put", json: won) } == .outcomeUnknown)
        #expect(await Self.kind { _ = try await kura.call("models.put", json: absent) } == .outcomeUnknown)
        #expect(await Self.kind { try await kura.secrets["s"].put("a", Secret(text: "x")) } == .outcomeUnknown)
        #expect(fake.lines(with: "models.put").count == 2 && fake.lines(with: "secrets.put").count == 1)
        let document = Self.json(#"{"collection":"c","id":"1","value":1}"#)
        #expect(await Self.kind { _ = try await kura.call("documents.put", json: document) } == .outcomeUnknown)
        #expect(fake.lines(with: "documents.put").count == 1)
        #expect(fake.lines(with: "requestKey").isEmpty, "none of them has a key")
        // Done twice this is as good as done once.
        #expect(
            await Self.kind { _ = try await kura.call("models.put", json: Self.json(put + "}")) } == .outcomeUnknown)
        #expect(fake.lines(with: "models.put").count == 2 + 6)
        // A descriptor is spent with the call that it came with.
        for method in ["storage.backup", "storage.bundle", "backups.compare"] {
            #expect(await Self.kind { _ = try await kura.call(method, json: Self.json(#"{"fd":true}"#)) } != nil)
            #expect(fake.lines(with: method).count == 1, "\(method)")
        }
        await kura.close()
    }

    @Test func `a key of one's own is the only one, and what can have none gets none`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() { connection.send(FakeDaemon.reply(line, #"{"rev":1}"#)) }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        func line(_ method: String, _ params: String) async throws -> String {
            _ = try await kura.call(method, json: Self.json(params))
            return try #require(fake.lines(with: method).last)
        }
        let own = try await line("settings.put", #"{"domain":"d","key":"k","value":1,"requestKey":"mine"}"#)
        #expect(own.split(separator: "requestKey").count == 2 && own.contains(#""requestKey":"mine""#))
        let many = #"{"collection":"c","where":{},"allowScan":true}"#
        #expect(try await !line("documents.deleteMany", many).contains("requestKey"))
        #expect(try await line("documents.deleteMany", #"{"collection":"c","ids":["a"]}"#).contains("requestKey"))
        let generate = #"{"service":"s","account":"a","returnSecret":true}"#
        #expect(try await !line("secrets.generate", generate).contains("requestKey"))
        #expect(try await line("secrets.generate", #"{"service":"s","account":"a"}"#).contains("requestKey"))
        let named = CallOptions(requestKey: .named("mine"))
        let count = fake.lines.withLock { $0.count }
        let refused = await Self.kind {
            _ = try await kura.call("settings.get", json: Self.json(#"{"domain":"d","key":"k"}"#), options: named)
        }
        #expect(refused == .notEncodable)
        #expect(fake.lines.withLock { $0.count } == count, "nothing was sent")
        await kura.close()
    }

    @Test func `a call has the time that it asks the daemon for, and its own besides`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let options = ConnectOptions(timeout: .seconds(500), patience: .seconds(120))
        let kura = try await Kura.connect(to: fake.path, options: options)
        for (method, params, seconds) in [
            ("settings.get", "{}", 500), ("changes.wait", "{}", 530), ("changes.wait", #"{"timeoutMs":7000}"#, 507),
            ("models.get", #"{"waitMs":9000}"#, 509), ("models.get", #"{"waitMs":1000000000000}"#, 86_900),
            ("storage.check", "{}", 0),
        ] {
            let before = fake.lines.withLock { $0.count }
            let calling = Task { try await kura.call(method, json: Self.json(params)) }
            try await eventually("it is sent") { fake.lines.withLock { $0.count } > before }
            let given = kura.link.lock.withLock { _ in
                let call = kura.link.calls.first { $0.phase == .sent && !$0.isAbandoned }
                return call.map { $0.deadline == .max ? 0 : ($0.deadline - $0.queuedAt) / 1_000_000_000 }
            }
            #expect(given == Int64(seconds), "\(method) \(params)")
            calling.cancel()
            await #expect(throws: KuraError.self) { try await calling.value }
            try await eventually("it is taken back") { fake.lines(with: "rpc.cancel").count > 0 }
        }
        await kura.close()
    }

    @Test func `what was lost under way stays unknown, though nobody can be connected to behind it`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard number == 1, connection.hello() else { return }
            _ = connection.line()
        }
        let options = ConnectOptions(timeout: .seconds(120), patience: .milliseconds(100))
        let kura = try await Kura.connect(to: fake.path, options: options)
        let error = await #expect(throws: KuraError.self) { try await kura.settings["app"].put("a", 1) }
        #expect(error?.kind == .outcomeUnknown && error?.requestKey != nil)
        await kura.close()
        // So does what the daemon itself has called unknown.
        let other = try FakeDaemon { number, connection in
            guard number == 1, connection.hello(), let line = connection.line() else { return }
            connection.send(FakeDaemon.error(line, "outcomeUnknown", #","retryable":true"#))
        }
        let second = try await Kura.connect(to: other.path, options: options)
        let unknown = await #expect(throws: KuraError.self) { try await second.settings["app"].put("a", 1) }
        #expect(unknown?.kind == .outcomeUnknown && unknown?.requestKey != nil)
        await second.close()
    }

    @Test func `a write that nobody waits for any more tells the key that it went under`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let late = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].put("late", 1, options: CallOptions(timeout: .seconds(1)))
        }
        let waiting = Task { try await kura.settings["app"].put("cancelled", 1) }
        try await eventually("it is sent") { fake.lines(with: "cancelled").count == 1 }
        waiting.cancel()
        let cancelled = await #expect(throws: KuraError.self) { try await waiting.value }
        #expect(late?.kind == .noReply && cancelled?.kind == .cancelled)
        for (name, error) in [("late", late), ("cancelled", cancelled)] {
            let key = try #require(error?.requestKey, "\(name)")
            // Where this process was held up for all of its time, the late one was never sent.
            let line = fake.lines(with: #""\#(name)""#).first
            #expect(line?.contains(#""requestKey":"\#(key)""#) ?? (name == "late"), "\(name)")
        }
        await kura.close()
    }

    @Test func `a daemon that has too much to do each time is told as that`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() { connection.send(FakeDaemon.error(line, "overloaded")) }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        #expect(await Self.kind { _ = try await kura.settings["app"].get("a", as: Int.self) } == .overloaded)
        #expect(fake.lines(with: "settings.get").count == 6)
        await kura.close()
    }

    @Test func `what a cancelled task asks for is not sent, nor what waits for its turn when it is cancelled`()
        async throws
    {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var held: String?
            while let line = connection.line() {
                if line.contains("rpc.cancel") { continue }
                if line.contains(#""held""#) {
                    held = line
                    // It goes on when the client has given up the other.
                    guard let go = connection.line() else { return }
                    _ = go
                }
                connection.send(FakeDaemon.reply(held ?? line, #"{"rev":0}"#))
                held = nil
            }
        }
        var options = Self.patient
        options.maximumInFlight = 1
        let kura = try await Kura.connect(to: fake.path, options: options)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await kura.settings["app"].get("early", as: Int.self)
        }
        await #expect(throws: KuraError.self) { try await early.value }
        let held = Task { try await kura.settings["app"].get("held", as: Int.self) }
        try await eventually("the first is under way") { fake.lines(with: #""held""#).count == 1 }
        let queued = Task { try await kura.settings["app"].get("queued", as: Int.self) }
        try await eventually("the second waits for its turn") {
            kura.link.lock.withLock { _ in kura.link.queueHead != nil }
        }
        queued.cancel()
        let error = await #expect(throws: KuraError.self) { try await queued.value }
        #expect(error?.kind == .cancelled)
        // A line that is no call's has the daemon answer the first.
        kura.link.lock.withLock { _ in kura.link.output.append("{}\n") }
        kura.link.flush()
        #expect(try await held.value == nil)
        _ = try await kura.settings["app"].get("last", as: Int.self)
        #expect(fake.lines(with: #""early""#).isEmpty && fake.lines(with: #""queued""#).isEmpty)
        await kura.close()
    }

    @Test func `no more bytes wait to be sent than the client is told`() async throws {
        let mayRead = Mutex(false)
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while !mayRead.withLock({ $0 }) { usleep(1000) }
            while let line = connection.line() { connection.send(FakeDaemon.reply(line, #"{"rev":1}"#)) }
        }
        var options = Self.patient
        options.maximumOutputBytes = 100_000
        let kura = try await Kura.connect(to: fake.path, options: options)
        let text = String(repeating: "x", count: 40_000)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<200 { group.addTask { try await kura.settings["app"].put("k\(number)", text) } }
            try await eventually("calls wait for room") {
                kura.link.lock.withLock { _ in kura.link.isBlocked && kura.link.queueHead != nil }
            }
            try await Task.sleep(for: .milliseconds(200))
            #expect(kura.link.lock.withLock { _ in kura.link.output.count } < 200_000)
            mayRead.withLock { $0 = true }
            try await group.waitForAll()
        }
        await kura.close()
    }

    @Test func `a line that is too long is blamed on the call that it is of`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello(), let one = connection.line(), let other = connection.line() else { return }
            connection.send(
                #"{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"no","data":{"kind":"lineTooLong","limit":2000}}}"#
            )
            connection.send(FakeDaemon.reply(one.utf8.count < 2000 ? one : other, #"{"rev":7}"#))
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let long = Task { try await kura.settings["app"].put("long", String(repeating: "x", count: 3000)) }
        let short = Task { try await kura.settings["app"].put("short", 1) }
        #expect(try await short.value == 7)
        let error = await #expect(throws: KuraError.self) { try await long.value }
        #expect(error?.kind == .lineTooLong)
        await kura.close()
    }

    @Test func `who stops waiting for a connection is let go, and who has one is not connected`() async throws {
        let path = "/tmp/kura-none-\(UInt32.random(in: 0 ... .max)).sock"
        let waiting = Task {
            _ = try await Kura.connect(to: path, options: ConnectOptions(wait: .seconds(90)))
        }
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        let error = await #expect(throws: KuraError.self) { try await waiting.value }
        #expect(error?.kind == .cancelled)
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await Kura.connect(to: fake.path)
        }
        let cancelled = await #expect(throws: KuraError.self) { try await late.value }
        #expect(cancelled?.kind == .cancelled)
    }

    @Test func `who the client is is said each time, and that it was started once`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello(), let line = connection.line(), number > 1 else { return }
            connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
            _ = connection.line()
        }
        var options = ConnectOptions(
            name: "notes", version: "2.1", launch: true, installation: "here", timeout: .seconds(120))
        options.patience = .seconds(120)
        let kura = try await Kura.connect(to: fake.path, options: options)
        _ = try await kura.settings["app"].get("a", as: Int.self)
        await kura.close()
        let said = fake.lines(with: "session.hello")
        #expect(said.count == 2)
        #expect(said.allSatisfy { $0.contains(#""client":"notes","version":"2.1""#) })
        #expect(said.allSatisfy { $0.contains(#""installation":"here""#) })
        #expect(said.map { $0.contains(#""launch":true"#) } == [true, false])
    }

    @Test func `what held for a connection is made of the next by a daemon that had too much to do at first`()
        async throws
    {
        let losses = Mutex(0)
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("settings.override"), number == 2 {
                    connection.send(
                        #"{"jsonrpc":"2.0","id":0,"error":{"code":-32011,"message":"no","data":{"kind":"overloaded"}}}"#
                    )
                    continue
                }
                if line.contains("settings.get"), number == 1 { return }
                connection.send(FakeDaemon.reply(line, #"{"overrides":1,"rev":0}"#))
            }
        }
        var options = Self.patient
        options.onLostState = { _ in losses.withLock { $0 += 1 } }
        let kura = try await Kura.connect(to: fake.path, options: options)
        try await kura.settings["app"].override(SettingKey("theme", default: "light"), with: "dark")
        _ = try await kura.settings["app"].get("a", as: Int.self)
        #expect(losses.withLock { $0 } == 0)
        #expect(
            fake.lines.withLock { $0 }.filter { $0.line.contains("settings.override") }.map(\.connection) == [1, 2, 3])
        await kura.close()
    }

    @Test func `what a secret passes through is zeroed behind it, and no nonsense is one`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                connection.send(FakeDaemon.reply(line, #"{"secretBase64":"%%%%","rev":1,"version":1}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let call = kura.link.take(isSecret: true)
        func isWiped() -> [Bool] { [call.request.wipes, call.reply.wipes] }
        #expect(isWiped() == [true, true])
        let isOutputWiped = kura.link.lock.withLock { _ in
            kura.link.put(call)
            defer { kura.link.forgetOutput() }
            kura.link.inFlight -= 1
            return kura.link.output.wipes
        }
        #expect(isOutputWiped, "what is to be sent")
        kura.link.release(call)
        #expect(isWiped() == [false, false], "the next call is another's")
        #expect(await Self.kind { _ = try await kura.secrets["s"].get("a") } == .badReply)
        try await kura.secrets["s"].put("a", Secret(text: "x"), expiresAt: "2030-01-01T00:00:00Z")
        #expect(fake.lines(with: #""expiresAt":"2030-01-01T00:00:00Z""#).count == 1)
        await kura.close()
        let isInputWiped = kura.link.received.wipes
        #expect(isInputWiped, "what has come")
    }

    @Test func `nothing of a secret stays in a call, in an answer that never came whole, or in itself`() async throws {
        let secret = Secret(text: "x")
        let isWiped = secret.bytes.wipes
        #expect(isWiped)
        let fake = try FakeDaemon { _, connection in
            guard connection.hello(), let line = connection.line() else { return }
            let text = FakeDaemon.reply(line, #"{"rev":1,"secret":"hunter2"#)
            _ = Glibc.send(connection.descriptor, text, text.utf8.count - 1, Int32(MSG_NOSIGNAL))
        }
        var options = Self.patient
        options.requestKeys = false
        let kura = try await Kura.connect(to: fake.path, options: options)
        let call = kura.link.take(isSecret: true)
        call.request.append("hunter2")
        call.reply.append("hunter2")
        kura.link.release(call)
        func isZeroed(_ buffer: borrowing ByteBuffer) -> Bool { buffer.spare.prefix(7).allSatisfy { $0 == 0 } }
        #expect(isZeroed(call.request) && isZeroed(call.reply))
        let made = #"{"service":"s","account":"a","returnSecret":true}"#
        #expect(
            await Self.kind { _ = try await kura.call("secrets.generate", json: Self.json(made)) } == .outcomeUnknown)
        await kura.close()
        let isInputWiped = kura.link.received.wipes
        #expect(isInputWiped, "the first part of what has come")
    }
}
