import KuraClient
import Observation
import Testing

/// What the articles in KuraClient.docc show, compiled and run: `scripts/check snippets` holds the two together.
@Suite struct SnippetsTests {
    // snippet: Documents.model
    struct Chore: Codable, Identifiable, Sendable {
        var id: String
        var title: String
        var due: Int
        var isDone = false
        var note: String?
    }
    // end

    private func download() async throws -> [String] { ["headline"] }
    private func show(_ lines: [String], softly: Bool) {}
    private func show(_ chores: [Chore]) {}
    private func display(_ bytes: RawSpan) {}

    @Test func `the article on documents`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()
        let now = 3

        // snippet: Documents.collection
        let chores = kura.documents("chores", of: Chore.self)
        try await chores.put(Chore(id: "1", title: "water the plants", due: 2))
        let chore = try await chores.get("1")
        // end
        #expect(chore?.due == 2)

        // snippet: Documents.find
        let due = chores.find({ $0.due <= now && $0.isDone == false }, sort: { [$0.due.ascending] })
        for try await chore in due.limit(20) { print(chore.title) }
        let open = try await chores.count { $0.isDone == false }
        // end
        #expect(open == 1)

        // snippet: Documents.mutate
        try await chores.mutate("1") { $0.isDone = true }
        // end

        // snippet: Documents.refuse
        enum Refusal: Error { case alreadyDone }
        do {
            try await chores.mutate("1") { chore in
                guard !chore.isDone else { throw Refusal.alreadyDone }
                chore.isDone = true
            }
        } catch Refusal.alreadyDone {
            print("somebody has done it")
        }
        // end

        // snippet: Documents.conditional
        if let stored = try await chores.stored("1") {
            switch try await chores.put(Chore(id: "1", title: "water", due: 4), ifRev: stored.rev) {
            case .done(let rev): print("stored under \(rev)")
            case .conflict(let currentRev): print("somebody was faster: \(currentRev)")
            }
        }
        // end

        let archive = kura.documents("archive", of: Chore.self)
        // snippet: Documents.transaction
        if let done = try await chores.stored("1") {
            _ = try await kura.apply {
                $0.put(done.value, in: archive)
                $0.delete(done.id, in: chores, ifRev: done.rev)
            }
        }
        // end
        #expect(try await archive.count() == 1)

        // snippet: Documents.example
        enum Place: Codable, Sendable {
            case home
            case shop(name: String)
        }
        struct Errand: Codable, Identifiable, Sendable {
            var id: String
            var place: Place
            var due: Int
        }
        let errands = kura.documents("errands", of: Errand.self, example: Errand(id: "", place: .home, due: 0))
        let late = try await errands.find({ $0.due < now }).all()
        // end
        #expect(late.isEmpty)

        // snippet: Documents.names
        let urgent = chores.find { Field("due", \.due) < 2 || $0.field("legacy.priority", as: Int.self) == 1 }
        // end
        #expect(try await urgent.all().isEmpty)

        // snippet: Documents.indexes
        try await chores.addIndexes([
            .init("byDue", on: { [$0.due] }),
            .init("open", unique: true, on: { [$0.title] }, where: { $0.isDone == false }),
        ])
        for index in try await chores.indexes() { print(index.name, index.state) }
        // end
        #expect(try await chores.indexes().map(\.name) == ["byDue", "open"])

        // snippet: Documents.drop
        try await chores.removeIndex("byDue")
        try await chores.deleteMany(allowingScan: true) { _ in .everything }
        try await archive.drop()
        // end
        #expect(try await chores.indexes().map(\.name) == ["open"])
        await kura.close()
    }

    @Test func `the article on live collections`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()

        // snippet: LiveCollections.show
        let chores = try kura.documents("chores", of: Chore.self)
            .live(on: MainActor.shared, where: { $0.isDone == false }, sort: { [$0.due.ascending] })
        await chores.loaded()
        // end

        // snippet: LiveCollections.edit
        chores.put(Chore(id: "1", title: "water the plants", due: 2))
        chores.update("1") { $0.due += 1 }
        chores.values[0].note = "twice"
        chores["2"] = nil
        // end

        // snippet: LiveCollections.form
        let opened = chores["1"]!
        var form = opened
        form.title = "water all plants"
        chores.put(form, editedFrom: opened)
        // end

        let follower = Task {
            // snippet: LiveCollections.follow
            for await shown in Observations({ chores.values }) { show(shown) }
            // end
        }
        follower.cancel()

        // snippet: LiveCollections.conflicts
        if try await chores.flush() == false {
            for conflict in chores.conflicts { try chores.resolve(conflict.id, keeping: .theirs) }
        }
        // end
        #expect(try await kura.documents("chores", of: Chore.self).get("1")?.note == "twice")
        try await chores.close()
        await kura.close()
    }

    @Test func `the article on moving to Kura`() async throws {
        let daemon = try await FaceDaemon(.inMemory)
        let kura = try await daemon.client()

        // snippet: MovingToKura.models
        let news = kura.models["news"]
        let home = news.value(for: "home", lifetime: .init(fresh: .seconds(300)), orFetch: { try await download() })
        for try await lines in home { show(lines.value, softly: lines.isFresh) }
        // end

        // snippet: MovingToKura.blobs
        let images = kura.blobs["images"]
        try await images.put([0x89, 0x50], as: "https://example.org/a.png", .init(contentType: "image/png"))
        if let image = try await images.get("https://example.org/a.png") {
            image.withBytes { display($0) }
        }
        // end
        await kura.close()
    }

    // snippet: README.swift
    struct Card: Codable, Identifiable, Sendable { var id: String, due: Int, isDone = false }
    // end

    /// Compiled, and not run: it would find a daemon of somebody's.
    private func connect() async throws -> Kura {
        // snippet: README.swift
        let kura = try await Kura.connect()
        // end
        return kura
    }

    @Test(arguments: Server.allCases) func `the first page`(server: Server) async throws {
        let daemon = try await FaceDaemon(server)
        let (kura, other) = (try await daemon.client(), try await daemon.client())
        let theirs = other.documents("cards", of: Card.self)
        // snippet: README.swift
        let cards = try kura.documents("cards", of: Card.self).live(where: { !$0.isDone }, sort: { [$0.due.ascending] })
        cards.put(Card(id: "rice", due: 3))  // shown at once, saved within a second
        // end
        let follower = Task {
            // snippet: README.swift
            for await due in Observations({ cards.values }) { print(due) }  // whatever process has changed them
            // end
        }
        try await eventually("it is saved") { try await theirs.get("rice")?.due == 3 }
        try await theirs.put(Card(id: "tea", due: 1))
        try await theirs.mutate("rice") { $0.isDone = true }
        try await eventually("others' changes show") { cards.values.map(\.id) == ["tea"] }
        follower.cancel()
        await kura.close()
        await other.close()
    }
}
