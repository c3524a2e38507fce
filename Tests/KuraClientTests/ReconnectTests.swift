import Glibc
import KuraClient
import Synchronization
import Testing

/// What a client does when its daemon goes away.
@Suite struct ReconnectTests {
    static let all = SettingKey("all", default: 0)
    final class Made: Sendable { let count = Mutex(0) }

    @Test func `calls go on over kills of the daemon, and each write is made once`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let made = Made()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    let app = kura.settings["app"]
                    for _ in 0..<60 {
                        try await app.increment(Self.all)
                        made.count.withLock { $0 += 1 }
                        _ = try await app.get(Self.all)
                    }
                }
            }
            // Each kill meets calls under way.
            for kill in 1...3 {
                while made.count.withLock({ $0 }) < kill * 200 { try await Task.sleep(for: .milliseconds(1)) }
                daemon.kill()
                try daemon.start()
            }
            try await group.waitForAll()
        }
        #expect(try await kura.settings["app"].get(Self.all) == 16 * 60)
    }

    @Test func `a write that is lost is sent again under the same key`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello(), let line = connection.line() else { return }
            guard number > 1 else { return }
            connection.send(#"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":{"rev":5}}"#)
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(60)))
        #expect(try await kura.settings["app"].put("a", 1) == 5)
        await kura.close()
        let writes = fake.lines.withLock { $0 }.filter { $0.line.contains("settings.put") }
        #expect(writes.map(\.connection) == [1, 2])
        let keys = writes.map { $0.line.split(separator: "\"requestKey\":").last.map(String.init) }
        #expect(keys[0] != nil && keys[0] == keys[1])
        #expect(writes[0].line.contains("\"requestKey\":\""))
    }

    @Test func `a write without a key is sent once, and its loss is told`() async throws {
        let fake = try FakeDaemon { _, connection in
            if connection.hello() { _ = connection.line() }
        }
        let options = ConnectOptions(timeout: .seconds(120), patience: .seconds(60), requestKeys: false)
        let kura = try await Kura.connect(to: fake.path, options: options)
        let error = await #expect(throws: KuraError.self) { try await kura.settings["app"].put("a", 1) }
        #expect(error?.kind == .outcomeUnknown)
        // A key of one's own makes it safe, until the client has had enough.
        let keyed = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].put("b", 1, options: CallOptions(requestKey: .named("mine")))
        }
        #expect(keyed?.kind == .outcomeUnknown)
        #expect(keyed?.requestKey == "mine")
        // A read is only told that it was not answered.
        let read = await #expect(throws: KuraError.self) { try await kura.settings["app"].get("a", as: Int.self) }
        #expect(read?.kind == .connectionLost)
        await kura.close()
        let lines = fake.lines.withLock { $0 }.map(\.line)
        #expect(lines.filter { $0.contains("\"key\":\"a\",\"value\"") }.count == 1)
        #expect(lines.filter { $0.contains("\"requestKey\":\"mine\"") }.count == 6)
        #expect(lines.filter { $0.contains("settings.get") }.count == 6)
    }

    @Test func `no more calls are under way than the client is told`() async throws {
        let isExceeded = Made()
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            // It answers by fours, when nothing more comes for a while.
            var held: [String] = []
            while let line = connection.line() {
                held.append(FakeDaemon.Connection.id(of: line))
                guard held.count == 4 else { continue }
                if connection.hasMore() { isExceeded.count.withLock { $0 += 1 } }
                for id in held { connection.send(#"{"jsonrpc":"2.0","id":\#(id),"result":{"rev":0}}"#) }
                held = []
            }
        }
        var options = ConnectOptions(timeout: .seconds(120))
        options.maximumInFlight = 4
        let kura = try await Kura.connect(to: fake.path, options: options)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { _ = try await kura.settings["app"].get(Self.all) } }
            try await group.waitForAll()
        }
        #expect(isExceeded.count.withLock { $0 } == 0)
        await kura.close()
    }

    @Test func `a daemon that is not there is told, at once or when patience is over`() async throws {
        let nobody = await #expect(throws: KuraError.self) {
            try await Kura.connect(to: "/tmp/kura-nobody-\(getpid()).sock")
        }
        #expect(nobody?.kind == .serverGone)
        #expect(nobody?.advice.contains("kurad") == true)
        let long = await #expect(throws: KuraError.self) {
            try await Kura.connect(to: "/tmp/" + String(repeating: "x", count: 200))
        }
        #expect(long?.kind == .badPath)
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect(.init(timeout: .seconds(120), patience: .milliseconds(100)))
        daemon.terminate()
        let gone = await #expect(throws: KuraError.self) { try await kura.settings["app"].get(Self.all) }
        #expect(gone?.kind == .serverGone)
        try daemon.start()
        while true {
            guard let value = try? await kura.settings["app"].get(Self.all) else { continue }
            #expect(value == 0)
            break
        }
    }

    @Test func `another protocol, and somebody else, are told apart from a daemon`() async throws {
        for (version, server) in [(2, "kurad"), (1, "other")] {
            let fake = try FakeDaemon { _, connection in
                _ = connection.hello(protocol: version, server: server)
                _ = connection.line()
            }
            let error = await #expect(throws: KuraError.self) { try await Kura.connect(to: fake.path) }
            #expect(error?.kind == .versionMismatch)
        }
        let babble = try FakeDaemon { _, connection in
            _ = connection.line()
            connection.send("HTTP/1.1 400 Bad Request")
        }
        let error = await #expect(throws: KuraError.self) { try await Kura.connect(to: babble.path) }
        #expect(error?.kind == .versionMismatch)
    }

    @Test func `a line that is no reply ends the connection, and the call is told`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello(), connection.line() != nil else { return }
            connection.send("babble")
            _ = connection.line()
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let error = await #expect(throws: KuraError.self) { try await kura.settings["app"].get(Self.all) }
        #expect(error?.kind == .badReply)
        await kura.close()
    }

    @Test func `an overloaded daemon is asked again`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var count = 0
            while let line = connection.line() {
                count += 1
                let id = FakeDaemon.Connection.id(of: line)
                let error =
                    #""error":{"code":-32011,"message":"Overloaded","data":{"kind":"overloaded","retryable":true}}"#
                connection.send(
                    #"{"jsonrpc":"2.0","id":\#(id),\#(count < 3 ? error : #""result":{"value":3,"rev":1}"#)}"#)
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        #expect(try await kura.settings["app"].get(Self.all) == 3)
        await kura.close()
    }

    @Test func `a write whose outcome the daemon does not know is asked for under its key`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var count = 0
            while let line = connection.line() {
                count += 1
                let id = FakeDaemon.Connection.id(of: line)
                let error =
                    #""error":{"code":-32010,"message":"Outcome unknown","data":{"kind":"outcomeUnknown","retryable":true}}"#
                connection.send(#"{"jsonrpc":"2.0","id":\#(id),\#(count < 2 ? error : #""result":{"rev":7}"#)}"#)
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        #expect(try await kura.settings["app"].put("a", 1) == 7)
        await kura.close()
        let writes = fake.lines.withLock { $0 }.map(\.line).filter { $0.contains("settings.put") }
        let keys = writes.map { $0.split(separator: "\"requestKey\":").last.map(String.init) }
        #expect(keys.count == 2 && keys[0] == keys[1])
    }

    @Test func `a cancelled call is taken back at the daemon`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let waiting = Task { try await kura.settings["app"].get("a", as: Int.self) }
        func lines(with part: String) -> [String] {
            fake.lines.withLock { $0 }.map(\.line).filter { $0.contains(part) }
        }
        while lines(with: "settings.get").isEmpty { try await Task.sleep(for: .milliseconds(1)) }
        waiting.cancel()
        await #expect(throws: KuraError.self) { try await waiting.value }
        let id = FakeDaemon.Connection.id(of: lines(with: "settings.get")[0])
        let deadline = ContinuousClock.now + .seconds(60)
        while lines(with: "rpc.cancel").isEmpty, ContinuousClock.now < deadline {
            try await Task.sleep(for: .milliseconds(1))
        }
        #expect(lines(with: "rpc.cancel") == [#"{"jsonrpc":"2.0","method":"rpc.cancel","params":{"id":\#(id)}}"#])
        await kura.close()
    }

    @Test func `what no line can hold is refused before it is sent`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let error = await #expect(throws: KuraError.self) {
            try await kura.settings["app"].put("a", String(repeating: "x", count: 17 << 20))
        }
        #expect(error?.kind == .lineTooLong)
        await kura.close()
        #expect(fake.lines.withLock { $0.count } == 1)
    }

    @Test func `a stream goes on over a restart without a loss or a repetition`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let app = kura.settings["app"]
        let stream = app.watch()
        let reader = Task {
            var seen: [Int64] = []
            for try await event in stream {
                if case .resync(let resync) = event { Issue.record("\(resync)") }
                guard case .changes(let changes, _) = event else { continue }
                seen += changes.map(\.rev)
                if changes.contains(where: { $0.key == "last" }) { break }
            }
            return seen
        }
        var written: [Int64] = []
        for round in 0..<3 {
            for number in 0..<10 { written.append(try await app.put("key-\(round)-\(number)", number)) }
            daemon.kill()
            try daemon.start()
        }
        written.append(try await app.put("last", true))
        #expect(try await reader.value == written)
    }

    @Test func `another history is told to streams, and mirrors read it anew`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        try await kura.settings["app"].put("old", 1)
        let stream = kura.settings["app"].watch()
        let iterator = stream.makeAsyncIterator()
        guard case .progress? = try await iterator.next() else { return #expect(Bool(false)) }
        let mirror = try await kura.settings["app"].mirror()
        #expect(mirror.values.keys.sorted() == ["old"])
        let epoch = mirror.epoch
        daemon.kill()
        daemon.forgetData()
        try daemon.start()
        guard case .resync(let resync)? = try await iterator.next() else { return #expect(Bool(false)) }
        #expect(resync.reason == .epochChanged)
        #expect(resync.epoch != epoch)
        try await kura.settings["app"].put("new", 2)
        while mirror.values.keys.sorted() != ["new"] { try await Task.sleep(for: .milliseconds(1)) }
        #expect(mirror.epoch == resync.epoch)
        #expect(kura.server?.epoch == resync.epoch)
    }

    @Test func `a name twice in an object is blamed on the call that sent it`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<32 {
                group.addTask { try await kura.settings["app"].put("k\(number)", number) }
            }
            try await group.waitForAll()
        }
        let error = await #expect(throws: KuraError.self) {
            try await kura.call("settings.put", json: Array(#"{"domain":"a","key":"b","value":{"x":1,"x":2}}"#.utf8))
        }
        #expect(error?.kind == .notEncodable)
    }
}
