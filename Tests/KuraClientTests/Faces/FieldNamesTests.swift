import Testing

@testable import KuraClient

@Suite struct FieldNamesTests {
    private func fieldsOf<Model: Codable & Identifiable & Sendable>(
        _ type: Model.Type, example: Model? = nil
    ) -> Fields<Model> {
        Fields(names: FieldNames.of(type, example: example))
    }

    private func text<Model>(_ condition: Condition<Model>) throws -> String? {
        try condition.selector().map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `key paths lead to the names that the model encodes under, whatever its coding keys are`() throws {
        let fields = fieldsOf(Everything.self)
        #expect(try fields.renamed.path.get() == "due_at")
        #expect(try fields.dotted.path.get() == #"a\.b"#)
        #expect(try fields.dollar.path.get() == #"\$price"#)
        #expect(try fields.flags.path.get() == "flags" && fields.other.path.get() == "other")
        #expect(try fields.small.path.get() == "small" && fields.ratio.path.get() == "ratio")
        #expect(try fields.level.path.get() == "level" && fields.second.path.get() == "second")
        #expect(try fields.list.path.get() == "list" && fields.counts.path.get() == "counts")
        #expect(try fields.home.path.get() == "home" && fields.work.path.get() == "work")
    }

    @Test func `parts of parts are named too, and of optional ones`() throws {
        let fields = fieldsOf(Everything.self)
        #expect(try fields.home.city.path.get() == "home.city")
        #expect(try fields.home.zip.path.get() == "home.zip")
        #expect(try fields.work.city.path.get() == "work.city")
        #expect(try fields.child.name.path.get() == "child.name", "a type that contains itself has an end")
    }

    @Test func `what is computed is refused and never taken for a field`() throws {
        let fields = fieldsOf(Everything.self)
        #expect(throws: KuraError.self) { try fields.isFree.path.get() }
        #expect(throws: KuraError.self) { try fields.isNotFlagged.path.get() }
        #expect(throws: KuraError.self) { try fields.both.path.get() }
        #expect(throws: KuraError.self) { try fields.half.path.get() }
        #expect(try fields.alias.path.get() == "due_at", "another name of a field is that field")
        do {
            _ = try fields.isFree.path.get()
        } catch {
            #expect(error.kind == .invalidParams)
            #expect(
                error.message.contains("computed property") && error.message.contains(#"Field("name", \.property)"#))
        }
    }

    @Test func `many flags are told apart`() throws {
        struct Flags: Codable, Identifiable, Sendable {
            var id: Int
            var a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t: Bool
            var z: Bool?
            // By their numbers alone this would be `a`.
            var both: Bool { a && b }
        }
        let fields = fieldsOf(Flags.self)
        #expect(try fields.a.path.get() == "a" && fields.b.path.get() == "b" && fields.h.path.get() == "h")
        #expect(try fields.i.path.get() == "i" && fields.p.path.get() == "p" && fields.t.path.get() == "t")
        #expect(try fields.z.path.get() == "z")
        #expect(throws: KuraError.self) { try fields.both.path.get() }
    }

    @Test func `a type that cannot be made up needs an example, or names given by hand`() throws {
        #expect(throws: KuraError.self) { try fieldsOf(Picky.self).size.path.get() }
        do { _ = try fieldsOf(Picky.self).size.path.get() } catch {
            #expect(error.message.contains("Kind") && error.message.contains("CaseIterable"))
            #expect(error.message.contains("example"))
        }
        let known = fieldsOf(Picky.self, example: Picky(id: "a", kind: .phrase, size: 3))
        #expect(try known.size.path.get() == "size")
        #expect(try known.kind.path.get() == "kind")
        #expect(try text(Field("the.size", \Picky.size) > 3) == #"{"the.size":{"$gt":3}}"#)
        #expect(try text(fieldsOf(Picky.self).field("size", as: Int.self) == 3) == #"{"size":{"$eq":3}}"#)
    }

    /// Enums that list no cases, and cannot.
    private struct Note: Codable, Identifiable, Sendable {
        enum Kind: Codable, Equatable {
            case plain
            case drawing(width: Int, height: Int)
            case link(String)
        }
        struct Style: Codable {
            var kind: Kind
            var weight: Int
        }
        var id: String
        var kind: Kind
        var style: Style
        var other: Kind?
        var size: Int
    }

    private static let note = Note(
        id: "a", kind: .drawing(width: 2, height: 3), style: .init(kind: .plain, weight: 1), other: .link("b"), size: 3)

    @Test func `enums with associated values are taken from an example, nested and optional ones too`() throws {
        let fields = fieldsOf(Note.self, example: Self.note)
        #expect(try fields.kind.path.get() == "kind" && fields.other.path.get() == "other")
        #expect(try fields.style.kind.path.get() == "style.kind")
        // What can be made up is, whatever the example has: it has 3 twice, and the other 1 nowhere else.
        #expect(try fields.size.path.get() == "size" && fields.style.weight.path.get() == "style.weight")
        #expect(try text(fields.kind == .link("b")) == #"{"kind":{"$eq":{"link":{"_0":"b"}}}}"#)
        do { _ = try fieldsOf(Note.self).size.path.get() } catch {
            #expect(error.message.contains("no Kind can be made up"))
            #expect(error.message.contains(#"documents("…", of: Note.self, example: Note(…))"#))
        }
    }

    @Test func `an optional field that cannot be made up stands in the way of itself alone`() throws {
        struct Draft: Codable, Identifiable, Sendable {
            var id: String
            var kind: Note.Kind?
            var style: Note.Style?
            var size: Int
            var note: String?
        }
        let fields = fieldsOf(Draft.self)
        #expect(try fields.size.path.get() == "size" && fields.note.path.get() == "note")
        #expect(fields.id.isID)
        for path in [fields.kind.path, fields.style.path, fields.style.weight.path] {
            guard case .failure(let error) = path else {
                Issue.record("\(path)")
                continue
            }
            #expect(error.message.contains("no Kind can be made up") && error.message.contains("example: Draft(…)"))
        }
        // An example that has none is none.
        let poor = fieldsOf(Draft.self, example: Draft(id: "a", kind: .plain, style: nil, size: 1))
        #expect(try poor.kind.path.get() == "kind" && poor.size.path.get() == "size")
        guard case .failure(let error) = poor.style.path else {
            Issue.record("\(poor.style.path)")
            return
        }
        #expect(error.message.contains("the example has none"))
    }

    @Test func `arrays and dictionaries of what cannot be made up are left empty, and do not stand in the way`() throws
    {
        struct Words: Codable, Identifiable, Sendable {
            var id: String
            var kinds: [Picky.Kind]
            var byNumber: [Int: String]
            var size: Int
        }
        #expect(try fieldsOf(Words.self).size.path.get() == "size")
        #expect(try fieldsOf(Words.self).kinds.path.get() == "kinds")
    }

    @Test func `texts that are checked as they are read can be made up`() throws {
        struct Checked: Codable, Identifiable, Sendable {
            struct Digits: Codable, Sendable, Equatable {
                var text: String
                init(from decoder: any Decoder) throws {
                    text = try decoder.singleValueContainer().decode(String.self)
                    guard text.allSatisfy(\.isNumber) else {
                        throw DecodingError.dataCorrupted(
                            .init(codingPath: decoder.codingPath, debugDescription: "no digits"))
                    }
                }
                func encode(to encoder: any Encoder) throws {
                    var container = encoder.singleValueContainer()
                    try container.encode(text)
                }
            }
            var id: String
            var code: Digits
            var amount: Int
        }
        #expect(try fieldsOf(Checked.self).code.path.get() == "code")
        #expect(try fieldsOf(Checked.self).amount.path.get() == "amount")
    }

    @Test func `conditions are the daemon's selectors, and mean what they mean in Swift`() throws {
        let card = fieldsOf(Card.self)
        #expect(try text(card.due < 5) == #"{"due":{"$lt":5}}"#)
        #expect(try text(card.due < 5 && card.deck == "fr") == #"{"$and":[{"due":{"$lt":5}},{"deck":{"$eq":"fr"}}]}"#)
        #expect(try text(card.deck != "fr") == #"{"$not":{"deck":{"$eq":"fr"}}}"#)
        #expect(try text(card.id == "7") == #"{"_id":{"$eq":"7"}}"#)
        #expect(try text(fieldsOf(Everything.self).id == 7) == #"{"_id":{"$eq":"7"}}"#)
        #expect(try text(card.note == nil) == #"{"$or":[{"note":{"$exists":false}},{"note":{"$eq":null}}]}"#)
        let isThere =
            #"{"$not":{"note":{"$exists":false}}},{"$or":[{"$not":{"note":{"$eq":null}}},{"note":{"$exists":false}}]}"#
        #expect(try text(card.note != nil) == "{\"$and\":[\(isThere)]}")
        #expect(try text(card.note < "m") == #"{"note":{"$lt":"m","$gt":null}}"#)
        #expect(try text(!(card.note == "x")) == #"{"$or":[{"$not":{"note":{"$eq":"x"}}},{"note":{"$exists":false}}]}"#)
        #expect(try text(card.tags.contains("a")) == #"{"tags":{"$elemMatch":{"$eq":"a"}}}"#)
        #expect(try text(Condition<Card>.everything) == nil)
        #expect(try text(Condition<Card>.nothing) == #"{"$or":[]}"#)
        #expect(throws: KuraError.self) { try text(fieldsOf(Everything.self).dollar < .nan) }
    }
}
