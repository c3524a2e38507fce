import KuraClient
import Testing

/// What is written and read at the edges of `Codable`.
@Suite struct CodingEdgesTests {
    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try WireEncoder().encode(value), as: UTF8.self)
    }

    enum Colour: String, Codable, CaseIterable { case red, green, blue }
    struct Shelf: Codable, Equatable {
        var counts: [String: Int]
        var tags: Set<String>
        var byNumber: [Int: [String]]
        var byColour: [Colour: Set<Int>]
        var nested: [[String: Double]]
    }

    private static func shelf(_ order: [Int], capacity: Int) -> Shelf {
        var shelf = Shelf(
            counts: .init(minimumCapacity: capacity), tags: .init(minimumCapacity: capacity),
            byNumber: .init(minimumCapacity: capacity), byColour: [:], nested: [[:]])
        for number in order {
            shelf.counts["key \(number)"] = number
            shelf.tags.insert("tag \(number)")
            shelf.byNumber[number] = ["a", "\(number)"]
            shelf.byColour[Colour.allCases[number % 3], default: []].insert(number)
            shelf.nested[0]["n\(number)"] = 0.5
        }
        return shelf
    }

    // What is written, and what is a conflict, goes by texts.
    @Test func `equal values have equal texts, dictionaries and sets too`() throws {
        let one = Self.shelf(Array(0..<40), capacity: 0)
        let text = try Self.text(one)
        for round in 1..<20 {
            let other = Self.shelf((0..<40).map { ($0 * 7 + round) % 40 }, capacity: round * 50)
            try #require(one == other)
            #expect(try Self.text(other) == text)
            let back = try WireDecoder().decode(Shelf.self, from: Array(text.utf8))
            #expect(try back == one && Self.text(back) == text)
        }
        #expect(try Self.text(["b": 1, "a": 2, "ab": 3]) == #"{"a":2,"ab":3,"b":1}"#)
        #expect(try Self.text(Set([3, 1, 2])) == "[1,2,3]")
        #expect(try Self.text([Colour.red: 1, .blue: 2]) == #"["blue",2,"red",1]"#)
        #expect(try Self.text([String: Int]()) == "{}")
        #expect(try Self.text(Set<Int>()) == "[]")
        #expect(try Self.text(["a": [String: Int]?.none]) == #"{"a":null}"#)
    }

    @Test func `a name twice is refused among many names too, and bytes are what they are written as`() throws {
        struct Many: Encodable {
            let twice: Int
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: Name.self)
                for number in 0..<40 { try members.encode(number, forKey: Name("k\(number)")) }
                try members.encode(0, forKey: Name("k\(twice)"))
            }
        }
        struct Name: CodingKey {
            var stringValue: String
            var intValue: Int? { nil }
            init(_ name: String) { stringValue = name }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }
        // One of the first, which are kept in another way, and one of the rest.
        for number in [0, 15, 16, 39] {
            let error = #expect(throws: KuraError.self) { try WireEncoder().encode(Many(twice: number)) }
            #expect(error?.kind == .notEncodable && error?.message.contains("k\(number)") == true)
        }
        #expect(try Self.text(Many(twice: 40)).hasSuffix(#","k40":0}"#))
        let decoder = WireDecoder()
        #expect(try decoder.decode([UInt8].self, from: Array("[1,2,255]".utf8)) == [1, 2, 255])
        #expect(try decoder.decode([UInt8].self, from: Array(#""AQL/""#.utf8)) == [1, 2, 255])
        for text in ["[256]", #""%%%%""#, #""A""#] {
            let error = #expect(throws: KuraError.self) {
                try decoder.decode([UInt8].self, from: Array(text.utf8))
            }
            #expect(error?.kind == .wrongType, "\(text)")
        }
    }

    @Test func `a number that is too large for its type is of the wrong type`() {
        for text in ["1e400", "-1e400", "[1e400]", #"{"a":1e400}"#] {
            let text = Array(text.utf8)
            let error = #expect(throws: KuraError.self) {
                switch text[0] {
                case UInt8(ascii: "["): _ = try WireDecoder().decode([Double].self, from: text)
                case UInt8(ascii: "{"): _ = try WireDecoder().decode([String: Double].self, from: text)
                default: _ = try WireDecoder().decode(Double.self, from: text)
                }
            }
            #expect(error?.kind == .wrongType)
        }
        #expect(throws: KuraError.self) { try WireDecoder().decode(Float.self, from: Array("1e39".utf8)) }
        #expect(throws: KuraError.self) {
            try WireDecoder().decode(UInt64.self, from: Array("18446744073709551616".utf8))
        }
        #expect(throws: KuraError.self) {
            try WireDecoder().decode(Int64.self, from: Array("-9223372036854775809".utf8))
        }
    }

    @Test func `a container of a key may be asked for twice, and is one`() throws {
        struct Twice: Encodable {
            enum Key: String, CodingKey { case a, x, y }
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: Key.self)
                var first = members.nestedContainer(keyedBy: Key.self, forKey: .a)
                try first.encode(1, forKey: .x)
                var second = members.nestedContainer(keyedBy: Key.self, forKey: .a)
                try second.encode(2, forKey: .y)
                try first.encode(3, forKey: .a)
            }
        }
        #expect(try Self.text(Twice()) == #"{"a":{"x":1,"y":2,"a":3}}"#)
        #expect(try Self.text(["v": Twice()]) == #"{"v":{"a":{"x":1,"y":2,"a":3}}}"#)
    }

    @Test func `a name of a value and a container both is refused, at any depth`() {
        struct Clash: Encodable {
            enum Key: String, CodingKey { case a, b }
            let isDeep: Bool
            func encode(to encoder: any Encoder) throws {
                var members = encoder.container(keyedBy: Key.self)
                if isDeep { members = members.nestedContainer(keyedBy: Key.self, forKey: .b) }
                try members.encode(1, forKey: .a)
                var list = members.nestedUnkeyedContainer(forKey: .a)
                try list.encode("x")
            }
        }
        for isDeep in [false, true] {
            let error = #expect(throws: KuraError.self) { try WireEncoder().encode([Clash(isDeep: isDeep)]) }
            #expect(error?.kind == .notEncodable)
            #expect(error?.message.contains("twice") == true)
        }
    }

    /// A list of which each contains the next.
    final class Link: Codable, Sendable {
        let next: Link?
        init(depth: Int) { next = depth > 1 ? Link(depth: depth - 1) : nil }
    }

    @Test func `what is nested deeper than any line may be is refused, and not run into`() async throws {
        // On a task's thread, whose stack is what it is.
        let task = Task {
            let text = try WireEncoder().encode(Link(depth: 500))
            _ = try WireDecoder().decode(Link.self, from: text)
            return #expect(throws: KuraError.self) { try WireEncoder().encode(Link(depth: 520)) }
        }
        let error = try await task.value
        #expect(error?.kind == .notEncodable)
        #expect(error?.message.contains("too deep") == true)
    }

    @Test func `texts with every kind of escape are read as they were meant`() throws {
        func decode(_ text: String) throws -> String { try WireDecoder().decode(String.self, from: Array(text.utf8)) }
        #expect(try decode(#""\ud83d\ude00\u00e9\/\b\f\n\r\t\"\\""#) == "😀é/\u{8}\u{c}\n\r\t\"\\")
        #expect(try WireDecoder().decode([String: Int].self, from: Array(#"{"\u0061":1}"#.utf8)) == ["a": 1])
        struct Named: Codable, Equatable { var a: Int }
        #expect(try WireDecoder().decode(Named.self, from: Array(#"{"\u0061":1}"#.utf8)) == Named(a: 1))
        let all = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
        #expect(try WireDecoder().decode(String.self, from: WireEncoder().encode(all)) == all)
        #expect(throws: KuraError.self) { try WireDecoder().decode(String.self, from: [0x22, 0xFF, 0x22]) }
        let long = String(repeating: "é\n", count: 1 << 14)
        #expect(try WireDecoder().decode([String].self, from: WireEncoder().encode([long])) == [long])
    }

    enum Shape: Codable, Equatable {
        case circle(radius: Double)
        case named(String, sides: Int?)
        case nothing
    }

    @Test func `enums with values, optionals of optionals and keys of all kinds come back`() throws {
        let shapes: [Shape] = [.circle(radius: 0.1), .named("x", sides: nil), .named("y", sides: 4), .nothing]
        #expect(try WireDecoder().decode([Shape].self, from: WireEncoder().encode(shapes)) == shapes)
        let numbered = [Int.min: "a", 0: "b", Int.max: "c"]
        #expect(try WireDecoder().decode([Int: String].self, from: WireEncoder().encode(numbered)) == numbered)
        let coloured: [Colour: [UInt8]] = [.red: [], .green: [1, 255]]
        #expect(try WireDecoder().decode([Colour: [UInt8]].self, from: WireEncoder().encode(coloured)) == coloured)
        let optionals: [Int?] = [nil, 1]
        #expect(try WireDecoder().decode([Int?].self, from: WireEncoder().encode(optionals)) == optionals)
        #expect(try WireDecoder().decode(Int?.self, from: Array("null".utf8)) == nil)
        #expect(throws: KuraError.self) { try WireDecoder().decode([Int].self, from: Array("[null]".utf8)) }
        #expect(try WireDecoder().decode([UInt8]?.self, from: Array("\"AQI=\"".utf8)) == [1, 2])
    }
}
