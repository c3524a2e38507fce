import KuraClient
import Synchronization
import Testing

/// What holds for a connection alone, when the client has to connect again.
@Suite struct StandingStateTests {
    static let theme = SettingKey("theme", default: "light")
    static let size = SettingKey("size", default: 10)

    private static func call(_ kura: Kura, _ method: String, _ params: String) async throws {
        _ = try await kura.call(method, json: Array(params.utf8))
    }

    private final class Losses: Sendable {
        let list = Mutex<[LostState]>([])
        var all: [LostState] { list.withLock { $0 } }
    }

    @Test func `overrides are set again before anything is read, and cleared ones are not`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let (app, other) = (kura.settings["app"], kura.settings["other"])
        try await app.put(Self.size, 12)
        try await app.override(Self.theme, with: "dark")
        try await app.override(Self.size, with: 40)
        try await app.override(Self.size, with: 41)
        // By position, as by name.
        try await Self.call(kura, "settings.override", #"["other","theme","red"]"#)
        try await Self.call(kura, "settings.override", #"{"domain":"other","key":"size","value":7}"#)
        try await app.override(SettingKey("gone", default: 0), with: 1)
        try await app.clearOverrides(of: "gone")
        for _ in 0..<2 {
            daemon.kill()
            try daemon.start()
            // All at once, so that some are sent as soon as there is a connection.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        let sizes = (try await app.get(Self.size), try await other.get(Self.size))
                        let themes = (try await app.get(Self.theme), try await other.get(Self.theme))
                        let gone = try await app.get("gone", as: Int.self)
                        #expect(sizes == (41, 7) && themes == ("dark", "red") && gone == nil)
                    }
                }
                try await group.waitForAll()
            }
        }
        try await app.clearOverrides()
        daemon.kill()
        try daemon.start()
        #expect(try await app.get(Self.size) == 12)
        #expect(try await app.get(Self.theme) == "light")
        #expect(try await other.get(Self.theme) == "red")
        try await Self.call(kura, "settings.clearOverrides", "{}")
        daemon.kill()
        try daemon.start()
        #expect(try await other.get(Self.theme) == "light")
        await kura.close()
    }

    @Test func `an override that is refused meanwhile is told and forgotten, the others hold`() async throws {
        let daemon = try DaemonProcess(configuration: #"{"sockets":[{"path":"ROOT/kura.sock","role":"admin"}]}"#)
        let losses = Losses()
        var options = ConnectOptions(timeout: .seconds(120), patience: .seconds(60))
        options.onLostState = { lost in losses.list.withLock { $0.append(lost) } }
        let kura = try await daemon.connect(options)
        let app = kura.settings["app"]
        try await app.override(Self.theme, with: "dark")
        try await app.override(Self.size, with: 40)
        daemon.kill()
        try daemon.write("locks.json", #"{"app":{"theme":{"value":"blue","reason":"the host's"}}}"#)
        try daemon.write(
            "config.json",
            #"{"sockets":[{"path":"ROOT/kura.sock","role":"admin"}],"settingsLocks":"ROOT/locks.json"}"#)
        try daemon.start()
        #expect(try await app.get(Self.theme) == "blue")
        #expect(try await app.get(Self.size) == 40)
        #expect(losses.all.map(\.what) == [.override(domain: "app", key: "theme")])
        #expect(losses.all.first?.error.kind == .locked)
        daemon.kill()
        try daemon.start()
        #expect(try await app.get(Self.size) == 40)
        #expect(losses.all.count == 1, "it is not asked for again")
        await kura.close()
    }

    @Test func `a declared version holds writes back on the next connection too`() async throws {
        let daemon = try DaemonProcess()
        let (old, new) = (try await daemon.connect(), try await daemon.connect())
        try await Self.call(old, "documents.configure", #"{"collection":"people","version":1}"#)
        try await Self.call(old, "documents.put", #"{"collection":"people","id":"a","value":{"mail":"x"}}"#)
        daemon.kill()
        try daemon.start()
        // As long as nobody else has migrated the collection, nothing is held against it.
        try await Self.call(old, "documents.put", #"{"collection":"people","id":"b","value":{"mail":"y"}}"#)
        daemon.kill()
        try daemon.start()
        try await Self.call(
            new, "documents.configure",
            #"{"collection":"people","version":2,"migrations":[{"to":2,"steps":[{"rename":{"from":"mail","to":"email"}}]}]}"#
        )
        for _ in 0..<2 {
            let error = await #expect(throws: KuraError.self) {
                try await Self.call(old, "documents.put", #"{"collection":"people","id":"c","value":{"mail":"z"}}"#)
            }
            #expect(error?.kind == .schemaTooNew)
            daemon.kill()
            try daemon.start()
        }
        try await Self.call(new, "documents.put", #"{"collection":"people","id":"d","value":{"email":"z"}}"#)
        await old.close()
        await new.close()
    }

    @Test func `a scratch namespace is one again, with what it was configured to be`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        try await Self.call(kura, "models.configure", #"{"namespace":"drafts","scratch":true,"ttlSeconds":60}"#)
        try await Self.call(kura, "models.configure", #"{"namespace":"drafts","maxEntries":5}"#)
        try await Self.call(kura, "models.configure", #"{"namespace":"kept","scratch":true}"#)
        try await Self.call(kura, "models.configure", #"{"namespace":"kept","scratch":false}"#)
        try await Self.call(kura, "models.put", #"{"namespace":"drafts","key":"a","value":1}"#)
        daemon.kill()
        try daemon.start()
        try await Self.call(kura, "models.put", #"{"namespace":"drafts","key":"b","value":2}"#)
        let text = try await kura.call("models.describe", json: Array(#"{"namespace":"drafts"}"#.utf8)).result
        let described = String(decoding: text, as: UTF8.self)
        #expect(described.contains("\"scratch\":true"), "\(described)")
        #expect(described.contains("\"ttlSeconds\":60") && described.contains("\"maxEntries\":5"), "\(described)")
        try await Self.call(kura, "models.put", #"{"namespace":"kept","key":"a","value":1}"#)
        let kept = try await kura.call("models.describe", json: Array(#"{"namespace":"kept"}"#.utf8)).result
        #expect(String(decoding: kept, as: UTF8.self).contains("\"scratch\":false"))
        await kura.close()
    }

    @Test func `what the client called itself by hand stands in the log again`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        try await Self.call(kura, "session.hello", #"{"client":"tool","version":"3.1"}"#)
        daemon.kill()
        try daemon.start()
        let stream = kura.settings["app"].watch()
        try await kura.settings["app"].put(Self.size, 1)
        for try await event in stream {
            guard case .changes(let changes, _) = event else { continue }
            #expect(changes.first?.client == "tool/3.1")
            break
        }
        await kura.close()
    }

    @Test func `that it was launched is said once, also by hand`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("settings.get"), number == 1 { return }
                connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(60)))
        try await Self.call(kura, "session.hello", #"{"client":"tool","version":"3.1","launch":true}"#)
        _ = try await kura.settings["app"].get("a", as: Int.self)
        await kura.close()
        #expect(fake.lines(with: #""client":"tool""#).count == 2, "it is introduced to both")
        #expect(fake.lines(with: #""launch""#).count == 1)
    }

    @Test func `tokens and uploads of a lost connection are told when they are used`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        func text(_ method: String, _ params: String) async throws -> String {
            String(decoding: try await kura.call(method, json: Array(params.utf8)).result, as: UTF8.self)
        }
        func value(_ name: String, in text: String) throws -> String {
            let rest = try #require(text.components(after: "\"\(name)\":\""))
            return String(rest.prefix { $0 != "\"" })
        }
        let claim = try await text("models.get", #"{"namespace":"n","key":"k","claim":true}"#)
        let token = try value("token", in: claim)
        let upload = try value("upload", in: try await text("blobs.beginUpload", #"{"namespace":"n","key":"k"}"#))
        daemon.kill()
        try daemon.start()
        // Over the new connection: on the old one such a write would be lost, which is told otherwise.
        _ = try await kura.settings["app"].get(Self.size)
        let noClaim = await #expect(throws: KuraError.self) {
            try await text("models.put", #"{"namespace":"n","key":"k","value":1,"token":"\#(token)"}"#)
        }
        #expect(noClaim?.kind == .tokenInvalid)
        let noUpload = await #expect(throws: KuraError.self) {
            try await text("blobs.commitUpload", #"{"upload":"\#(upload)"}"#)
        }
        #expect(noUpload?.kind == .uploadNotFound)
        await kura.close()
    }
}

extension String {
    /// What follows the first place where `part` stands.
    fileprivate func components(after part: String) -> Substring? {
        let pieces = split(separator: part, maxSplits: 1, omittingEmptySubsequences: false)
        return pieces.count == 2 ? pieces[1] : nil
    }
}
