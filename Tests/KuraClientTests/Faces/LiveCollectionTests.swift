import Dispatch
import KuraClient
import Observation
import Synchronization
import Testing

@Suite struct LiveCollectionTests {
    @Test(arguments: Server.allCases) func `what others change shows by itself, in order`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a", due: 3), Card("b", due: 1), Card("c", due: 2)])
        let live = try mine.documents("cards", of: Card.self).live(sort: { [$0.due.ascending] })
        await live.loaded()
        #expect(live.values.map(\.id) == ["b", "c", "a"] && live["c"]?.due == 2 && live["x"] == nil)
        try await others.put(Card("d", due: 0))
        try await others.mutate("b") { $0.due = 9 }
        try await others.delete("c")
        try await eventually("the others' changes show") { live.values.map(\.id) == ["d", "a", "b"] }
        #expect(live.isSaved && live.lastProblem == nil)
        try await live.close()
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `a live query shows what matches, and no longer what does not`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a", due: 3), Card("b", due: 10)])
        let live = try mine.documents("cards", of: Card.self).live(saving: .immediate, where: { $0.due < 5 })
        await live.loaded()
        #expect(live.values.map(\.id) == ["a"])
        try await others.mutate("b") { $0.due = 4 }
        try await eventually("b matches now") { live.values.map(\.id) == ["a", "b"] }
        live.update("a") { $0.due = 7 }
        try await eventually("a is saved and matches no more") { live.values.map(\.id) == ["b"] }
        #expect(try await others.get("a")?.due == 7)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `an edit of what matches no more is saved all the same, and no conflict`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.put(Card("a", due: 3))
        let live = try mine.documents("cards", of: Card.self).live(
            saving: .every(.seconds(3600)), where: { $0.due < 5 })
        await live.loaded()
        live.update("a") { $0.note = "mine" }
        try await others.mutate("a") { $0.due = 9 }
        try await eventually("the edit stays in sight") { live["a"] == Card("a", due: 9, note: "mine") }
        #expect(live.conflicts.isEmpty && live.lastProblem == nil)
        #expect(try await live.flush())
        #expect(try await others.get("a") == Card("a", due: 9, note: "mine"))
        try await eventually("saved, it is out of sight") { live.values.isEmpty }
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `edits show at once and are saved in one step, member by member`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a", note: "kept"), Card("b"), Card("c"), Card("d")])
        let before = try #require(try await others.stored("d")).rev
        // As an older version of the application that does not know most members.
        let live = try mine.documents("cards", of: OldCard.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.deck = "x" }
        live.update("a") { $0.deck = "ja" }
        live["b"] = nil
        live.put(OldCard(id: "e", deck: "new"))
        #expect(live["a"]?.deck == "ja" && live.values.map(\.id) == ["a", "c", "d", "e"] && !live.isSaved)
        #expect(try await others.get("a")?.deck == "fr", "nothing is saved before its time")
        #expect(try await live.flush())
        let a = try #require(try await others.stored("a"))
        #expect(a.value == Card("a", deck: "ja", note: "kept"), "what it does not know stays")
        #expect(a.rev == before + 1, "all of it in one step")
        #expect(try await others.get("b") == nil)
        #expect(try await theirs.documents("cards", of: OldCard.self).stored("e")?.rev == a.rev)
        #expect(try await others.stored("d")?.rev == before, "what was not edited is not written")
        #expect(live.isSaved)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `edits of the array are edits of what differs`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        let rev = try await others.putMany([Card("a"), Card("b"), Card("c")])
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        try #require(live.values.count == 3)
        live.values[1].due = 5
        live.values.removeLast()
        live.values.append(Card("d"))
        #expect(live.values.map(\.id) == ["a", "b", "d"])
        try await live.flush()
        #expect(try await others.list().all().map(\.id) == ["a", "b", "d"])
        #expect(try await others.stored("a")?.rev == rev)
        #expect(try await others.get("b")?.due == 5)
        await mine.close()
        await theirs.close()
    }

    /// What tells observers was wrapped once more by each change: each took longer than the one before, until the stack was full.
    @Test func `tens of thousands of edits leave nothing behind`() async throws {
        let daemon = try FaceDaemon()
        let mine = try await daemon.client()
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.put(Card("a"))
        for due in 1...50_000 {
            if due % 10 == 0 { live.update("a") { $0.due = due } } else { live.forgetProblem() }
        }
        try await live.flush()
        #expect(try await mine.documents("cards", of: Card.self).get("a")?.due == 50_000)
        await mine.close()
    }

    @Test(arguments: Server.allCases) func `edits are saved by themselves, at most one step an interval`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        let first = try await others.put(Card("a"))
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.milliseconds(200)))
        await live.loaded()
        let start = ContinuousClock.now
        for due in 1...300 {
            live.update("a") { $0.due = due }
            try await Task.sleep(for: .milliseconds(1))
        }
        try await eventually("the last edit is saved") { try await others.get("a")?.due == 300 }
        let intervals = Int((ContinuousClock.now - start) / .milliseconds(200)) + 1
        let saves = try #require(try await others.stored("a")).rev - first
        #expect(saves >= 1 && saves <= intervals)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `an edit and another's change of other members are both kept`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.put(Card("a"))
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 5 }
        try await others.mutate("a") { $0.note = "theirs" }
        try await eventually("both show") { live["a"] == Card("a", due: 5, note: "theirs") }
        try await live.flush()
        #expect(try await others.get("a") == Card("a", due: 5, note: "theirs"))
        #expect(live.lastProblem == nil)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `a conflict is a value, overwrites nothing, and ends as it is told`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a"), Card("b"), Card("c"), Card("d")])
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        var problems = live.problems.makeAsyncIterator()
        for id in ["a", "b", "c"] { live.update(id) { $0.due = 1 } }
        live["d"] = nil
        for id in ["a", "b", "d"] { try await others.mutate(id) { $0.due = 2 } }
        try await others.delete("c")
        try await eventually("four conflicts") { live.conflicts.count == 4 }
        guard case .conflict(let first)? = await problems.next() else {
            Issue.record("the stream tells of it")
            return
        }
        #expect(first.mine?.due != first.theirs?.due)
        #expect(live["a"]?.due == 1 && live["d"] == nil, "the edit stays in sight")
        #expect(try await !live.flush(), "it says that something is left")
        #expect(try await others.get("a")?.due == 2)
        #expect(try await others.get("c") == nil)
        #expect(try await others.get("d")?.due == 2)
        #expect(try live.resolve("a", keeping: .mine) && live.resolve("b", keeping: .theirs))
        #expect(try live.resolve("c", keeping: .value(Card("c", due: 3))) && live.resolve("d", keeping: .mine))
        #expect(try !live.resolve("a", keeping: .mine), "it is over")
        #expect(try await live.flush())
        #expect(live.conflicts.isEmpty)
        #expect(try await others.get("a")?.due == 1)
        #expect(try await others.get("b")?.due == 2)
        #expect(try await others.get("c")?.due == 3)
        #expect(try await others.get("d") == nil)
        #expect(live["b"]?.due == 2)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `a refused value stays in sight, is told, and holds up nothing else`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        _ = try await kura.call(
            "documents.configure",
            json: Array(
                #"{"collection":"cards","schema":{"properties":{"due":{"maximum":100}}},"schemaMode":"enforce"}"#.utf8))
        try await cards.putMany([Card("a"), Card("b")])
        let live = try cards.live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 101 }
        live.update("b") { $0.due = 5 }
        #expect(try await !live.flush())
        #expect(live.lastError?.kind == .schemaViolation && live["a"]?.due == 101)
        #expect(try await cards.get("a")?.due == 0)
        #expect(try await cards.get("b")?.due == 5)
        live.update("a") { $0.due = 100 }
        #expect(try await live.flush())
        #expect(try await cards.get("a")?.due == 100)
        live.forgetProblem()
        #expect(live.lastProblem == nil)
        await kura.close()
    }

    @Test func `edits outlast a daemon that is away`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await Kura.connect(
            to: daemon.socket,
            options: ConnectOptions(timeout: .seconds(60), patience: .milliseconds(100), wait: .seconds(60)))
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a"))
        let live = try cards.live(saving: .every(.milliseconds(50)))
        await live.loaded()
        daemon.kill()
        live.update("a") { $0.due = 8 }
        try await eventually("that it cannot be saved is told") {
            if case .notSaved? = live.lastProblem { true } else { false }
        }
        #expect(live["a"]?.due == 8 && !live.isSaved)
        try daemon.start()
        try await eventually("it is saved when the daemon is back") { live.isSaved }
        let other = try await daemon.client()
        #expect(try await other.documents("cards", of: Card.self).get("a")?.due == 8)
        try await other.documents("cards", of: Card.self).put(Card("b"))
        try await eventually("and others' changes are followed again") { live["b"] != nil }
        await kura.close()
        await other.close()
    }

    @Test(arguments: Server.allCases) func `letting go of it saves what is not saved`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a"))
        do {
            let live = try cards.live(saving: .every(.seconds(3600)))
            await live.loaded()
            live.update("a") { $0.due = 6 }
        }
        try await eventually("it is saved") { try await cards.get("a")?.due == 6 }
        let live = try cards.live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 7 }
        try await live.close()
        #expect(try await cards.get("a")?.due == 7)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `observers are told, on the actor that they wish`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let live = try mine.documents("cards", of: Card.self).live(on: MainActor.shared)
        await live.loaded()
        let told = Told()
        DispatchQueue.main.setSpecific(key: mainQueue, value: true)
        withObservationTracking {
            _ = live.values
        } onChange: {
            told.add(DispatchQueue.getSpecific(key: mainQueue) == true)
        }
        try await theirs.documents("cards", of: Card.self).put(Card("a"))
        try await eventually("it is told") { !told.all.isEmpty }
        #expect(told.all == [true])
        withObservationTracking {
            _ = live.lastProblem
        } onChange: {
            told.add(true)
        }
        live.put(Card("b"))
        #expect(told.all.count == 1, "who looks at something else is not told")
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `many tasks in several clients end with the same`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        var clients: [Kura] = []
        for _ in 0..<3 { clients.append(try await daemon.client()) }
        let lives = try clients.map { try $0.documents("cards", of: Card.self).live(saving: .immediate) }
        for live in lives { await live.loaded() }
        await withTaskGroup(of: Void.self) { group in
            for (number, live) in lives.enumerated() {
                for task in 0..<8 {
                    group.addTask {
                        for step in 0..<10 {
                            let id = "\(number)-\(task)-\(step)"
                            live.put(Card(id, due: step))
                            await Task.yield()
                            live.update(id) { $0.due += 100 }
                            if step % 3 == 0 { live.remove(id) }
                        }
                    }
                }
            }
        }
        for live in lives { #expect(try await live.flush()) }
        var expected: [Card] = []
        for client in 0..<3 {
            for task in 0..<8 {
                for step in 0..<10 where step % 3 != 0 {
                    expected.append(Card("\(client)-\(task)-\(step)", due: step + 100))
                }
            }
        }
        expected.sort { $0.id < $1.id }
        #expect(try await clients[0].documents("cards", of: Card.self).list().all().map(\.value) == expected)
        for live in lives { try await eventually("all show the same") { live.values == expected } }
        for client in clients { await client.close() }
    }
}

/// What runs on the main actor finds this; on Linux no thread is the main one for good.
private let mainQueue = DispatchSpecificKey<Bool>()

private final class Told: Sendable {
    private let list: Mutex<[Bool]> = Mutex([])
    var all: [Bool] { list.withLock { $0 } }

    func add(_ value: Bool) { list.withLock { $0.append(value) } }
}
