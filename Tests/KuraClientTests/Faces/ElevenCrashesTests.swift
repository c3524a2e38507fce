import KuraClient
import Testing

/// Eleven ways in which applications of Realm and Core Data crash though they compile and look right, and what happens here instead.
@Suite struct ElevenCrashesTests {
    // MARK: Realm

    @Test(arguments: Server.allCases) func `1 thread: a value goes to any thread, and each has its own`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a", due: 1))
        let card = try #require(try await cards.get("a"))
        let sums = await withTaskGroup(of: Int.self) { group in
            for number in 0..<8 {
                group.addTask {
                    var own = card
                    own.due += number
                    return own.due
                }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(sums.sorted() == Array(1...8) && card.due == 1)
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `2 outside of a write: a value is edited anywhere, and nothing is written until it is put`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let rev = try await cards.put(Card("a", due: 1))
        var card = try #require(try await cards.get("a"))
        card.due = 99
        #expect(try await cards.stored("a")?.due == 1)
        guard case .done = try await cards.put(card, ifRev: rev) else {
            Issue.record("nobody else has changed it")
            return
        }
        #expect(try await cards.get("a")?.due == 99)
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `3 unknown property: a query for what is no field is an error before anything is asked`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let all = kura.documents("all", of: Everything.self)
        do {
            _ = try await all.find { $0.isNotFlagged == true }.first()
            Issue.record("it is no field")
        } catch {
            #expect(error.kind == .invalidParams && error.message.contains("computed property"))
        }
        // A name given by hand that nothing has finds nothing.
        #expect(try await all.find { $0.field("nonsense", as: Int.self) == 3 }.all().isEmpty)
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `4 deleted object: a value outlives its document`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a", due: 5))
        let live = try cards.live(saving: .every(.seconds(3600)))
        await live.loaded()
        let held = try #require(try await cards.stored("a"))
        let shown = try #require(live.values.first)
        try await other.documents("cards", of: Card.self).delete("a")
        try await eventually("it is gone from view") { live.values.isEmpty }
        #expect(held.due == 5 && shown.front == "front of a")
        #expect(!live.update("a") { $0.due = 6 }, "there is nothing to edit")
        #expect(try await cards.mutate("a") { $0.due = 6 } == nil)
        #expect(try await cards.put(held.value, ifRev: held.rev) == .conflict(currentRev: 0))
        await kura.close()
        await other.close()
    }

    @Test(arguments: Server.allCases) func `5 unclosed instance: what nobody closes saves itself and ends`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let observer = try await daemon.client()
        weak var left: LiveCollection<Card>?
        do {
            let kura = try await daemon.client()
            let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
            await live.loaded()
            live.put(Card("a"))
            left = live
        }
        try await eventually("its edit is saved") {
            try await observer.documents("cards", of: Card.self).get("a") != nil
        }
        #expect(left == nil)
        // Its connection has gone, too: the observer's is the only one.
        try await eventually("its connection ends") {
            let status = try await observer.call("storage.status", Nothing(), returning: Connections.self)
            return status.connections.open == 1
        }
        await observer.close()
    }

    private struct Connections: Decodable, Sendable {
        struct Counts: Decodable, Sendable { var open: Int }
        var connections: Counts
    }

    // MARK: Core Data

    @Test(arguments: Server.allCases) func `6 shared context: one collection serves all tasks at once`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let live = try cards.live(saving: .immediate)
        await live.loaded()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let id = "c\(number)"
                    if number % 2 == 0 {
                        live.put(Card(id, due: number))
                    } else {
                        try await cards.put(Card(id, due: number))
                    }
                    live.update(id) { $0.due += 1000 }
                    _ = live.values.count
                }
            }
            try await group.waitForAll()
        }
        try await live.flush()
        try await eventually("all are there") { live.values.count == 64 }
        #expect(try await cards.count() == 64)
        #expect(try await cards.count { $0.due >= 1000 } >= 32)
        await kura.close()
    }

    @Test func `7 early access: what is used before anything is loaded works, and waits for the daemon`() async throws {
        let daemon = try FaceDaemon(starts: false)
        await #expect(throws: KuraError.self) { try await Kura.connect(to: daemon.socket) }
        let socket = daemon.socket
        async let early = Kura.connect(to: socket, options: ConnectOptions(wait: .seconds(60)))
        try daemon.start()
        let kura = try await early
        try await kura.documents("cards", of: Card.self).put(Card("a", due: 1))
        let live = try kura.documents("cards", of: Card.self).live(saving: .immediate)
        // Nothing has been read yet: it is empty, and what is put meanwhile is neither lost nor in the way.
        _ = live.values
        live.put(Card("b"))
        await live.loaded()
        try await eventually("both are there") { live.values.map(\.id) == ["a", "b"] && live.isSaved }
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `8 unknown entity: a collection that nobody has declared is empty and takes documents`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let nobody = kura.documents("nobody.declared.this", of: Card.self)
        #expect(try await nobody.count() == 0)
        #expect(try await nobody.get("a") == nil)
        #expect(try await nobody.find { $0.due > 3 }.all().isEmpty)
        #expect(try await !nobody.delete("a"))
        try await nobody.put(Card("a"))
        #expect(try await nobody.count() == 1)
        await #expect(throws: KuraError.self) { try await kura.documents("", of: Card.self).put(Card("a")) }
        await kura.close()
    }

    @Test(arguments: Server.allCases)
    func `9 detached object: values stay good when their collection is dropped and their client closed`(server: Server)
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a", due: 4))
        let live = try cards.live()
        await live.loaded()
        let card = try #require(try await cards.stored("a"))
        _ = try await other.call("documents.drop", json: Array(#"{"collection":"cards"}"#.utf8))
        try await eventually("the drop shows") { live.values.isEmpty }
        await kura.close()
        #expect(card.due == 4)
        do {
            try await cards.put(card.value)
            Issue.record("the client is closed")
        } catch {
            #expect(error.kind == .closed)
        }
        // Saved by another, it is a document again.
        try await other.documents("cards", of: Card.self).put(card.value)
        #expect(try await other.documents("cards", of: Card.self).get("a")?.due == 4)
        await other.close()
    }

    @Test(arguments: Server.allCases)
    func `10 wrong type: a document of another shape is an error that names it, and the others are there`(
        server: Server
    )
        async throws
    {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.put(Card("a"))
        let wrong =
            #"{"collection":"cards","id":"bad","value":{"id":"bad","deck":"fr","front":"f","due":"soon","isDone":false,"tags":[]}}"#
        _ = try await kura.call("documents.put", json: Array(wrong.utf8))
        do {
            _ = try await cards.get("bad")
            Issue.record("it is no card")
        } catch {
            #expect(error.kind == .wrongType && error.message.contains("bad") && error.message.contains("due"))
        }
        let live = try cards.live(saving: .immediate)
        await live.loaded()
        #expect(live.values.map(\.id) == ["a"])
        guard case .unreadable("bad", _)? = live.lastProblem else {
            Issue.record("it is told")
            return
        }
        // Nor is it written over by accident.
        live.put(Card("bad"))
        #expect(try await !live.flush())
        #expect(
            String(
                decoding: try await kura.call("documents.get", json: Array(#"["cards","bad"]"#.utf8)).result,
                as: UTF8.self
            ).contains("soon"))
        // What is stored under another id than it has within would be another document when it is put.
        _ = try await kura.call(
            "documents.put",
            json: Array(
                wrong.replacing(#""soon""#, with: "1").replacing(#""id":"bad","value""#, with: #""id":"b2","value""#)
                    .utf8))
        await #expect(throws: KuraError.self) { try await cards.get("b2") }
        await kura.close()
    }

    @Test(arguments: Server.allCases) func `11 model mismatch: versions of a model live side by side`(server: Server)
        async throws
    {
        struct NewCard: Codable, Identifiable, Sendable, Equatable {
            var id: String
            var deck: String
            var stars: Int?
        }
        struct Demanding: Codable, Identifiable, Sendable {
            var id: String
            var stars: Int
        }
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        try await kura.documents("cards", of: OldCard.self).put(OldCard(id: "a", deck: "fr"))
        let new = kura.documents("cards", of: NewCard.self)
        #expect(try await new.get("a") == NewCard(id: "a", deck: "fr", stars: nil))
        try await new.mutate("a") { $0.stars = 5 }
        // The old version goes on, and takes nothing away from the new one.
        try await kura.documents("cards", of: OldCard.self).mutate("a") { $0.deck = "ja" }
        #expect(try await new.get("a") == NewCard(id: "a", deck: "ja", stars: 5))
        try await new.put(NewCard(id: "b", deck: "fr", stars: nil))
        do {
            _ = try await kura.documents("cards", of: Demanding.self).get("b")
            Issue.record("it has no stars")
        } catch {
            #expect(error.kind == .wrongType && error.message.contains("stars"))
            #expect(error.advice.contains("optional"))
        }
        await kura.close()
    }
}
