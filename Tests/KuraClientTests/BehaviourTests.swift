import Glibc
import KuraClient
import KuraTesting
import Testing

/// What a client does, the same over a daemon with a data directory and over the one that applications' tests use.
@Suite struct BehaviourTests {
    /// A client, and what keeps its daemon.
    static func client(_ server: Server) async throws -> (Kura, DaemonProcess?) {
        switch server {
        case .inMemory: return (try await Kura.inMemory(options: .init(timeout: .seconds(120))), nil)
        case .daemon:
            let daemon = try DaemonProcess()
            return (try await daemon.connect(), daemon)
        }
    }

    static let theme = SettingKey("theme", default: "light")
    static let count = SettingKey("count", default: 0)

    @Test(arguments: Server.allCases) func `settings are read, written, counted and listed`(server: Server) async throws
    {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let app = kura.settings["app"]
        #expect(try await app.get(Self.theme) == "light")
        let rev = try await app.put(Self.theme, "dark \"ü\"")
        let stored = try await app.stored(Self.theme)
        #expect(stored.value == "dark \"ü\"")
        #expect(stored.rev == rev)
        #expect(try await app.increment(Self.count, by: 5) == 5)
        #expect(try await app.increment(Self.count) == 6)
        #expect(try await app.get("absent", as: Int.self) == nil)
        try await app.putMany(["a": RawJSON("[1,2.50]"), "b": .null], deleting: ["theme"])
        let (values, _) = try await app.getMany(["a", "b", "theme"])
        #expect(try values == ["a": RawJSON("[1,2.50]"), "b": .null])
        #expect(try await app.list().keys.sorted() == ["a", "b", "count"])
        #expect(try await app.list(prefix: "c").count == 1)
        #expect(try await app.delete(Self.count))
        #expect(try await app.delete(Self.count) == false)
        let conflict = await #expect(throws: KuraError.self) { try await app.put("a", 1, ifRev: 0) }
        #expect(conflict?.kind == .conflict)
        #expect((conflict?.currentRev ?? 0) > 0)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `each error has its kind and says what to do`(server: Server) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let app = kura.settings["app"]
        func kind(_ body: () async throws -> Void) async -> KuraError.Kind? {
            do { try await body() } catch let error as KuraError {
                #expect(!error.advice.isEmpty, "\(error)")
                #expect(error.description.contains(error.advice))
                return error.kind
            } catch {}
            return nil
        }
        #expect(await kind { try await app.put("large", String(repeating: "x", count: 1_100_000)) } == .valueTooLarge)
        #expect(await kind { try await app.put("larger", String(repeating: "x", count: 20 << 20)) } == .lineTooLong)
        #expect(await kind { try await app.put("", 1) } == .invalidParams)
        try await app.put("text", "abc")
        #expect(await kind { try await app.increment(SettingKey("text", default: 0)) } == .typeMismatch)
        #expect(await kind { _ = try await app.get(SettingKey("text", default: 0)) } == .wrongType)
        #expect(await kind { _ = try await kura.call("no.such", json: []) } == .methodNotFound)
        #expect(await kind { _ = try await kura.call("settings.get", json: Array("{".utf8)) } == .notEncodable)
        #expect(await kind { _ = try await kura.call("settings.get", json: Array("1".utf8)) } == .notEncodable)
        #expect(
            await kind {
                _ = try await kura.call("settings.get", json: Array(#"{"domain":"a","key":"b","kye":1}"#.utf8))
            } == .invalidParams)
        #expect(try await app.get("text") == "abc")
    }

    @Test(arguments: Server.allCases) func `secrets come back, and show in no description`(server: Server) async throws
    {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let mail = kura.secrets["mail"]
        #expect(try await mail.get("ada") == nil)
        try await mail.put("ada", Secret(text: "pass\n\"wörd\""), label: "Mail", attributes: ["host": "example.org"])
        try await mail.put("raw", Secret(bytes: [0, 1, 255]))
        try await mail.put("both", Secret(fields: ["user": "ada", "password": "x"]))
        let item = try #require(try await mail.get("ada"))
        #expect(item.secret.text == "pass\n\"wörd\"")
        #expect(item.version == 1)
        var shown = "\(item) \(item.secret) \(String(reflecting: item.secret))"
        dump(item, to: &shown)
        #expect(!shown.contains("pass"))
        #expect(try await mail.get("raw")?.secret.withUnsafeBytes { Array($0) } == [0, 1, 255])
        #expect(try await mail.get("both")?.secret.fields == ["user": "ada", "password": "x"])
        #expect(try await mail.list(attributes: ["host": "example.org"]).map(\.account) == ["ada"])
        _ = try await kura.call("secrets.lock", json: [])
        let sealed = await #expect(throws: KuraError.self) { try await mail.get("ada") }
        #expect(sealed?.kind == .sealed)
        #expect(sealed?.isRetryable == true)
        _ = try await kura.call("secrets.unlock", json: [])
        #expect(try await mail.delete("ada"))
        #expect(try await mail.get("ada") == nil)
    }

    @Test(arguments: Server.allCases) func `changes are told from the stream's making on`(server: Server) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let app = kura.settings["app"]
        let first = try await app.put("before", 1)
        let stream = app.watch()
        try await app.put("x", ["a": 1])
        try await kura.settings["other"].put("x", 1)
        try await app.delete("x")
        var seen: [String] = []
        var last: Int64 = 0
        for try await event in stream {
            guard case .changes(let changes, let rev) = event else { continue }
            for change in changes {
                seen.append("\(change.key ?? "?") \(change.value?.description ?? "-") \(change.isDeleted)")
            }
            last = rev
            if changes.contains(where: \.isDeleted) { break }
        }
        #expect(seen == [#"x {"a":1} false"#, "x - true"] || seen == ["x - true"])
        #expect(stream.place?.rev == last)
        // From an earlier revision on.
        let earlier = kura.changes(.settings("app"), afterRev: first - 1).makeAsyncIterator()
        guard case .changes(let changes, _)? = try await earlier.next() else { return #expect(Bool(false)) }
        #expect(changes.first?.key == "before")
        await kura.close()
        while let event = try await earlier.next() { _ = event }
    }

    @Test(arguments: Server.allCases) func `a mirror shows what was written once it is refreshed to that`(
        server: Server
    ) async throws {
        struct Preferences {
            @Setting var theme: String
            @Setting var count: Int
        }
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let other = try await Kura.connect(to: kura.path)
        try await other.settings["app"].put(Self.count, 7)
        let mirror = try await kura.settings["app"].mirror()
        let preferences = Preferences(theme: Setting(Self.theme, in: mirror), count: Setting(Self.count, in: mirror))
        #expect(preferences.theme == "light")
        #expect(preferences.count == 7)
        for number in 8..<40 {
            let rev = try await other.settings["app"].put(Self.count, number)
            try await mirror.refreshed(to: rev)
            #expect(mirror.rev >= rev)
            #expect(preferences.count == number)
        }
        try await preferences.$theme.set("dark")
        #expect(preferences.theme == "dark")
        try await other.settings["app"].delete(Self.count)
        try await mirror.refreshed()
        #expect(preferences.count == 0)
        let never = await #expect(throws: KuraError.self) { try await mirror.refreshed(to: 1 << 40) }
        #expect(never?.kind == .invalidParams)
        // By itself, too.
        try await other.settings["app"].put(Self.count, 99)
        while preferences.count != 99 { try await Task.sleep(for: .milliseconds(1)) }
    }

    @Test(arguments: Server.allCases) func `a task that is cancelled waits no longer, and the connection goes on`(
        server: Server
    ) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let waiting = Task {
            try await kura.call(
                "changes.wait", json: Array(#"{"afterRev":0,"scope":"nobody","timeoutMs":600000}"#.utf8))
        }
        try await kura.settings["app"].put("a", 1)
        waiting.cancel()
        let error = await #expect(throws: KuraError.self) { try await waiting.value }
        #expect(error?.kind == .cancelled)
        let before = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await kura.settings["app"].put("a", 2)
        }
        await #expect(throws: KuraError.self) { try await before.value }
        #expect(try await kura.settings["app"].get("a") == 1)
    }

    @Test(arguments: Server.allCases) func `a call waits as long as it is told to`(server: Server) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let text = Array(#"{"afterRev":0,"scope":"nobody","timeoutMs":600000}"#.utf8)
        let error = await #expect(throws: KuraError.self) {
            try await kura.call("changes.wait", json: text, options: CallOptions(timeout: .milliseconds(50)))
        }
        #expect(error?.kind == .noReply)
        #expect(try await kura.settings["app"].get("a", as: Int.self) == nil)
    }

    @Test(arguments: Server.allCases) func `tasks of several clients that hammer one domain lose nothing`(
        server: Server
    ) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        var clients = [kura]
        for _ in 1..<8 { clients.append(try await Kura.connect(to: kura.path, options: .init(timeout: .seconds(120)))) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in clients {
                for task in 0..<64 {
                    group.addTask {
                        let app = client.settings["hammer"]
                        for _ in 0..<4 {
                            try await app.increment(SettingKey("all", default: 0))
                            try await app.increment(SettingKey("task-\(task)", default: 0))
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await kura.settings["hammer"].get("all") == 8 * 64 * 4)
        let values = try await kura.settings["hammer"].list(prefix: "task-")
        #expect(values.count == 64)
        #expect(values.values.allSatisfy { $0.description == "32" })
    }

    @Test(arguments: Server.allCases) func `descriptors go both ways`(server: Server) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let path = "/tmp/kura-client-\(getpid())-\(UInt64.random(in: 0 ... .max))"
        let file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try #require(file >= 0)
        let descriptor = OwnedDescriptor(owning: file)
        unlink(path)
        let content = [UInt8](repeating: 7, count: 100_000)
        #expect(write(file, content, content.count) == content.count)
        _ = try await kura.call(
            "blobs.put", json: Array(#"{"namespace":"n","key":"k","fd":true}"#.utf8), passing: descriptor)
        let reply = try await kura.call("blobs.get", json: Array(#"{"namespace":"n","key":"k","as":"fd"}"#.utf8))
        let passed = try #require(reply.descriptor)
        var back = [UInt8](repeating: 0, count: 200_000)
        #expect(pread(passed.number, &back, back.count, 0) == content.count)
        #expect(Array(back.prefix(content.count)) == content)
        let absent = try await kura.call("blobs.get", json: Array(#"{"namespace":"n","key":"no","as":"fd"}"#.utf8))
        #expect(absent.descriptor == nil)
    }

    @Test(arguments: Server.allCases) func `closing tells those who wait`(server: Server) async throws {
        let (kura, daemon) = try await Self.client(server)
        defer { withExtendedLifetime(daemon) {} }
        let waiting = Task {
            try await kura.call(
                "changes.wait", json: Array(#"{"afterRev":0,"scope":"nobody","timeoutMs":600000}"#.utf8))
        }
        try await kura.settings["app"].put("a", 1)
        await kura.close()
        let error = await #expect(throws: KuraError.self) { try await waiting.value }
        #expect(error?.kind == .closed)
        let later = await #expect(throws: KuraError.self) { try await kura.settings["app"].get("a", as: Int.self) }
        #expect(later?.kind == .closed)
    }

    @Test(arguments: Server.allCases) func `what the role may not do is denied`(server: Server) async throws {
        let roles = #""roles":{"reader":{"grants":[{"store":"settings","scope":"*","allow":["read","list"]}]}}"#
        let (kura, daemon): (Kura, DaemonProcess?)
        switch server {
        case .inMemory:
            (kura, daemon) = (try await Kura.inMemory(role: "reader", configuration: "{\(roles)}"), nil)
        case .daemon:
            let sockets = #""sockets":[{"path":"ROOT/kura.sock","role":"reader"}]"#
            let process = try DaemonProcess(configuration: "{\(sockets),\(roles)}")
            (kura, daemon) = (try await process.connect(), process)
        }
        defer { withExtendedLifetime(daemon) {} }
        #expect(kura.server?.role == "reader")
        #expect(try await kura.settings["app"].get("a", as: Int.self) == nil)
        let error = await #expect(throws: KuraError.self) { try await kura.settings["app"].put("a", 1) }
        #expect(error?.kind == .forbidden)
        #expect(error?.message.contains("missing: ") == true)
        // A stream ends with the refusal.
        let stream = kura.changes(ChangeFilter(stores: [.documents], scope: "notes"))
        await #expect(throws: KuraError.self) { for try await _ in stream {} }
    }
}
