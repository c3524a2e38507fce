import Synchronization
import Testing

@testable import KuraClient

/// Where a stream goes on, and how it ends.
@Suite struct StreamEdgesTests {
    private static let patient = ConnectOptions(timeout: .seconds(120), patience: .seconds(120))

    private static func notice(_ event: String, _ params: String) -> String {
        #"{"jsonrpc":"2.0","method":"changes.\#(event)","params":{"subscription":1,\#(params)}}"#
    }

    private static func watched(_ line: String, _ rev: Int) -> String {
        FakeDaemon.reply(line, #"{"subscription":1,"rev":\#(rev),"epoch":"e"}"#)
    }

    private static func resync(_ event: ChangeEvent?) -> Resync? {
        if case .resync(let resync)? = event { resync } else { nil }
    }

    @Test func `a stream that cannot go on from where it was says so, and begins where the daemon is`() async throws {
        for (kind, details, reason) in [
            ("compacted", "", Resync.Reason.compacted), ("epochChanged", "", .epochChanged),
            ("invalidParams", #","parameter":"afterRev""#, .epochChanged),
        ] {
            let fake = try FakeDaemon { _, connection in
                guard connection.hello() else { return }
                while let line = connection.line() {
                    connection.send(
                        line.contains("afterRev")
                            ? FakeDaemon.error(line, kind, details) : Self.watched(line, 9))
                }
            }
            let kura = try await Kura.connect(to: fake.path, options: Self.patient)
            let events = kura.changes(afterRev: 5).makeAsyncIterator()
            #expect(Self.resync(try await events.next()) == Resync(reason: reason, rev: 9, epoch: "e"))
            await kura.close()
        }
        // What is wrong with anything else is no other history.
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                connection.send(FakeDaemon.error(line, "invalidParams", #","parameter":"scope""#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let events = kura.changes(afterRev: 5).makeAsyncIterator()
        let error = await #expect(throws: KuraError.self) { try await events.next() }
        #expect(error?.kind == .invalidParams)
        await kura.close()
    }

    @Test(arguments: ["epochChanged", "compacted", "invalidParams"])
    func `a stream whose revision is refused though it has named none ends, and does not ask for ever`(
        kind: String
    ) async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                connection.send(FakeDaemon.error(line, kind, #","parameter":"afterRev""#))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        for rev: Int64? in [nil, 5] {
            let events = kura.changes(afterRev: rev).makeAsyncIterator()
            let error = await #expect(throws: KuraError.self) { try await events.next() }
            #expect(error?.kind.rawValue == kind)
        }
        #expect(fake.lines(with: "changes.watch").count == 3)
        await kura.close()
    }

    @Test func `what a reader has taken is not told again, though too much comes while it looks at it`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(Self.watched(line, 5))
                    if !line.contains("afterRev") { connection.send(Self.notice("changed", #""rev":6,"changes":[]"#)) }
                } else if line.contains("settings.get") {
                    // More than is kept for somebody who does not read.
                    let much = String(repeating: "x", count: 1 << 20)
                    for rev in 7..<17 {
                        connection.send(Self.notice("changed", #""rev":\#(rev),"changes":[],"x":"\#(much)""#))
                    }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let stream = kura.changes()
        guard case .progress(5)? = try await kura.link.next(stream.feed.subscription) else {
            return #expect(Bool(false), "it begins")
        }
        guard case .told? = try await kura.link.next(stream.feed.subscription) else {
            return #expect(Bool(false), "something is told")
        }
        // Nobody has looked at what was taken when the flood comes.
        _ = try await kura.settings["app"].get("a", as: Int.self)
        let next = Outcome { _ = try? await kura.link.next(stream.feed.subscription) }
        try await eventually("it begins again") { fake.lines(with: "changes.watch").count == 2 }
        #expect(fake.lines(with: #""afterRev":6"#).count == 1)
        await kura.close()
        try await eventually("it ends") { next.known != nil }
    }

    @Test func `over the next connection it goes on behind what was told, in the same history`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(Self.watched(line, number == 1 ? 5 : 90))
                    if number == 1 { connection.send(Self.notice("overflow", #""resyncRev":90"#)) }
                } else {
                    if number == 1 { return }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let stream = kura.changes(.init(stores: [.settings], scope: "app", prefix: "ui."))
        let events = stream.makeAsyncIterator()
        guard case .progress(rev: 5)? = try await events.next() else { return #expect(Bool(false)) }
        #expect(Self.resync(try await events.next()) == Resync(reason: .overflow, rev: 90, epoch: "e"))
        _ = try await kura.settings["app"].get("a", as: Int.self)
        let asked = fake.lines(with: "changes.watch")
        #expect(asked.count == 2)
        #expect(asked.allSatisfy { $0.contains(#""stores":["settings"],"scope":"app","prefix":"ui.""#) })
        #expect(asked.last?.contains(#""afterRev":90,"epoch":"e""#) == true)
        withExtendedLifetime(stream) {}
        await kura.close()
    }

    @Test func `that changes are lost is told, and it goes on behind them`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(Self.watched(line, number == 1 ? 5 : 90))
                    if number == 1 { connection.send(Self.notice("lost", #""fromRev":5,"toRev":90"#)) }
                } else {
                    if number == 1 { return }
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let stream = kura.changes()
        let events = stream.makeAsyncIterator()
        guard case .progress(rev: 5)? = try await events.next() else { return #expect(Bool(false)) }
        #expect(Self.resync(try await events.next()) == Resync(reason: .lost, rev: 90, epoch: "e"))
        #expect(stream.place?.rev == 90)
        _ = try await kura.settings["app"].get("a", as: Int.self)
        #expect(fake.lines(with: "changes.watch").last?.contains(#""afterRev":90,"epoch":"e""#) == true)
        withExtendedLifetime(stream) {}
        await kura.close()
    }

    @Test func `a daemon that has too much to do is asked for it again`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var watches = 0
            while let line = connection.line() {
                watches += 1
                connection.send(watches < 3 ? FakeDaemon.error(line, "overloaded") : Self.watched(line, 7))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let events = kura.changes().makeAsyncIterator()
        let reached = Mutex<Int64>(0)
        let reading = Task {
            if case .progress(let rev)? = try await events.next() { reached.withLock { $0 = rev } }
        }
        try await eventually("it has begun") { reached.withLock { $0 } == 7 }
        reading.cancel()
        await kura.close()
    }

    @Test func `a stream that the daemon ends says why, and one that nobody has is ended at the daemon`() async throws {
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            while let line = connection.line() {
                guard line.contains("changes.watch") else { continue }
                connection.send(Self.watched(line, 1))
                if line.contains(#""scope":"ended""#) {
                    let error = #"{"code":-32007,"message":"no","data":{"kind":"forbidden"}}"#
                    connection.send(Self.notice("ended", #""error":\#(error)"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        var kept: ChangeStream? = kura.changes(.settings("kept"))
        try await eventually("it has begun") {
            kura.link.lock.withLock { _ in kept?.feed.subscription.number != nil }
        }
        kept = nil
        try await eventually("nobody has it any more") { fake.lines(with: "changes.unwatch").count == 1 }
        let events = kura.changes(.settings("ended")).makeAsyncIterator()
        let error = await #expect(throws: KuraError.self) { while try await events.next() != nil {} }
        #expect(error?.kind == .forbidden)
        await kura.close()
        let late = kura.changes().makeAsyncIterator()
        let ends = Counter()
        let reading = Task {
            if try await late.next() == nil { _ = ends.next() }
        }
        try await eventually("a stream of a closed client has ended") { ends.count == 1 }
        reading.cancel()
    }

    @Test func `streams end when there is no daemon of this protocol any more`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello(protocol: number == 1 ? 1 : 2), number == 1 else { return }
            while let line = connection.line() {
                guard line.contains("changes.watch") else { return }
                connection.send(Self.watched(line, 1))
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let events = kura.changes().makeAsyncIterator()
        guard case .progress(rev: 1)? = try await events.next() else { return #expect(Bool(false)) }
        let gone = await #expect(throws: KuraError.self) { try await kura.settings["app"].get("a", as: Int.self) }
        #expect(gone?.kind == .versionMismatch)
        let ends = Counter()
        let reading = Task {
            do throws(KuraError) { _ = try await events.next() } catch {
                if error.kind == .versionMismatch { _ = ends.next() }
            }
        }
        try await eventually("the stream says the same") { ends.count == 1 }
        reading.cancel()
        await kura.close()
    }

    @Test func `a state is told once, and one of another history though it has the same revision`() async throws {
        let fake = try FakeDaemon { number, connection in
            guard connection.hello() else { return }
            var gets = 0
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(
                        line.contains("afterRev")
                            ? FakeDaemon.error(line, "epochChanged") : Self.watched(line, 5))
                } else if line.contains("documents.get") {
                    gets += 1
                    let rev = number == 1 ? (gets < 3 ? 5 : 6) : 6
                    let card = #"{"id":"a","deck":"fr","front":"f","due":\#(number),"isDone":false,"tags":[]}"#
                    connection.send(FakeDaemon.reply(line, #"{"rev":\#(rev),"value":\#(card)}"#))
                    // Told behind the reading that it is in; then a change; then another history.
                    guard number == 1, gets < 3 else { continue }
                    let change = #"{"store":"documents","scope":"cards","key":"a","rev":\#(gets + 4)}"#
                    connection.send(Self.notice("changed", #""rev":\#(gets + 4),"changes":[\#(change)]"#))
                } else if number == 1 {
                    return
                } else {
                    connection.send(FakeDaemon.reply(line, #"{"rev":0}"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: Self.patient)
        let states = kura.documents("cards", of: Card.self).watch("a")
        let told = Mutex<[[Int]]>([])
        let reading = Task {
            for try await state in states {
                told.withLock { $0.append([Int(state?.rev ?? 0), state?.value.due ?? 0]) }
            }
        }
        try await eventually("the first two are told") { told.withLock { $0.count } == 2 }
        _ = try await kura.settings["app"].get("a", as: Int.self)
        try await eventually("and that of the other history") { told.withLock { $0.count } == 3 }
        #expect(told.withLock { $0 } == [[5, 1], [6, 1], [6, 2]])
        reading.cancel()
        await kura.close()
    }
}
