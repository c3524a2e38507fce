import Glibc
import KuraClient
import Observation
import Synchronization
import Testing

/// What a mirror may say of itself.
@Suite struct SettingsMirrorTests {
    private static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
    }

    private static func told(_ rev: Int, _ changes: String = "") -> String {
        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[\#(changes)]}}"#
    }

    @Test func `what was read before a change does not take the place of what was read behind it`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var lists = 0
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(Self.reply(line, #"{"subscription":1,"rev":40,"epoch":"e"}"#))
                } else if line.contains("changes.list") {
                    let id = FakeDaemon.Connection.id(of: line)
                    connection.send(
                        #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32013,"message":"no","data":{"kind":"compacted"}}}"#
                    )
                } else if line.contains("settings.list") {
                    lists += 1
                    if lists == 2 {
                        // Read as of 45; before it comes, the mirror is told of a change and reads that.
                        connection.send(
                            Self.told(50, #"{"store":"settings","scope":"app","key":"a","rev":50}"#))
                        guard let get = connection.line() else { return }
                        connection.send(Self.reply(get, #"{"values":{"a":"new"},"rev":50}"#))
                        // What comes behind the change says that this was read.
                        connection.send(Self.told(51, #"{"store":"settings","scope":"app","key":"b","rev":51}"#))
                        guard let other = connection.line() else { return }
                        connection.send(Self.reply(other, #"{"values":{"b":1},"rev":51}"#))
                        guard let next = connection.line() else { return }
                        connection.send(Self.reply(next, #"{"rev":0}"#))
                    }
                    connection.send(Self.reply(line, #"{"values":{"a":"old"},"rev":45}"#))
                } else if line.contains("settings.getMany") {
                    connection.send(Self.reply(line, #"{"values":{},"rev":45}"#))
                } else if line.contains("storage.ping") {
                    connection.send(Self.reply(line, "{}"))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let mirror = try await kura.settings["app"].mirror()
        #expect(mirror.rev == 40)
        let refreshing = Task { try await mirror.refreshed(to: 45) }
        while mirror.rev < 51 { try await Task.sleep(for: .milliseconds(1)) }
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        try await refreshing.value
        #expect(mirror.rev == 51)
        #expect(try mirror.value("a", as: String.self) == "new", "it says that it shows revision 51")
        #expect(try mirror.value("b", as: Int.self) == 1)
        await kura.close()
    }

    @Test func `a revision of another history says nothing of this one`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            var held: String?
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    if line.contains("afterRev") {
                        let id = FakeDaemon.Connection.id(of: line)
                        connection.send(
                            #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":-32014,"message":"no","data":{"kind":"epochChanged"}}}"#
                        )
                    } else {
                        let (rev, epoch) = number == 1 ? (1000, "one") : (10, "two")
                        connection.send(Self.reply(line, #"{"subscription":1,"rev":\#(rev),"epoch":"\#(epoch)"}"#))
                    }
                } else if line.contains("settings.list") {
                    connection.send(Self.reply(line, #"{"values":{},"rev":\#(number == 1 ? 1000 : 10)}"#))
                } else if line.contains("changes.list") {
                    guard number == 1 else { continue }
                    // A change of the first history, which then ends.
                    connection.send(
                        Self.reply(
                            line,
                            #"{"changes":[{"store":"settings","scope":"app","key":"a","rev":1001}],"rev":1001,"hasMore":false}"#
                        ))
                    _ = connection.line()
                    return
                } else if line.contains("settings.getMany") {
                    // The first answer waits until the other history has been read.
                    if held == nil {
                        held = line
                    } else {
                        connection.send(Self.reply(line, #"{"values":{},"rev":10}"#))
                    }
                } else if line.contains("storage.ping") {
                    connection.send(Self.reply(line, "{}"))
                } else {
                    connection.send(Self.reply(held ?? line, #"{"values":{"a":"of the other"},"rev":10}"#))
                    connection.send(Self.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(60)))
        let mirror = try await kura.settings["app"].mirror()
        #expect(mirror.rev == 1000 && mirror.epoch == "one")
        let refreshing = Task { try await mirror.refreshed() }
        while mirror.epoch != "two" { try await Task.sleep(for: .milliseconds(1)) }
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        try await refreshing.value
        #expect(mirror.rev == 10, "it does not show what revision 1001 of the other history was")
        #expect(try mirror.value("a", as: String.self) == nil, "nor what was read when that ended")
        await kura.close()
    }

    @Test func `a value of another type shows as the default, and says so to who asks`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let app = kura.settings["app"]
        try await app.put("size", "large")
        let mirror = try await app.mirror()
        let size = Setting(SettingKey("size", default: 3), in: mirror)
        #expect(size.wrappedValue == 3)
        #expect(size.mismatch?.kind == .wrongType)
        try await size.set(4)
        #expect(size.wrappedValue == 4 && size.mismatch == nil)
        #expect(mirror.mismatch(SettingKey("absent", default: 1)) == nil)
        await kura.close()
    }

    @Test func `who looks at a setting is told when it shows another value, and of nothing else`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let app = kura.settings["app"]
        let mirror = try await app.mirror()
        let size = Setting(SettingKey("size", default: 0), in: mirror)
        let seen = Mutex(-1)
        let revs = Mutex<Int64>(0)
        let told = Mutex(0)
        let follower = Task { for await value in Observations({ size.wrappedValue }) { seen.withLock { $0 = value } } }
        let other = Task { for await rev in Observations({ mirror.rev }) { revs.withLock { $0 = rev } } }
        for value in 1...20 {
            let rev = try await app.put("size", value)
            try await eventually("\(value) is seen") {
                seen.withLock { $0 } == value && revs.withLock { $0 } >= rev
            }
        }
        withObservationTracking {
            _ = size.wrappedValue
        } onChange: {
            told.withLock { $0 += 1 }
        }
        try await mirror.refreshed(to: try await app.put("size", 20))
        #expect(told.withLock { $0 } == 0, "it is the same")
        try await mirror.refreshed(to: try await app.put("size", 21))
        #expect(told.withLock { $0 } == 1)
        follower.cancel()
        other.cancel()
        await kura.close()
    }

    @Test func `a mirror that is refreshed has told of what it shows, whoever has read it first`() async throws {
        let daemon = try DaemonProcess()
        let kura = try await daemon.connect()
        let app = kura.settings["app"]
        let mirror = try await app.mirror()
        let size = Setting(SettingKey("size", default: 0), in: mirror)
        let told = Mutex(0)
        for value in 1...30 {
            withObservationTracking {
                _ = size.wrappedValue
            } onChange: {
                // The other of the two that read changes finds nothing new meanwhile.
                usleep(20_000)
                told.withLock { $0 += 1 }
            }
            try await mirror.refreshed(to: try await app.put("size", value))
            #expect(told.withLock { $0 } == value)
        }
        await kura.close()
    }
}
