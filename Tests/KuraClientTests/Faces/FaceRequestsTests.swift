import Synchronization
import Testing

@testable import KuraClient

/// What the faces ask for is in their requests, and what they are told is in their answers.
@Suite struct FaceRequestsTests {
    private static func kind(_ body: () async throws -> Void) async -> KuraError.Kind? {
        do { try await body() } catch let error as KuraError { return error.kind } catch {}
        return nil
    }

    @Test func `a condition that does not hold changes nothing, and a counter begins at its default`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let app = kura.settings["app"]
        let rev = try await app.put("a", 1)
        #expect(await Self.kind { try await app.putMany(["a": RawJSON("2")], ifRev: rev - 1) } == .conflict)
        #expect(await Self.kind { try await app.delete("a", ifRev: rev + 1) } == .conflict)
        #expect(try await app.get("a") == 1)
        #expect(try await app.increment(SettingKey("count", default: 5)) == 6)
        let mail = kura.secrets["mail"]
        let first = try await mail.put("ada", Secret(text: "one"))
        #expect(await Self.kind { try await mail.put("ada", Secret(text: "two"), ifRev: 0) } == .conflict)
        #expect(await Self.kind { try await mail.delete("ada", ifRev: first + 1) } == .conflict)
        try await mail.put("ada", Secret(text: "two"), ifRev: first)
        #expect(try await mail.get("ada", version: 1)?.secret.text == "one")
        #expect(try await mail.get("ada")?.secret.text == "two")
        await kura.close()
    }

    @Test func `a value of null is told as one, and none where it was removed`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let rev = try await kura.settings["app"].put("a", RawJSON.null)
        let events = kura.changes(.settings("app", values: true), afterRev: rev - 1).makeAsyncIterator()
        guard case .changes(let changes, _)? = try await events.next() else {
            Issue.record("it is told")
            return
        }
        #expect(changes.first?.value == RawJSON.null)
        await kura.close()
    }

    @Test func `secrets are written under keys, lists go on, what is fetched has its claim`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                let result =
                    if line.contains("models.get") {
                        #"{"state":"miss","token":"won"}"#
                    } else if line.contains("secrets.list"), !line.contains("cursor") {
                        #"{"items":[],"cursor":"behind"}"#
                    } else {
                        #"{"items":[],"rev":1,"stored":true}"#
                    }
                connection.send(#"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#)
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        try await kura.secrets["mail"].put("ada", Secret(text: "x"))
        _ = try await kura.secrets["mail"].list()
        #expect(try await kura.models["feed"].value(for: "a", as: Int.self, orFetch: { 1 }).newest() == 1)
        await kura.close()
        let lines = fake.lines.withLock { $0 }.map(\.line)
        #expect(lines.first { $0.contains("secrets.put") }?.contains(#""requestKey":""#) == true)
        #expect(lines.filter { $0.contains("secrets.list") }.map { $0.contains(#""behind""#) } == [false, true])
        #expect(lines.first { $0.contains("models.put") }?.contains(#""token":"won""#) == true)
    }

    @Test func `a lease is asked for with each claim, and not when nothing is said`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var asked = 0
            while let line = connection.line() {
                asked += line.contains("models.get") ? 1 : 0
                // Stale, and somebody else's; then the right to fetch; then a miss.
                let result =
                    switch asked {
                    case _ where line.contains("models.put"): #"{"stored":true}"#
                    case 1: #"{"state":"stale","value":0,"ageMs":5}"#
                    case 2: #"{"state":"stale","value":0,"ageMs":9,"token":"won"}"#
                    default: #"{"state":"miss","token":"won"}"#
                    }
                connection.send(#"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#)
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let feed = kura.models["feed"]
        #expect(try await feed.value(for: "a", as: Int.self, lease: .seconds(90), orFetch: { 1 }).newest() == 1)
        #expect(try await feed.value(for: "a", as: Int.self, orFetch: { 2 }).newest() == 2)
        await kura.close()
        let lines = fake.lines.withLock { $0 }.map(\.line).filter { $0.contains("models.get") }
        #expect(lines.map { $0.contains(#""leaseSeconds":90"#) } == [true, true, false])
        #expect(lines.last?.contains("lease") == false)
    }

    @Test func `a cache says what became of a put`() throws {
        for (answer, outcome) in [
            (#"{"stored":true}"#, ModelCache.Outcome.stored), (#"{"stored":true,"stale":true}"#, .storedAsStale),
            (#"{"stored":false,"reason":"overBudget"}"#, .declined(reason: "overBudget")),
        ] {
            #expect(ModelCache.outcome(try #require(JSONObject(Array(answer.utf8)))) == outcome)
        }
    }

    @Test func `lifetimes are whole seconds, rounded up`() {
        #expect(ModelCache.Lifetime.seconds(.zero) == 0)
        #expect(ModelCache.Lifetime.seconds(.milliseconds(1)) == 1)
        #expect(ModelCache.Lifetime.seconds(.seconds(2)) == 2)
        #expect(ModelCache.Lifetime.seconds(.seconds(-2)) == 0)
    }
}
