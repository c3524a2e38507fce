import Testing

@testable import KuraClient

private struct Note: Codable, Identifiable, Sendable, Equatable {
    var id: String
    var score: Int
}

@Suite struct LiveEntriesTests {
    private typealias Entry = LiveEntry<Note>

    private func order() throws -> LiveOrder {
        try LiveOrder([SortKey<Note>(path: .success("score"), isDescending: true)])
    }

    private func shown(_ note: Note, _ order: LiveOrder) throws -> Entry.Shown {
        let text = try FaceCoding.encode(note)
        return Entry.Shown(value: note, text: text, sortValues: order.values(key: note.id, text: text))
    }

    private func base(_ note: Note, rev: Int64) throws -> Entry.Base {
        let text = try FaceCoding.encode(note)
        return Entry.Base(row: DocumentRow(key: note.id, rev: rev, text: text), value: note, text: text)
    }

    @Test func `whatever is set in whatever order, what is shown is what sorting gives`() throws {
        let order = try order()
        var entries = LiveEntries<Note>(order: order)
        var model: [String: Note] = [:]
        var random = SystemRandomNumberGenerator()
        for step in 0..<3000 {
            let note = Note(
                id: "n\(Int.random(in: 0..<300, using: &random))", score: .random(in: 0..<40, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                entries[note.id] = nil
                model[note.id] = nil
            case 1:
                // Deleted here, and not yet there: it is shown no more.
                entries[note.id] = Entry(base: try base(note, rev: 1), shown: nil)
                model[note.id] = nil
            default:
                entries[note.id] = Entry(base: try base(note, rev: 1), shown: try shown(note, order))
                model[note.id] = note
            }
            // Looked at after each, after many, or after more than are put in their place one by one.
            guard step < 1000 || step % 100 == 0 else { continue }
            let expected = model.values.sorted { ($1.score, $0.id) < ($0.score, $1.id) }
            try #require(entries.values() == expected, "after \(step) steps")
        }
    }

    @Test func `what is not settled is known without a look at the others`() throws {
        let order = try order()
        func filled(_ count: Int) throws -> LiveEntries<Note> {
            var entries = LiveEntries<Note>(order: order)
            for number in 0..<count {
                let note = Note(id: "n\(number)", score: number)
                entries[note.id] = Entry(base: try base(note, rev: 1), shown: try shown(note, order))
            }
            return entries
        }
        func time(_ entries: LiveEntries<Note>) -> Duration {
            (0..<9).map { _ in
                var due = 0
                let time = ContinuousClock().measure {
                    for _ in 0..<100 where entries.isDue || !entries.isSaved { due += 1 }
                }
                #expect(due == 0)
                return time
            }.min() ?? .zero
        }
        var (few, many) = (try filled(20), try filled(20_000))
        #expect(time(many) < time(few) * 100)

        let edited = Note(id: "n7", score: 100_000)
        for entries in [few, many] {
            var entries = entries
            entries["n7"]?.shown = try shown(edited, order)
            #expect(entries.isDue && !entries.isSaved)
            #expect(entries.unsettled == ["n7"])
            entries["n7"]?.hold = .refused
            #expect(!entries.isDue && !entries.isSaved)
            entries["n7"]?.hold = nil
            entries["n7"]?.shown = try shown(Note(id: "n7", score: 7), order)
            #expect(!entries.isDue && entries.isSaved && entries.unsettled.isEmpty)
        }
        few["n1"]?.isUnderWay = true
        many["n1"] = nil
        #expect(few.unsettled == ["n1"])
        #expect(many.unsettled.isEmpty)
    }
}
