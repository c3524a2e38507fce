import KuraBytes
import KuraJSON
import Testing

/// Random documents, changes, indexes and queries: what is found is what a look at every document finds, in the wanted order, on
/// pages, and the count is theirs, whatever the plan.
@Suite struct QueryModelTests {
    private struct Dice {
        var state: UInt64

        mutating func roll(_ limit: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % UInt64(limit))
        }

        mutating func value() -> String {
            let values = [
                "0", "1", "2", "3", "1.0", "-1", "2.5", "null", "true", "\"\"", "\"x\"", "\"xy\"", "\"y\"", "[]", "[1]",
                "[\"x\",2]", "{\"d\":1}", "{\"d\":\"x\"}",
            ]
            return values[roll(values.count)]
        }

        mutating func document() -> String {
            let members = ["a", "b", "c"].filter { _ in roll(5) > 0 }.map { "\"\($0)\":\(value())" }
            return "{" + members.joined(separator: ",") + "}"
        }

        mutating func condition() -> String {
            switch roll(12) {
            case 0: "{\"$gt\":\(value())}"
            case 1: "{\"$lte\":\(value())}"
            case 2: "{\"$gte\":\(value()),\"$lt\":\(value())}"
            case 3: "{\"$in\":[\(value()),\(value()),\(value())]}"
            case 4: "{\"$ne\":\(value())}"
            case 5: "{\"$exists\":\(roll(2) == 0)}"
            case 6: "{\"$beginsWith\":\"x\"}"
            case 7: "{\"$type\":\"\(["number", "string", "array"][roll(3)])\"}"
            case 8: "{\"$not\":{\"$gt\":\(value())}}"
            case 9: "{\"$nin\":[\(value()),\(value())]}"
            default: "{\"$eq\":\(value())}"
            }
        }

        mutating func selector(_ depth: Int) -> String {
            switch roll(depth > 0 ? 7 : 4) {
            case 4: return "{\"$or\":[\(selector(depth - 1)),\(selector(depth - 1))]}"
            case 5: return "{\"$nor\":[\(selector(depth - 1))]}"
            case 6: return "{\"_id\":{\"$gte\":\"d\(roll(100))\"}}"
            default:
                let fields = ["a", "b", "c", "a.d", "b.0"].filter { _ in roll(3) == 0 }
                return "{" + fields.map { "\"\($0)\":\(condition())" }.joined(separator: ",") + "}"
            }
        }

        mutating func sort() -> [(path: String, isDescending: Bool)] {
            let fields = [["a"], ["b"], ["a", "b"], ["_id"], ["c", "a"], ["b", "_id"], []][roll(7)]
            let isDescending = roll(2) == 0
            // Mostly one direction, which an index can give.
            return fields.map { ($0, roll(6) == 0 ? !isDescending : isDescending) }
        }
    }

    private static func path(_ text: String) throws -> FieldPath { try text.withBytes { try FieldPath($0) } }

    /// Whether the second document may come behind the first.
    private static func isInOrder(
        _ first: (id: String, value: String), _ second: (id: String, value: String),
        _ sort: [(path: String, isDescending: Bool)]
    ) throws -> Bool {
        for field in sort {
            let path = try path(field.path)
            let order = first.value.withBytes { left in
                second.value.withBytes { right in
                    field.path == "_id"
                        ? (first.id < second.id ? -1 : 1)
                        : Collation.order(path.find(in: StoredValue(left)), path.find(in: StoredValue(right)))
                }
            }
            if order != 0 { return (order < 0) != field.isDescending }
        }
        return true
    }

    @Test(arguments: [1, 2, 3, 4]) func `a query finds what a look at every document finds`(_ seed: Int) throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        var dice = Dice(state: UInt64(seed))
        var model: [String: String] = [:]
        let indexes = [["a"], ["a", "b"], ["b", "a", "c"], ["c"], ["a.d"]].filter { _ in dice.roll(3) > 0 }.map {
            fields in
            let paths = fields.map { "\"\($0)\"" }.joined(separator: ",")
            let filter = dice.roll(4) == 0 ? ",\"where\":{\"\(fields[0])\":{\"$gte\":1}}" : ""
            return "{\"name\":\"\(fields.joined())\",\"fields\":[\(paths)]\(filter)}"
        }
        try client.result(
            "documents.configure", "{\"collection\":\"c\",\"indexes\":[\(indexes.joined(separator: ","))]}")
        var access: Set<String> = []
        for _ in 0..<6 {
            for _ in 0..<40 {
                let id = "d\(dice.roll(100))"
                if dice.roll(5) == 0 {
                    model[id] = nil
                    try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
                } else {
                    let value = dice.document()
                    model[id] = value
                    try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
                }
            }
            try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
            for _ in 0..<40 { access.insert(try check(&dice, model, client)) }
        }
        #expect(
            access.isSuperset(of: ["collectionmemory", "indexnone", "idsnone"]),
            "\(access)")
    }

    /// - Returns: how the documents were found.
    private func check(_ dice: inout Dice, _ model: [String: String], _ client: Client) throws -> String {
        let text = dice.selector(2)
        let sort = dice.sort()
        let limit = [3, 7, 100][dice.roll(3)]
        let selector = try text.withBytes { try Selector(StoredValue($0)) }
        let expected = model.filter { id, value in
            value.withBytes { value in
                "\"\(id)\"".withBytes { id in
                    var gaveUpAt: String?
                    return selector.matches(StoredValue(value), id: StoredValue(id), gaveUpAt: &gaveUpAt)
                }
            }
        }
        let order = sort.map { "{\"\($0.path)\":\"\($0.isDescending ? "desc" : "asc")\"}" }.joined(separator: ",")
        let query = "\"collection\":\"c\",\"where\":\(text)"
        var found: [String] = []
        var plan: JSON?
        var cursor: String?
        repeat {
            let more = cursor.map { ",\"cursor\":\(JSON.quoted($0))" } ?? ""
            let page = try client.result(
                "documents.find", "{\(query),\"sort\":[\(order)],\"limit\":\(limit)\(more)}")
            let ids = page["documents"]?.elements.compactMap { $0["id"]?.text } ?? []
            #expect(ids.count <= limit)
            found += ids
            plan = page["plan"]
            cursor = page["cursor"]?.text
        } while cursor != nil && found.count <= model.count
        #expect(Set(found) == Set(expected.keys) && found.count == expected.count, "\(text) \(order) \(plan ?? .null)")
        for (first, second) in zip(found, found.dropFirst()) {
            let isInOrder = try Self.isInOrder(
                (first, model[first] ?? "null"), (second, model[second] ?? "null"), sort)
            #expect(isInOrder, "\(first) \(second) \(text) \(order) \(plan ?? .null)")
        }
        let count = try client.result("documents.count", "{\(query)}")
        #expect(count["count"]?.int == expected.count, "\(text) \(count)")
        return (plan?["access"]?.text ?? "") + (plan?["sort"]?.text ?? "")
    }
}
