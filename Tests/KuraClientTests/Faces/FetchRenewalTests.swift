import Synchronization
import Testing

@testable import KuraClient

/// Fetching that takes longer than the right to it lasts: the right is renewed as long as it takes, and no longer.
@Suite struct FetchRenewalTests {
    private struct Away: Error {}

    /// Answers as a daemon that has given the right to fetch; `renewal` answers the renewal of this number.
    private static func fake(
        _ renewal: @escaping @Sendable (Int, String) -> String? = { _, line in
            FakeDaemon.reply(line, #"{"expiresAt":"2026-01-01T00:00:00.000Z"}"#)
        }
    ) throws -> FakeDaemon {
        let renewals = Counter()
        return try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                switch line {
                case _ where line.contains("models.renew"):
                    // Without an answer the connection is cut.
                    guard let answer = renewal(renewals.next(), line) else { return }
                    connection.send(answer)
                case _ where line.contains("models.get"):
                    connection.send(FakeDaemon.reply(line, #"{"state":"miss","ageMs":0,"token":"won"}"#))
                case _ where line.contains("models.fail"):
                    connection.send(FakeDaemon.reply(line, #"{"ended":true}"#))
                default: connection.send(FakeDaemon.reply(line, #"{"stored":true}"#))
                }
            }
        }
    }

    private static func client(_ fake: FakeDaemon) async throws -> ModelCache {
        try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120), patience: .seconds(120)))
            .models["feed"]
    }

    /// What has come, by the last words of the methods.
    private static func methods(_ fake: FakeDaemon) -> [String] {
        fake.lines.withLock { $0 }.compactMap { line in
            ["get", "renew", "put", "fail"].first { line.line.contains("\"models.\($0)\"") }
        }
    }

    /// Long enough for several renewals with a lease of one second, were there any.
    private static func letTimePass() async throws { try await Task.sleep(for: .milliseconds(800)) }

    @Test(arguments: ["ends", "fails", "is cancelled"])
    func `the right to fetch is renewed until the fetch is over`(way: String) async throws {
        let fake = try Self.fake()
        let feed = try await Self.client(fake)
        let fetching = Task {
            try await feed.value(for: "a", as: Int.self, lease: .seconds(1)) {
                try await eventually("it is renewed again and again") { Self.methods(fake).count >= 4 }
                if way == "fails" { throw Away() }
                if way == "is cancelled" { try await Task.sleep(for: .seconds(3600)) }
                return 1
            }.newest()
        }
        if way == "is cancelled" {
            try await eventually("it is renewed again and again") { Self.methods(fake).count >= 4 }
            fetching.cancel()
        }
        switch await fetching.result {
        case .success(let value): #expect(value == 1 && way == "ends")
        case .failure(let error): #expect(way != "ends" && error is Away == (way == "fails"), "\(error)")
        }
        try await Self.letTimePass()
        await feed.kura.close()
        let methods = Self.methods(fake)
        #expect(methods.first == "get" && methods.dropFirst().dropLast().allSatisfy { $0 == "renew" }, "\(methods)")
        #expect(methods.last == (way == "ends" ? "put" : "fail") && methods.count >= 5, "\(methods)")
        for line in fake.lines(with: "models.renew") {
            #expect(
                line.contains(#""params":{"namespace":"feed","key":"a","token":"won","leaseSeconds":1}"#), "\(line)")
        }
    }

    @Test func `a fetch that is over in time renews nothing`() async throws {
        let fake = try Self.fake()
        let feed = try await Self.client(fake)
        let value = try await feed.value(for: "a", as: Int.self, lease: .seconds(3600)) {
            try await Task.sleep(for: .milliseconds(200))
            return 1
        }.newest()
        #expect(value == 1)
        await feed.kura.close()
        #expect(Self.methods(fake) == ["get", "put"])
    }

    @Test func `it is renewed at a third of its time, which is the daemon's own when nothing is said`() {
        #expect(CacheClaim.renewal(of: nil) == (30, .seconds(10)))
        #expect(CacheClaim.renewal(of: .seconds(90)) == (90, .seconds(30)))
        #expect(CacheClaim.renewal(of: .milliseconds(900)) == (1, .seconds(1) / 3))
    }

    /// Shown as stale, and looked at for longer than a lease lasts.
    @Test func `a right that is old when the fetch begins is renewed at once`() async throws {
        let fake = try Self.fake()
        let feed = try await Self.client(fake)
        let claim = CacheClaim(cache: feed)
        claim.take("won", since: .now - .seconds(1200))
        let keeping = Task { await claim.keep(for: "a", lease: .seconds(3600)) }
        try await eventually("it is renewed") { Self.methods(fake) == ["renew"] }
        keeping.cancel()
        await keeping.value
        claim.forget()
        await feed.kura.close()
    }

    @Test func `a right that is lost is not asked for again, and the fetch goes on`() async throws {
        let fake = try Self.fake { _, line in FakeDaemon.error(line, "tokenInvalid", #","reason":"lost""#) }
        let feed = try await Self.client(fake)
        let value = try await feed.value(for: "a", as: Int.self, lease: .seconds(1)) {
            try await eventually("it is renewed") { Self.methods(fake).contains("renew") }
            try await Self.letTimePass()
            return 1
        }.newest()
        #expect(value == 1)
        await feed.kura.close()
        #expect(Self.methods(fake) == ["get", "renew", "put"])
    }

    @Test func `a renewal that meets no daemon is tried again, and takes nothing from the fetch`() async throws {
        let fake = try Self.fake { number, line in
            number < 3 ? nil : FakeDaemon.reply(line, #"{"expiresAt":"2026-01-01T00:00:00.000Z"}"#)
        }
        let feed = try await Self.client(fake)
        let value = try await feed.value(for: "a", as: Int.self, lease: .seconds(1)) {
            try await eventually("it goes on") { Self.methods(fake).filter { $0 == "renew" }.count >= 4 }
            return 1
        }.newest()
        #expect(value == 1)
        await feed.kura.close()
        #expect(Self.methods(fake).last == "put")
    }

    /// A renewal may be late on a busy machine, and then somebody else has to win. Whether it was is told by the control, which sleeps and asks as the
    /// renewals do.
    @Test(arguments: Server.allCases) func `of several clients one fetches, for several times its lease`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let (lease, begun, longest) = (Duration.seconds(3), Counter(), Longest())
        let fetching = Task {
            try await kura.models["feed"].value(for: "lease", as: String.self, lease: lease) {
                _ = begun.next()
                try await Task.sleep(for: lease * 2.5)
                return "first"
            }.newest()
        }
        try await eventually("it fetches") { begun.count == 1 }
        let control = Task {
            while !Task.isCancelled {
                let start = ContinuousClock.now
                try await Task.sleep(for: lease / 3)
                _ = try await kura.call("storage.ping", json: [])
                longest.note(ContinuousClock.now - start)
            }
        }
        let others = other.models["feed"].value(for: "lease", as: String.self, patience: .seconds(300)) {
            _ = begun.next()
            return "second"
        }
        let told = try await others.newest()
        #expect(told == (begun.count == 1 ? "first" : "second"))
        #expect(try await fetching.value == "first")
        control.cancel()
        _ = await control.result
        #expect(begun.count == 1 || longest.time > lease / 2, "\(longest.time)")
        await kura.close()
        await other.close()
    }

    /// The longest of several times.
    private final class Longest: Sendable {
        private let longest = Mutex(Duration.zero)
        var time: Duration { longest.withLock { $0 } }
        func note(_ time: Duration) { longest.withLock { $0 = max($0, time) } }
    }

    @Test(arguments: Server.allCases) func `who has renewed and dies is replaced after a lease`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let begun = Counter()
        let fetching = Task {
            try await kura.models["feed"].value(for: "a", as: Int.self, lease: .seconds(1)) {
                _ = begun.next()
                try await Task.sleep(for: .seconds(3600))
                return 1
            }.newest()
        }
        try await eventually("it fetches") { begun.count == 1 }
        // Some renewals.
        try await Self.letTimePass()
        // As when the process is killed: the daemon learns that the connection is gone, and no more.
        await kura.close()
        let values = other.models["feed"].value(for: "a", as: Int.self, patience: .seconds(120)) { 2 }
        #expect(try await values.newest() == 2)
        fetching.cancel()
        _ = await fetching.result
        await other.close()
    }
}
