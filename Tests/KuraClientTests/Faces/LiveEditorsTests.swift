import Synchronization
import Testing

@testable import KuraClient

/// Several who edit one value of a live collection at once, and what is saved when it ends.
@Suite struct LiveEditorsTests {
    private struct Stage {
        let daemon: FaceDaemon
        let (mine, theirs): (Kura, Kura)
        let others: DocumentCollection<Card>
        let live: LiveCollection<Card>

        init(_ server: Server, _ cards: [Card] = [Card("a")], saving: LiveSaving = .every(.seconds(3600))) async throws
        {
            daemon = try await FaceDaemon(server)
            (mine, theirs) = (try await daemon.client(), try await daemon.client())
            others = theirs.documents("cards", of: Card.self)
            try await others.putMany(cards)
            live = try mine.documents("cards", of: Card.self).live(saving: saving)
            await live.loaded()
        }

        func end() async {
            await mine.close(patience: .zero)
            await theirs.close()
        }
    }

    @Test(arguments: Server.allCases) func `updates from several tasks are each made once`(server: Server) async throws
    {
        let stage = try await Stage(server, saving: .every(.milliseconds(5)))
        let live = stage.live
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for _ in 0..<1000 { live.update("a") { $0.due += 1 } } } }
        }
        #expect(live["a"]?.due == 8000)
        #expect(try await live.flush())
        #expect(try await stage.others.get("a")?.due == 8000)
        #expect(live.conflicts.isEmpty && live.lastProblem == nil)
        await stage.end()
    }

    @Test(arguments: Server.allCases) func `what changes while update's closure runs stays`(server: Server) async throws
    {
        let stage = try await Stage(server)
        let live = stage.live
        let calls = Mutex(0)
        let isDone = live.update("a") { card in
            let call = calls.withLock { calls in
                calls += 1
                return calls
            }
            if call == 1 { live.update("a") { $0.due = 99 } }
            card.note = "mine"
        }
        #expect(isDone && calls.withLock { $0 } == 2, "it is called again with what is there")
        #expect(live["a"] == Card("a", due: 99, note: "mine"))
        #expect(
            !live.update("a") { card in
                live.update("a") { $0.due += 1 }
                card.note = "never"
            }, "what changes each time is given up")
        #expect(live["a"]?.note == "mine" && live.lastError?.kind == .conflict)
        await stage.end()
    }

    @Test(arguments: Server.allCases) func `what an editor has not changed stays as others have made it`(server: Server)
        async throws
    {
        let stage = try await Stage(server, [Card("a", due: 1)])
        let (live, others) = (stage.live, stage.others)
        let opened = try #require(live["a"])
        var form = opened
        try await others.mutate("a") { $0.due = 99 }
        try await eventually("it shows") { live["a"]?.due == 99 }
        form.note = "final"
        live.put(form, editedFrom: opened)
        #expect(live["a"] == Card("a", due: 99, note: "final"))
        #expect(try await live.flush())
        #expect(try await others.get("a") == Card("a", due: 99, note: "final"))
        // What both have made the same of is no conflict; what nobody has edited is none either.
        form.due = 99
        live.put(form, editedFrom: opened)
        live.put(opened, editedFrom: opened)
        #expect(live.conflicts.isEmpty && live.isSaved && live["a"]?.due == 99)
        // One's own edit that is not saved yet: the newer counts, the rest stays.
        live.update("a") { ($0.deck, $0.isDone) = ("ja", true) }
        live.put(Card("a", deck: "de", due: 99, note: "final"), editedFrom: Card("a", due: 99, note: "final"))
        #expect(live["a"] == Card("a", deck: "de", due: 99, isDone: true, note: "final") && live.conflicts.isEmpty)
        #expect(try await live.flush())
        // What is put without what it was edited from counts whole.
        live.put(Card("a"))
        #expect(try await live.flush())
        #expect(try await others.get("a") == Card("a"))
        await stage.end()
    }

    @Test(arguments: Server.allCases) func `what an editor and others have both changed is a conflict`(server: Server)
        async throws
    {
        let stage = try await Stage(server, [Card("a", due: 1), Card("b")])
        let (live, others) = (stage.live, stage.others)
        let (a, b) = (try #require(live["a"]), try #require(live["b"]))
        live.update("a") { $0.isDone = true }
        try await others.mutate("a") { $0.due = 99 }
        try await others.delete("b")
        try await eventually("both show") { live["a"]?.due == 99 && live["b"] == nil }
        live.put(Card("a", due: 7), editedFrom: a)
        live.put(Card("b", due: 8), editedFrom: b)
        let conflicts = live.conflicts.sorted { $0.id < $1.id }
        #expect(conflicts.map(\.id) == ["a", "b"])
        #expect(conflicts.first?.mine == Card("a", due: 7, isDone: true) && conflicts.first?.theirs?.due == 99)
        #expect(conflicts.last?.mine?.due == 8 && conflicts.last?.theirs == nil)
        #expect(live["a"]?.due == 7, "the edit is in sight")
        #expect(try await !live.flush())
        #expect(try await others.get("a")?.due == 99, "and nothing is overwritten")
        #expect(await kind { try await live.close() } == .conflict, "who closes it is told")
        #expect(try live.resolve("a", keeping: .mine) && live.resolve("b", keeping: .mine))
        #expect(try await live.flush())
        #expect(try await others.get("a") == Card("a", due: 7, isDone: true))
        #expect(try await others.get("b")?.due == 8)
        await stage.end()
    }

    @Test(arguments: Server.allCases) func `closing the client saves what is edited`(server: Server) async throws {
        let stage = try await Stage(server)
        stage.live.update("a") { $0.due = 5 }
        let view = stage.mine.with(timeout: .seconds(50))
        #expect(await view.close())
        #expect(try await stage.others.get("a")?.due == 5 && stage.live.isSaved)
        await stage.theirs.close()
    }

    @Test func `closing a client that cannot save says so, in time`() async throws {
        let stage = try await Stage(.daemon)
        stage.daemon.kill()
        stage.live.update("a") { $0.due = 5 }
        #expect(await !stage.mine.close(patience: .milliseconds(50)))
        guard case .notSaved? = stage.live.lastProblem else {
            Issue.record("\(String(describing: stage.live.lastProblem))")
            return
        }
        let live = stage.live
        #expect(await kind { try await live.close() } == .closed)
    }
}
