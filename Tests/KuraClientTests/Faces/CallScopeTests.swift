import Synchronization
import Testing

@testable import KuraClient

/// Options that hold for all calls of a client's view, a face or a query.
@Suite struct CallScopeTests {
    private static func reply(_ line: String, _ result: String) -> String {
        #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
    }

    private static let patient = ConnectOptions(timeout: .seconds(3600), patience: .seconds(3600))

    /// Every call that waits for the daemon, of every face.
    private static func calls(_ kura: Kura) -> [(String, @Sendable () async throws -> Void)] {
        let (app, mail, cards) = (kura.settings["app"], kura.secrets["mail"], kura.documents("cards", of: Card.self))
        let (feed, images, key) = (kura.models["feed"], kura.blobs["images"], SettingKey("a", default: 1))
        let due = DocumentIndex<Card>("due", on: { [$0.due] })
        return [
            ("call", { _ = try await kura.call("storage.ping", json: []) }),
            ("apply", { _ = try await kura.apply { $0.put(Card("1"), in: cards) } }),
            ("settings.get", { _ = try await app.get(key) }),
            ("settings.get by name", { _ = try await app.get("a", as: Int.self) }),
            ("settings.stored", { _ = try await app.stored(key) }),
            ("settings.getMany", { _ = try await app.getMany(["a"]) }),
            ("settings.list", { _ = try await app.list() }),
            ("settings.override", { try await app.override(key, with: 2) }),
            ("settings.clearOverrides", { try await app.clearOverrides() }),
            ("settings.put", { try await app.put(key, 2) }),
            ("settings.delete", { try await app.delete(key) }),
            ("settings.increment", { try await app.increment(key) }),
            ("settings.putMany", { try await app.putMany(["a": RawJSON("2")]) }),
            ("settings.mirror", { _ = try await app.mirror() }),
            ("secrets.get", { _ = try await mail.get("ada") }),
            ("secrets.list", { _ = try await mail.list() }),
            ("secrets.put", { try await mail.put("ada", Secret(text: "x")) }),
            ("secrets.delete", { try await mail.delete("ada") }),
            ("documents.get", { _ = try await cards.get("1") }),
            ("documents.stored", { _ = try await cards.stored("1") }),
            ("documents.getMany", { _ = try await cards.getMany(["1"]) }),
            ("documents.exists", { _ = try await cards.exists("1") }),
            ("documents.count", { _ = try await cards.count { $0.due < 5 } }),
            ("documents.list", { _ = try await cards.list().all() }),
            ("documents.find", { for try await _ in cards.find({ $0.due < 5 }) {} }),
            ("documents.pages", { for try await _ in cards.find().pages {} }),
            ("documents.first", { _ = try await cards.first(where: { $0.due < 5 }) }),
            ("documents.put", { try await cards.put(Card("1")) }),
            ("documents.put at a revision", { _ = try await cards.put(Card("1"), ifRev: 1) }),
            ("documents.putMany", { try await cards.putMany([Card("1")]) }),
            ("documents.delete", { try await cards.delete("1") }),
            ("documents.delete at a revision", { _ = try await cards.delete("1", ifRev: 1) }),
            ("documents.deleteMany", { try await cards.deleteMany(["1"]) }),
            ("documents.deleteMany that match", { try await cards.deleteMany { $0.due < 5 } }),
            ("documents.mutate", { try await cards.mutate("1") { $0.due = 2 } }),
            ("documents.upsert", { try await cards.upsert(Card("1")) { $0.due = 2 } }),
            ("documents.watch", { for try await _ in cards.watch("1") {} }),
            ("documents.indexes", { _ = try await cards.indexes() }),
            ("documents.addIndexes", { try await cards.addIndexes([due]) }),
            ("documents.removeIndex", { try await cards.removeIndex("due") }),
            ("documents.drop", { try await cards.drop() }),
            ("models.get", { _ = try await feed.get("a", as: Int.self) }),
            ("models.put", { try await feed.put(1, for: "a") }),
            ("models.delete", { try await feed.delete("a") }),
            ("models.invalidate", { try await feed.invalidate() }),
            ("models.configure", { try await feed.configure(maxEntries: 5) }),
            ("models.value", { _ = try await feed.value(for: "a", patience: .zero, orFetch: { 1 }).newest() }),
            ("blobs.get", { _ = try await images.get("a") }),
            ("blobs.stat", { _ = try await images.stat("a") }),
            ("blobs.list", { for try await _ in images.list() {} }),
            ("blobs.put", { try await images.put([1], as: "a") }),
            ("blobs.put by descriptor", { try await images.put([UInt8](repeating: 1, count: 10_000), as: "a") }),
            ("blobs.write", { _ = try await images.write("a") }),
            ("blobs.touch", { try await images.touch("a") }),
            ("blobs.delete", { try await images.delete("a") }),
            ("blobs.configure", { try await images.configure(maxEntries: 5) }),
        ]
    }

    @Test func `each call of each face waits as long as it was told, and the connection goes on`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains(#""alive""#) { connection.send(Self.reply(line, #"{"value":3,"rev":1}"#)) }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let calls = Self.calls(kura.with(timeout: .milliseconds(100)))
        let outcomes = calls.map { call in (call.0, Outcome { await kind(call.1) }) }
        try await eventually("all are told") { outcomes.allSatisfy { $0.1.known != nil } }
        for (name, outcome) in outcomes { #expect(outcome.known == .noReply, "\(name)") }
        #expect(try await kura.settings["app"].get("alive", as: Int.self) == 3)
        await kura.close()
        let lines = fake.lines.withLock { $0 }
        #expect(lines.allSatisfy { $0.connection == 1 })
        #expect(lines.contains { $0.line.contains("rpc.cancel") }, "what nobody waits for is given up")
    }

    @Test func `faces and queries have options of their own, and what comes from them has these`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while connection.line() != nil {}
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let short = CallOptions(timeout: .milliseconds(100))
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await kura.settings.with(short)["app"].get("a", as: Int.self) },
            { _ = try await kura.settings["app"].with(short).list() },
            { _ = try await kura.settings["app"].list(options: short) },
            { _ = try await kura.secrets.with(short)["mail"].list() },
            { _ = try await kura.secrets["mail"].with(short).get("ada") },
            { _ = try await kura.documents("cards", of: Card.self).with(short).get("1") },
            { _ = try await kura.documents("cards", of: Card.self).find().limit(3).with(short).pageSize(2).all() },
            { _ = try await kura.models.with(short)["feed"].get("a", as: Int.self) },
            { _ = try await kura.models["feed"].with(short).put(1, for: "a") },
            { _ = try await kura.blobs.with(short)["images"].stat("a") },
            { _ = try await kura.blobs["images"].with(short).get("a") },
        ]
        let outcomes = calls.map { call in Outcome { await kind(call) } }
        try await eventually("all are told") { outcomes.allSatisfy { $0.known != nil } }
        #expect(outcomes.map(\.known) == calls.map { _ in .noReply })
        await kura.close()
    }

    @Test func `what counts is the call's own, then the face's, then the client's`() async throws {
        let fake = try FakeDaemon { _, connection in _ = connection.hello() && connection.line() != nil }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(7)))
        func seconds(_ kura: Kura, _ method: String, _ params: String = "{}", _ own: Duration? = nil) -> Int64 {
            let options = CallOptions(timeout: own)
            let timeout = kura.timeout(method, MethodRule.of(method), Array(params.utf8), options)
            return timeout == .max ? -1 : timeout / 1_000_000_000
        }
        let quick = kura.with(timeout: .seconds(2))
        #expect(seconds(kura, "documents.get") == 7 && seconds(quick, "documents.get") == 2)
        #expect(seconds(quick, "documents.get", "{}", .seconds(1)) == 1)
        #expect(seconds(quick.with(timeout: .seconds(3)), "documents.get") == 3, "the newest counts")
        #expect(seconds(quick.with(CallOptions(requestKey: .none)), "documents.get") == 2, "what is left open stays")
        // What takes minutes by nature takes them unless somebody says otherwise.
        #expect(seconds(kura, "documents.deleteMany") == -1 && seconds(quick, "documents.deleteMany") == 2)
        // What the daemon is asked to wait for comes on top.
        let wait = #"{"collection":"cards","waitMs":10000}"#
        #expect(seconds(kura, "documents.describe", wait) == 17 && seconds(quick, "documents.describe", wait) == 12)
        #expect(seconds(kura.with(timeout: .seconds(1 << 40)), "documents.describe", wait) == -1)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a stream lasts longer than the time of calls`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let events = kura.with(timeout: .milliseconds(1)).settings["app"].watch().makeAsyncIterator()
        guard case .progress? = try await events.next() else { return #expect(Bool(false), "it begins") }
        try await Task.sleep(for: .milliseconds(50))
        try await kura.settings["app"].put("a", 1)
        guard case .changes(let changes, _)? = try await events.next() else { return #expect(Bool(false)) }
        #expect(changes.first?.key == "a")
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a named write is made once, and what saves by itself has no name`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let named = cards.with(CallOptions(requestKey: .named("first")))
        let rev = try await named.put(Card("1"))
        try await cards.delete("1")
        #expect(try await named.put(Card("1")) == rev, "the first result is told")
        #expect(try await named.get("1") == nil, "and a read has no name")
        try await kura.secrets["mail"].with(CallOptions(requestKey: .named("second"))).put("ada", Secret(text: "x"))
        try await kura.secrets["mail"].with(CallOptions(requestKey: .named("second"))).put("ada", Secret(text: "x"))
        #expect(try await kura.secrets["mail"].get("ada")?.secret.text == "x")

        let live = try named.live(saving: .immediate)
        await live.loaded()
        for id in ["2", "3"] {
            live.put(Card(id))
            #expect(try await live.flush())
        }
        #expect(try await cards.count() == 2)
        let mirror = try await kura.settings["app"].with(CallOptions(requestKey: .named("third"))).mirror()
        for value in 1...2 { try await Setting(SettingKey("a", default: 0), in: mirror).set(value) }
        #expect(try await kura.settings["app"].get("a") == 2)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a named key is not spent on a second, different call`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let named = CallOptions(requestKey: .named("once"))
        let rev = try await cards.with(named).put(Card("1"))
        do {
            try await cards.with(named).put(Card("2"))
            Issue.record("another document under the same key")
        } catch {
            #expect(error.kind == .requestKeyReused && error.requestKey == "once" && !error.advice.isEmpty)
        }
        // Another client knows nothing of it: the daemon refuses.
        let other = try await daemon.client()
        let theirs = other.documents("cards", of: Card.self).with(named)
        #expect(await kind { try await theirs.put(Card("2")) } == .requestKeyReused)
        #expect(try await theirs.put(Card("1")) == rev)
        #expect(try await cards.count() == 1)
        // Of what is about secrets the daemon keeps no digest: the client refuses.
        let mail = kura.secrets["mail"].with(CallOptions(requestKey: .named("second")))
        try await mail.put("ada", Secret(text: "x"))
        #expect(await kind { try await mail.put("ada", Secret(text: "y")) } == .requestKeyReused)
        try await mail.put("ada", Secret(text: "x"))
        #expect(try await mail.get("ada")?.secret.text == "x")
        // A call that was refused has spent nothing.
        let third = CallOptions(requestKey: .named("third"))
        let app = kura.settings["app"].with(third)
        #expect(await kind { try await app.put("a", 1, ifRev: 77) } == .conflict)
        try await app.put("a", 2)
        #expect(try await app.get("a", as: Int.self) == 2)
        await kura.close()
        await other.close()
    }

    @Test(arguments: Server.allCases) func `the connection is there as long as one of its clients is`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        var kura: Kura? = try await daemon.client()
        let patient = try #require(kura).with(timeout: .seconds(60))
        do { _ = try #require(kura).with(timeout: .seconds(1)) }
        kura = nil
        try await patient.settings["app"].put("a", 1)
        #expect(try await patient.settings["app"].get("a") == 1)
        let other = patient.with(timeout: .seconds(90))
        await other.close()
        #expect(await kind { _ = try await patient.settings["app"].get("a", as: Int.self) } == .closed)
    }
}
