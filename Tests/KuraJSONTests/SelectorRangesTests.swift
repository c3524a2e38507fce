import KuraBytes
import Testing

@testable import KuraJSON

/// What a selector tells the planner, held against what it says of documents.
struct SelectorRangesTests {
    private struct SelectorGenerator {
        var values: ValueGenerator

        mutating func value() -> String { values.spell(values.tree(depth: 1)) }
        mutating func list() -> String {
            "[" + (0..<values.below(4)).map { _ in value() }.joined(separator: ",") + "]"
        }

        mutating func condition() -> String {
            switch values.below(17) {
            case 0: "{\"$ne\":\(value())}"
            case 1: "{\"$lt\":\(value())}"
            case 2: "{\"$lte\":\(value())}"
            case 3: "{\"$gt\":\(value())}"
            case 4: "{\"$gte\":\(value())}"
            case 5: "{\"$in\":\(list())}"
            case 6: "{\"$nin\":\(list())}"
            case 7: "{\"$exists\":\(values.below(2) == 0)}"
            case 8: "{\"$type\":\"\(["null", "boolean", "number", "string", "array", "object"][values.below(6)])\"}"
            case 9: "{\"$mod\":[2,\(values.below(2))]}"
            case 10: "{\"$size\":\(values.below(3))}"
            case 11: "{\"$all\":\(list())}"
            case 12: "{\"$elemMatch\":{\"$gt\":\(value())}}"
            case 13: "{\"$beginsWith\":\(values.spell(.string(values.string())))}"
            case 14: "{\"$gt\":\(value()),\"$lt\":\(value())}"
            case 15: "{\"$not\":\(condition())}"
            default: "{\"$eq\":\(value())}"
            }
        }

        mutating func selector(depth: Int) -> String {
            switch values.below(depth > 0 ? 7 : 4) {
            case 4: "{\"$and\":[\(selector(depth: depth - 1)),\(selector(depth: depth - 1))]}"
            case 5: "{\"$or\":[\(selector(depth: depth - 1)),\(selector(depth: depth - 1))]}"
            case 6: "{\"$nor\":[\(selector(depth: depth - 1)),\(selector(depth: depth - 1))]}"
            default: "{\"\(["a", "a", "b"][values.below(3)])\":\(condition())}"
            }
        }
    }

    private static func contains(_ ranges: KeyRanges, _ key: [UInt8]) -> KeyRange? {
        ranges.ranges.first { !key.lexicographicallyPrecedes($0.lower) && key.lexicographicallyPrecedes($0.upper) }
    }

    @Test func `what matches lies in the ranges, and what lies in exact ranges of all it speaks of matches`() throws {
        var generator = SelectorGenerator(values: ValueGenerator(seed: 6))
        let paths = try ["a", "b"].map { text in try text.withBytes { try FieldPath($0) } }
        var (matched, bound, exact) = (0, 0, 0)
        for _ in 0..<8000 {
            let text = generator.selector(depth: 2)
            let selector = try SelectorTests.selector(text)
            let ranges = paths.map { selector.ranges(of: $0) }
            for _ in 0..<6 {
                let members = ["a", "b"].compactMap { name in
                    generator.values.below(6) == 0 ? nil : "\"\(name)\":\(generator.value())"
                }
                let document = "{" + members.joined(separator: ",") + "}"
                document.withBytes { bytes in
                    let value = StoredValue(bytes)
                    let matches = selector.matches(value)
                    if matches { matched += 1 }
                    var isExact = selector.isCovered(by: paths)
                    var isInside = true
                    for (path, ranges) in zip(paths, ranges) {
                        guard let ranges else { continue }
                        bound += 1
                        var key = ByteBuffer()
                        IndexKey.append(path.find(in: value), to: &key)
                        let range = Self.contains(ranges, Array(key.bytes))
                        if range == nil { isInside = false }
                        if range?.isExact != true { isExact = false }
                    }
                    #expect(!matches || isInside, "\(text) \(document)")
                    if isExact {
                        exact += 1
                        #expect(matches == isInside, "\(text) \(document)")
                    }
                }
            }
        }
        // Each of the three must happen often, or little is compared.
        #expect(matched > 5000 && bound > 20_000 && exact > 2000, "\(matched) \(bound) \(exact)")
    }

    @Test func `equal values are points, which a compound key goes on behind`() throws {
        let path = try "a".withBytes { try FieldPath($0) }
        #expect(try SelectorTests.selector(#"{"a":5}"#).ranges(of: path)?.ranges.map(\.isPoint) == [true])
        #expect(try SelectorTests.selector(#"{"a":{"$gt":5}}"#).ranges(of: path)?.ranges.map(\.isPoint) == [false])
        #expect(try SelectorTests.selector(#"{"a":""}"#).ranges(of: path)?.ranges.map(\.isPoint) == [true])
        for prefix in ["", "x"] {
            let bound = try SelectorTests.selector("{\"a\":{\"$beginsWith\":\"\(prefix)\"}}").ranges(of: path)
            #expect(bound?.ranges.map(\.isPoint) == [false])
        }
        // Two values, and all arrays.
        let several = try #require(try SelectorTests.selector(#"{"a":{"$in":[5,"x",5.0]}}"#).ranges(of: path))
        #expect(several.ranges.map(\.isPoint) == [true, true, false])
        #expect(several.ranges.map(\.isExact) == [true, true, false])
        #expect(try SelectorTests.selector(#"{"$or":[{"a":1},{"a":2}]}"#).ranges(of: path)?.ranges.count == 2)
        #expect(try SelectorTests.selector(#"{"$or":[{"a":1},{"b":2}]}"#).ranges(of: path) == nil)
        #expect(try SelectorTests.selector(#"{"a":{"$gt":5,"$lt":3}}"#).ranges(of: path) == KeyRanges.none)
    }
}
