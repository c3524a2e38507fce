import KuraClient
import Testing

/// What a live collection does with values and edits that are out of the ordinary.
@Suite struct LiveEdgesTests {
    /// A model with members that are of no order.
    struct Shelf: Codable, Identifiable, Sendable, Equatable {
        var id: String
        var counts: [String: Int]
        var tags: Set<String>
        var note: String?

        init(_ id: String, _ size: Int) {
            self.id = id
            counts = Dictionary(uniqueKeysWithValues: (0..<size).map { ("key \($0)", $0) })
            tags = Set((0..<size).map { "tag \($0)" })
        }
    }

    @Test func `dictionaries and sets that are equal are no edit, no change and no conflict`() async throws {
        let daemon = try FaceDaemon()
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("shelves", of: Shelf.self)
        for number in 0..<8 { try await others.put(Shelf("\(number)", 30)) }
        let live = try mine.documents("shelves", of: Shelf.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        // Made anew, a value is the same.
        for number in 0..<8 { live.put(Shelf("\(number)", 30)) }
        #expect(live.isSaved)
        // Of what was read anew the dictionary is edited here, and something else there.
        for number in 0..<4 { live.update("\(number)") { $0.counts["key 1"] = 100 } }
        for number in 0..<4 { try await others.mutate("\(number)") { $0.note = "theirs" } }
        // And the same in both places.
        for number in 4..<8 { live.update("\(number)") { $0.counts["key 1"] = 200 } }
        for number in 4..<8 { try await others.mutate("\(number)") { $0.counts["key 1"] = 200 } }
        try await others.put(Shelf("last", 1))
        try await eventually("the others' changes show") { live["last"] != nil }
        #expect(live.conflicts.isEmpty && live.lastProblem == nil)
        #expect(try await live.flush())
        for number in 0..<8 {
            let saved = try await others.get("\(number)")
            #expect(saved?.counts["key 1"] == (number < 4 ? 100 : 200) && saved?.note == (number < 4 ? "theirs" : nil))
        }
        await mine.close()
        await theirs.close()
    }

    @Test func `a value is not shown, nor stored, under the id of another`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a"))
        let live = try cards.live(saving: .immediate)
        await live.loaded()
        live["a"] = Card("b")
        #expect(live.lastError?.kind == .invalidParams)
        live.forgetProblem()
        live.update("a") { $0.id = "c" }
        #expect(live.lastError?.kind == .invalidParams && live.lastError?.message.contains("a") == true)
        #expect(live.values == [Card("a")])
        #expect(try await live.flush())
        #expect(try await cards.list().all().map(\.value) == [Card("a")])
        await kura.close()
    }

    @Test func `problems that nobody reads are kept in a bounded number, the newest ones`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let live = try kura.documents("shelves", of: Ratio.self).live()
        await live.loaded()
        let problems = live.problems
        for number in 0..<1200 { live.put(Ratio(id: number, value: .nan)) }
        try await live.close()
        var ids: [Int] = []
        for await problem in problems {
            if case .refused(let id, _) = problem { ids.append(id) }
        }
        #expect(!ids.isEmpty && ids.count <= 1000 && ids.last == 1199)
        await kura.close()
    }
    struct Ratio: Codable, Identifiable, Sendable {
        var id: Int
        var value: Double
    }

    @Test func `a value that no line can hold holds up no other`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let live = try cards.live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.put(Card("large", note: String(repeating: "x", count: 17 << 20)))
        for number in 0..<50 { live.put(Card("\(number)")) }
        #expect(try await !live.flush(), "something is left")
        #expect(try await cards.count() == 50)
        guard case .refused(id: "large", let error)? = live.lastProblem else {
            Issue.record("\(String(describing: live.lastProblem))")
            return
        }
        #expect(error.kind == .lineTooLong)
        #expect(live["large"] != nil, "it stays in sight")
        await kura.close()
    }

    @Test func `whoever waits for the first reading is let go when that is refused, or nobody wants it any more`()
        async throws
    {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let refused = try kura.documents("", of: Card.self).live()
        await refused.loaded()
        #expect(!refused.isLoaded && refused.lastError?.kind == .invalidParams)
        try await refused.close()
        daemon.kill()
        let live = try kura.documents("cards", of: Card.self).live()
        let waiting = Task { await live.loaded() }
        try await Task.sleep(for: .milliseconds(20))
        waiting.cancel()
        await waiting.value
        #expect(!live.isLoaded)
        await kura.close()
    }
}
