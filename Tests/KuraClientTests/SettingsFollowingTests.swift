import KuraClient
import Observation
import Synchronization
import Testing

/// How a mirror follows what is told in several parts, late, or about another history.
@Suite struct SettingsFollowingTests {
    private static let patient = ConnectOptions(timeout: .seconds(120), patience: .seconds(60))

    private static func told(_ rev: Int, _ name: String) -> String {
        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[{"store":"settings","scope":"app","key":"\#(name)","rev":\#(rev)}]}}"#
    }

    /// Answers what a mirror asks for at its beginning: an empty domain at revision 1.
    private static func begins(_ line: String, _ connection: FakeDaemon.Connection) -> Bool {
        if line.contains("changes.watch") {
            connection.send(FakeDaemon.reply(line, #"{"subscription":1,"rev":1,"epoch":"e"}"#))
        } else if line.contains("settings.list") {
            connection.send(FakeDaemon.reply(line, #"{"values":{},"rev":1}"#))
        } else if line.contains("storage.ping") {
            connection.send(FakeDaemon.reply(line, "{}"))
        } else {
            return false
        }
        return true
    }

    @Test func `a mirror is refreshed over all that has changed, however many answers that takes`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                if line.contains("changes.list") {
                    let rev = line.contains(#""afterRev":1,"#) ? 2 : 3
                    let change = #"{"store":"settings","scope":"app","key":"k\#(rev)","rev":\#(rev)}"#
                    connection.send(
                        FakeDaemon.reply(line, #"{"changes":[\#(change)],"rev":\#(rev),"hasMore":\#(rev == 2)}"#))
                } else {
                    let name = line.contains(#""k2""#) ? "k2" : "k3"
                    connection.send(FakeDaemon.reply(line, #"{"values":{"\#(name)":true},"rev":3}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let mirror = try await kura.settings["app"].mirror()
        try await mirror.refreshed()
        #expect(mirror.rev == 3 && mirror.values.keys.sorted() == ["k2", "k3"])
        await kura.close()
    }

    @Test func `a revision that was never given out is told, and not waited for`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let app = kura.settings["app"]
        let rev = try await app.put("a", 1)
        let mirror = try await app.mirror()
        let error = await #expect(throws: KuraError.self) { try await mirror.refreshed(to: rev + 1000) }
        #expect(error?.kind == .invalidParams && error?.advice.contains("epoch") == true)
        await kura.close()
    }

    @Test func `another history is read anew by who asks, though the stream has not told of it`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var lists = 0
            while let line = connection.line() {
                if line.contains("settings.list") {
                    lists += 1
                    let values = lists == 1 ? "" : #""a":"new""#
                    connection.send(FakeDaemon.reply(line, #"{"values":{\#(values)},"rev":9}"#))
                } else if line.contains("changes.list") {
                    connection.send(FakeDaemon.error(line, "epochChanged"))
                } else if !Self.begins(line, connection) {
                    connection.send(FakeDaemon.reply(line, #"{"values":{},"rev":9}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let mirror = try await kura.settings["app"].mirror()
        try await mirror.refreshed()
        #expect(try mirror.value("a", as: String.self) == "new")
        await kura.close()
    }

    @Test func `what is set in another history is shown, though its revision is lower than the mirror's`() async throws
    {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello(epoch: number == 1 ? "e" : "f") else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    // Nothing is told of the other history.
                    guard number == 1 else { continue }
                    connection.send(FakeDaemon.reply(line, #"{"subscription":1,"rev":100,"epoch":"e"}"#))
                } else if line.contains("settings.list") {
                    let page = number == 1 ? #"{"values":{"a":1},"rev":100}"# : #"{"values":{"a":2},"rev":5}"#
                    connection.send(FakeDaemon.reply(line, page))
                } else if line.contains("changes.list") {
                    connection.send(FakeDaemon.error(line, "epochChanged"))
                } else if line.contains("settings.put"), number == 1 {
                    return
                } else {
                    connection.send(FakeDaemon.reply(line, #"{"values":{},"rev":5}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let mirror = try await kura.settings["app"].mirror()
        let setting = Setting(SettingKey("a", default: 0), in: mirror)
        #expect(setting.wrappedValue == 1 && mirror.rev == 100)
        #expect(try await setting.set(2) == 5)
        #expect(setting.wrappedValue == 2 && mirror.rev == 5 && mirror.epoch == "f")
        await kura.close()
    }

    @Test func `a change that cannot be read yet is read later`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var gets = 0
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                if line.contains("settings.getMany") {
                    gets += 1
                    // More often than a call is tried again.
                    connection.send(
                        gets < 8
                            ? FakeDaemon.error(line, "overloaded", #","retryable":true"#)
                            : FakeDaemon.reply(line, #"{"values":{"a":"new"},"rev":2}"#))
                } else {
                    connection.send(Self.told(2, "a"))
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let mirror = try await kura.settings["app"].mirror()
        _ = try await kura.settings["app"].get("tell", as: Int.self)
        try await eventually("it shows") { try mirror.value("a", as: String.self) == "new" }
        #expect(mirror.failure == nil && mirror.rev == 2)
        await kura.close()
    }

    @Test func `very many settings are written, listed and followed whole`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let app = kura.settings["app"]
        let mirror = try await app.mirror()
        let values = try Dictionary(
            uniqueKeysWithValues: (0..<2500).map { ("setting \($0)", try RawJSON(encoding: $0)) })
        let rev = try await app.putMany(values)
        try await eventually("all of them show") { mirror.rev >= rev }
        #expect(mirror.values == values)
        #expect(try await app.list() == values)
        #expect(try await app.mirror().values == values)
        await kura.close()
    }

    @Test func `a domain that is read in parts is as of the first`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("settings.list") {
                    let isFirst = !line.contains("behind")
                    // What follows revision 1 is still to be told: the first part may have changed when the second was read.
                    connection.send(
                        FakeDaemon.reply(
                            line,
                            isFirst
                                ? #"{"values":{"a":"old"},"rev":1,"cursor":"behind"}"#
                                : #"{"values":{"b":"new"},"rev":9}"#))
                } else if line.contains("changes.list") {
                    connection.send(FakeDaemon.error(line, "compacted"))
                } else if line.contains("settings.getMany") {
                    // What was changed at 5 and is told at last.
                    connection.send(
                        FakeDaemon.reply(
                            line,
                            line.contains(#""a""#) ? #"{"values":{"a":"new"},"rev":5}"# : #"{"values":{},"rev":1}"#))
                } else if line.contains("settings.get") {
                    connection.send(Self.told(5, "a"))
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                } else {
                    _ = Self.begins(line, connection)
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let mirror = try await kura.settings["app"].mirror()
        _ = try await kura.settings["app"].get("tell", as: Int.self)
        try await eventually("the change is taken in") { mirror.rev >= 5 }
        #expect(try mirror.value("a", as: String.self) == "new")
        // Read in parts once more, as of 1: what was read at 5 is newer.
        try await mirror.refreshed()
        #expect(try mirror.value("a", as: String.self) == "new", "what was read later takes the place of nothing newer")
        await kura.close()
    }

    @Test func `what was read first does not take the place of what was read since`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var held: String?
            while let line = connection.line() {
                if line.contains("settings.getMany") {
                    if line.contains(#""last""#) {
                        connection.send(FakeDaemon.reply(line, #"{"values":{"last":true},"rev":4}"#))
                    } else if held == nil {
                        held = line
                    } else {
                        connection.send(FakeDaemon.reply(line, #"{"values":{"a":"new"},"rev":3}"#))
                    }
                } else if line.contains("changes.list") {
                    let change = #"{"store":"settings","scope":"app","key":"a","rev":3}"#
                    connection.send(FakeDaemon.reply(line, #"{"changes":[\#(change)],"rev":3,"hasMore":false}"#))
                } else if line.contains("settings.get") {
                    if let held {
                        connection.send(FakeDaemon.reply(held, #"{"values":{"a":"old"},"rev":2}"#))
                        connection.send(Self.told(4, "last"))
                    } else {
                        connection.send(Self.told(2, "a"))
                    }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                } else {
                    _ = Self.begins(line, connection)
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let app = kura.settings["app"]
        let mirror = try await app.mirror()
        _ = try await app.get("tell", as: Int.self)
        try await eventually("the change is being read") { fake.lines(with: "settings.getMany").count == 1 }
        try await mirror.refreshed(to: 3)
        #expect(try mirror.value("a", as: String.self) == "new")
        _ = try await app.get("go on", as: Int.self)
        try await eventually("all of it is taken in") { mirror.values["last"] != nil }
        #expect(try mirror.value("a", as: String.self) == "new")
        await kura.close()
    }

    @Test func `why a mirror follows no more is told, and one that is let go of is followed no more`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if !Self.begins(line, connection) { connection.send(FakeDaemon.reply(line, #"{"rev":0}"#)) }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        var mirror: SettingsMirror? = try await kura.settings["app"].mirror()
        #expect(mirror?.rev == 1)
        mirror = nil
        try await eventually("nobody follows it") { fake.lines(with: "changes.unwatch").count == 1 }
        let kept = try await kura.settings["app"].mirror()
        #expect(kept.failure == nil)
        let told = Counter()
        withObservationTracking {
            _ = kept.failure
        } onChange: {
            _ = told.next()
        }
        await kura.close()
        try await eventually("that the client is closed is told") { told.count == 1 }
        #expect(kept.failure?.kind == .closed)
    }
}
