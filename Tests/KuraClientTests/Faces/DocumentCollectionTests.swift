import KuraClient
import Testing

@Suite struct DocumentCollectionTests {
    @Test(arguments: Server.allCases) func `plain values are stored, read, counted and deleted`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        #expect(try await cards.get("a") == nil)
        let first = try await cards.put(Card("a", due: 3, tags: ["x"]))
        let stored = try #require(try await cards.stored("a"))
        #expect(stored.value == Card("a", due: 3, tags: ["x"]) && stored.rev == first && stored.due == 3)
        let rev = try await cards.putMany([Card("b"), Card("c", note: "n"), Card("d")])
        #expect(rev > first)
        #expect(try await cards.getMany(["c", "none", "b"]).map(\.id) == ["c", "b"])
        #expect(try await cards.exists("b"))
        #expect(try await !cards.exists("none"))
        #expect(try await cards.count() == 4)
        #expect(try await cards.count { $0.note != nil } == 1)
        #expect(try await cards.delete("a"))
        #expect(try await !cards.delete("a"))
        #expect(try await cards.deleteMany(["a", "b"]) == 1)
        #expect(try await cards.deleteMany { $0.note == "n" } == 1)
        #expect(try await cards.list().all().map(\.id) == ["d"])
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `that somebody else was faster is an answer`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let rev = try await cards.put(Card("a"))
        #expect(try await cards.put(Card("a", due: 1), ifRev: 0) == .conflict(currentRev: rev))
        guard case .done(let next) = try await cards.put(Card("a", due: 1), ifRev: rev) else {
            Issue.record("the revision was right")
            return
        }
        #expect(try await cards.delete("a", ifRev: rev) == .conflict(currentRev: next))
        guard case .done = try await cards.delete("a", ifRev: next) else {
            Issue.record("the revision was right")
            return
        }
        #expect(try await cards.get("a") == nil)
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `mutate tries again with what others have written, and keeps what it does not know`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let old = kura.documents("cards", of: OldCard.self)
        try await cards.put(Card("a", due: 7, note: "kept"))
        try await old.mutate("a") { $0.deck = "ja" }
        #expect(try await cards.get("a") == Card("a", deck: "ja", due: 7, note: "kept"))
        // Twenty tasks count at once; none of them is lost.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await cards.mutate("a") { $0.due += 1 } } }
            try await group.waitForAll()
        }
        #expect(try await cards.get("a")?.due == 27)
        let rev = try #require(try await cards.stored("a")).rev
        #expect(try await cards.mutate("a") { _ in }?.rev == rev, "nothing changed, nothing is written")
        #expect(try await cards.mutate("none") { $0.due = 1 } == nil)
        await #expect(throws: KuraError.self) { try await cards.mutate("a") { $0.id = "b" } }
        // To nil is to take the member away.
        try await cards.mutate("a") { $0.note = nil }
        #expect(try await cards.count { $0.note == nil } == 1)
        await kura.close()
    }

    /// By a client of its own, at once: what is changed just then is gone.
    private static func delete(_ id: String, at socket: String) {
        do {
            var client = try Client.connect(to: socket)
            _ = try client.call("documents.delete", params: Array(#"{"collection":"cards","id":"\#(id)"}"#.utf8))
        } catch {
            Issue.record(error)
        }
    }

    @Test func `what somebody deletes while it is changed is gone, and no error`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let socket = daemon.socket
        try await cards.putMany([Card("a"), Card("b")])
        let mutated = try await cards.mutate("a") { card in
            Self.delete("a", at: socket)
            card.due = 1
        }
        #expect(mutated == nil)
        let new = try await cards.upsert(Card("b", due: 7)) { card in
            Self.delete("b", at: socket)
            card.due += 1
        }
        #expect(new.due == 7, "there is none: it is a new one")
        #expect(try await cards.list().all().map(\.value) == [Card("b", due: 7)])
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `upsert stores what is not there and changes what is`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 { group.addTask { try await cards.upsert(Card("a", due: 1)) { $0.due += 1 } } }
            try await group.waitForAll()
        }
        #expect(try await cards.get("a")?.due == 10)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a change that throws writes nothing, and the caller gets what it threw`(
        server: Server
    ) async throws {
        enum Refusal: Error { case tooLittle }
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        func withdraw(_ sum: Int) async throws {
            try await cards.mutate("a") { card in
                card.due -= sum
                guard card.due >= 0 else { throw Refusal.tooLittle }
            }
        }
        let rev = try await cards.put(Card("a", due: 5))
        await #expect(throws: Refusal.tooLittle) { try await withdraw(6) }
        await #expect(throws: Refusal.tooLittle) {
            try await cards.upsert(Card("a")) { card in
                card.due = 9
                throw Refusal.tooLittle
            }
        }
        await #expect(throws: Refusal.tooLittle) {
            try await kura.apply { changes in
                changes.delete("a", in: cards)
                throw Refusal.tooLittle
            }
        }
        let stored = try #require(try await cards.stored("a"))
        #expect(stored.rev == rev && stored.due == 5)
        try await withdraw(5)
        #expect(try await cards.get("a")?.due == 0)
        // The daemon's own refusals stay what they are.
        await #expect(throws: KuraError.self) {
            try await cards.mutate("a") { card in
                guard card.due == 0 else { throw Refusal.tooLittle }
                card.id = "b"
            }
        }
        // Of a change that throws nothing, only they can come.
        do throws(KuraError) {
            try await cards.mutate("a") { $0.id = "b" }
            Issue.record("it has another id")
        } catch {
            #expect(error.kind == .invalidParams)
        }
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a step with a value that cannot be sent is not sent`(server: Server)
        async throws
    {
        struct Weight: Codable, Identifiable, Sendable { var id: String, grams: Double }
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let weights = kura.documents("weights", of: Weight.self)
        do throws(KuraError) {
            _ = try await kura.apply {
                $0.put(Card("a"), in: cards)
                $0.put(Weight(id: "w", grams: .nan), in: weights)
                $0.put(Card("b"), in: cards)
            }
            Issue.record("no number is sent for NaN")
        } catch {
            #expect(error.kind == .notEncodable)
        }
        #expect(try await cards.count() == 0)
        await kura.close()
    }

    /// A screen's state: what its closures read must not be sent anywhere.
    private actor Shelf {
        var most = 3
        var seen: [String] = []

        func work(_ kura: Kura) async throws {
            let cards = kura.documents("cards", of: Card.self)
            #expect(try await cards.count { $0.due < most } == 1)
            #expect(try await cards.first { $0.due < most }?.id == "a")
            async let more = cards.count { $0.due >= 3 }
            #expect(try await more == 1)
            #expect(try await cards.find({ $0.due < most }).count() == 1)
            try await cards.mutate("a") { card in
                assertIsolated()
                seen.append(card.id)
                card.due += most
            }
            try await cards.upsert(Card("b")) { card in
                guard card.due > most else { throw CancellationError() }
                seen.append(card.id)
            }
            let outcome = try await kura.apply {
                $0.put(Card("c", due: most), in: cards, ifRev: 0)
                seen.append("c")
            }
            #expect(outcome == .done(rev: try await cards.stored("c")?.rev ?? 0))
            #expect(try await cards.deleteMany { $0.due == most } == 2)
            #expect(seen == ["a", "b", "c"])
        }
    }

    @Test(arguments: Server.allCases) func `an actor's calls use its own state`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        try await kura.documents("cards", of: Card.self).putMany([Card("a", due: 0), Card("b", due: 5)])
        try await Shelf().work(kura)
        #expect(try await kura.documents("cards", of: Card.self).list().values() == [Card("b", due: 5)])
        await kura.close()
    }

    @MainActor private final class Screen {
        var most = 3
        var seen: [String] = []
    }

    @MainActor @Test(arguments: Server.allCases) func `the main actor's calls use its own state`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let screen = Screen()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany([Card("a", due: 0), Card("b", due: 5)])
        #expect(try await cards.count { $0.due < screen.most } == 1)
        #expect(try await cards.first(where: { $0.due < 9 }, sort: { [$0.due.descending] })?.id == "b")
        async let more = cards.count { $0.due >= 3 }
        #expect(try await more == 1)
        try await cards.mutate("a") { card in
            MainActor.assertIsolated()
            screen.seen.append(card.id)
            card.due += screen.most
        }
        try await cards.upsert(Card("b")) { card in
            guard card.due > screen.most else { throw CancellationError() }
            screen.seen.append(card.id)
        }
        _ = try await kura.apply {
            $0.put(Card("c", due: screen.most), in: cards)
            screen.seen.append("c")
        }
        #expect(try await cards.deleteMany { $0.due == screen.most } == 2)
        #expect(screen.seen == ["a", "b", "c"])
        #expect(try await cards.find().values().map(\.id) == ["b"])
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a step changes several collections or none`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let done = kura.documents("done", of: Card.self)
        let rev = try await cards.put(Card("a"))
        let wrong = try await kura.apply {
            $0.put(Card("a", isDone: true), in: done)
            $0.delete("a", in: cards, ifRev: rev + 1)
        }
        #expect(wrong == .conflict(operation: 1, currentRev: rev))
        #expect(try await done.get("a") == nil)
        let right = try await kura.apply {
            $0.put(Card("a", isDone: true), in: done)
            $0.delete("a", in: cards, ifRev: rev)
        }
        #expect(right == .done(rev: rev + 1))
        #expect(try await cards.get("a") == nil)
        #expect(try await done.get("a")?.isDone == true)
        await kura.close()
    }

    @Test func `what is changed is told with its revision, and a step's put holds at its own`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let first = try await cards.put(Card("a"))
        let changed = try #require(try await cards.mutate("a") { $0.due = 1 })
        #expect(changed.rev > first)
        #expect(try await cards.stored("a") == changed)
        let there = try await cards.upsert(Card("a")) { $0.due = 2 }
        #expect(try await cards.stored("a") == there)
        let new = try await cards.upsert(Card("b")) { $0.due = 2 }
        #expect(try await cards.stored("b") == new)
        let late = try await kura.apply {
            $0.put(Card("c"), in: cards)
            $0.put(Card("a", due: 3), in: cards, ifRev: changed.rev)
        }
        #expect(late == .conflict(operation: 1, currentRev: there.rev))
        #expect(try await cards.get("a")?.due == 2)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `ids are texts, numbers, or what is encoded so`(server: Server) async throws
    {
        struct Slug: RawRepresentable, Codable, Hashable, Sendable { var rawValue: String }
        struct Page: Codable, Identifiable, Sendable, Equatable { var id: Slug }
        struct Numbered: Codable, Identifiable, Sendable, Equatable { var id: Int }
        struct Odd: Codable, Identifiable, Sendable {
            struct Key: Codable, Hashable, Sendable { var a: Int }
            var id: Key
        }
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let pages = kura.documents("pages", of: Page.self)
        try await pages.put(Page(id: Slug(rawValue: "home")))
        #expect(try await pages.get(Slug(rawValue: "home")) == Page(id: Slug(rawValue: "home")))
        let numbers = kura.documents("numbers", of: Numbered.self)
        try await numbers.putMany((1...12).map { Numbered(id: $0) })
        #expect(try await numbers.get(12) == Numbered(id: 12))
        #expect(try await numbers.find({ $0.id > 9 }, sort: { [$0.id.descending] }).all().map(\.id) == [12, 11, 10])
        #expect(try await numbers.count { $0.id.isIn([2, 3, 99]) } == 2)
        await #expect(throws: KuraError.self) {
            try await kura.documents("odd", of: Odd.self).put(Odd(id: .init(a: 1)))
        }
        await kura.close()
    }
}
