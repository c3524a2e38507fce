import KuraClient
import Testing

@Suite struct ModelCacheFaceTests {
    private struct News: Codable, Sendable, Equatable { var title: String }
    private struct Away: Error {}
    private struct TooMany: RetryLater { var retryAfter: Duration { .seconds(60) } }

    @Test(arguments: Server.allCases) func `values are put, read, invalidated and deleted`(server: Server) async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        #expect(try await feed.get("home", as: News.self) == nil)
        #expect(try await feed.put(News(title: "one"), for: "home", etag: "v1", tags: ["t"]) == .stored)
        let known = try #require(try await feed.get("home", as: News.self))
        #expect(known.value == News(title: "one") && known.isFresh && known.etag == "v1")
        #expect(try await feed.put(News(title: "two"), for: "home", ifAbsent: true) == .declined(reason: "exists"))
        try await feed.invalidate(.tag("t"))
        #expect(try await feed.get("home", as: News.self)?.isFresh == false)
        #expect(try await feed.get("home", as: Int.self) == nil, "what has another shape is not there")
        try await feed.invalidate(.prefix("ho"), dropping: true)
        #expect(try await feed.get("home", as: News.self) == nil)
        try await feed.put(1, for: "x")
        #expect(try await feed.delete("x"))
        #expect(try await !feed.delete("x"))
        try await feed.configure(lifetime: .init(fresh: .zero), maxEntries: 10, maxBytes: 1 << 20, place: .memory)
        try await feed.put(2, for: "y")
        #expect(try await feed.get("y", as: Int.self)?.isFresh == false, "the namespace's lifetime holds")
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `what is stale comes first, what is fetched next, and what is fresh alone`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        let fetches = Counter()
        let values = feed.value(for: "home", as: News.self, lifetime: .init(fresh: .seconds(3600))) {
            News(title: "fetch \(fetches.next())")
        }
        var shown: [String] = []
        for try await news in values { shown.append("\(news.value.title) \(news.isFresh)") }
        #expect(shown == ["fetch 1 true"], "nothing was there")
        for try await news in values { shown.append("\(news.value.title) \(news.isFresh)") }
        #expect(shown.dropFirst() == ["fetch 1 true"], "it is fresh: nobody fetches")
        try await feed.invalidate()
        for try await news in values { shown.append("\(news.value.title) \(news.isFresh)") }
        #expect(shown.dropFirst(2) == ["fetch 1 false", "fetch 2 true"])
        #expect(try await feed.get("home", as: News.self)?.value.title == "fetch 2")
        // Show what is there, fetch in any case.
        let always = feed.value(for: "home", as: News.self, maxAge: .zero) { News(title: "always") }
        #expect(try await always.newest() == News(title: "always"))
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `of many callers in several clients one fetches, and all have what it brought`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let clients = [try await daemon.client(), try await daemon.client(), try await daemon.client()]
        for isStale in [false, true] {
            let fetches = Counter()
            let key = isStale ? "stale" : "missing"
            if isStale {
                try await clients[0].models["feed"].put(
                    0, for: key, lifetime: .init(fresh: .zero, stale: .seconds(600)))
            }
            let newest = try await withThrowingTaskGroup(of: [Int].self) { group in
                for number in 0..<24 {
                    let feed = clients[number % 3].models["feed"]
                    group.addTask {
                        var values: [Int] = []
                        let sequence = feed.value(
                            for: key, as: Int.self, lifetime: .init(fresh: .seconds(3600)), patience: .seconds(600),
                            lease: .seconds(3600)
                        ) {
                            try await Task.sleep(for: .milliseconds(200))
                            return fetches.next()
                        }
                        for try await value in sequence { values.append(value.value) }
                        return values
                    }
                }
                var all: [[Int]] = []
                for try await values in group { all.append(values) }
                return all
            }
            #expect(fetches.count == 1, "\(key)")
            // Whoever came when it was there already has it alone.
            #expect(newest.allSatisfy { $0.last == 1 && $0.count <= (isStale ? 2 : 1) }, "\(key): \(newest)")
        }
        for client in clients { await client.close() }
    }

    @Test(arguments: Server.allCases) func `what came while the stale value was looked at is the next`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let clients = [try await daemon.client(), try await daemon.client()]
        try await clients[0].models["feed"].put(0, for: "a", lifetime: .init(fresh: .zero, stale: .seconds(600)))
        let values = clients.map {
            $0.models["feed"].value(
                for: "a", as: Int.self, lifetime: .init(fresh: .seconds(3600)), patience: .seconds(600),
                lease: .seconds(3600)
            ) { 1 }
        }
        var (winner, waiter) = (values[0].makeAsyncIterator(), values[1].makeAsyncIterator())
        #expect(try await winner.next()?.value == 0)
        #expect(try await waiter.next()?.value == 0)
        #expect(try await winner.next()?.value == 1)
        try await Task.sleep(for: .milliseconds(50))
        #expect(try await waiter.next()?.value == 1)
        #expect(try await waiter.next() == nil)
        for client in clients { await client.close() }
    }

    @Test(arguments: Server.allCases) func `a failed fetch is its own caller's error, and the next one fetches`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        try await feed.put(1, for: "a", lifetime: .init(fresh: .zero, stale: .seconds(600)))
        var seen: [Int] = []
        do {
            for try await value in feed.value(for: "a", as: Int.self, orFetch: { throw Away() }) {
                seen.append(value.value)
            }
            Issue.record("the fetch failed")
        } catch is Away {}
        #expect(seen == [1], "what is stale was shown before")
        // An iteration that is let go of after the stale value has won the right to fetch, and gives it back: else nobody could for
        // an hour.
        for try await _ in feed.value(for: "a", as: Int.self, lease: .seconds(3600), orFetch: { 0 }) { break }
        #expect(try await feed.value(for: "a", as: Int.self, patience: .seconds(60), orFetch: { 2 }).newest() == 2)
        // The source asks to be left alone: nobody tries.
        await #expect(throws: TooMany.self) {
            try await feed.value(for: "b", as: Int.self, orFetch: { throw TooMany() }).newest()
        }
        await #expect(throws: KuraError.self) {
            try await feed.value(for: "b", as: Int.self) {
                Issue.record("nobody is to try")
                return 1
            }.newest()
        }
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `a source that knows versions says that nothing has changed, and nothing is written`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        let values = feed.value(for: "a", as: String.self, lifetime: .init(fresh: .seconds(3600))) { known in
            if known?.etag == "v1" { return .notModified }
            return .value("text", etag: "v1")
        }
        #expect(try await values.newest() == "text")
        try await feed.invalidate()
        var states: [Bool] = []
        for try await value in values {
            #expect(value.value == "text" && value.etag == "v1")
            states.append(value.isFresh)
        }
        #expect(states == [false, true])
        #expect(try await feed.get("a", as: String.self)?.isFresh == true)
        // What nobody is to keep.
        #expect(try await feed.value(for: "cart", as: Int.self, store: false, orFetch: { 5 }).newest() == 5)
        #expect(try await feed.get("cart", as: Int.self) == nil)
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `who fetches for long keeps the right to it for the lease, and nobody is kept waiting for longer`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let other = try await daemon.client()
        for (key, lease) in [("long", Duration.seconds(3600)), ("short", .seconds(1)), ("none", nil)] {
            let (kura, begun) = (try await daemon.client(), Counter())
            let feed = kura.models["feed"]
            let fetching = Task {
                try await feed.value(for: key, as: Int.self, lease: lease) {
                    _ = begun.next()
                    try await Task.sleep(for: .seconds(3600))
                    return 1
                }.newest()
            }
            try await eventually("it fetches") { begun.count == 1 }
            // As when the process is killed: the daemon learns that the connection is gone, and no more.
            await kura.close()
            let patience = Duration.seconds(key == "long" ? 0 : 60)
            let values = other.models["feed"].value(for: key, as: Int.self, patience: patience) { 2 }
            if key == "long" {
                await #expect(throws: KuraError.self, "the right to fetch is somebody's") { try await values.newest() }
            } else {
                #expect(try await values.newest() == 2, "\(key)")
            }
            fetching.cancel()
            _ = await fetching.result
        }
        await other.close()
    }

    @Test(arguments: Server.allCases) func `what is cached in another shape is fetched anew`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let feed = kura.models["feed"]
        try await feed.put(["old": 1], for: "a")
        #expect(
            try await feed.value(for: "a", as: News.self, orFetch: { News(title: "new") }).newest()
                == News(title: "new"))
        #expect(try await feed.get("a", as: News.self)?.value == News(title: "new"))
        await kura.close()
    }
}
