import Glibc
import KuraClient
import Testing

/// What a live collection makes of documents that others know better, and of another history.
@Suite struct LiveHistoryTests {
    /// A value with as many members as one likes, beside members of others.
    private struct Sheet: Codable, Identifiable, Sendable {
        struct Name: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        let id: String
        var cells: [String: Int] = [:]

        init(id: String) { self.id = id }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Name.self)
            id = try members.decode(String.self, forKey: Name(stringValue: "id"))
            for name in members.allKeys where name.stringValue.hasPrefix("cell") {
                cells[name.stringValue] = try members.decode(Int.self, forKey: name)
            }
        }

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Name.self)
            try members.encode(id, forKey: Name(stringValue: "id"))
            for (name, value) in cells.sorted(by: { $0.key < $1.key }) {
                try members.encode(value, forKey: Name(stringValue: name))
            }
        }
    }

    @Test func `members that it does not know outlast saves, of few members and of very many`() async throws {
        struct Note: Codable, Identifiable, Sendable {
            var id: String
            var note: String
        }
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let notes = kura.documents("sheets", of: Note.self)
        try await notes.put(Note(id: "a", note: "kept"))
        let live = try kura.documents("sheets", of: Sheet.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.cells["cell 0"] = 1 }
        #expect(try await live.flush())
        live.update("a") { sheet in for number in 1...600 { sheet.cells["cell \(number)"] = number } }
        #expect(try await live.flush())
        #expect(try await notes.get("a")?.note == "kept")
        #expect(try await kura.documents("sheets", of: Sheet.self).get("a")?.cells.count == 601)
        await kura.close()
    }

    @Test func `another history is shown, though its revisions are lower, and nothing else`() async throws {
        let daemon = try FaceDaemon()
        let mine = try await daemon.client()
        let cards = mine.documents("cards", of: Card.self)
        for due in 1...9 { try await cards.putMany([Card("a", due: due), Card("b", due: due)]) }
        let live = try cards.live()
        await live.loaded()
        #expect(live.values.map(\.due) == [9, 9])
        daemon.kill()
        #expect(system("rm -rf '\(daemon.root)/data'") == 0)
        try daemon.start()
        let theirs = try await daemon.client()
        try await theirs.documents("cards", of: Card.self).put(Card("a", due: 42))
        try await eventually("what there is now shows") { live.values == [Card("a", due: 42)] }
        #expect(live.isSaved && live.conflicts.isEmpty)
        await mine.close()
        await theirs.close()
    }

    @Test func `a dropped collection is empty`() async throws {
        let daemon = try FaceDaemon()
        let kura = try await daemon.client()
        let cards = kura.documents("cards", of: Card.self)
        try await cards.putMany([Card("a"), Card("b")])
        let live = try cards.live()
        await live.loaded()
        #expect(live.values.count == 2)
        _ = try await kura.call("documents.drop", json: Array(#"{"collection":"cards"}"#.utf8))
        try await eventually("nothing is left in sight") { live.values.isEmpty }
        await kura.close()
    }
}
