import Glibc
import Testing

/// `storage.record` over a real socket, with real descriptors.
@Suite struct RecordScenarioTests {
    private let daemon: TemporaryDaemon
    private let recorder: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        recorder = try daemon.connect()
    }

    /// A file that can be read again while the daemon writes to it.
    private func file() throws -> Int32 { try daemon.file([], flags: O_RDWR) }

    private func begin(_ descriptor: Int32, _ more: String = "") throws {
        try recorder.send(
            Client.request("storage.record", "{\"fd\":true\(more)}", id: "\"r\""), descriptors: [descriptor])
        // The recording begins with its turn.
        try recorder.result("storage.ping")
    }

    /// Ends it.
    /// - Returns: what it is answered.
    private func end() throws -> JSON {
        recorder.send(Client.request("rpc.cancel", "{\"id\":\"r\"}", id: "9"))
        #expect(try recorder.reply()["result"]?["cancelled"]?.bool == true)
        return try #require(try recorder.reply()["result"])
    }

    private func lines(_ descriptor: Int32) throws -> [JSON] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = pread(descriptor, &chunk, chunk.count, off_t(bytes.count))
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return try bytes.split(separator: 0x0A).map { try JSON(String(decoding: $0, as: UTF8.self)) }
    }

    @Test func `requests are there with their connections and outcomes, and nothing of the connection that asks`()
        throws
    {
        let descriptor = try file()
        defer { close(descriptor) }
        try begin(descriptor)
        let (one, two) = (try daemon.connect(), try daemon.connect())
        let put = try one.result("documents.put", "{\"collection\":\"c\",\"value\":{\"a\":1}}")
        let id = try #require(put["id"]?.text)
        try two.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(id)\"}")
        _ = try two.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":2,\"ifRev\":77}")
        let result = try end()
        #expect(result["requests"]?.int == 3 && result["replies"]?.int == 3 && result["dropped"]?.int == 0)
        let lines = try lines(descriptor)
        #expect(lines.first?["recording"]?.int == 1 && lines.first?["version"]?.text != nil)
        #expect(lines.last?["end"]?["requests"]?.int == 3)
        #expect(lines.first?["rev"]?.int == 0)
        let told = lines.dropFirst().dropLast()
        #expect(told.compactMap { $0["role"]?.text } == ["admin", "admin"])
        #expect(
            told.compactMap { $0["request"]?["method"]?.text } == ["documents.put", "documents.get", "documents.put"])
        let replies = told.filter { $0["reply"] != nil }
        #expect(replies[0]["connection"]?.int == 1 && replies[0]["minted"]?["id"]?.text == id)
        #expect(replies[0]["minted"]?["rev"]?.int == put["rev"]?.int)
        #expect(replies[1]["connection"]?.int == 2 && replies[1]["error"] == nil)
        #expect(replies[1]["outline"]?["value"]?.int == 1)
        #expect(replies[2]["error"]?.text == "conflict" && replies[2]["minted"]?["currentRev"]?.int == put["rev"]?.int)
        #expect(told.allSatisfy { $0["at"]?.int != nil })
        // Who has connected is told with the first request.
        let moments = told.filter { $0["role"] == nil }.compactMap { $0["at"]?.int }
        #expect(moments == moments.sorted(), "\(moments)")
    }

    @Test func `the head tells the newest revision, and a reply what was found`() throws {
        let client = try daemon.connect()
        let rev = try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")["rev"]?.int
        let descriptor = try file()
        defer { close(descriptor) }
        try begin(descriptor)
        try client.result("settings.list", "{\"domain\":\"d\"}")
        try client.result("settings.list", "{\"domain\":\"e\"}")
        _ = try end()
        let lines = try lines(descriptor)
        #expect(lines.first?["rev"]?.int == rev)
        #expect(lines.compactMap { $0["outline"]?["values"]?.int } == [1, 0])
    }

    @Test func `a secret is in no line, and the token that it gets is the one that is redeemed`() throws {
        let descriptor = try file()
        defer { close(descriptor) }
        try begin(descriptor)
        let client = try daemon.connect()
        try client.result(
            "secrets.put", "{\"service\":\"postbox\",\"account\":\"charlotte\",\"secret\":\"open sesame\"}")
        try client.result("secrets.get", "{\"service\":\"postbox\",\"account\":\"charlotte\"}")
        try client.result("secrets.list", "{\"service\":\"postbox\"}")
        let issued = try client.result(
            "secrets.issueToken", "{\"service\":\"postbox\",\"account\":\"charlotte\",\"ttlSeconds\":60}")
        let token = try #require(issued["token"]?.text)
        try daemon.connect().result("secrets.redeemToken", "{\"token\":\"\(token)\"}")
        try client.result(
            "transaction.apply",
            "{\"operations\":[{\"method\":\"secrets.put\",\"params\":{\"service\":\"postbox\",\"account\":\"emily\",\"secret\":\"open sesame\"}}]}"
        )
        _ = try end()
        let lines = try lines(descriptor)
        for word in ["postbox", "charlotte", "emily", "sesame", token] {
            #expect(!"\(lines)".contains(word), "\(word)")
        }
        func params(_ method: String) throws -> JSON {
            try #require(lines.first { $0["request"]?["method"]?.text == method }?["request"]?["params"])
        }
        #expect(try params("secrets.get")["account"] == params("secrets.put")["account"])
        let minted = lines.compactMap { $0["minted"]?["token"]?.text }
        #expect(try minted == [params("secrets.redeemToken")["token"]?.text])
    }

    @Test func `a line that is no JSON has its reply, and requests are counted one by one`() throws {
        let descriptor = try file()
        defer { close(descriptor) }
        try begin(descriptor)
        let client = try daemon.connect()
        client.send(
            Array(#"{"jsonrpc":"2.0","id":500,"method":"storage.ping","x":""#.utf8) + [0xFF]
                + Array("\"}\n".utf8))
        #expect(try client.reply()["id"]?.int == 500)
        let ping = #"{"jsonrpc":"2.0","id":1,"method":"storage.ping"}"#
        client.send("[\(ping),\(ping)]\n[]\n\"text\"\n")
        for _ in 0..<3 { _ = try client.line() }
        let result = try end()
        #expect(result["requests"]?.int == 5 && result["replies"]?.int == 5, "\(result)")
        let replies = try lines(descriptor).filter { $0["reply"] != nil }
        #expect(replies.first?["reply"] == .null && replies.first?["error"]?.text == "parseError", "\(replies)")
    }

    @Test func `a reader that is too slow holds nobody up, and what it misses is told`() throws {
        let (read, write) = try daemon.pipe()
        try begin(write)
        close(write)
        let client = try daemon.connect()
        let value = JSON.quoted(String(repeating: "v", count: 900_000))
        for _ in 0..<40 { try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(value)}") }
        // All are answered before anybody reads a byte of it.
        var text: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        let told = Array("\"dropped\":".utf8)
        while !text.suffix(1000).contains(told) {
            let count = Glibc.read(read, &chunk, chunk.count)
            try #require(count > 0)
            text += chunk[..<count]
        }
        let result = try end()
        close(read)
        let dropped = try #require(result["dropped"]?.int)
        #expect(dropped > 0)
        #expect((result["requests"]?.int ?? 0) > 0 && (result["requests"]?.int ?? 0) < 40)
    }

    @Test func `recordings take no more memory than others leave them, whatever comes`() throws {
        let small = try TemporaryDaemon(configuration: "{\"limits\":{\"bufferBytes\":8388608}}")
        var recorders: [Client] = []
        for _ in 0..<3 {
            let recorder = try small.connect()
            let descriptor = try small.file([], flags: O_RDWR)
            try recorder.send(Client.request("storage.record", "{\"fd\":true}", id: "\"r\""), descriptors: [descriptor])
            try recorder.result("storage.ping")
            close(descriptor)
            recorders.append(recorder)
        }
        let value = JSON.quoted(String(repeating: "v", count: 4000))
        let puts = String(
            repeating: Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(value)}"), count: 50)
        let clients = try (0..<2).map { _ in try small.connect() }
        for _ in 0..<60 {
            for client in clients { client.send(puts) }
            for client in clients { for _ in 0..<50 { #expect(try client.reply()["result"] != nil) } }
        }
        try small.connect().result("storage.ping")
        for recorder in recorders {
            recorder.send(Client.request("rpc.cancel", "{\"id\":\"r\"}", id: "9"))
            #expect(try recorder.reply()["result"]?["cancelled"]?.bool == true)
            let result = try #require(try recorder.reply()["result"])
            #expect((result["requests"]?.int ?? 0) + (result["dropped"]?.int ?? 0) >= 6000, "\(result)")
        }
    }

    @Test func `what a reader has left standing is told as left out`() throws {
        let (read, write) = try daemon.pipe()
        defer { close(read) }
        try begin(write)
        close(write)
        let client = try daemon.connect()
        let value = JSON.quoted(String(repeating: "v", count: 900))
        for _ in 0..<200 { try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(value)}") }
        let result = try end()
        let (requests, replies) = (result["requests"]?.int ?? 0, result["replies"]?.int ?? 0)
        #expect(requests + replies + (result["dropped"]?.int ?? 0) == 400, "\(result)")
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        let count = Glibc.read(read, &chunk, chunk.count)
        let written = String(decoding: chunk[..<count], as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false
        ).dropLast()
        #expect(written.count(where: { $0.contains("\"request\":") }) == requests, "\(result)")
        #expect(written.count(where: { $0.contains("\"reply\":") }) == replies, "\(result)")
    }

    @Test func `a reader that goes away ends it, and the daemon goes on`() throws {
        let (read, write) = try daemon.pipe()
        try begin(write)
        close(write)
        close(read)
        let client = try daemon.connect()
        try client.result("storage.ping")
        let reply = try recorder.reply()
        #expect(reply["error"]?["data"]?["kind"]?.text == "transferFailed", "\(reply)")
        try client.result("storage.ping")
    }

    @Test func `it ends by itself when its time is over`() throws {
        let moving = try TemporaryDaemon(movesTime: true)
        let descriptor = try moving.file([], flags: O_RDWR)
        defer { close(descriptor) }
        let client = try moving.connect()
        let params = "{\"fd\":true,\"seconds\":3600}"
        try client.send(Client.request("storage.record", params, id: "\"r\""), descriptors: [descriptor])
        try client.result("storage.ping")
        try moving.advance(seconds: 3600)
        #expect(try client.reply()["result"]?["requests"]?.int == 0)
        #expect(try lines(descriptor).last?["end"] != nil)
    }

    @Test func `a line that had begun before, descriptors and an end are told`() throws {
        let descriptor = try file()
        defer { close(descriptor) }
        let client = try daemon.connect()
        client.send("{\"jsonrpc\":\"2.0\",\"id\":1,")
        try recorder.result("storage.ping")
        try begin(descriptor)
        let passed = try daemon.file("{\"id\":\"a\",\"value\":1}\n")
        client.send("\"method\":\"storage.ping\"}\n")
        #expect(try client.reply()["result"] != nil)
        _ = try client.call("documents.import", "{\"collection\":\"c\",\"fd\":true}", descriptors: [passed])
        close(passed)
        client.send("no JSON\n")
        #expect(try client.reply()["error"] != nil)
        client.halfClose()
        #expect(try client.line() == nil)
        _ = try end()
        let lines = try lines(descriptor)
        #expect(lines.first { $0["request"] != nil }?["request"]?["method"]?.text == "storage.ping")
        let told = try #require(lines.first { $0["descriptor"] != nil }?["descriptor"])
        #expect(told["kind"]?.text == "file" && told["bytes"]?.int == 21 && told["mode"]?.text == "read")
        #expect(lines.contains { $0["request"]?.text == "xxxxxxx" })
        #expect(lines.contains { $0["error"]?.text == "parseError" })
        #expect(lines.contains { $0["closed"]?.bool == true })
    }

    @Test func `it needs a descriptor, and fd that is true`() throws {
        #expect(try recorder.refusal("storage.record", "{\"fd\":true}")["kind"]?.text == "descriptorMissing")
        #expect(try recorder.refusal("storage.record", "{\"fd\":false}")["kind"]?.text == "invalidParams")
    }
}
