import Glibc
import Testing

/// `documents.import` and `documents.export` over a real socket, with real descriptors.
@Suite struct TransferScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    // MARK: Tools

    private func file(_ text: String) throws -> Int32 { try daemon.file(text) }
    private func pipe() throws -> (read: Int32, write: Int32) { try daemon.pipe() }
    private func drain(_ descriptor: Int32) -> String { TemporaryDaemon.everything(from: descriptor) }

    private func start(_ method: String, _ more: String, _ descriptors: [Int32], id: String = "1") throws {
        try client.send(
            Client.request("documents." + method, "{\"collection\":\"c\",\"fd\":true\(more)}", id: id),
            descriptors: descriptors)
    }

    // The next line that is a reply.
    private func answer(_ client: Client? = nil) throws -> JSON {
        while true {
            let line = try (client ?? self.client).reply()
            if line["method"] == nil { return line }
        }
    }

    private func load(_ text: String, _ more: String = "") throws -> JSON {
        let descriptor = try file(text)
        defer { close(descriptor) }
        try start("import", more, [descriptor])
        return try answer()
    }

    // The collection's documents by id.
    private func documents(_ client: Client? = nil) throws -> [String: JSON] {
        var found: [String: JSON] = [:]
        var cursor = ""
        while true {
            let page = try (client ?? self.client).result(
                "documents.list", "{\"collection\":\"c\",\"limit\":1000\(cursor)}")
            for document in page["documents"]?.elements ?? [] {
                found[try #require(document["id"]?.text)] = document["value"]
            }
            guard let next = page["cursor"]?.text else { return found }
            cursor = ",\"cursor\":\"\(next)\""
        }
    }

    // Descriptors that the daemon has of this test's files and pipes.
    private var held: Int {
        daemon.openFiles.count { path in
            path.contains("/input-") || path.contains("/pipe-")
        }
    }

    // The daemon lets go of all of them.
    private func expectNoneHeld(_ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        while held > 0, now() < deadline { usleep(5000) }
        #expect(held == 0, sourceLocation: location)
    }

    // MARK: Importing

    @Test func `records are stored under their ids, in lines and in an array`() throws {
        let lines = try load("{\"k\":\"a\",\"x\":1}\r\n\n{\"k\":7}\n{\"k\":\"a\",\"x\": 2}", ",\"idField\":\"k\"")
        #expect(lines["result"]?["imported"]?.int == 3)
        #expect(lines["result"]?["offset"]?.int == 42)
        #expect(try documents() == ["a": JSON("{\"k\":\"a\",\"x\":2}"), "7": JSON("{\"k\":7}")])
        let array = try load("[{\"k\":\"b\"},\n{\"k\":\"c\"}]", ",\"idField\":\"k\"")
        #expect(array["result"]?["imported"]?.int == 2)
        #expect(try documents().keys.sorted() == ["7", "a", "b", "c"])
        let rev = try #require(array["result"]?["rev"]?.int)
        #expect(try client.result("storage.status")["rev"]?.int == rev)
    }

    @Test func `bad records are told by line and skipped, or end the import`() throws {
        let text = "{\"id\":\"a\",\"value\":1}\nnonsense\n{\"id\":\"b\",\"value\":2}\n{\"id\":\"x\",\"id\":\"y\"}\n"
        let skipped = try load(text, ",\"onError\":\"skip\"")
        #expect(skipped["result"]?["imported"]?.int == 2)
        #expect(skipped["result"]?["skipped"]?.int == 2)
        #expect(skipped["result"]?["errors"]?.elements.map { $0["line"]?.int } == [2, 4])
        #expect(skipped["result"]?["offset"]?.int == text.utf8.count)
        let failed = try #require(try load("{\"id\":\"c\",\"value\":3}\n" + text.dropFirst(21))["error"]?["data"])
        #expect(failed["kind"]?.text == "badRecord")
        #expect(failed["line"]?.int == 2)
        #expect(failed["offset"]?.int == 21)
        // What came before it is stored, and one may go on from there.
        #expect(try documents().keys.sorted() == ["a", "b", "c"])
    }

    @Test func `a record that is too long ends the import, though its own end never comes`() throws {
        let pipe = try daemon.pipe()
        defer { close(pipe.write) }
        try start("import", "", [pipe.read])
        close(pipe.read)
        let piece = [UInt8](repeating: UInt8(ascii: "1"), count: 64 << 10)
        // Ends sooner when the daemon has let go of the pipe.
        for _ in 0..<160 where write(pipe.write, piece, piece.count) < 0 { break }
        let reply = try answer()
        let failed = reply["error"]?["data"]
        #expect(failed?["kind"]?.text == "badRecord" && failed?["line"]?.int == 1, "\(reply)")
        #expect(failed?["hint"]?.text == "longer than 8 MiB", "\(reply)")
    }

    @Test func `records are held against the collection's schema and its unique indexes, each by itself`() throws {
        try client.result(
            "documents.configure",
            """
            {"collection":"c","indexes":[{"name":"u","fields":["k"],"unique":true}],\
            "schema":{"required":["k"]},"schemaMode":"enforce"}
            """)
        _ = try client.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
        var lines = (0..<200).map { "{\"id\":\"\($0)\",\"value\":{\"k\":\($0)}}" }
        lines[70] = "{\"id\":\"70\",\"value\":{}}"
        lines[80] = "{\"id\":\"80\",\"value\":{\"k\":3}}"
        lines[150] = "{\"id\":\"150\",\"value\":{\"k\":149}}"
        let text = lines.joined(separator: "\n") + "\n"
        let failed = try load(text)["error"]?["data"]
        #expect(failed?["kind"]?.text == "badRecord")
        #expect(failed?["line"]?.int == 71)
        #expect(failed?["offset"]?.int == lines[..<70].reduce(0) { $0 + $1.utf8.count + 1 })
        #expect(try documents().count == 70)
        let result = try load(text, ",\"onError\":\"skip\"")["result"]
        #expect(result?["imported"]?.int == 197)
        #expect(result?["skipped"]?.int == 3)
        #expect(result?["errors"]?.elements.map { $0["line"]?.int } == [71, 81, 151])
        #expect(result?["offset"]?.int == text.utf8.count)
        #expect(try documents().count == 197)
    }

    @Test func `errors are told one by one up to a hundred, and all are counted`() throws {
        let result = try #require(
            try load(String(repeating: "bad\n", count: 250), ",\"onError\":\"skip\"")["result"])
        #expect(result["skipped"]?.int == 250)
        #expect(result["errors"]?.elements.count == 100)
    }

    @Test func `a pipe is read to its end while the connection's other requests are answered`() throws {
        let pipe = try pipe()
        try start("import", ",\"idField\":\"k\"", [pipe.read], id: "\"job\"")
        close(pipe.read)
        for number in 0..<50 {
            let text = "{\"k\":\"n\(number)\"}\n"
            #expect(write(pipe.write, text, text.utf8.count) == text.utf8.count)
            #expect(try client.result("storage.ping")["pong"]?.bool == true)
        }
        close(pipe.write)
        let answer = try answer()
        #expect(answer["id"]?.text == "job")
        #expect(answer["result"]?["imported"]?.int == 50)
        #expect(try documents().count == 50)
    }

    @Test func `what was asked before a half-close is answered, and then the connection ends`() throws {
        let pipe = try pipe()
        try start("import", "", [pipe.read])
        close(pipe.read)
        client.halfClose()
        usleep(50_000)
        let text = "{\"id\":\"late\",\"value\":1}\n"
        #expect(write(pipe.write, text, text.utf8.count) == text.utf8.count)
        close(pipe.write)
        let lines = try client.lines()
        #expect(lines.count == 1)
        #expect(try JSON(lines[0])["result"]?["imported"]?.int == 1)
    }

    @Test func `in a batch an import has its place, and what follows sees what it stored`() throws {
        let descriptors = [try file("{\"id\":\"a\",\"value\":1}"), try file("{\"id\":\"b\",\"value\":1}")]
        defer { for descriptor in descriptors { close(descriptor) } }
        let load = "\"method\":\"documents.import\",\"params\":{\"collection\":\"c\",\"fd\":true}"
        let count = "\"method\":\"documents.count\",\"params\":{\"collection\":\"c\"}"
        let text =
            "[{\"jsonrpc\":\"2.0\",\"id\":1,\(load)},{\"jsonrpc\":\"2.0\",\"id\":2,\(count)},"
            + "{\"jsonrpc\":\"2.0\",\(load)},{\"jsonrpc\":\"2.0\",\"id\":3,\(count)}]\n"
        try client.send(text, descriptors: descriptors)
        let replies = try client.reply().elements
        #expect(replies.map { $0["id"]?.int } == [1, 2, 3])
        #expect(replies.map { $0["result"]?["count"]?.int } == [nil, 1, 2])
    }

    @Test func `an import that was killed goes on from the last progress, and nothing told is lost`() throws {
        let pipe = try pipe()
        try start("import", ",\"idField\":\"k\"", [pipe.read], id: "9")
        close(pipe.read)
        let records = (0..<60_000).map { "{\"k\":\"n\($0)\",\"text\":\"some words to fill the line\"}\n" }
        let all = Array(records.joined().utf8)
        var sent = 0
        var progress: JSON?
        // Slowly enough that progress is told on the way.
        while progress == nil {
            let end = min(sent + 60_000, all.count)
            try #require(sent < end, "no progress was told")
            all[sent..<end].withUnsafeBytes { #expect(write(pipe.write, $0.baseAddress, $0.count) == $0.count) }
            sent = end
            usleep(20_000)
            client.send(Client.request("storage.ping", id: "0"))
            while progress == nil {
                let line = try client.reply()
                guard line["method"]?.text == "progress" else { break }
                // On a busy machine the first tells that nothing is stored yet.
                if line["params"]?["done"]?.int ?? 0 > 0 { progress = line["params"] }
            }
        }
        daemon.kill()
        close(pipe.write)
        let told = try #require(progress)
        #expect(told["id"]?.int == 9)
        #expect(told["unit"]?.text == "bytes")
        let offset = try #require(told["done"]?.int)
        let imported = try #require(told["imported"]?.int)
        try #require(offset > 0 && offset <= sent)
        #expect(all[offset - 1] == 0x0A)
        try daemon.start()
        let again = try daemon.connect()
        let kept = try documents(again)
        #expect(kept.count >= imported)
        #expect((0..<imported).allSatisfy { kept["n\($0)"] != nil })
        let path = daemon.root + "/all"
        TemporaryDaemon.write(String(decoding: all, as: UTF8.self), to: path)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        try again.send(
            Client.request(
                "documents.import", "{\"collection\":\"c\",\"fd\":true,\"idField\":\"k\",\"offset\":\(offset)}"),
            descriptors: [descriptor])
        let result = try #require(try answer(again)["result"])
        #expect(result["imported"]?.int == 60_000 - imported)
        #expect(result["offset"]?.int == all.count)
        #expect(try again.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 60_000)
    }

    @Test func `an import that nobody waits for any more ends, and what it stored stays`() throws {
        let pipe = try pipe()
        let other = try daemon.connect()
        try other.send(
            Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true,\"idField\":\"k\"}"),
            descriptors: [pipe.read])
        close(pipe.read)
        let text = (0..<5000).map { "{\"k\":\"n\($0)\"}\n" }.joined()
        #expect(write(pipe.write, text, 60_000) == 60_000)
        let deadline = now() + 60
        while try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0, now() < deadline {}
        shutdown(other.descriptor, Int32(SHUT_RDWR))
        expectNoneHeld()
        #expect(write(pipe.write, "x", 1) == -1 && errno == EPIPE)
        close(pipe.write)
        #expect(try documents().count >= 64)
    }

    // MARK: Exporting

    @Test func `an export can be imported again, and comes to a pipe, a file and a socket`() throws {
        let text = (0..<3000).map { "{\"id\":\"n\($0)\",\"value\":{\"n\":\($0).50,\"t\":\"\\u00e9 \\\"\"}}\n" }.joined()
        #expect(try load(text)["result"]?["imported"]?.int == 3000)
        try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"n7\"}")
        let expected = text.replacing("{\"id\":\"n7\",\"value\":{\"n\":7.50,\"t\":\"\\u00e9 \\\"\"}}\n", with: "")
        let pipe = try pipe()
        try start("export", "", [pipe.write])
        close(pipe.write)
        #expect(drain(pipe.read) == expected)
        #expect(try answer()["result"]?["exported"]?.int == 2999)

        let path = daemon.root + "/out"
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try start("export", "", [descriptor])
        close(descriptor)
        #expect(try answer()["result"]?["exported"]?.int == 2999)
        #expect(TemporaryDaemon.contents(path) == Array(expected.utf8))

        var pair: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        try start("export", "", [pair[0]])
        close(pair[0])
        #expect(drain(pair[1]) == expected)
        #expect(try answer()["result"]?["rev"]?.int == (try client.result("storage.status")["rev"]?.int))
    }

    @Test func `an export has what was acknowledged before it, and an unknown collection has nothing`() throws {
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let pipes = [try pipe(), try pipe()]
        try start("export", "", [pipes[0].write])
        #expect(try answer()["result"]?["exported"]?.int == 1)
        try client.send(
            Client.request("documents.export", "{\"collection\":\"none\",\"fd\":true}"), descriptors: [pipes[1].write])
        #expect(try answer()["result"]?["exported"]?.int == 0)
        for pipe in pipes { close(pipe.write) }
        #expect(drain(pipes[0].read) == "{\"id\":\"a\",\"value\":1}\n")
        #expect(drain(pipes[1].read) == "")
    }

    @Test(arguments: ["reader goes", "client goes", "daemon drains"])
    func `an export that nobody reads holds nobody up and ends`(how: String) throws {
        let value = JSON.quoted(String(repeating: "z", count: 3 << 20))
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":\(value)}")
        try daemon.waitUntilFolded()
        let pipe = try pipe()
        let other = try daemon.connect()
        try other.send(
            Client.request("documents.export", "{\"collection\":\"c\",\"fd\":true}"), descriptors: [pipe.write])
        close(pipe.write)
        usleep(100_000)
        #expect(try client.result("storage.ping")["pong"]?.bool == true)
        switch how {
        case "reader goes":
            close(pipe.read)
            #expect(try answer(other)["error"]?["data"]?["kind"]?.text == "transferFailed")
            shutdown(other.descriptor, Int32(SHUT_RDWR))
            expectNoneHeld()
        case "client goes":
            shutdown(other.descriptor, Int32(SHUT_RDWR))
            expectNoneHeld()
            close(pipe.read)
        default:
            #expect(daemon.terminate() == 0)
            #expect(!daemon.hasDrainedOvertime)
            #expect(try answer(other)["error"]?["data"]?["kind"]?.text == "shuttingDown")
            close(pipe.read)
        }
    }

    // MARK: Descriptors

    @Test func `descriptors are taken in order, also by requests that wait`() throws {
        let descriptors = try (0..<5).map { try file("{\"id\":\"n\($0)\",\"value\":\($0)}") }
        defer { for descriptor in descriptors { close(descriptor) } }
        var text = ""
        for number in 0..<5 {
            text += Client.request("documents.list", "{\"collection\":\"c\(number)\"}", id: "\"l\(number)\"")
            text += Client.request(
                "documents.import", "{\"collection\":\"c\(number)\",\"fd\":true}", id: "\(number)")
            text += Client.request(
                "documents.put", "{\"collection\":\"c\(number)\",\"id\":\"p\",\"value\":1}", id: "\"p\"")
        }
        try client.send(text, descriptors: descriptors)
        for _ in 0..<15 { #expect(try client.reply()["error"] == nil) }
        for number in 0..<5 {
            let value = try client.result("documents.get", "{\"collection\":\"c\(number)\",\"id\":\"n\(number)\"}")
            #expect(value["value"]?.int == number)
        }
    }

    @Test func `a request without its descriptor is refused, and none is kept for a later one`() throws {
        #expect(
            try client.refusal("documents.import", "{\"collection\":\"c\",\"fd\":true}")["kind"]?.text
                == "descriptorMissing")
        let descriptor = try file("1")
        defer { close(descriptor) }
        // Nobody asks for it: it is closed when the line is handled.
        try client.send(Client.request("storage.ping"), descriptors: [descriptor, descriptor])
        _ = try client.reply()
        expectNoneHeld()
        #expect(
            try client.refusal("documents.import", "{\"collection\":\"c\",\"fd\":true}")["kind"]?.text
                == "descriptorMissing")
        // It waits while the line that it came with is not whole.
        let request = Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true}")
        try client.send(String(request.prefix(20)), descriptors: [descriptor])
        let deadline = now() + 60
        while held != 1, now() < deadline { usleep(5000) }
        #expect(held == 1)
        client.send(String(request.dropFirst(20)))
        #expect(try answer()["result"]?["imported"]?.int == 1)
        expectNoneHeld()
    }

    @Test func `a request that cannot be read lets none of them fall to another`() throws {
        let descriptors = [try file("{\"id\":\"a\",\"value\":1}"), try file("{\"id\":\"b\",\"value\":1}")]
        defer { for descriptor in descriptors { close(descriptor) } }
        let request = Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true}")
        try client.send(request.replacing("true", with: "true,\"x\":1") + request, descriptors: descriptors)
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "invalidParams")
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "descriptorMissing")
        expectNoneHeld()
        // Refused for another reason, it has taken its own.
        let both = request.replacing("true", with: "true,\"path\":\"/x\"")
        try client.send(both + request, descriptors: descriptors)
        #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "invalidParams")
        #expect(try answer()["result"]?["imported"]?.int == 1)
        #expect(try documents().keys.sorted() == ["b"])
    }

    @Test func `more descriptors than are kept are closed and refused, and the connection goes on`() throws {
        let descriptor = try file("1")
        defer { close(descriptor) }
        let request = Client.request("documents.import", "{\"collection\":\"c\",\"fd\":true}")
        try client.send(
            String(repeating: request, count: 70), descriptors: [Int32](repeating: descriptor, count: 100))
        var refused = 0
        for _ in 0..<70 {
            let data = try answer()["error"]?["data"]
            guard data?["kind"]?.text == "descriptorMissing" else { continue }
            refused += 1
            #expect(data?["limit"]?.int == 64)
        }
        // The first 64 each took one, whether or not so many transfers may run at once.
        #expect(refused == 6)
        expectNoneHeld()
        #expect(try load("{\"id\":\"z\",\"value\":1}")["result"]?["imported"]?.int == 1)
    }

    @Test func `a descriptor of the wrong kind is refused, and none is leaked by a thousand transfers`() throws {
        let pipe = try pipe()
        try start("import", "", [pipe.write])
        #expect(try answer()["error"]?["data"]?["kind"]?.text == "transferFailed")
        try start("export", "", [pipe.read])
        _ = try answer()
        close(pipe.read)
        close(pipe.write)
        let directory = open("/tmp", O_RDONLY | O_CLOEXEC)
        try start("import", "", [directory])
        #expect(try answer()["error"]?["data"]?["kind"]?.text == "transferFailed")
        close(directory)
        // Written by the daemon, it might take what the one who has opened it may not write.
        let kernels = open("/proc/self/comm", O_RDWR | O_CLOEXEC)
        for method in ["import", "export"] {
            try start(method, "", [kernels])
            #expect(try answer()["error"]?["data"]?["kind"]?.text == "transferFailed")
        }
        close(kernels)
        let descriptor = try file("{\"id\":\"a\",\"value\":1}")
        defer { close(descriptor) }
        let before = daemon.settledDescriptorCount
        for round in 0..<500 {
            lseek(descriptor, 0, SEEK_SET)
            try start("import", "", [descriptor])
            #expect(try answer()["result"]?["imported"]?.int == 1, "round \(round)")
            try start("export", "", [open("/dev/null", O_WRONLY | O_CLOEXEC)])
            #expect(try answer()["result"]?["exported"]?.int == 1)
        }
        expectNoneHeld()
        // Of a thousand; threads may have opened something when they were first asked.
        #expect(daemon.descriptorCount <= before + 9)
    }
}
