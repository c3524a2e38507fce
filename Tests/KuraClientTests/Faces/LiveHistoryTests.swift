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

    @Test func `an edit in conflict is held against what is there, though its revision is lower`() async throws {
        let rest = #""deck":"fr","front":"front","isDone":false,"tags":[]"#
        let value = #"{"id":"a","due":0,\#(rest)}"#
        let fake = try FakeDaemon { _, connection in
            guard connection.hello() else { return }
            var saves = 0
            while let line = connection.line() {
                if line.contains("changes.watch") {
                    connection.send(FakeDaemon.reply(line, #"{"subscription":1,"rev":100,"epoch":"e"}"#))
                } else if line.contains("documents.list") {
                    let row = #"{"id":"a","rev":100,"value":\#(value)}"#
                    connection.send(FakeDaemon.reply(line, #"{"documents":[\#(row)],"rev":100}"#))
                } else if line.contains("documents.get") {
                    connection.send(FakeDaemon.reply(line, #"{"rev":5,"value":\#(value)}"#))
                } else {
                    saves += 1
                    // Who says the same again and again is let go in the end.
                    let isOver = line.contains(#""ifRev":5"#) || saves == 5
                    connection.send(
                        isOver
                            ? FakeDaemon.reply(line, #"{"rev":6,"results":[]}"#)
                            : FakeDaemon.error(line, "conflict", #","operation":0,"currentRev":5"#))
                }
            }
        }
        let kura = try await Kura.connect(to: fake.path, options: .init(timeout: .seconds(120)))
        let live = try kura.documents("cards", of: Card.self).live(saving: .every(.seconds(3600)))
        await live.loaded()
        live.update("a") { $0.due = 1 }
        #expect(try await live.flush())
        #expect(live.conflicts.isEmpty && live.values.first?.due == 1)
        #expect(fake.lines(with: "transaction.apply").count == 2)
        #expect(fake.lines(with: #""ifRev":5"#).count == 1)
        await kura.close()
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
