import KuraClient
import Synchronization
import Testing

/// Who fetches, who waits for it, for how long, and what becomes of a right to fetch that leads to nothing.
@Suite struct FetchClaimsTests {
    private struct Away: Error {}
    private struct TooMany: RetryLater { var retryAfter: Duration { .seconds(60) } }

    /// Takes the right to fetch, for longer than any test lasts.
    private static func hold(_ key: String, _ kura: Kura) async throws {
        struct Params: Encodable {
            let namespace = "feed"
            let key: String
            let claim = true
            let leaseSeconds = 3600
        }
        struct Answer: Decodable { let token: String? }
        let answer: Answer = try await kura.call("models.get", Params(key: key))
        #expect(answer.token != nil)
    }

    @Test func `whoever waits for another's fetch does so as long as it has patience`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let feed = kura.models["feed"]
        try await feed.put(1, for: "stale", lifetime: .init(fresh: .zero, stale: .seconds(600)))
        for key in ["missing", "stale"] { try await Self.hold(key, other) }
        @Sendable func unwanted() -> Int {
            Issue.record("somebody else fetches")
            return 0
        }
        let none = await #expect(throws: KuraError.self) {
            try await feed.value(for: "missing", as: Int.self, patience: .milliseconds(50), orFetch: unwanted).newest()
        }
        #expect(none?.kind == .noReply && none?.advice.contains("patience") == true)
        var seen: [Int] = []
        for try await value in feed.value(
            for: "stale", as: Int.self, patience: .milliseconds(50), orFetch: unwanted)
        {
            seen.append(value.value)
        }
        #expect(seen == [1], "what is stale, and then no more")
        await kura.close()
        await other.close()
    }

    @Test func `whoever waits for a fetch that fails fetches itself`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        try await kura.models["feed"].put(1, for: "a", lifetime: .init(fresh: .zero, stale: .seconds(600)))
        var winner = other.models["feed"].value(
            for: "a", as: Int.self, lease: .seconds(3600), orFetch: { throw Away() }
        ).makeAsyncIterator()
        var waiter = kura.models["feed"].value(for: "a", as: Int.self, patience: .seconds(600), orFetch: { 2 })
            .makeAsyncIterator()
        #expect(try await winner.next()?.value == 1)
        #expect(try await waiter.next()?.value == 1)
        await #expect(throws: Away.self) { try await winner.next() }
        #expect(try await waiter.next()?.value == 2)
        await kura.close()
        await other.close()
    }

    @Test func `what another has brought is not fetched again by who wants nothing older`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        try await kura.models["feed"].put(1, for: "a", lifetime: .init(fresh: .seconds(600)))
        let fetches = Counter()
        let values = [kura, other].map { client in
            client.models["feed"].value(
                for: "a", as: Int.self, maxAge: .zero, patience: .seconds(600), lease: .seconds(3600)
            ) { 1 + fetches.next() }
        }
        var (winner, waiter) = (values[0].makeAsyncIterator(), values[1].makeAsyncIterator())
        #expect(try await winner.next()?.value == 1)
        #expect(try await waiter.next()?.value == 1)
        #expect(try await winner.next()?.value == 2)
        #expect(try await waiter.next()?.value == 2)
        #expect(fetches.count == 1)
        await kura.close()
        await other.close()
    }

    /// Ages are whole milliseconds: what was stored just before the request may be told as younger than that.
    @Test func `what was shown as stale is not shown again as what another has brought`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var gets = 0
            while let line = connection.line() {
                gets += 1
                let state = gets < 3 ? #""state":"stale","value":0"# : #""state":"fresh","value":1"#
                connection.send(FakeDaemon.reply(line, #"{\#(state),"ageMs":0}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        var seen: [Int] = []
        for try await value in kura.models["feed"].value(for: "a", as: Int.self, orFetch: { 2 }) {
            seen.append(value.value)
        }
        #expect(seen == [0, 1])
        await kura.close()
    }

    @Test func `what another has brought is seen though patience is over`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        try await kura.models["feed"].put(0, for: "a", lifetime: .init(fresh: .zero, stale: .seconds(600)))
        var winner = other.models["feed"].value(for: "a", as: Int.self, lease: .seconds(3600), orFetch: { 1 })
            .makeAsyncIterator()
        var waiter = kura.models["feed"].value(for: "a", as: Int.self, patience: .zero, orFetch: { 2 })
            .makeAsyncIterator()
        #expect(try await winner.next()?.value == 0)
        #expect(try await waiter.next()?.value == 0)
        #expect(try await winner.next()?.value == 1)
        #expect(try await waiter.next()?.value == 1)
        await kura.close()
        await other.close()
    }

    @Test func `a right to fetch that leads to nothing is given back`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let feed = kura.models["feed"]
        /// Fetched soon, though the right to it would last for an hour.
        let hour = Duration.seconds(3600)
        func isFree(_ key: String) async throws -> Bool {
            try await other.models["feed"].value(for: key, as: Double.self, patience: .seconds(60), orFetch: { 7 })
                .newest() == 7
        }
        // Nothing is cached that could be unmodified.
        let nothing = await #expect(throws: KuraError.self) {
            try await feed.value(for: "unmodified", as: Double.self, lease: hour, orRefresh: { _ in .notModified })
                .newest()
        }
        #expect(nothing?.kind == .notFound)
        #expect(try await isFree("unmodified"))
        let nan = await #expect(throws: KuraError.self) {
            try await feed.value(for: "nan", as: Double.self, lease: hour, orFetch: { .nan }).newest()
        }
        #expect(nan?.kind == .notEncodable)
        #expect(try await isFree("nan"))
        let cancelled = Task {
            try await feed.value(for: "cancelled", as: Double.self, lease: hour) {
                withUnsafeCurrentTask { $0?.cancel() }
                throw Away()
            }.newest()
        }
        await #expect(throws: Away.self) { try await cancelled.value }
        #expect(try await isFree("cancelled"))
        await kura.close()
        await other.close()
    }

    @Test func `a source that asks to be left alone is, and that is told at once`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        await #expect(throws: TooMany.self) {
            try await feed.value(for: "a", as: Int.self, orFetch: { throw TooMany() }).newest()
        }
        let error = await #expect(throws: KuraError.self) {
            try await feed.value(for: "a", as: Int.self) {
                Issue.record("nobody is to try")
                return 1
            }.newest()
        }
        #expect(error?.kind == .timeout && error?.message.contains("left alone") == true)
        await kura.close()
    }

    @Test func `what is fetched has the tags, the lifetime and the version that were said`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        let values = feed.value(for: "a", as: Int.self, lifetime: .init(fresh: .seconds(600)), tags: ["t"]) { _ in
            .value(1, etag: "v1")
        }
        #expect(try await values.newest() == 1)
        let known = try await feed.get("a", as: Int.self)
        #expect(known?.isFresh == true && known?.etag == "v1")
        try await feed.invalidate(.tag("t"))
        #expect(try await feed.get("a", as: Int.self)?.isFresh == false)
        _ = try await feed.value(for: "b", as: Int.self, lifetime: .init(fresh: .zero), orFetch: { 1 }).newest()
        #expect(try await feed.get("b", as: Int.self)?.isFresh == false)
        await kura.close()
    }
}
