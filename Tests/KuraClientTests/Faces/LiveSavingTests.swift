import KuraClient
import Testing

/// What a live collection does about saves that are held up, fail or are large.
@Suite struct LiveSavingTests {
    private static let card = #""deck":"fr","front":"front","isDone":false,"tags":[]"#

    /// Answers what a live collection asks for at its beginning: it has one card, `a`, at revision 1.
    /// - Returns: whether it was that.
    private static func begins(_ line: String, _ connection: FakeDaemon.Connection) -> Bool {
        if line.contains("changes.watch") {
            connection.send(FakeDaemon.reply(line, #"{"subscription":1,"rev":1,"epoch":"e"}"#))
        } else if line.contains("documents.list") {
            let row = #"{"id":"a","rev":1,"value":{"id":"a","due":0,\#(card)}}"#
            connection.send(FakeDaemon.reply(line, #"{"documents":[\#(row)],"rev":1}"#))
        } else {
            return false
        }
        return true
    }

    @Test func `what is saved while the rest is read is not taken for gone`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var second: String?
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(FakeDaemon.reply(line, #"{"subscription":1,"rev":4,"epoch":"e"}"#))
                } else if line.contains("documents.list") {
                    if line.contains("cursor") {
                        second = line
                    } else {
                        let row = #"{"id":"b","rev":4,"value":{"id":"b","due":0,\#(Self.card)}}"#
                        connection.send(
                            FakeDaemon.reply(line, #"{"documents":[\#(row)],"rev":4,"cursor":"behind"}"#))
                    }
                } else if line.contains("transaction.apply") {
                    connection.send(FakeDaemon.reply(line, #"{"rev":5,"results":[{"rev":5}]}"#))
                } else {
                    if let second { connection.send(FakeDaemon.reply(second, #"{"documents":[],"rev":6}"#)) }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .immediate)
        try await eventually("the second page is asked for") { fake.lines(with: #""behind""#).count == 1 }
        live.put(Card("a"))
        #expect(try await live.flush())
        // The second page comes now, as of a later revision; `a` would have been on the first.
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        await live.loaded()
        #expect(live.values.map(\.id) == ["a", "b"])
        await kura.close()
    }

    @Test func `a save that is told of conflicts for ever ends, and is tried again after its interval`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var rev = 1
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                if line.contains("transaction.apply") {
                    connection.send(FakeDaemon.error(line, "conflict", #","operation":0"#))
                } else {
                    rev += 1
                    connection.send(
                        FakeDaemon.reply(line, #"{"rev":\#(rev),"value":{"id":"a","due":0,\#(Self.card)}}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 1 }
        #expect(await kind { try await live.flush() } == .badReply)
        #expect(!live.isSaved && live["a"]?.due == 1, "the edit stays in sight")
        #expect(fake.lines(with: "transaction.apply").count < 2000)
        await kura.close(patience: .zero)
    }

    @Test func `who wants it saved while a save is under way has another behind it`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var held: String?
            var saves = 0
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                if line.contains("transaction.apply") {
                    saves += 1
                    if saves == 1 {
                        held = line
                    } else {
                        connection.send(FakeDaemon.reply(line, #"{"rev":\#(saves),"results":[]}"#))
                    }
                } else {
                    if let held { connection.send(FakeDaemon.reply(held, #"{"rev":1,"results":[]}"#)) }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 1 }
        let first = Task { try await live.flush() }
        try await eventually("it is being saved") { fake.lines(with: "transaction.apply").count == 1 }
        live.update("a") { $0.due = 2 }
        let second = Task { try await live.flush() }
        try await Task.sleep(for: .milliseconds(50))
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        _ = try await first.value
        #expect(try await second.value, "what was edited before it was called is saved when it returns")
        #expect(live.isSaved)
        await kura.close()
    }

    @Test func `what somebody makes of it behind a save is taken in behind that save`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var held: String?
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                if line.contains("transaction.apply") {
                    // It is done at revision 2, and changed again at 3, which is told before that.
                    held = line
                    let change = #"{"store":"documents","scope":"cards","key":"a","rev":3}"#
                    connection.send(
                        #"{"jsonrpc":"2.0","method":"changes.changed","params":{"subscription":1,"rev":3,"changes":[\#(change)]}}"#
                    )
                } else if line.contains("documents.getMany") {
                    let row = #"{"id":"a","rev":3,"value":{"id":"a","due":9,\#(Self.card)}}"#
                    connection.send(FakeDaemon.reply(line, #"{"documents":[\#(row)],"rev":3}"#))
                } else {
                    if let held { connection.send(FakeDaemon.reply(held, #"{"rev":2,"results":[]}"#)) }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 1 }
        let save = Task { try await live.flush() }
        try await eventually("the change is read") { fake.lines(with: "documents.getMany").count == 1 }
        try await Task.sleep(for: .milliseconds(50))
        _ = try await kura.settings["app"].get("go on", as: Int.self)
        _ = try await save.value
        try await eventually("the change is shown") { live.values.first?.due == 9 }
        #expect(try await live.flush())
        #expect(fake.lines(with: "transaction.apply").count == 1, "nothing of it was edited here")
        await kura.close()
    }

    @Test func `what may succeed later is not refused for good`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var saves = 0
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                saves += 1
                connection.send(
                    saves == 1
                        ? FakeDaemon.error(line, "noSpace", #","operation":0,"retryable":true"#)
                        : FakeDaemon.reply(line, #"{"rev":2,"results":[]}"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 1 }
        let full = await #expect(throws: KuraError.self) { try await live.flush() }
        #expect(full?.kind == .noSpace)
        #expect(try await live.flush())
        #expect(live.isSaved)
        await kura.close()
    }

    @Test func `more than one step may hold, or one line, is saved in several`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let live = try cards.live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.values = (0..<1500).map { Card("\($0)") }
        #expect(try await live.flush())
        #expect(try await cards.count() == 1500)
        for number in 0..<3 { live.put(Card("large \(number)", note: String(repeating: "x", count: 6 << 20))) }
        #expect(try await live.flush())
        #expect(try await cards.count() == 1503)
        await kura.close()
    }

    @Test func `what was let go of while the daemon was away is saved when it is back`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await Kura.connect(
            to: daemon.socket,
            options: ConnectOptions(timeout: .seconds(120), patience: .milliseconds(100), wait: .seconds(60)))
        let cards = kura.documents("cards", of: Card.self)
        do {
            let live = try cards.live(saving: .every(.seconds(3600)))
            await live.loaded()
            daemon.kill()
            live.put(Card("a", due: 6))
        }
        // Much longer than the client's patience, so that the first attempt has failed.
        try await Task.sleep(for: .seconds(2))
        try daemon.start()
        let other = try await daemon.client()
        try await eventually("it is saved") {
            try await other.documents("cards", of: Card.self).get("a")?.due == 6
        }
        await kura.close()
        await other.close()
    }

    @Test func `what cannot be saved is not tried without a pause, and by a closed client once`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if Self.begins(line, connection) { continue }
                connection.send(FakeDaemon.error(line, "noSpace", #","retryable":true"#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .immediate)
        await live.loaded()
        let closed = Counter()
        let problems = live.problems
        let counting = Task {
            for await problem in problems {
                if case .notSaved(let error) = problem, error.kind == .closed { _ = closed.next() }
            }
        }
        let start = ContinuousClock.now
        live.update("a") { $0.due = 1 }
        try await eventually("it is tried") { !fake.lines(with: "transaction.apply").isEmpty }
        try await Task.sleep(for: .seconds(2))
        let tries = fake.lines(with: "transaction.apply").count
        // 200 ms between them.
        #expect(tries <= 2 + Int((ContinuousClock.now - start) / .milliseconds(200)))
        await kura.close()
        try await eventually("that nothing can be saved any more is told") { closed.count > 0 }
        try await Task.sleep(for: .seconds(1))
        #expect(closed.count == 1)
        counting.cancel()
    }

    @Test func `an edit of what somebody makes unreadable stays in sight, and nothing is written over that`()
        async throws
    {
        let daemon = try await FaceDaemon(.inMemory)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.putMany([Card("a"), Card("b")])
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 5 }
        let odd =
            #"{"collection":"cards","documents":[{"id":"a","value":{"id":"a","due":"late"}},{"id":"b","value":1}]}"#
        _ = try await theirs.call("documents.putMany", json: Array(odd.utf8))
        try await eventually("what is unreadable is out of sight, and the edit is not") {
            live.values == [Card("a", due: 5)]
        }
        guard case .unreadable(key: _, let error)? = live.lastProblem else {
            Issue.record("\(String(describing: live.lastProblem))")
            return
        }
        #expect(error.kind == .wrongType)
        #expect(try await !live.flush(), "something is left")
        live.update("a") { $0.due = 6 }
        #expect(try await !live.flush())
        let there = try await theirs.call("documents.get", json: Array(#"{"collection":"cards","id":"a"}"#.utf8))
        #expect(String(decoding: there.result, as: UTF8.self).contains("late"))
        await mine.close()
        await theirs.close()
    }

    @Test func `what both have deleted is no conflict`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        try await others.put(Card("a"))
        let live = try mine.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.remove("a")
        #expect(!live.isSaved)
        try await others.delete("a")
        try await eventually("nothing is left to save") { live.isSaved }
        #expect(live.conflicts.isEmpty && live.lastProblem == nil)
        await mine.close()
        await theirs.close()
    }

    @Test func `a change of very many documents shows whole, with a condition and without`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let (mine, theirs) = (try await daemon.client(), try await daemon.client())
        let others = theirs.documents("cards", of: Card.self)
        let cards = mine.documents("cards", of: Card.self)
        let (all, some) = (try cards.live(), try cards.live(where: { $0.due < 5 }))
        await all.loaded()
        await some.loaded()
        try await others.putMany((0..<1300).map { Card("\($0)") })
        try await eventually("all of them show") { all.count == 1300 && some.count == 1300 }
        try await others.putMany((0..<1300).map { Card("\($0)", due: 9) })
        try await eventually("none of them matches any more") {
            some.isEmpty && all.values.allSatisfy { $0.due == 9 }
        }
        await mine.close()
        await theirs.close()
    }

    @Test func `problems of one that is closed end, and one of a closed client is not waited for`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        let live = try cards.live()
        await live.loaded()
        let before = live.problems
        try await live.close()
        let ends = Counter()
        let reading = [before, live.problems].map { problems in
            Task {
                for await _ in problems {}
                _ = ends.next()
            }
        }
        try await eventually("both have ended") { ends.count == 2 }
        await kura.close()
        let late = try cards.live()
        let waiting = Task {
            await late.loaded()
            _ = ends.next()
        }
        try await eventually("nobody waits for what cannot be read") { ends.count == 3 }
        #expect(!late.isLoaded && late.lastProblem == nil)
        for task in reading + [waiting] { task.cancel() }
    }
}
