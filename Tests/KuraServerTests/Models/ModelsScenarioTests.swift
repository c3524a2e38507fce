import Glibc
import KuraTestSupport
import SQLite
import Testing

/// `models.*` over a real socket: storing, reading, lifetimes, tags, restarts.
@Suite struct ModelsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon(configuration: "{\"caches\":{\"minFreeBytes\":0}}", movesTime: true)
        client = try daemon.connect()
    }

    private func put(_ key: String, _ more: String = "", in namespace: String = "n", value: String = "{\"a\":1}") throws
    {
        let params = "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\",\"value\":\(value)\(more)}"
        let result = try client.result("models.put", params)
        #expect(result["stored"]?.bool == true, "\(result)")
    }

    private func get(_ key: String, _ more: String = "", in namespace: String = "n") throws -> JSON {
        try client.result("models.get", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\"\(more)}")
    }

    private func state(_ key: String, _ more: String = "", in namespace: String = "n") throws -> String? {
        try get(key, more, in: namespace)["state"]?.text
    }

    @Test func `a value comes back as it was put, with its entity tag and its tags`() throws {
        #expect(try get("k")["state"]?.text == "miss")
        try put("k", ",\"etag\":\"v\\\"1\",\"tags\":[\"a\",\"bü\"]", value: "{\"price\":1.50,\"list\":[1,2]}")
        client.send(Client.request("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}"))
        let line = try #require(try client.line())
        #expect(line.contains("\"value\":{\"price\":1.50,\"list\":[1,2]}"), "\(line)")
        let found = try get("k")
        #expect(found["etag"]?.text == "v\"1" && found["tags"]?.elements.map(\.text) == ["a", "bü"])
        #expect(try client.result("models.delete", "{\"namespace\":\"n\",\"key\":\"k\"}")["deleted"]?.bool == true)
        #expect(try client.result("models.delete", "{\"namespace\":\"n\",\"key\":\"k\"}")["deleted"]?.bool == false)
        #expect(try state("k") == "miss")
    }

    @Test func `an entry is fresh, then stale, then gone`() throws {
        try put("k", ",\"ttlSeconds\":100,\"staleSeconds\":600")
        for expected in ["fresh", "stale", "miss"] {
            #expect(try state("k") == expected)
            try daemon.advance(seconds: expected == "fresh" ? 101 : 600)
        }
        try put("z", ",\"ttlSeconds\":0,\"staleSeconds\":600")
        #expect(try state("z") == "stale")
        try put("old")
        #expect(try state("old", ",\"maxAgeSeconds\":0") == "stale")
        #expect(try state("old", ",\"maxAgeSeconds\":1000") == "fresh")
    }

    @Test func `a touch makes an entry fresh again without its value`() throws {
        try put("k", ",\"ttlSeconds\":0,\"etag\":\"one\"")
        #expect(try state("k") == "stale")
        func touch(_ more: String) throws -> Bool? {
            try client.result("models.touch", "{\"namespace\":\"n\",\"key\":\"k\",\"ttlSeconds\":600\(more)}")[
                "touched"]?.bool
        }
        #expect(try touch(",\"etag\":\"two\"") == false)
        #expect(try state("k") == "stale")
        #expect(try touch(",\"etag\":\"one\"") == true)
        #expect(try state("k") == "fresh")
        #expect(try client.result("models.touch", "{\"namespace\":\"n\",\"key\":\"none\"}")["touched"]?.bool == false)
    }

    @Test func `ifAbsent leaves what is there, and store false keeps nothing`() throws {
        try put("k", value: "1")
        let again = try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":2,\"ifAbsent\":true}")
        #expect(again["stored"]?.bool == false && again["reason"]?.text == "exists")
        #expect(try get("k")["value"]?.int == 1)
        let unwanted = try client.result(
            "models.put", "{\"namespace\":\"n\",\"key\":\"x\",\"value\":2,\"store\":false}")
        #expect(unwanted["stored"]?.bool == false && unwanted["reason"]?.text == "notWanted")
        #expect(try state("x") == "miss")
    }

    @Test func `getMany and list show what is there`() throws {
        for number in 0..<250 { try put("k\(number)", value: "\(number)") }
        let many = try client.result("models.getMany", "{\"namespace\":\"n\",\"keys\":[\"k7\",\"none\",\"k1\"]}")
        #expect(many["entries"]?.elements.map { $0["value"]?.int } == [7, 1])
        #expect(many["missing"]?.elements.map(\.text) == ["none"])
        var keys: Set<String> = []
        var cursor = ""
        var pages = 0
        repeat {
            let page = try client.result("models.list", "{\"namespace\":\"n\",\"limit\":100\(cursor)}")
            for entry in page["entries"]?.elements ?? [] { keys.insert(entry["key"]?.text ?? "") }
            cursor = page["cursor"]?.text.map { ",\"cursor\":\"\($0)\"" } ?? ""
            pages += 1
        } while !cursor.isEmpty
        #expect(keys.count == 250 && pages == 3)
        let scopes = try client.result("models.scopes")["scopes"]?.elements
        #expect(scopes?.count == 1 && scopes?[0]["count"]?.int == 250)
    }

    @Test(arguments: ["stale", "drop"]) func `what is invalidated is stale or gone at once, and what is newer is not`(
        mode: String
    ) throws {
        let expected = mode == "drop" ? "miss" : "stale"
        func fill() throws {
            try put("a/1", ",\"tags\":[\"x\"]")
            try put("a/2", ",\"tags\":[\"y\"]")
            try put("b/1", ",\"tags\":[\"x\",\"y\"]")
            try put("b/2")
        }
        func states() throws -> [String?] { try ["a/1", "a/2", "b/1", "b/2"].map { try state($0) } }
        try fill()
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"x\",\"mode\":\"\(mode)\"}")
        #expect(try states() == [expected, "fresh", expected, "fresh"])
        try fill()
        #expect(try states() == ["fresh", "fresh", "fresh", "fresh"])
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"prefix\":\"a/\",\"mode\":\"\(mode)\"}")
        #expect(try states() == [expected, expected, "fresh", "fresh"])
        try put("a/2")
        #expect(try state("a/2") == "fresh")
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"mode\":\"\(mode)\"}")
        #expect(try states() == [expected, expected, expected, expected])
        try fill()
        #expect(try states() == ["fresh", "fresh", "fresh", "fresh"])
        // Also what was put right before.
        for what in ["\"tag\":\"x\"", "\"prefix\":\"la\""] {
            try put("last", ",\"tags\":[\"x\"]")
            try client.result("models.invalidate", "{\"namespace\":\"n\",\(what),\"mode\":\"\(mode)\"}")
            #expect(try state("last") == expected, "\(what)")
        }
        let none = try client.result("models.invalidate", "{\"namespace\":\"none\"}")
        #expect(none["invalidated"]?.bool == false)
    }

    @Test(arguments: [false, true])
    func `what was put is there after a restart, and after a clean one as fresh as it was`(
        isPartition: Bool
    ) throws {
        try client.result("models.configure", "{\"namespace\":\"n\",\"ttlSeconds\":600,\"partition\":\(isPartition)}")
        for number in 0..<1000 {
            try put("k\(number)", ",\"tags\":[\"t\(number % 3)\"],\"etag\":\"e\(number)\"", value: "\(number)")
        }
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"t1\"}")
        try client.result("models.delete", "{\"namespace\":\"n\",\"key\":\"k5\"}")
        for isClean in [true, false] {
            if isClean {
                #expect(daemon.terminate() == 0)
            } else {
                // What says that the last stop was a clean one goes behind the start.
                try waitFor("the mark is gone") { access(daemon.data + "/cache/clean", F_OK) != 0 }
                daemon.kill()
            }
            try daemon.start(configuration: "{\"caches\":{\"minFreeBytes\":0}}")
            let again = try daemon.connect()
            var states: [String: Int] = [:]
            for number in 0..<1000 {
                let found = try again.result("models.get", "{\"namespace\":\"n\",\"key\":\"k\(number)\"}")
                let state = found["state"]?.text ?? ""
                states[state, default: 0] += 1
                guard state != "miss" else { continue }
                #expect(found["value"]?.int == number && found["etag"]?.text == "e\(number)")
                #expect(found["tags"]?.elements.map(\.text) == ["t\(number % 3)"])
            }
            // After a kill nobody knows what else had been invalidated.
            #expect(states == (isClean ? ["fresh": 666, "stale": 333, "miss": 1] : ["stale": 999, "miss": 1]))
            let description = try again.result("models.describe", "{\"namespace\":\"n\"}")
            #expect(description["ttlSeconds"]?.int == 600 && description["partition"]?.bool == isPartition)
            let names = TemporaryDaemon.names(daemon.data + "/cache") ?? []
            #expect(names.contains { $0.hasPrefix("models-") } == isPartition, "\(names)")
        }
    }

    @Test func `what has expired does not come back when the system's clock was set back`() throws {
        try put("k", ",\"ttlSeconds\":600,\"staleSeconds\":0")
        try put("l", ",\"ttlSeconds\":86400")
        #expect(daemon.terminate() == 0)
        // As a run would have left it whose clock was ahead.
        try Connection(path: daemon.data + "/cache/cache.sqlite", mode: .readWrite).execute(
            "UPDATE model_facts SET value = value + 3600000 WHERE name = 'clock'")
        try daemon.start(configuration: "{\"caches\":{\"minFreeBytes\":0}}")
        let again = try daemon.connect()
        for (key, state) in [("k", "miss"), ("l", "fresh")] {
            let found = try again.result("models.get", "{\"namespace\":\"n\",\"key\":\"\(key)\"}")
            #expect(found["state"]?.text == state)
        }
    }

    @Test(arguments: ["models", "blobs"])
    func `what a client was told to have expired does not come back after a kill and with an earlier clock`(
        room: String
    ) throws {
        let name = "{\"namespace\":\"t\",\"key\":\"k\""
        let value = room == "models" ? "\"value\":1,\"staleSeconds\":0" : "\"data\":\"AAAA\""
        func number(_ query: String, in file: String = "cache") -> Int64 {
            let file = try? Connection(path: daemon.data + "/cache/\(file).sqlite", mode: .readOnly)
            return (try? file?.scalar(query) ?? 0) ?? 0
        }
        func rows() -> Int64 {
            room == "models"
                ? number("SELECT count(*) FROM model_heads") : number("SELECT count(*) FROM blobs", in: "blobs")
        }
        func isThere(_ client: Client) throws -> Bool {
            let found = try client.result(room + ".get", name + "}")
            return room == "models" ? found["state"]?.text != "miss" : found["found"]?.bool == true
        }
        try client.result(room + ".put", name + ",\"ttlSeconds\":3600,\(value)}")
        // It expires no later: whatever a busy machine has made of the time since.
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let expiry = (Int64(time.tv_sec) + 3601) * 1000
        try waitFor("it is on the disk") { rows() == 1 }
        try daemon.advance(seconds: 7200)
        #expect(try !isThere(client))
        // What a start with an earlier clock goes by; unless a sweep has taken it away before it was asked for.
        try waitFor("the clock is on the disk") {
            number("SELECT value FROM model_facts WHERE name = 'clock'") >= expiry || rows() == 0
        }
        daemon.kill()
        try daemon.advance(seconds: -7200)
        try daemon.start()
        #expect(try !isThere(daemon.connect()))
    }

    @Test func `what is in memory only is gone with the daemon, what is scratch with the connections that hold it`()
        throws
    {
        try client.result("models.configure", "{\"namespace\":\"memory\",\"persist\":false}")
        try put("k", in: "memory")
        var holder: Client? = try daemon.connect()
        try holder?.result("models.configure", "{\"namespace\":\"scratch\",\"scratch\":true}")
        try client.result("models.configure", "{\"namespace\":\"scratch\",\"scratch\":true}")
        try put("k", in: "scratch")
        holder = nil
        usleep(50_000)
        #expect(try state("k", in: "scratch") == "fresh")
        let other = try daemon.connect()
        client.halfClose()
        #expect(try client.line() == nil)
        let deadline = now() + 60
        var found = try other.result("models.get", "{\"namespace\":\"scratch\",\"key\":\"k\"}")
        while found["state"]?.text != "miss", now() < deadline {
            found = try other.result("models.get", "{\"namespace\":\"scratch\",\"key\":\"k\"}")
        }
        #expect(found["state"]?.text == "miss")
        #expect(try other.result("models.get", "{\"namespace\":\"memory\",\"key\":\"k\"}")["state"]?.text == "fresh")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(
            try daemon.connect().result("models.get", "{\"namespace\":\"memory\",\"key\":\"k\"}")["state"]?.text
                == "miss")
    }

    @Test func `bounds of a namespace hold at every moment, and what is asked for often stays`() throws {
        try client.result("models.configure", "{\"namespace\":\"n\",\"maxBytes\":200000}")
        let text = "\"" + String(repeating: "v", count: 800) + "\""
        for number in 0..<50 { try put("hot\(number)", value: text) }
        for _ in 0..<5 { for number in 0..<50 { #expect(try state("hot\(number)") == "fresh") } }
        for number in 0..<3000 {
            try put("cold\(number)", value: text)
            if number % 300 == 0 {
                let bytes = try client.result("models.describe", "{\"namespace\":\"n\"}")["bytes"]?.int ?? .max
                #expect(bytes <= 200_000, "\(bytes)")
            }
        }
        let left = try (0..<50).filter { try state("hot\($0)") == "fresh" }.count
        #expect(left >= 45, "\(left) of 50 that were asked for often are left")
        let description = try client.result("models.describe", "{\"namespace\":\"n\"}")
        #expect(
            (description["evictions"]?.int ?? 0) > 2800 && (description["rejections"]?.int ?? 0) > 2000,
            "\(description)")
        let large = "\"" + String(repeating: "v", count: 200_000) + "\""
        let refused = try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"large\",\"value\":\(large)}")
        #expect(refused["stored"]?.bool == false && refused["reason"]?.text == "overBudget")
        try client.result("models.configure", "{\"namespace\":\"few\",\"maxEntries\":3}")
        for number in 0..<10 { try put("k\(number)", in: "few") }
        #expect(try client.result("models.describe", "{\"namespace\":\"few\"}")["count"]?.int == 3)
    }

    @Test func `the budget of all namespaces holds at every moment, and the largest gives`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: "{\"caches\":{\"minFreeBytes\":0,\"modelBytes\":1048576}}")
        let client = try daemon.connect()
        func described(_ namespace: String, _ member: String) throws -> Int {
            try client.result("models.describe", "{\"namespace\":\"\(namespace)\"}")[member]?.int ?? .max
        }
        let text = String(repeating: "v", count: 9000)
        for (namespace, number) in ["a", "b"].flatMap({ name in (0..<200).map { (name, $0) } }) {
            let put = "{\"namespace\":\"\(namespace)\",\"key\":\"\(number)\",\"value\":\"\(text)\"}"
            #expect(try client.result("models.put", put)["stored"]?.bool == true)
            guard number % 20 == 19 else { continue }
            let bytes = try described("a", "bytes") + (namespace == "b" ? described("b", "bytes") : 0)
            #expect(bytes <= 1 << 20, "\(namespace) \(number): \(bytes)")
        }
        let (first, second) = (try described("a", "count"), try described("b", "count"))
        #expect((30...80).contains(first) && (30...80).contains(second) && first + second > 100, "\(first) \(second)")
    }

    @Test func `what a partition kept over a stop can be invalidated`() throws {
        try client.result("models.configure", "{\"namespace\":\"n\",\"ttlSeconds\":600,\"partition\":true}")
        for number in 0..<10 { try put("k\(number)", value: "\(number)") }
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try daemon.connect()
        func get(_ key: String) throws -> JSON {
            try again.result("models.get", "{\"namespace\":\"n\",\"key\":\"\(key)\"}")
        }
        // Each is its own, also when one has been touched since.
        try again.result("models.touch", "{\"namespace\":\"n\",\"key\":\"k9\"}")
        let both = try again.result("models.getMany", "{\"namespace\":\"n\",\"keys\":[\"k0\",\"k9\"]}")
        #expect(both["entries"]?.elements.compactMap { $0["value"]?.int } == [0, 9], "\(both)")
        #expect(try get("k5")["state"]?.text == "fresh")
        try again.result("models.invalidate", "{\"namespace\":\"n\"}")
        for number in 0..<10 { #expect(try get("k\(number)")["state"]?.text == "stale", "k\(number)") }
    }

    @Test func `a touch by token does not pass over an invalidated tag`() throws {
        try put("cart", ",\"ttlSeconds\":0,\"staleSeconds\":600,\"tags\":[\"user\"]", value: "1")
        let token = try #require(try get("cart", ",\"claim\":true,\"leaseSeconds\":3600")["token"]?.text)
        try client.result("models.invalidate", "{\"namespace\":\"n\",\"tag\":\"user\"}")
        let touched = try client.result(
            "models.touch", "{\"namespace\":\"n\",\"key\":\"cart\",\"ttlSeconds\":600,\"token\":\"\(token)\"}")
        #expect(touched["stale"]?.bool == true, "\(touched)")
        #expect(try state("cart") == "stale")
    }

    @Test func `values that memory has no room for are read from the file`() throws {
        // The profile's memory is 4 MiB.
        let text = String(repeating: "v", count: 8000)
        for number in 0..<1500 { try put("k\(number)", value: "\"\(number)\(text)\"") }
        // What is not written yet is above it, for a moment.
        try daemon.waitUntil { ($0["models"]?["memoryBytes"]?.int ?? .max) <= 4 << 20 }
        for number in stride(from: 0, to: 1500, by: 7) {
            #expect(try get("k\(number)")["value"]?.text == "\(number)\(text)")
        }
        // Replies come in the order of the requests also when one has to be read.
        client.send(
            (0..<1500).map { Client.request("models.get", "{\"namespace\":\"n\",\"key\":\"k\($0)\"}", id: "\($0)") }
                .joined())
        for number in 0..<1500 {
            let reply = try client.reply()
            #expect(reply["id"]?.int == number && reply["result"]?["value"]?.text == "\(number)\(text)")
        }
    }

    @Test func `a sweep removes what nobody can see any more, and tells how much`() throws {
        for number in 0..<100 { try put("gone\(number)", ",\"ttlSeconds\":0,\"staleSeconds\":0") }
        for number in 0..<50 { try put("kept\(number)") }
        for number in 0..<10 {
            try client.result("models.delete", "{\"namespace\":\"n\",\"key\":\"kept\(number)\",\"logical\":true}")
        }
        #expect(try state("kept3") == "miss")
        let swept = try client.result("storage.sweep")
        #expect(swept["running"]?.bool == false && (swept["removed"]?.int ?? 0) <= 110)
        let description = try client.result("models.describe", "{\"namespace\":\"n\"}")
        #expect(description["count"]?.int == 40 && description["expired"]?.int == 110)
        let stats = try client.result("storage.stats")
        #expect(stats["models"]?.elements.first?["puts"]?.int == 150)
        #expect(stats["openErrors"]?.int == 0 && (stats["databases"]?.elements.isEmpty == false))
    }

    @Test func `a damaged file is dropped, and everything else works`() throws {
        try put("k")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        let path = daemon.data + "/cache/cache.sqlite"
        let file = try #require(fopen(path, "r+"))
        fseek(file, 100, SEEK_SET)
        fputs(String(repeating: "garbage", count: 2000), file)
        fclose(file)
        unlink(daemon.data + "/cache/clean")
        try daemon.start(configuration: "{\"caches\":{\"minFreeBytes\":0}}")
        let again = try daemon.connect()
        #expect(try again.result("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}")["state"]?.text == "miss")
        #expect(try again.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        try again.result("models.put", "{\"namespace\":\"n\",\"key\":\"k\",\"value\":2}")
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: "{\"caches\":{\"minFreeBytes\":0}}")
        #expect(
            try daemon.connect().result("models.get", "{\"namespace\":\"n\",\"key\":\"k\"}")["value"]?.int == 2)
    }
}
