import KuraClient
import Testing

@Suite struct DocumentIndexTests {
    @Test(arguments: Server.allCases) func `an index is added, used, told of and taken away`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        for start in [0, 6000] {
            try await cards.putMany((start..<start + 6000).map { Card("c\($0)", deck: "d\($0 % 100)", due: $0) })
        }
        let found = { cards.find({ $0.due >= 11_990 }, sort: { [$0.due.descending] }) }
        let refused = await #expect(throws: KuraError.self) { try await found().all() }
        #expect(refused?.kind == .indexNeeded)
        let added = try await cards.addIndexes([
            .init("byDue", on: { [$0.due] }),
            .init("open", on: { [$0.deck, $0.due] }, where: { $0.isDone == false && $0.deck != "d1" }),
        ])
        #expect(added.map(\.name) == ["byDue", "open"] && added.map(\.state) == [.ready, .ready])
        #expect(added.map(\.fields) == [["due"], ["deck", "due"]])
        #expect(added.map(\.count) == [12_000, 11_880] && added.allSatisfy { !$0.isUnique && !$0.isOfReference })
        #expect(try await found().all().map(\.value.due) == Array((11_990..<12_000).reversed()))
        #expect(try await cards.indexes() == added)
        #expect(try await cards.removeIndex("byDue"))
        #expect(try await cards.removeIndex("byDue") == false)
        #expect(try await cards.indexes().map(\.name) == ["open"])
        await #expect(throws: KuraError.self) { try await found().all() }
        await kura.close()
    }

    @Test func `what others have configured stays, and what is as it should be is not written again`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        _ = try await kura.call(
            "documents.configure",
            json: Array(
                #"{"collection":"cards","indexes":[{"name":"theirs","fields":["front"],"where":{"due":{"$gt": 2}}},{"name":"byDue","fields":["deck"]}],"references":[{"field":"note","collection":"notes","onDelete":"nullify"}]}"#
                    .utf8))
        let first = try await cards.addIndexes([.init("byDue", unique: true, on: { [$0.due] })])
        #expect(Set(first.map(\.name)) == ["theirs", "byDue", "reference:note"])
        let (theirs, byDue) = (first.first { $0.name == "theirs" }, first.first { $0.name == "byDue" })
        #expect(theirs?.condition?.description == #"{"due":{"$gt":2}}"# && theirs?.fields == ["front"])
        #expect(byDue?.fields == ["due"] && byDue?.isUnique == true)
        let rev = try await kura.call("documents.describe", json: Array(#"{"collection":"cards"}"#.utf8)).result
        #expect(JSONObject(rev)?.integer("rev") != nil)
        try await cards.addIndexes([.init("byDue", unique: true, on: { [$0.due] })])
        let again = try await kura.call("documents.describe", json: Array(#"{"collection":"cards"}"#.utf8)).result
        #expect(JSONObject(again)?.integer("rev") == JSONObject(rev)?.integer("rev"))
        #expect(try await cards.removeIndex("reference:note") == false, "it goes with its reference")
        #expect(try await cards.removeIndex("theirs"))
        #expect(Set(try await cards.indexes().map(\.name)) == ["byDue", "reference:note"])
        await kura.close()
    }

    @Test func `of two clients that add and take away indexes at once neither undoes what the other did`() async throws
    {
        let daemon = try await FaceDaemon(.inMemory)
        let (one, other) = (try await daemon.client(), try await daemon.client())
        // Side by side, since each waits for its indexes to be built.
        try await withThrowingTaskGroup(of: Set<String>.self) { group in
            for round in 0..<50 {
                group.addTask {
                    let name = "cards\(round)"
                    let (mine, theirs) = (one.documents(name, of: Card.self), other.documents(name, of: Card.self))
                    try await mine.addIndexes([.init("old", on: { [$0.front] })])
                    async let first = mine.addIndexes([.init("byDue", on: { [$0.due] })])
                    async let second = theirs.addIndexes([.init("byDeck", on: { [$0.deck] })])
                    async let third = theirs.removeIndex("old")
                    _ = try await (first, second, third)
                    return Set(try await mine.indexes().map(\.name))
                }
            }
            for try await names in group { #expect(names == ["byDue", "byDeck"]) }
        }
        await one.close()
        await other.close()
    }

    @Test(arguments: Server.allCases) func `a unique index that cannot be says which documents are equal`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany([Card("1", due: 5), Card("2", due: 5), Card("3", due: 6)])
        let unique = DocumentIndex<Card>("byDue", unique: true, on: { [$0.due] })
        let error = await #expect(throws: KuraError.self) { try await cards.addIndexes([unique]) }
        #expect(error?.kind == .uniqueViolation && error?.message.contains("1 and 2") == true)
        #expect(try await cards.indexes().first?.state == .failed(conflict: ["1", "2"]))
        try await cards.put(Card("2", due: 7))
        #expect(try await cards.addIndexes([unique]).first?.state == .ready)
        let second = await #expect(throws: KuraError.self) { try await cards.put(Card("4", due: 7)) }
        #expect(second?.kind == .uniqueViolation)
        let twice = await #expect(throws: KuraError.self) { try await cards.addIndexes([unique, unique]) }
        #expect(twice?.kind == .invalidParams)
        let none = DocumentIndex<Card>("none", on: { _ in [] })
        await #expect(throws: KuraError.self) { try await cards.addIndexes([none]) }
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `a collection is emptied, and dropped`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        #expect(try await cards.drop() == false)
        try await cards.putMany([Card("1"), Card("2")])
        try await cards.addIndexes([.init("byDue", on: { [$0.due] })])
        #expect(try await cards.deleteMany(allowingScan: true) { _ in .everything } == 2)
        #expect(try await cards.indexes().map(\.count) == [0])
        try await cards.put(Card("3"))
        #expect(try await cards.drop())
        #expect(try await cards.count() == 0)
        #expect(try await cards.indexes().isEmpty)
        await kura.close()
    }
}
