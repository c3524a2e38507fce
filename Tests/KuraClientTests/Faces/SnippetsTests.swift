import KuraClient
import Observation
import Testing

/// What the articles in KuraClient.docc show, compiled and run: `scripts/check snippets` holds the two together.
@Suite struct SnippetsTests {
    // snippet: Documents.model
    struct Task: Codable, Identifiable, Sendable {
        var id: String
        var title: String
        var due: Int
        var isDone = false
        var note: String?
    }
    // end

    private func download() async throws -> [String] { ["headline"] }
    private func show(_ lines: [String], softly: Bool) {}
    private func show(_ tasks: [Task]) {}
    private func display(_ bytes: RawSpan) {}

    @Test func `the article on documents`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let now = 3

        // snippet: Documents.collection
        let tasks = kura.documents("tasks", of: Task.self)
        try await tasks.put(Task(id: "1", title: "water the plants", due: 2))
        let task = try await tasks.get("1")
        // end
        #expect(task?.due == 2)

        // snippet: Documents.find
        let due = tasks.find({ $0.due <= now && $0.isDone == false }, sort: { [$0.due.ascending] })
        for try await task in due.limit(20) { print(task.title) }
        let open = try await tasks.count { $0.isDone == false }
        // end
        #expect(open == 1)

        // snippet: Documents.mutate
        try await tasks.mutate("1") { $0.isDone = true }
        // end

        // snippet: Documents.conditional
        if let stored = try await tasks.stored("1") {
            switch try await tasks.put(Task(id: "1", title: "water", due: 4), ifRev: stored.rev) {
            case .done(let rev): print("stored under \(rev)")
            case .conflict(let currentRev): print("somebody was faster: \(currentRev)")
            }
        }
        // end

        let archive = kura.documents("archive", of: Task.self)
        // snippet: Documents.transaction
        if let done = try await tasks.stored("1") {
            _ = try await kura.apply { changes throws(KuraError) in
                try changes.put(done.value, in: archive)
                try changes.delete(done.id, in: tasks, ifRev: done.rev)
            }
        }
        // end
        #expect(try await archive.count() == 1)

        // snippet: Documents.names
        let urgent = tasks.find { Field("due", \.due) < 2 || $0.field("legacy.priority", as: Int.self) == 1 }
        // end
        #expect(try await urgent.all().isEmpty)
        await kura.close()
    }

    @Test func `the article on live collections`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()

        // snippet: LiveCollections.show
        let tasks = try kura.documents("tasks", of: Task.self)
            .live(on: MainActor.shared, where: { $0.isDone == false }, sort: { [$0.due.ascending] })
        await tasks.loaded()
        // end

        // snippet: LiveCollections.edit
        tasks.put(Task(id: "1", title: "water the plants", due: 2))
        tasks.update("1") { $0.due += 1 }
        tasks.values[0].note = "twice"
        tasks["2"] = nil
        // end

        let follower = _Concurrency.Task {
            // snippet: LiveCollections.follow
            for await shown in Observations({ tasks.values }) { show(shown) }
            // end
        }
        follower.cancel()

        // snippet: LiveCollections.conflicts
        if try await tasks.flush() == false {
            for conflict in tasks.conflicts { try tasks.resolve(conflict.id, keeping: .theirs) }
        }
        // end
        #expect(try await kura.documents("tasks", of: Task.self).get("1")?.note == "twice")
        try await tasks.close()
        await kura.close()
    }

    @Test func `the article on moving to Kura`() async throws {
        let daemon = try FaceDaemon()
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
}
