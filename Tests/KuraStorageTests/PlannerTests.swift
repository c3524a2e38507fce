import KuraBytes
import KuraJSON
import Testing

@testable import KuraStorage

struct PlannerTests {
    private static func path(_ text: String) throws -> FieldPath { try text.withBytes { try FieldPath($0) } }

    private static func selector(_ text: String, patterns: Bool = false) throws -> Selector {
        try text.withBytes { text in
            guard patterns else { return try Selector(StoredValue(text)) }
            return try Selector(StoredValue(text)) { (_) throws(TextPatternError) in AnyText() }
        }
    }

    private final class AnyText: TextPattern {
        func matches(_ text: Bytes) -> Bool? { true }
    }

    private static func index(
        _ number: Int64, _ fields: [String], isUnique: Bool = false, filter: String? = nil
    ) throws -> QueryIndex {
        QueryIndex(
            number: number, name: Array("i\(number)".utf8), fields: try fields.map { try path($0) },
            filter: try filter.map { try selector($0) }, isUnique: isUnique)
    }

    private static func plan(
        _ where: String, sort: [String] = [], _ indexes: [QueryIndex], keeping: QueryPosition? = nil,
        isPage: Bool = true
    ) throws -> QueryPlan? {
        let fields = try sort.map { field in
            let isDescending = field.hasPrefix("-")
            return SortField(
                path: try path(isDescending ? String(field.dropFirst()) : field), isDescending: isDescending)
        }
        let shape = QueryShape(selector: try selector(`where`), sort: fields, isPage: isPage)
        return Planner(shape: shape).plan(indexes, keeping: keeping)
    }

    /// The index's number with how it is used: `1`, `-1` backwards, `1+` when what is found is sorted in memory.
    private static func choice(_ where: String, sort: [String] = [], _ indexes: [QueryIndex]) throws -> String {
        let plan = try #require(try plan(`where`, sort: sort, indexes))
        let end = (plan.sortsInMemory ? "+" : "") + (plan.isScan ? " scan" : "")
        switch plan.access {
        case .none: return "none"
        case .collection: return "collection" + end
        case .ids(_, let isDescending): return (isDescending ? "-" : "") + "ids" + end
        case .index(let index, _, let isDescending): return (isDescending ? "-" : "") + "\(index.number)" + end
        }
    }

    @Test(arguments: [
        (#"{"a":1}"#, "", "1"), (#"{"a":1,"b":{"$gt":2}}"#, "", "2"), (#"{"b":1}"#, "", "collection scan"),
        (#"{"a":{"$in":[1,2]},"b":3}"#, "", "2"), (#"{"a":{"$gt":1}}"#, "", "1"), (#"{"u":1}"#, "", "3"),
        (#"{"a":1,"u":2}"#, "", "3"), (#"{"a":{"$exists":true}}"#, "", "1"),
        (#"{"a":{"$ne":1}}"#, "", "1"), (#"{"a":{"$ne":1}}"#, "c", "collection+ scan"),
        (#"{"a":{"$ne":1},"c":2}"#, "", "collection scan"), (#"{"a":{"$not":{"$size":1}}}"#, "", "collection scan"),
        (#"{"$or":[{"a":1},{"a":{"$lt":0}}]}"#, "", "1"), (#"{"$or":[{"a":1},{"b":1}]}"#, "", "collection scan"),
        // Sorting: equal fields before, one direction, nothing between.
        (#"{"a":1}"#, "b", "2"), (#"{"a":1}"#, "-b", "-2"), (#"{"a":1}"#, "c", "1+"), (#"{}"#, "a", "1"),
        (#"{}"#, "-a", "-1"),
        (#"{}"#, "a b", "2"), (#"{}"#, "-a -b", "-2"), (#"{}"#, "a -b", "collection+ scan"),
        (#"{}"#, "b", "collection+ scan"),
        (#"{"a":{"$gt":1}}"#, "b", "1+"), (#"{"a":{"$gt":1}}"#, "a", "1"), (#"{"a":1,"b":2}"#, "a b", "2"),
        (#"{"a":1}"#, "a b", "2"),
        (#"{"a":{"$beginsWith":"x"}}"#, "b", "1+"), (#"{"a":{"$beginsWith":"x"}}"#, "-a", "-1"),
        (#"{"a":{"$in":[1,2]}}"#, "b", "1+"), (#"{"b":1}"#, "a", "1 scan"),
        // Ids.
        (#"{"_id":"x"}"#, "", "ids"), (#"{"_id":"x","a":1}"#, "", "ids"), (#"{}"#, "_id", "ids"),
        (#"{}"#, "-_id", "-ids"),
        (#"{"b":1}"#, "_id", "ids scan"), (#"{"_id":{"$gt":"x"},"a":1}"#, "", "1"),
        (#"{"_id":{"$ne":"x"}}"#, "", "collection scan"),
        // What cannot be.
        (#"{"a":{"$gt":2,"$lt":1}}"#, "", "none"), (#"{"_id":5,"$and":[{"_id":"x"}]}"#, "", "none"),
        (#"{"$or":[]}"#, "", "none"),
        (#"{"z":{"$in":[]}}"#, "", "none"), (#"{}"#, "", "collection"),
    ])
    func `the index that binds most is chosen, and what sorts by itself`(
        _ where: String, _ sort: String, _ expected: String
    ) throws {
        let indexes = [
            try Self.index(1, ["a"]), try Self.index(2, ["a", "b"]), try Self.index(3, ["u"], isUnique: true),
        ]
        #expect(
            try Self.choice(`where`, sort: sort.split(separator: " ").map(String.init), indexes) == expected,
            "\(`where`) \(sort)")
    }

    @Test func `a partial index serves those alone who ask for no more than it has`() throws {
        let indexes = [try Self.index(1, ["a"], filter: #"{"b":{"$gte":5}}"#)]
        #expect(try Self.choice(#"{"a":1,"b":{"$gt":6}}"#, indexes) == "1")
        #expect(try Self.choice(#"{"a":1,"b":5}"#, indexes) == "1")
        #expect(try Self.choice(#"{"a":1,"b":{"$gt":4}}"#, indexes) == "collection scan")
        #expect(try Self.choice(#"{"a":1}"#, indexes) == "collection scan")
        #expect(try Self.choice(#"{"a":1,"$or":[{"b":7},{"b":{"$in":["x"]}}]}"#, indexes) == "1")
    }

    @Test func `an index of just those that match is walked whole, another partial one is not`() throws {
        let where_ = #"{"$or":[{"a":1},{"b":2}]}"#
        let indexes = [try Self.index(1, ["c"], filter: where_)]
        #expect(try Self.choice(where_, indexes) == "1")
        #expect(try Self.plan(where_, indexes, isPage: false)?.isWide == true)
        #expect(try Self.choice(#"{"$or":[{"a":1},{"b":3}]}"#, indexes) == "collection scan")
        let open = [try Self.index(1, ["c"], filter: #"{"a":{"$ne":5}}"#)]
        #expect(try Self.choice(#"{"a":{"$ne":5}}"#, open) == "1")
        #expect(try Self.choice(#"{"a":{"$ne":5},"b":1}"#, open) == "collection scan")
    }

    @Test(arguments: [
        // Pages.
        (#"{"n":5,"m":{"$gt":1}}"#, "k", "n k m"), (#"{"a":{"$ne":1}}"#, "", "a"),
        (#"{"a":{"$ne":1}}"#, "k", "k where"),
        (#"{"$or":[{"a":1},{"a":2}]}"#, "", "a"), (#"{"$or":[{"a":1},{"b":2}]}"#, "", "a where"),
        (#"{"$or":[{"a":1},{"b":2}],"t":"x"}"#, "", "t"), (#"{"a":{"$ne":1},"b":{"$exists":true}}"#, "", "a where"),
        (#"{"a":{"$nin":[1,2]}}"#, "", "a"), (#"{}"#, "k", "k"), (#"{"a":{"$regex":"x"}}"#, "", "a"),
        (#"{"a":{"$not":{"$regex":"x"}}}"#, "", ""), (#"{"_id":{"$ne":"x"}}"#, "", ""),
    ])
    func `the advice for a page names an index that serves it, or none`(
        _ where: String, _ sort: String, _ expected: String
    ) throws {
        let fields = try sort.split(separator: " ").map { SortField(path: try Self.path(String($0))) }
        try Self.expect(
            QueryShape(selector: try Self.selector(`where`, patterns: true), sort: fields, isPage: true), expected)
    }

    @Test(arguments: [
        (#"{}"#, "", ""), (#"{"a":1}"#, "", "a"), (#"{"a":{"$ne":1}}"#, "", "a where"), (#"{}"#, "f", "f"),
        (#"{"a":{"$ne":1}}"#, "f", "a where"), (#"{"f":{"$ne":1}}"#, "f", "f"), (#"{"a":2}"#, "f", "a"),
        (#"{"a":{"$ne":1}}"#, "count", "a"), (#"{"$or":[{"a":1},{"b":1}]}"#, "count", "a where"),
    ])
    func `so does the advice for values, groups and numbers`(
        _ where: String, _ values: String, _ expected: String
    ) throws {
        let isCount = values == "count"
        try Self.expect(
            QueryShape(
                selector: try Self.selector(`where`),
                values: values.isEmpty || isCount ? nil : try Self.path(values), countsOnly: isCount), expected)
    }

    /// What is advised serves; it is asked of the planner anew, with what a client would configure.
    private static func expect(_ shape: QueryShape, _ expected: String) throws {
        let advice = IndexAdvice(for: shape)
        let names = advice.fields.map { String(decoding: $0, as: UTF8.self) }
        #expect((names + (advice.isPartial ? ["where"] : [])).joined(separator: " ") == expected, "\(advice)")
        #expect(advice.isOfAll == (shape.selector.isEmpty && expected.isEmpty))
        guard !names.isEmpty else { return }
        let filter = advice.isPartial ? String(decoding: shape.selector.text, as: UTF8.self) : nil
        let plan = try #require(Planner(shape: shape).plan([try index(1, names, filter: filter)]))
        #expect(plan.index?.number == 1 && !plan.isScan)
    }

    @Test func `a later page goes on as the first did`() throws {
        let indexes = [try Self.index(1, ["a"]), try Self.index(2, ["a", "b"])]
        func access(_ position: QueryPosition, sort: [String] = []) throws -> String? {
            try Self.plan(#"{"a":1,"b":2}"#, sort: sort, indexes, keeping: position).map { plan in
                switch plan.access {
                case .none: "none"
                case .collection: "collection"
                case .ids: "ids"
                case .index(let index, _, _): "\(index.number)" + (plan.sortsInMemory ? "+" : "")
                }
            }
        }
        #expect(try access(.row(5)) == "collection")
        #expect(try access(.id([])) == "ids")
        #expect(try access(.key(index: 1, [], row: 1)) == "1")
        // It is gone.
        #expect(try access(.key(index: 7, [], row: 1)) == nil)
        // Sorted in memory once, so always: places in an index are others.
        #expect(try access(.sorted([], row: 1), sort: ["c"]) == "2+")
    }

    @Test func `places are read as they were written`() {
        let positions: [QueryPosition] = [
            .row(1 << 40 | 7), .id(Array("é".utf8)), .id([]), .key(index: 3, [7, 0, 255], row: 9),
            .sorted([1], row: -1),
        ]
        for position in positions {
            #expect(QueryPosition(position.encoded) == position)
        }
        let long = QueryPosition.key(index: 3, [], row: 9).encoded
        for end in 0..<long.count { #expect(QueryPosition(Array(long[..<end])) == nil) }
    }

    @Test func `the smallest are kept, fewer when they are large`() {
        var entries = SmallestEntries(limit: 3, byteLimit: 1 << 20)
        for byte: UInt8 in [5, 9, 1, 7, 3, 8] { [byte].withBytes { entries.insert($0, row: Int64(byte)) } }
        #expect(entries.sorted.map(\.row) == [1, 3, 5] && entries.leftOut)
        // Equal keys by their rows.
        var equal = SmallestEntries(limit: 2, byteLimit: 1 << 20)
        for row: Int64 in [4, 2, 3] { [1].withBytes { equal.insert($0, row: row) } }
        #expect(equal.sorted.map(\.row) == [2, 3])
        // Room for two keys of this length.
        var large = SmallestEntries(limit: 10, byteLimit: 2500)
        for byte: UInt8 in [5, 1, 3, 2, 4] {
            (([byte] as [UInt8]) + Array(repeating: 0, count: 1000)).withBytes { large.insert($0, row: 0) }
        }
        #expect(large.sorted.map { $0.key[0] } == [1, 2] && large.leftOut)
        var distinct = SmallestEntries(limit: 2, byteLimit: 1 << 20, isDistinct: true)
        for byte: UInt8 in [2, 1, 2, 1, 2] { [byte].withBytes { distinct.insert($0, row: 0) } }
        #expect(distinct.sorted.map { $0.key[0] } == [1, 2] && !distinct.leftOut)
        [3].withBytes { distinct.insert($0, row: 0) }
        #expect(distinct.leftOut)
    }
}
