import Testing

/// What the tests know of a document, read apart from the daemon.
struct LiveDocument: Equatable {
    var id: String
    var rev: Int
    var value: String
    var number: Int?
    var group: String
    var text: String
    var hasM: Bool

    init(id: String, rev: Int, value: String) throws {
        let json = try JSON(value)
        (self.id, self.rev, self.value) = (id, rev, value)
        number = json["n"]?.int
        group = json["g"]?.text ?? ""
        text = json["t"]?.text ?? ""
        hasM = json["m"] != nil
    }
}

/// A query in the daemon's words, and the same in Swift's.
struct LiveQuestion {
    var condition: String?
    var matches: (LiveDocument) -> Bool
    var sort: String?
    var precedes: (LiveDocument, LiveDocument) -> Bool?
    var limit: Int?

    init(random: inout SplitMix) {
        let conditions: [(String?, (LiveDocument) -> Bool)] = [
            (nil, { _ in true }), ("{}", { _ in true }), ("{\"n\":{\"$gt\":5}}", { $0.number.map { $0 > 5 } ?? false }),
            ("{\"g\":\"a\"}", { $0.group == "a" }),
            (
                "{\"n\":{\"$gte\":3,\"$lt\":12},\"g\":{\"$in\":[\"a\",\"b\"]}}",
                { ($0.number.map { (3..<12).contains($0) } ?? false) && $0.group < "c" }
            ),
            (
                "{\"$or\":[{\"n\":{\"$lt\":4}},{\"g\":\"c\"}]}",
                { ($0.number.map { $0 < 4 } ?? false) || $0.group == "c" }
            ),
            ("{\"m\":{\"$exists\":false}}", { !$0.hasM }), ("{\"_id\":{\"$gt\":\"d4\"}}", { $0.id > "d4" }),
            ("{\"t\":{\"$regex\":\"^x\"}}", { $0.text.hasPrefix("x") }), ("{\"g\":\"none\"}", { _ in false }),
        ]
        let sorts: [(String?, (LiveDocument, LiveDocument) -> Bool?)] = [
            (nil, { _, _ in nil }), ("[\"n\"]", { Self.less($0.number, $1.number) }),
            ("[{\"n\":\"desc\"}]", { Self.less($1.number, $0.number) }),
            ("[\"g\",{\"n\":\"desc\"}]", { Self.less($0.group, $1.group) ?? Self.less($1.number, $0.number) }),
            ("[{\"g\":\"asc\"}]", { Self.less($0.group, $1.group) }),
            ("[{\"_id\":\"desc\"}]", { Self.less($1.id, $0.id) }),
        ]
        (condition, matches) = conditions.randomElement(using: &random)!
        (sort, precedes) = sorts.randomElement(using: &random)!
        limit = [nil, nil, 1, 3, 10].randomElement(using: &random)!
    }

    private static func less<Value: Comparable>(_ left: Value, _ right: Value) -> Bool? {
        left == right ? nil : left < right
    }

    /// What is missing comes first.
    private static func less(_ left: Int?, _ right: Int?) -> Bool? { less(left ?? -1, right ?? -1) }

    var params: String {
        var members = ["\"collection\":\"live\""]
        if let condition { members.append("\"where\":\(condition)") }
        if let sort { members.append("\"sort\":\(sort)") }
        if let limit { members.append("\"limit\":\(limit)") }
        return members.joined(separator: ",")
    }

    func answer(_ documents: [LiveDocument]) -> [LiveDocument] {
        let all = documents.filter(matches).sorted { precedes($0, $1) ?? ($0.id < $1.id) }
        return limit.map { Array(all.prefix($0)) } ?? all
    }
}

/// A client that keeps the list that it is told of, and holds it against the world's record at each revision.
final class LiveWatcher {
    let world: FeedWorld
    let question: LiveQuestion
    private(set) var peer: FeedPeer?
    private var list: [LiveDocument] = []
    private var rev = 0
    /// Of the snapshot that is coming in pieces.
    private var coming: [LiveDocument]?
    private var comingRev = 0
    private var isBegun = false
    private(set) var events = 0
    /// Documents of beginnings that came without their values.
    private(set) var leftOut = 0

    init(_ world: FeedWorld, random: inout SplitMix) throws {
        self.world = world
        question = LiveQuestion(random: &random)
        try watch(resuming: false)
    }

    func watch(resuming: Bool) throws {
        let peer = try world.connect()
        self.peer = peer
        (coming, isBegun) = (nil, false)
        // Who begins anew has nothing that a later beginning could leave out.
        if !resuming { (list, rev) = ([], 0) }
        let after = resuming ? ",\"afterRev\":\(rev)" : ""
        let reply = try world.call(peer, "documents.watch", "{\(question.params)\(after)}")
        #expect(reply["result"]?["subscription"]?.int == 1, "\(reply)")
        // Nothing goes back: the reply says from where.
        #expect(reply["result"]?["rev"]?.int ?? 0 <= world.rev)
    }

    func die() {
        if let peer { world.disconnect(peer) }
        peer = nil
    }

    func expected(at rev: Int) throws -> [LiveDocument] {
        let state = world.changes(after: 0, upTo: rev) { $0.scope == "live" }
        return question.answer(
            try state.compactMap { item, state in
                try state.value.map { try LiveDocument(id: item.key, rev: state.rev, value: $0) }
            })
    }

    func takeEvents() throws {
        for line in peer?.takeNotifications() ?? [] {
            guard line["method"] == .string("documents.changed"), let params = line["params"],
                params["subscription"]?.int == 1
            else {
                Issue.record("unexpected: \(line)")
                continue
            }
            events += 1
            let rev = params["rev"]?.int ?? -1
            if params["snapshot"]?.bool == true {
                try take(snapshot: params, rev)
            } else {
                #expect(isBegun && coming == nil)
                #expect(rev > self.rev, "seed \(world.seed)")
                try take(changes: params["changes"]?.elements ?? [])
                self.rev = rev
                try expectState()
            }
        }
    }

    private func expectState() throws {
        let expected = try expected(at: rev)
        #expect(
            list == expected,
            "seed \(world.seed) rev \(rev) \(question.params): \(list.map(\.id)), not \(expected.map(\.id))")
    }

    private func take(snapshot params: JSON, _ rev: Int) throws {
        #expect(!isBegun)
        if coming == nil { comingRev = rev }
        #expect(comingRev == rev, "a beginning is of one revision")
        var found = coming ?? []
        for document in params["documents"]?.elements ?? [] {
            let id = document["id"]?.text ?? ""
            let rev = document["rev"]?.int ?? 0
            if let value = document["value"] {
                found.append(try LiveDocument(id: id, rev: rev, value: value.compact))
            } else {
                leftOut += 1
                let known = try #require(list.first { $0.id == id }, "seed \(world.seed): \(id) is not known")
                #expect(known.rev == rev)
                found.append(known)
            }
        }
        guard params["hasMore"]?.bool == false else {
            coming = found
            return
        }
        (list, coming, isBegun, self.rev) = (found, nil, true, rev)
        try expectState()
    }

    private func take(changes: [JSON]) throws {
        var placed: [(LiveDocument, Int)] = []
        var wasRemoval = true
        for change in changes {
            let step = change["change"]?.text ?? ""
            let id = change["id"]?.text ?? ""
            let place = list.firstIndex { $0.id == id }
            #expect((place == nil) == (step == "inserted"), "seed \(world.seed): \(step) \(id)")
            if step == "removed" {
                #expect(wasRemoval, "removals come first")
                if let place { list.remove(at: place) }
                continue
            }
            wasRemoval = false
            let value = try #require(change["value"])
            let document = try LiveDocument(id: id, rev: change["rev"]?.int ?? 0, value: value.compact)
            if step == "updated" {
                if let place { list[place] = document }
            } else {
                if let place { list.remove(at: place) }
                placed.append((document, try #require(change["position"]?.int)))
            }
        }
        for (document, position) in placed {
            #expect(position <= list.count, "seed \(world.seed)")
            list.insert(document, at: min(position, list.count))
        }
    }

    var isUpToDate: Bool { isBegun && (try? expected(at: world.rev)) == list }

    /// What a find says now is what the list is.
    func expectFind() throws {
        let peer = try world.connect()
        defer { world.disconnect(peer) }
        var sort = question.sort.map { String($0.dropLast()) } ?? "["
        if !sort.contains("_id") { sort += (sort == "[" ? "" : ",") + "\"_id\"" }
        let condition = question.condition.map { ",\"where\":\($0)" } ?? ""
        let reply = try world.call(
            peer, "documents.find",
            "{\"collection\":\"live\"\(condition),\"sort\":\(sort)],\"limit\":\(question.limit ?? 1000)}")
        let found = (reply["result"]?["documents"]?.elements ?? []).map { $0["id"]?.text ?? "" }
        #expect(found == list.map(\.id), "seed \(world.seed): \(question.params)")
    }
}

extension JSON {
    /// As the writers of these tests wrote it: an object of plain members.
    var compact: String {
        var members: [String] = []
        for name in ["n", "g", "m", "t"] {
            guard let value = self[name] else { continue }
            members.append("\"\(name)\":" + (value.int.map { "\($0)" } ?? value.text.map { "\"\($0)\"" } ?? "null"))
        }
        return "{\(members.joined(separator: ","))}"
    }
}
