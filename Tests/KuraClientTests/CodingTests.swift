import KuraClient
import KuraProtocol
import Testing

@Suite struct CodingTests {
    struct Note: Codable, Equatable {
        enum Mood: String, Codable { case calm, keen }
        struct Place: Codable, Equatable {
            var x: Double
            var y: Double
        }
        var id: Int64
        var title: String
        var tags: [String]
        var place: Place?
        var mood: Mood
        var counts: [String: Int]
        var isDone: Bool
        var bytes: [UInt8]
    }

    static let note = Note(
        id: .max, title: "Tab\t \"quoted\" \u{1} ü 👩‍👩‍👧", tags: ["a", ""], place: Note.Place(x: 0.1, y: -1e-7),
        mood: .keen, counts: ["n": -1],
        isDone: true, bytes: [0, 255, 7])

    @Test func `a value comes back as it went`() throws {
        let text = try WireEncoder().encode(Self.note)
        #expect(try WireDecoder().decode(Note.self, from: text) == Self.note)
        var without = Self.note
        without.place = nil
        let shorter = try WireEncoder().encode(without)
        #expect(!String(decoding: shorter, as: UTF8.self).contains("place"))
        #expect(try WireDecoder().decode(Note.self, from: shorter) == without)
    }

    @Test func `what is empty is an array still, but for bytes`() throws {
        var empty = Self.note
        (empty.tags, empty.bytes, empty.counts) = ([], [], [:])
        let text = try WireEncoder().encode(empty)
        #expect(String(decoding: text, as: UTF8.self).contains(#""tags":[],"#))
        #expect(String(decoding: text, as: UTF8.self).contains(#""bytes":"""#))
        #expect(try WireDecoder().decode(Note.self, from: text) == empty)
        #expect(try WireEncoder().encode([[Int]()]) == Array("[[]]".utf8))
        #expect(try WireEncoder().encode([String]()) == Array("[]".utf8))
        #expect(try WireEncoder().encode([[UInt8]?.some([])]) == Array("[\"\"]".utf8))
    }

    @Test func `the text is compact and in the order of encoding`() throws {
        let text = try WireEncoder().encode(Note.Place(x: 5, y: 1e300))
        #expect(String(decoding: text, as: UTF8.self) == #"{"x":5.0,"y":1e+300}"#)
        #expect(String(decoding: try WireEncoder().encode([[UInt8(1), 2]]), as: UTF8.self) == #"["AQI="]"#)
        #expect(String(decoding: try WireEncoder().encode("a\u{1F}\\"), as: UTF8.self) == #""a\u001f\\""#)
        #expect(try WireEncoder().encode(Nothing()) == Array("{}".utf8))
    }

    @Test(arguments: [Int64.min, -1, 0, 9_007_199_254_740_993, .max])
    func `integers keep every digit`(number: Int64) throws {
        let text = try WireEncoder().encode([number])
        #expect(String(decoding: text, as: UTF8.self) == "[\(number)]")
        #expect(try WireDecoder().decode([Int64].self, from: text) == [number])
    }

    @Test func `whole numbers are integers however they are written, and others are not`() throws {
        func decode<T: Decodable>(_ text: String, _ type: T.Type) throws -> T {
            try WireDecoder().decode(type, from: Array(text.utf8))
        }
        #expect(try decode("5.0", Int.self) == 5)
        #expect(try decode("[5e2]", [Int16].self) == [500])
        #expect(try decode("[18446744073709551615]", [UInt64].self) == [.max])
        for (text, what) in [("5.5", "Int"), ("300", "UInt8"), ("\"5\"", "Int"), ("true", "Int")] {
            #expect(throws: KuraError.self) {
                if what == "Int" { _ = try decode(text, Int.self) } else { _ = try decode(text, UInt8.self) }
            }
        }
    }

    @Test func `what does not fit is told with its place`() {
        let text = Array(
            #"{"id":1,"title":"t","tags":["a",2],"mood":"calm","counts":{},"isDone":true,"bytes":""}"#.utf8)
        let error = #expect(throws: KuraError.self) { try WireDecoder().decode(Note.self, from: text) }
        #expect(error?.kind == .wrongType)
        #expect(error?.message == "tags[1]: the number 2, where String is expected")
        let missing = #expect(throws: KuraError.self) { try WireDecoder().decode(Note.self, from: Array("{}".utf8)) }
        #expect(missing?.message == "id: is missing")
    }

    @Test func `what JSON cannot say is refused`() {
        for value in [Double.nan, .infinity, -.infinity] {
            let error = #expect(throws: KuraError.self) { try WireEncoder().encode(["a": ["b": value]]) }
            #expect(error?.kind == .notEncodable)
            #expect(error?.message.hasPrefix("a.b: ") == true)
        }
        struct Twice: Encodable {
            enum Key: String, CodingKey { case a }
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: Key.self)
                try members.encode(1, forKey: .a)
                try members.encode(2, forKey: .a)
            }
        }
        #expect(throws: KuraError.self) { try WireEncoder().encode(Twice()) }
    }

    @Test func `text that is no JSON is refused`() {
        for text in ["", "{", "[1,]", "{\"a\":1}x", "\"\u{1}\"", "nul", "01"] {
            let error = #expect(throws: KuraError.self) {
                try WireDecoder().decode(RawJSON.self, from: Array(text.utf8))
            }
            #expect(error?.kind == .badReply, "\(text)")
        }
    }

    @Test func `containers may be written to in any order`() throws {
        struct Mixed: Encodable {
            enum Key: String, CodingKey { case first, second, third }
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: Key.self)
                var list = members.nestedUnkeyedContainer(forKey: .first)
                try list.encode(1)
                var inner = members.nestedContainer(keyedBy: Key.self, forKey: .second)
                try members.encode(true, forKey: .third)
                try list.encode("two")
                try inner.encodeNil(forKey: .first)
            }
        }
        let text = try WireEncoder().encode(Mixed())
        #expect(String(decoding: text, as: UTF8.self) == #"{"first":[1,"two"],"second":{"first":null},"third":true}"#)
    }

    @Test func `a class and its base share an object`() throws {
        class Base: Codable { var a = 1 }
        final class Derived: Base {
            var b = "x"
            enum Key: String, CodingKey { case b }
            override init() { super.init() }
            required init(from decoder: any Decoder) throws {
                b = try decoder.container(keyedBy: Key.self).decode(String.self, forKey: .b)
                try super.init(from: decoder)
            }
            override func encode(to encoder: any Encoder) throws {
                try super.encode(to: encoder)
                var members = encoder.container(keyedBy: Key.self)
                try members.encode(b, forKey: .b)
            }
        }
        let text = try WireEncoder().encode(Derived())
        #expect(String(decoding: text, as: UTF8.self) == #"{"a":1,"b":"x"}"#)
        #expect(try WireDecoder().decode(Derived.self, from: text).b == "x")
    }

    @Test func `raw text is passed on digit for digit`() throws {
        let raw = try RawJSON(#" { "pi" : 3.14159265358979323846 } "#)
        let text = try WireEncoder().encode(["v": raw])
        #expect(String(decoding: text, as: UTF8.self) == #"{"v":{"pi":3.14159265358979323846}}"#)
        #expect(try WireDecoder().decode([String: RawJSON].self, from: text) == ["v": raw])
        #expect(throws: KuraError.self) { try RawJSON("{") }
    }

    @Test func `doubles read back as the same number`() throws {
        for number in [0.1, 1 / 3, -0.0, .leastNonzeroMagnitude, .greatestFiniteMagnitude, 123_456_789.125] {
            let text = try WireEncoder().encode([number])
            #expect(try WireDecoder().decode([Double].self, from: text)[0].bitPattern == number.bitPattern)
        }
    }

    @Test func `every kind of the daemon's is a kind of the client's, with advice`() {
        for kind in ErrorKind.allCases {
            let own = KuraError.Kind(rawValue: "\(kind)")
            #expect(own != nil, "\(kind)")
        }
        #expect(KuraError.Kind.allCases.count == ErrorKind.allCases.count + 11)
    }
}
