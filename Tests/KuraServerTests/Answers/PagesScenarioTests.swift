import Testing

/// What the pages of a list promise: the revision to go on from, and cursors that are of use to their own list alone.
@Suite struct PagesScenarioTests {
    /// A list, and how an item of it is named.
    struct List: CustomTestStringConvertible {
        var method: String
        var params: String
        /// The member of a page that has the items.
        var items = "documents"
        /// Where an item's name is; nil where items are members of an object.
        var name: String? = "id"
        /// Where a member's value lies, when it lies deeper.
        var inner: String?
        var store = "documents"
        var testDescription: String { method + params }
    }

    static let lists = [
        List(method: "settings.list", params: "\"domain\":\"s\"", items: "values", name: nil, store: "settings"),
        List(
            method: "settings.export", params: "\"domains\":[\"s\"]", items: "values", name: nil, inner: "s",
            store: "settings"),
        List(method: "secrets.list", params: "\"service\":\"s\"", items: "items", name: "account", store: "secrets"),
        List(method: "documents.list", params: "\"collection\":\"s\""),
        List(method: "documents.find", params: "\"collection\":\"s\""),
        List(method: "documents.find", params: "\"collection\":\"s\",\"sort\":[\"n\"]"),
        List(method: "documents.search", params: "\"collection\":\"s\",\"query\":\"word\""),
    ]

    private static func make(_ daemon: TemporaryDaemon) throws -> Client {
        let client = try daemon.connect()
        try client.result("documents.configure", "{\"collection\":\"s\",\"searchFields\":[\"t\"]}")
        // From here on each change keeps the search up.
        try client.result("documents.describe", "{\"collection\":\"s\",\"waitMs\":600000}")
        return client
    }

    private static func put(_ client: Client, _ store: String, _ name: String, _ number: Int) throws {
        switch store {
        case "settings": try client.result("settings.put", "{\"domain\":\"s\",\"key\":\"\(name)\",\"value\":\(number)}")
        case "secrets":
            try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"\(name)\",\"secret\":\"\(number)\"}")
        default:
            try client.result(
                "documents.put", "{\"collection\":\"s\",\"id\":\"\(name)\",\"value\":{\"n\":\(number),\"t\":\"word\"}}")
        }
    }

    private static func delete(_ client: Client, _ store: String, _ name: String) throws {
        switch store {
        case "settings": try client.result("settings.delete", "{\"domain\":\"s\",\"key\":\"\(name)\"}")
        case "secrets": try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"\(name)\"}")
        default: try client.result("documents.delete", "{\"collection\":\"s\",\"id\":\"\(name)\"}")
        }
    }

    private static func names(_ page: JSON, of list: List) -> [String] {
        var items = page[list.items]
        if let inner = list.inner { items = items?[inner] }
        guard let name = list.name else { return Array((items?.members ?? [:]).keys) }
        return (items?.elements ?? []).compactMap { $0[name]?.text }
    }

    /// The whole list, page by page; `between` runs behind each page.
    /// - Returns: what is in it, and the `rev` of its last page.
    private static func read(
        _ client: Client, _ list: List, between: () throws -> Void = {}
    ) throws -> (names: Set<String>, rev: Int, pages: Int) {
        var names: Set<String> = []
        var (cursor, pages) = ("", 0)
        while true {
            let page = try client.result(list.method, "{\(list.params),\"limit\":7\(cursor)}")
            names.formUnion(Self.names(page, of: list))
            pages += 1
            guard let next = page["cursor"]?.text else { return (names, try #require(page["rev"]?.int), pages) }
            cursor = ",\"cursor\":\"\(next)\""
            try between()
        }
    }

    /// As changes.md says a client is to do it after `compacted`: the items, and then what has changed since the `rev` of whichever page.
    @Test(arguments: lists, [1 as UInt64, 2, 3])
    func `a list and what changed since the revision of its pages are what there is`(_ list: List, _ seed: UInt64)
        throws
    {
        let daemon = try TemporaryDaemon()
        let (reader, writer) = (try Self.make(daemon), try daemon.connect())
        for number in 0..<50 { try Self.put(writer, list.store, "k\(number)", number) }
        // The index of a search is built beside.
        try reader.result("documents.describe", "{\"collection\":\"s\",\"waitMs\":600000}")
        var random = SplitMix(state: seed)
        var (names, rev, pages) = try Self.read(reader, list) {
            for _ in 0..<6 {
                let name = "k\(Int.random(in: 0..<60, using: &random))"
                if Bool.random(using: &random) {
                    try Self.delete(writer, list.store, name)
                } else {
                    try Self.put(writer, list.store, name, Int.random(in: 0..<1000, using: &random))
                }
            }
        }
        #expect(pages > 3)
        var hasMore = true
        while hasMore {
            let page = try reader.result(
                "changes.list", "{\"afterRev\":\(rev),\"stores\":[\"\(list.store)\"],\"scope\":\"s\"}")
            for change in page["changes"]?.elements ?? [] {
                let name = try #require(change["key"]?.text)
                if change["deleted"] == nil { names.insert(name) } else { names.remove(name) }
            }
            rev = try #require(page["rev"]?.int)
            hasMore = page["hasMore"] == .boolean(true)
        }
        #expect(try names == Self.read(writer, list).names)
    }

    @Test func `a cursor is of use to its own list alone`() throws {
        let daemon = try TemporaryDaemon()
        let client = try Self.make(daemon)
        for number in 0..<9 {
            for store in ["settings", "secrets", "documents"] { try Self.put(client, store, "k\(number)", number) }
            try client.result("settings.put", "{\"domain\":\"other\",\"key\":\"k\(number)\",\"value\":1}")
            try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"k\(number)\",\"value\":1}")
            for namespace in ["s", "other"] {
                try client.result("models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"k\(number)\",\"value\":1}")
                try client.result(
                    "blobs.put", "{\"namespace\":\"\(namespace)\",\"key\":\"k\(number)\",\"data\":\"AQI=\"}")
            }
        }
        let lists =
            Self.lists.map { ($0.method, $0.params) } + [
                ("settings.list", "\"domain\":\"other\""), ("settings.list", "\"domain\":\"s\",\"prefix\":\"k\""),
                ("settings.describe", "\"domain\":\"s\""), ("settings.export", ""),
                ("documents.list", "\"collection\":\"other\""),
                ("documents.distinct", "\"collection\":\"s\",\"field\":\"n\""), ("secrets.list", ""),
                ("models.list", "\"namespace\":\"s\""), ("models.list", "\"namespace\":\"other\""),
                ("blobs.list", "\"namespace\":\"s\""), ("blobs.list", "\"namespace\":\"other\""),
                ("secrets.audit", ""), ("secrets.audit", "\"service\":\"s\""),
            ]
        func members(_ parts: [String]) -> String { "{" + parts.filter { !$0.isEmpty }.joined(separator: ",") + "}" }
        let cursors = try lists.map { method, params in
            try #require(
                try client.result(method, members([params, "\"limit\":2"]))["cursor"]?.text, "\(method) \(params)")
        }
        for (owner, cursor) in cursors.enumerated() {
            for (place, (method, params)) in lists.enumerated() {
                let reply = try client.call(method, members([params, "\"limit\":2", "\"cursor\":\"\(cursor)\""]))
                if owner == place {
                    #expect(reply["result"] != nil, "\(method) \(params): \(reply)")
                } else {
                    let data = reply["error"]?["data"]
                    #expect(
                        data?["kind"]?.text == "invalidParams" && data?["parameter"]?.text == "cursor",
                        "\(method) \(params) with that of \(lists[owner]): \(reply)")
                }
            }
        }
        // Nor one that is not whole, or was altered: each fourth character is a byte's whole share of Base64.
        for ((method, params), cursor) in zip(lists, cursors) {
            let bytes = Array(cursor.utf8)
            var altered = bytes
            altered[14] = altered[14] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            for wrong in [Array(bytes.dropLast(4)), Array(bytes.prefix(21)), altered] {
                let text = String(decoding: wrong, as: UTF8.self)
                let reply = try client.call(method, members([params, "\"limit\":2", "\"cursor\":\"\(text)\""]))
                #expect(
                    reply["error"]?["data"]?["parameter"]?.text == "cursor", "\(method) \(params) \(text): \(reply)")
            }
        }
        // An explanation is about a page of `find`.
        let found = try client.result("documents.find", "{\"collection\":\"s\",\"limit\":2}")["cursor"]?.text ?? ""
        try client.result("documents.explain", "{\"collection\":\"s\",\"limit\":2,\"cursor\":\"\(found)\"}")
        // Not what a collection that was made anew has.
        let listed = try client.result("documents.list", "{\"collection\":\"other\",\"limit\":2}")["cursor"]?.text ?? ""
        try client.result("documents.drop", "{\"collection\":\"other\"}")
        for number in 0..<9 {
            try client.result("documents.put", "{\"collection\":\"other\",\"id\":\"k\(number)\",\"value\":1}")
        }
        _ = try client.refusal("documents.list", "{\"collection\":\"other\",\"cursor\":\"\(listed)\"}")
    }
}
