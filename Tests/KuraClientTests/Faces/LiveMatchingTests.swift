import KuraClient
import Synchronization
import Testing

/// Edits that take documents out of what a live collection shows.
@Suite struct LiveMatchingTests {
    /// The change of one's own save may be read while the save is under way, and taken in when it is done.
    @Test(arguments: Server.allCases) func `what an edit has made match no more goes when it is saved`(
        server: Server
    ) async throws {
        let daemon = try await FaceDaemon(server)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany((0..<100).map { Card("\($0)", due: 1) })
        let live = try cards.live(saving: .immediate, where: { $0.due < 5 })
        await live.loaded()
        #expect(live.values.count == 100)
        for number in 0..<100 {
            live.update("\(number)") { $0.due = 9 }
            live.put(Card("new \(number)", due: 9))
            try await Task.sleep(for: .milliseconds(3))
        }
        #expect(try await live.flush())
        try await eventually("all of them are out of sight") { live.values.isEmpty }
        #expect(live.isSaved && live.lastProblem == nil)
        #expect(try await cards.list().all().count == 200)
        await kura.close()
    }

    @Test func `an edit that is undone leaves nothing in sight that matches no more`() async throws {
        let daemon = try FaceDaemon()
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a", due: 3), Card("b", due: 3), Card("c", due: 3)])
        let live = try mine.documents("cards", of: Card.self).live(
            saving: .every(.seconds(3600)), where: { $0.due < 5 })
        await live.loaded()
        live.update("a") { $0.note = "mine" }
        live.update("b") { $0.due = 4 }
        try await others.mutate("a") { $0.due = 9 }
        try await others.mutate("b") { $0.due = 10 }
        try await eventually("the edits stay in sight") { live["a"]?.due == 9 && live.conflicts.count == 1 }
        live.update("a") { $0.note = Card("a").note }
        #expect(try live.resolve("b", keeping: .theirs))
        try await eventually("what matches shows") { live.values == [Card("c", due: 3)] }
        #expect(live.isSaved)
        await mine.close()
        await theirs.close()
    }

    /// A card is edited, and somebody else takes it out of the selector. While the save is under way the change is told of and the document is read, but the
    /// answer comes when the save is done.
    @Test(arguments: [2, 3]) func `a document that was read while its save was under way shows only if it matches`(
        rev: Int
    )
        async throws
    {
        @Sendable func reply(_ line: String, _ result: String) -> String {
            #"{"jsonrpc":"2.0","id":\#(FakeDaemon.Connection.id(of: line)),"result":\#(result)}"#
        }
        let text = #""deck":"fr","front":"front of a","isDone":false,"tags":[]"#
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var save: String?
            var finds = 0
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(reply(line, #"{"subscription":1,"rev":1,"epoch":"e"}"#))
                } else if line.contains("documents.find") {
                    finds += 1
                    let row = #"{"id":"a","rev":1,"value":{"id":"a","due":1,\#(text)}}"#
                    connection.send(
                        reply(line, #"{"documents":[\#(finds == 1 ? row : "")],"rev":\#(finds == 1 ? 1 : rev)}"#))
                } else if line.contains("transaction.apply") {
                    save = line
                    connection.send(
                        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":\#(rev),"changes":[{"store":"documents","scope":"cards","key":"a","rev":\#(rev)}]}}"#
                    )
                } else if line.contains("documents.getMany") {
                    if let save { connection.send(reply(save, #"{"rev":2,"results":[{"rev":2}]}"#)) }
                    // What the client asks when it has seen that.
                    guard let seen = connection.line() else { return }
                    connection.send(
                        reply(
                            line,
                            #"{"documents":[{"id":"a","rev":\#(rev),"value":{"id":"a","due":\#(rev * 10),\#(text)}}],"rev":\#(rev)}"#
                        ))
                    connection.send(reply(seen, #"{"rev":2}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .immediate, where: { $0.due < 5 })
        await live.loaded()
        #expect(live["a"]?.due == 1)
        let shown = Mutex<[Int]>([])
        let note: @Sendable () -> Void = { if let due = live["a"]?.due { shown.withLock { $0.append(due) } } }
        live.update("a") { $0.due = 20 }
        try await live.flush()
        #expect(live.isSaved)
        let watching = Task { while !Task.isCancelled { note(); await Task.yield() } }
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        try await eventually("it is out of sight") { live.values.isEmpty }
        watching.cancel()
        await watching.value
        #expect(shown.withLock { $0.allSatisfy { $0 == 20 } }, "what does not match came from the daemon and was shown")
        await kura.close()
    }
}
