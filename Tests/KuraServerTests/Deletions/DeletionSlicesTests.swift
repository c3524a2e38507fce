import Glibc
import Testing

/// Deletions by a selector that go in slices, while something comes between them.
@Suite struct DeletionSlicesTests {
    private static let all = "{\"collection\":\"c\",\"where\":{},\"allowScan\":true}"
    /// Documents of a slice.
    private static let slice = 256

    private func fill(_ client: Client, _ count: Int, in collection: String = "c", _ more: String = "") throws {
        for start in stride(from: 0, to: count, by: 2000) {
            let documents = (start..<min(start + 2000, count)).map {
                "{\"id\":\"d\($0)\",\"value\":{\"n\":\($0)\(more)}}"
            }
            try client.result(
                "documents.putMany",
                "{\"collection\":\"\(collection)\",\"documents\":[\(documents.joined(separator: ","))]}")
        }
    }

    private func count(_ client: Client, _ collection: String = "c") throws -> Int? {
        try client.result("documents.describe", "{\"collection\":\"\(collection)\"}")["count"]?.int
    }

    @Test func `what waits while its collection is dropped and made anew leaves the new one alone`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        let client = try daemon.connect()
        try fill(client, 20)
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"d0\"}")
        try daemon.waitUntilPaused(at: "fold.slice")
        let (deleting, purging) = (try daemon.connect(), try daemon.connect())
        deleting.send(Client.request("documents.deleteMany", Self.all))
        purging.send(Client.request("documents.purge", "{\"collection\":\"c\"}"))
        // In the turn of the second one what was sent before the first has been read.
        for _ in 0..<2 { try client.result("storage.ping") }
        try client.result("documents.drop", "{\"collection\":\"c\"}")
        try fill(client, 10)
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"d0\"}")
        try daemon.goOn(at: "fold.slice")
        let deleted = try deleting.reply()
        #expect(deleted["result"]?["deleted"]?.int == 0 && deleted["result"]?["slices"]?.int == 0, "\(deleted)")
        #expect(try purging.reply()["result"]?["purged"]?.int == 0)
        let description = try client.result("documents.describe", "{\"collection\":\"c\"}")
        #expect(description["count"]?.int == 9 && description["tombstones"]?.int == 1, "\(description)")
    }

    @Test func `progress tells what is gone so far, on the disk`() throws {
        let daemon = try TemporaryDaemon()
        try fill(try daemon.connect(), 6000)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:sleep=60:1+")
        let client = try daemon.connect()
        client.send(Client.request("documents.deleteMany", Self.all, id: "\"x\""))
        var told: [Int] = []
        while true {
            let line = try client.reply()
            guard line["method"]?.text == "progress" else {
                #expect(line["result"]?["deleted"]?.int == 6000)
                break
            }
            let params = line["params"]
            #expect(params?["id"]?.text == "x" && params?["unit"]?.text == "documents")
            let done = try #require(params?["done"]?.int)
            // Whole slices; the last of the first 5,000 is smaller, and the last of all.
            #expect(done % Self.slice == 0 || (done - 5000) % Self.slice == 0 || done == 6000)
            told.append(done)
        }
        #expect(!told.isEmpty && told == told.sorted() && Set(told).count == told.count)
        #expect(told.allSatisfy { $0 > 0 && $0 <= 6000 })
    }

    @Test func `a full disk ends it between two slices, and tells what is gone`() throws {
        let daemon = try TemporaryDaemon()
        try fill(try daemon.connect(), 6000)
        #expect(daemon.terminate() == 0)
        // The fifth slice finds no room.
        try daemon.start(faults: "log.append:full:5")
        let client = try daemon.connect()
        let before = try #require(try client.result("documents.count", "{\"collection\":\"c\"}")["rev"]?.int)
        client.send(Client.request("documents.deleteMany", Self.all, id: "7"))
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        let data = reply["error"]?["data"]
        #expect(data?["kind"]?.text == "noSpace" && data?["deleted"]?.int == 4 * Self.slice, "\(reply)")
        #expect(try count(client) == 6000 - 4 * Self.slice)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["rev"]?.int == before + 4)
        // Nothing of the slice that found no room is gone, in memory or in the log.
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try count(again) == 6000 - 4 * Self.slice)
        #expect(
            try again.result("documents.describe", "{\"collection\":\"c\"}")["tombstones"]?.int == 4 * Self.slice)
        again.send(Client.request("documents.deleteMany", Self.all, id: "8"))
        reply = try again.reply()
        while reply["method"] != nil { reply = try again.reply() }
        #expect(reply["result"]?["deleted"]?.int == 6000 - 4 * Self.slice)
        #expect(try count(again) == 0)
    }

    @Test func `while the disk is full it does not look for documents again and again`() throws {
        let daemon = try TemporaryDaemon()
        try fill(try daemon.connect(), 10)
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let client = try daemon.connect()
        #expect(try client.refusal("documents.deleteMany", Self.all)["kind"]?.text == "noSpace")
        #expect(try count(client) == 10)
        var reply = try client.call("documents.deleteMany", Self.all)
        let deadline = now() + 60
        while reply["error"]?["data"]?["kind"]?.text == "noSpace", now() < deadline {
            usleep(50_000)
            reply = try client.call("documents.deleteMany", Self.all)
        }
        #expect(reply["result"]?["deleted"]?.int == 10, "\(reply)")
    }

    @Test func `who loses the right to delete meanwhile deletes no more`() throws {
        func roles(_ verbs: String...) -> [String: String] {
            let allow = verbs.map { "\"\($0)\"" }.joined(separator: ",")
            return ["app": "{\"grants\":[{\"store\":\"documents\",\"scope\":\"c\",\"allow\":[\(allow)]}]}"]
        }
        // Half a minute of slices: it loses it long before.
        let full = roles("list", "read", "delete")
        let daemon = try RoleDaemon(full)
        try fill(try daemon.connect("admin"), 20_000)
        #expect(daemon.daemon.terminate() == 0)
        try daemon.daemon.start(
            configuration: daemon.configuration(full), faults: "log.append:sleep=400:1+")
        let client = try daemon.connect("app")
        client.send(Client.request("documents.deleteMany", Self.all, id: "7"))
        let admin = try daemon.connect("admin")
        while try count(admin) == 20_000 { usleep(1000) }
        try daemon.reload(daemon.configuration(roles("list", "read")))
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["error"]?["data"]?["kind"]?.text == "forbidden", "\(reply)")
        let left = try #require(try count(admin))
        #expect(left > 0 && left < 20_000)
        #expect(reply["error"]?["data"]?["deleted"]?.int == 20_000 - left, "\(reply)")
    }

    @Test func `slices wait for the index of a reference that is being built`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try fill(client, 5500)
        let text = String(repeating: "x", count: 300)
        try fill(client, 20_000, in: "children", ",\"p\":\"other\",\"text\":\"\(text)\"")
        try client.result(
            "documents.put", "{\"collection\":\"children\",\"id\":\"one\",\"value\":{\"p\":\"d5400\"}}")
        try client.result(
            "documents.configure",
            "{\"collection\":\"children\",\"references\":[{\"field\":\"p\",\"collection\":\"c\",\"onDelete\":\"cascade\"}]}"
        )
        client.send(Client.request("documents.deleteMany", Self.all, id: "7"))
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["result"]?["deleted"]?.int == 5500, "\(reply)")
        #expect(reply["result"]?["cascaded"]?.int == 1, "\(reply)")
        #expect(try count(client, "children") == 20_000)
    }
}
