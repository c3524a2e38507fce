import Glibc
import JSONSchema
import KuraBytes
import KuraJSON
import Testing

/// Kura beside CouchDB: the outcomes of its own tests of queries. What Kura does otherwise on purpose must do so, or it would be said
/// wrongly in proto-docs/queries.md.
@Suite struct CouchDBCasesTests {
    @Test func `selectors judge documents as CouchDB's unit tests have it`() throws {
        let cases = try QueryCase.all("couchdb-matching.ndjson")
        var (passed, deviating) = (0, 0)
        for one in cases {
            let wanted = try one.value("matches")?.bool == true
            let holds = try Self.judge(one) == wanted
            if one.deviates != nil { deviating += 1 } else if holds { passed += 1 }
            #expect(
                holds == (one.deviates == nil),
                "\(one.name): \(one["selector"] ?? "") \(one["document"] ?? "")")
        }
        #expect(cases.count > 400)
        try Self.expectPublished("\(passed) of \(cases.count) judgements")
        #expect(passed + deviating == cases.count)
    }

    private static func judge(_ one: QueryCase) throws -> Bool {
        try #require(one["selector"]).withBytes { text in
            let selector = try Selector(StoredValue(text)) { (text) throws(TextPatternError) in
                try BoundedPattern(text)
            }
            return try #require(one["document"]).withBytes { selector.matches(StoredValue($0)) }
        }
    }

    @Test func `queries find what they find in CouchDB's tests`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let lines = try QueryCase.all("couchdb-find.ndjson")
        var sets: [String: QueryCase] = [:]
        for line in lines where line["documents"] != nil { sets[try #require(line.value("set")?.text)] = line }
        let cases = lines.filter { $0["documents"] == nil }
        for (name, set) in sets { try fill(name, with: [set["documents"]!], indexes: set.value("indexes"), client) }
        var (passed, deviating) = (0, 0)
        for (number, one) in cases.enumerated() {
            var collection = try #require(one.value("set")?.text)
            if let extra = one["extra"] {
                let set = try #require(sets[collection])
                collection = "case\(number)"
                try fill(collection, with: [set["documents"]!, extra], indexes: set.value("indexes"), client)
            }
            let difference = try Self.difference(one, in: collection, client)
            if one.deviates != nil { deviating += 1 } else if difference == nil { passed += 1 }
            #expect((difference == nil) == (one.deviates == nil), "\(one.name): \(difference ?? "holds")")
        }
        try Self.expectPublished("\(passed) of \(cases.count) queries")
        #expect(passed + deviating == cases.count)
    }

    private func fill(_ collection: String, with lists: [String], indexes: JSON?, _ client: Client) throws {
        let indexes = indexes?.elements.map { fields in
            let paths = fields.elements.compactMap(\.text).map { JSON.quoted($0) }.joined(separator: ",")
            return "{\"name\":\(JSON.quoted(Self.indexName(fields.elements))),\"fields\":[\(paths)]}"
        }
        try client.result(
            "documents.configure",
            "{\"collection\":\"\(collection)\",\"indexes\":[\(indexes?.joined(separator: ",") ?? "")]}")
        for list in lists {
            let documents = list.replacing("\"id\":null,", with: "")
            try client.result("documents.putMany", "{\"collection\":\"\(collection)\",\"documents\":\(documents)}")
        }
        try client.result("documents.describe", "{\"collection\":\"\(collection)\",\"waitMs\":600000}")
    }

    /// Numbers stand in the documentation as they are.
    private static func expectPublished(_ words: String) throws {
        let path = "\(#filePath)".replacing(
            "Tests/KuraServerTests/Queries/CouchDBCasesTests.swift", with: "proto-docs/queries.md")
        let stream = try #require(fopen(path, "r"), "\(path)")
        defer { fclose(stream) }
        var page = [UInt8](repeating: 0, count: 1 << 20)
        let count = fread(&page, 1, page.count, stream)
        let text = String(decoding: page[..<count], as: UTF8.self)
        #expect(text.contains(words), "proto-docs/queries.md does not say: \(words)")
    }

    // MARK: One case

    /// In what the outcome differs from the case; nil when it does not.
    private static func difference(_ one: QueryCase, in collection: String, _ client: Client) throws -> String? {
        var documents: [JSON] = []
        var cursor = try one.value("cursor")?.text
        var plan: JSON?
        while true {
            var members = [
                "\"collection\":\"\(collection)\"",
                "\"where\":\(one["raw"].map { try! JSON($0).text! } ?? one["where"]!)",
            ]
            for name in ["sort", "fields", "limit"] {
                if let text = one[name] { members.append("\"\(name)\":\(text)") }
            }
            if let cursor { members.append("\"cursor\":\(JSON.quoted(cursor))") }
            let reply = try client.call("documents.find", "{\(members.joined(separator: ","))}")
            let isRefused = reply["error"]?["data"]?["kind"]?.text == "invalidParams"
            if one["refused"] != nil { return isRefused ? nil : "is not refused" }
            guard let result = reply["result"] else { return "is refused: \(reply)" }
            documents += result["documents"]?.elements ?? []
            plan = plan ?? result["plan"]
            cursor = result["cursor"]?.text
            guard one["pages"] != nil, cursor != nil else { break }
        }
        return try difference(one, documents) ?? difference(one, plan: plan)
    }

    private static func difference(_ one: QueryCase, _ documents: [JSON]) throws -> String? {
        if let count = try one.value("count")?.int, count != documents.count { return "\(documents.count) documents" }
        if let expected = try one.value("expect")?.elements {
            let name = try #require(one.value("by")?.text)
            let found = documents.map { name == "id" ? $0["id"] : $0["value"]?[name] }.map { $0 ?? .null }
            let isSame =
                one["ordered"] != nil
                ? found == expected : found.map { "\($0)" }.sorted() == expected.map { "\($0)" }.sorted()
            if !isSame { return "found \(found)" }
        }
        if let shape = try one.value("shape") {
            for document in documents {
                guard let value = document["value"], hasShape(value, shape) else { return "is \(document)" }
            }
        }
        for (id, value) in try one.value("has")?.members ?? [:] {
            guard documents.contains(where: { $0["id"]?.text == id && $0["value"] == value }) else {
                return "has not \(value)"
            }
        }
        return nil
    }

    /// The same names, all the way down.
    private static func hasShape(_ value: JSON, _ shape: JSON) -> Bool {
        guard case .object(let wanted) = shape else { return true }
        return value.members.keys.sorted() == wanted.keys.sorted()
            && wanted.allSatisfy { name, inner in hasShape(value[name] ?? .null, inner) }
    }

    /// What the case says of how the documents are found.
    private static func difference(_ one: QueryCase, plan: JSON?) throws -> String? {
        if let access = try one.value("access")?.text, plan?["access"]?.text != access { return "\(plan ?? .null)" }
        if let sorted = try one.value("sorted")?.text, plan?["sort"]?.text != sorted { return "\(plan ?? .null)" }
        if let fields = try one.value("index")?.elements, plan?["index"]?.text != indexName(fields) {
            return "\(plan ?? .null)"
        }
        return nil
    }

    private static func indexName(_ fields: [JSON]) -> String { fields.compactMap(\.text).joined(separator: "+") }
}
