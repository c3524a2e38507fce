import Glibc
import KuraClient
import Observation
import Testing

// What the articles in KuraClient.docc show, compiled and run. Each block of theirs is a stretch of this file, line by line, whatever
// its indentation.

// A plain value: nothing of Kura's is on it.
struct Chore: Codable, Identifiable, Sendable {
    var id: String
    var title: String
    var due: Int
    var isDone = false
    var note: String?
}

@Suite struct SnippetsTests {
    private func download() async throws -> [String] { ["headline"] }
    private func show(_ lines: [String], softly: Bool) {}
    private func show(_ chores: [Chore]) {}
    private func display(_ bytes: RawSpan) {}

    @Test func `the article on documents`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let now = 3

        let chores = kura.documents("chores", of: Chore.self)
        try await chores.put(Chore(id: "1", title: "water the plants", due: 2))
        let chore = try await chores.get("1")
        #expect(chore?.due == 2)

        let due = chores.find({ $0.due <= now && $0.isDone == false }, sort: { [$0.due.ascending] })
        for try await chore in due.limit(20) { print(chore.title) }
        let open = try await chores.count { $0.isDone == false }
        #expect(open == 1)

        try await chores.mutate("1") { $0.isDone = true }

        if let stored = try await chores.stored("1") {
            switch try await chores.put(Chore(id: "1", title: "water", due: 4), ifRev: stored.rev) {
            case .done(let rev): print("stored under \(rev)")
            case .conflict(let currentRev): print("somebody was faster: \(currentRev)")
            }
        }

        let archive = kura.documents("archive", of: Chore.self)
        if let done = try await chores.stored("1") {
            _ = try await kura.apply { changes throws(KuraError) in
                try changes.put(done.value, in: archive)
                try changes.delete(done.id, in: chores, ifRev: done.rev)
            }
        }
        #expect(try await archive.count() == 1)

        let urgent = chores.find { Field("due", \.due) < 2 || $0.field("legacy.priority", as: Int.self) == 1 }
        #expect(try await urgent.all().isEmpty)
        await kura.close()
    }

    @Test func `the article on live collections`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()

        let chores = try kura.documents("chores", of: Chore.self)
            .live(on: MainActor.shared, where: { $0.isDone == false }, sort: { [$0.due.ascending] })
        await chores.loaded()

        chores.put(Chore(id: "1", title: "water the plants", due: 2))
        chores.update("1") { $0.due += 1 }
        chores.values[0].note = "twice"
        chores["2"] = nil

        let follower = Task {
            for await shown in Observations({ chores.values }) { show(shown) }
        }
        follower.cancel()

        if try await chores.flush() == false {
            for conflict in chores.conflicts { try chores.resolve(conflict.id, keeping: .theirs) }
        }
        #expect(try await kura.documents("chores", of: Chore.self).get("1")?.note == "twice")
        try await chores.close()
        await kura.close()
    }

    @Test func `the article on moving to Kura`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()

        let news = kura.models["news"]
        let home = news.value(for: "home", lifetime: .init(fresh: .seconds(300)), orFetch: { try await download() })
        for try await lines in home { show(lines.value, softly: lines.isFresh) }

        let images = kura.blobs["images"]
        try await images.put([0x89, 0x50], as: "https://example.org/a.png", .init(contentType: "image/png"))
        if let image = try await images.get("https://example.org/a.png") {
            image.withBytes { display($0) }
        }
        await kura.close()
    }

    private static func contents(_ path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            if count == 0 { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func trimmed(_ text: some StringProtocol) -> [String] {
        text.split(separator: "\n").map { String($0.drop { $0 == " " }) }.filter { !$0.isEmpty }
    }

    @Test func `what the articles show is compiled here`() throws {
        let here = #filePath
        let source = Self.trimmed(try #require(Self.contents(here)))
        let root = try #require(here.split(separator: "/Tests/KuraClientTests/").first)
        for article in ["Documents", "LiveCollections", "MovingToKura"] {
            let text = try #require(
                Self.contents("\(root)/Sources/KuraClient/KuraClient.docc/\(article).md"), "\(article)")
            let blocks = text.split(separator: "```swift\n").dropFirst().map {
                Self.trimmed($0.split(separator: "```")[0])
            }
            #expect(!blocks.isEmpty, "\(article)")
            for block in blocks {
                let isShown = source.indices.contains { Array(source[$0...].prefix(block.count)) == block }
                #expect(isShown, "\(article) shows what is not compiled: \(block)")
            }
        }
    }
}
