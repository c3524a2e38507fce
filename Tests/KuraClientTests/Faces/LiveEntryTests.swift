import Testing

@testable import KuraClient

/// What is saved of one document of a live collection, and what comes of two changes of it.
@Suite struct LiveEntryTests {
    private static func base(_ card: Card, rev: Int64) throws -> LiveEntry<Card>.Base {
        let text = try FaceCoding.encode(card)
        return .init(row: DocumentRow(key: card.id, rev: rev, text: text), value: card, text: text)
    }

    private static func shown(_ card: Card) throws(KuraError) -> LiveEntry<Card>.Shown {
        .init(value: card, text: try FaceCoding.encode(card), sortValues: [])
    }

    @Test func `each write says which revision it is for`() throws {
        let base = try Self.base(Card("a"), rev: 7)
        let edited = LiveEntry(base: base, shown: try Self.shown(Card("a", due: 1)))
        #expect(edited.write("a")?.ifRev == 7)
        let deleted = LiveEntry<Card>(base: base, shown: nil)
        #expect(deleted.write("a")?.ifRev == 7)
        let new = LiveEntry(base: nil, shown: try Self.shown(Card("a")))
        #expect(new.write("a")?.ifRev == 0, "only where there is none")
        #expect(LiveEntry(base: base, shown: try Self.shown(Card("a"))).write("a") == nil, "nothing was edited")
        #expect(LiveEntry(base: base, shown: nil, hold: .refused).write("a") == nil)
        #expect(LiveEntry(base: base, shown: nil, hold: .conflict(nil)).write("a") == nil)
    }

    @Test func `two changes are merged when they are about different members, and else a conflict unless they are one`()
        throws
    {
        let entry = LiveEntry(base: try Self.base(Card("a"), rev: 7), shown: try Self.shown(Card("a", due: 1)))
        func merged(with theirs: Card?) throws -> String {
            let theirs = try theirs.map { try Self.base($0, rev: 8) }
            return switch entry.merged(with: theirs, showing: Self.shown) {
            case .theirs: "theirs"
            case .both(let shown): "both: \(shown.value.due) \(shown.value.note ?? "-")"
            case .conflict: "conflict"
            }
        }
        #expect(try merged(with: Card("a", note: "n")) == "both: 1 n")
        #expect(try merged(with: Card("a", due: 2)) == "conflict")
        #expect(try merged(with: nil) == "conflict")
        #expect(try merged(with: Card("a", due: 1)) == "theirs", "somebody else has made the same of it")
        let both = LiveEntry<Card>(base: try Self.base(Card("a"), rev: 7), shown: nil)
        guard case .theirs = both.merged(with: nil, showing: Self.shown) else {
            Issue.record("both have deleted it")
            return
        }
    }
}
