import KuraClient
import Testing

@Suite struct DocumentWatchTests {
    @Test(arguments: Server.allCases) func `a collection's changes come with their documents`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let (cards, others) = (mine.documents("cards", of: Card.self), theirs.documents("cards", of: Card.self))
        let changes = cards.watch()
        try await theirs.documents("decks", of: Card.self).put(Card("x"))
        let rev = try await others.put(Card("a", due: 3))
        try await others.delete("a")
        _ = try await theirs.call(
            "documents.put", json: Array(#"{"collection":"cards","id":"b","value":{"due":"late"}}"#.utf8))
        var seen: [Change] = []
        for try await event in changes {
            if case .changes(let some, rev: _) = event { seen += some }
            if seen.count == 3 { break }
        }
        let put = try seen[0].document(in: cards)
        #expect(put?.value == Card("a", due: 3) && put?.rev == rev)
        #expect(try seen[0].document(in: mine.documents("decks", of: Card.self)) == nil)
        #expect(try seen[1].isDeleted && seen[1].document(in: cards) == nil)
        let unreadable = #expect(throws: KuraError.self) { try seen[2].document(in: cards) }
        #expect(unreadable?.kind == .wrongType)
        await mine.close()
        await theirs.close()
    }

    @Test(arguments: Server.allCases) func `one document is told as it is and as it becomes`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.put(Card("a", due: 1))
        var states = mine.documents("cards", of: Card.self).watch("a").makeAsyncIterator()
        func next() async throws -> StoredDocument<Card>? { try #require(try await states.next(), "it has ended") }
        #expect(try await next()?.due == 1)
        // Neither another's nor one whose id begins alike.
        try await others.putMany([Card("ab", due: 8), Card("b", due: 9)])
        try await others.put(Card("a", due: 2))
        #expect(try await next()?.due == 2)
        try await others.delete("a")
        #expect(try await next() == nil)
        try await others.put(Card("a", due: 4))
        #expect(try await next()?.due == 4)
        _ = try await theirs.call("documents.drop", json: Array(#"{"collection":"cards"}"#.utf8))
        #expect(try await next() == nil)
        await mine.close()
        #expect(try await states.next() == nil)
        await theirs.close()
    }
}
