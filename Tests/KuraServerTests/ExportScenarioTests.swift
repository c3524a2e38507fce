import Glibc
import Testing

/// What an export has besides documents, and what it has not.
@Suite struct ExportScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    // MARK: Tools

    private func start(_ method: String, _ more: String, _ descriptors: [Int32]) throws {
        try client.send(
            Client.request("documents." + method, "{\"collection\":\"c\",\"fd\":true\(more)}"), descriptors: descriptors
        )
    }

    // The next line that is a reply.
    private func answer() throws -> JSON {
        while true {
            let line = try client.reply()
            if line["method"] == nil { return line }
        }
    }

    private func file(_ text: String) throws -> Int32 { try daemon.file(text) }
    private func pipe() throws -> (read: Int32, write: Int32) { try daemon.pipe() }
    private func drain(_ descriptor: Int32) -> String { TemporaryDaemon.everything(from: descriptor) }

    private func load(_ text: String, _ more: String = "") throws -> JSON {
        let descriptor = try file(text)
        defer { close(descriptor) }
        try start("import", more, [descriptor])
        return try answer()
    }

    // The collection's documents by id.
    private func documents() throws -> [String: JSON] {
        let page = try client.result("documents.list", #"{"collection":"c","limit":1000}"#)
        var found: [String: JSON] = [:]
        for document in page["documents"]?.elements ?? [] { found[document["id"]?.text ?? ""] = document["value"] }
        return found
    }

    // MARK: Tests

    @Test
    func `an export whose collection is dropped meanwhile says so, and has nothing of the one that gets its name`()
        throws
    {
        let value = JSON.quoted(String(repeating: "z", count: 700_000))
        for id in ["a", "b", "c", "d"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":\(value)}")
        }
        try daemon.waitUntilFolded()
        let pipe = try pipe()
        try start("export", "", [pipe.write])
        close(pipe.write)
        // The first slice does not fit into the pipe: the export waits in the middle of it.
        var poll = pollfd(fd: pipe.read, events: Int16(POLLIN), revents: 0)
        #expect(Glibc.poll(&poll, 1, 60_000) == 1)
        let other = try daemon.connect()
        try other.result("documents.drop", "{\"collection\":\"c\"}")
        try other.result("documents.put", "{\"collection\":\"c\",\"id\":\"new\",\"value\":1}")
        try daemon.waitUntilFolded()
        let text = drain(pipe.read)
        let data = try answer()["error"]?["data"]
        #expect(
            data?["kind"]?.text == "transferFailed" && data?["hint"]?.text?.contains("dropped") == true,
            "\(data ?? .null)")
        #expect(text.contains("\"id\":\"a\"") && !text.contains("\"id\":\"d\"") && !text.contains("new"))
    }

    @Test func `an export says how many documents have attachments, which are not in it`() throws {
        for id in ["a", "b", "c"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":1}")
        }
        func export() throws -> JSON? {
            let descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC)
            defer { close(descriptor) }
            try start("export", "", [descriptor])
            return try answer()["result"]
        }
        let plain = try export()
        #expect(plain?["exported"]?.int == 3 && plain?["attachmentsLeftOut"] == nil && plain?["warnings"] == nil)
        for (id, name) in [("a", "x"), ("a", "y"), ("b", "x")] {
            try client.result(
                "documents.attach", "{\"collection\":\"c\",\"id\":\"\(id)\",\"name\":\"\(name)\",\"data\":\"aGk=\"}")
        }
        let told = try export()
        #expect(told?["attachmentsLeftOut"]?.int == 2 && told?["warnings"]?.elements.count == 1, "\(told ?? .null)")
        try client.result("documents.detach", #"{"collection":"c","id":"b","name":"x"}"#)
        try client.result("documents.delete", #"{"collection":"c","id":"a"}"#)
        #expect(try export()?["attachmentsLeftOut"] == nil)
    }

    @Test func `an export with attachments is imported with them`() throws {
        func attach(_ id: String, _ name: String, _ bytes: [UInt8], _ more: String = "") throws {
            try client.result(
                "documents.attach",
                "{\"collection\":\"c\",\"id\":\"\(id)\",\"name\":\"\(name)\",\"data\":\"\(AttachmentWorld.base64(bytes))\"\(more)}"
            )
        }
        func export(_ collection: String) throws -> (text: String, result: JSON?) {
            let path = daemon.root + "/attached-\(UInt32.random(in: 0...UInt32.max))"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            defer { close(descriptor) }
            try client.send(
                Client.request(
                    "documents.export", "{\"collection\":\"\(collection)\",\"fd\":true,\"attachments\":true}"),
                descriptors: [descriptor])
            let result = try answer()["result"]
            return (String(decoding: TemporaryDaemon.contents(path) ?? [], as: UTF8.self), result)
        }
        for id in ["a", "b", "large", "none"] {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\"n\":1}}")
        }
        let some = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 2) }
        try attach("a", "x.bin", some, ",\"contentType\":\"image/png\"")
        try attach("a", "y \\\"z", [])
        try attach("b", "x.bin", Array("hello".utf8))
        for name in ["1", "2"] { try attach("large", name, Array(repeating: 7, count: 5 << 20)) }
        let first = try export("c")
        #expect(
            first.result?["exported"]?.int == 4 && first.result?["attachmentsLeftOut"]?.int == 1,
            "\(first.result ?? .null)")
        // Into a collection where they take the place of what is there.
        try client.result("documents.put", #"{"collection":"d","id":"b","value":0}"#)
        try client.result("documents.put", #"{"collection":"d","id":"none","value":0}"#)
        for id in ["b", "none"] {
            try client.result(
                "documents.attach", "{\"collection\":\"d\",\"id\":\"\(id)\",\"name\":\"old\",\"data\":\"aGk=\"}")
        }
        let input = try file(first.text)
        try client.send(
            Client.request("documents.import", #"{"collection":"d","fd":true,"attachments":true}"#),
            descriptors: [input])
        close(input)
        #expect(try answer()["result"]?["imported"]?.int == 4)
        func names(_ id: String) throws -> [String?] {
            try client.result("documents.get", "{\"collection\":\"d\",\"id\":\"\(id)\"}")["attachments"]?.elements.map {
                $0["name"]?.text
            } ?? []
        }
        #expect(try names("a") == ["x.bin", "y \"z"] && names("b") == ["x.bin"])
        #expect(try names("large") == [] && names("none") == ["old"])
        let content = try client.result("documents.attachment", #"{"collection":"d","id":"a","name":"x.bin"}"#)
        #expect(content["data"]?.text == AttachmentWorld.base64(some) && content["contentType"]?.text == "image/png")
        // What came lies there after a kill as well, and the same export comes out.
        daemon.kill()
        try daemon.start()
        let later = try daemon.connect()
        let again = try later.result("documents.attachment", #"{"collection":"d","id":"a","name":"x.bin"}"#)
        #expect(again["data"] == content["data"])
    }

    @Test func `what an import brings stays until the tables know of it, however late`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "fold.slice:sleep=1500:1+")
        let client = try daemon.connect()
        let input = try file(#"{"id":"a","value":1,"attachments":[{"name":"x","data":"aGk="}]}"# + "\n")
        try client.send(
            Client.request("documents.import", #"{"collection":"c","fd":true,"attachments":true}"#),
            descriptors: [input])
        close(input)
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["result"]?["imported"]?.int == 1)
        // Time enough for what nobody holds to be removed.
        for _ in 0..<10 {
            usleep(50_000)
            let content = try client.result("documents.attachment", #"{"collection":"c","id":"a","name":"x"}"#)
            #expect(content["data"]?.text == "aGk=")
        }
    }

    @Test func `records with attachments that are none are bad, and without leave a record is a document`() throws {
        func load(_ list: String, _ more: String = ",\"attachments\":true") throws -> JSON {
            try self.load("{\"id\":\"a\",\"value\":1}\n{\"id\":\"b\",\"value\":2,\"attachments\":\(list)}\n", more)
        }
        for (list, words) in [
            ("{}", "no array"), ("[{\"name\":\"x\"}]", "has data"), ("[{\"data\":\"\"}]", "name"), ("[5]", "name"),
            ("[{\"name\":\"x\",\"data\":\"a\"}]", "base64"), ("[{\"name\":\"x\",\"data\":\"\",\"y\":1}]", "members"),
            ("[{\"name\":\"x\",\"data\":\"\"},{\"name\":\"x\",\"data\":\"\"}]", "twice"),
            ("[{\"name\":\"x\",\"data\":\"\",\"contentType\":5}]", "contentType"),
        ] {
            let data = try load(list)["error"]?["data"]
            #expect(data?["kind"]?.text == "badRecord" && data?["line"]?.int == 2, "\(list) \(data ?? .null)")
            #expect(data?["hint"]?.text?.contains(words) == true, "\(data ?? .null)")
            #expect(try documents().count == 1)
        }
        #expect(try load("[]", "")["result"]?["imported"]?.int == 2)
        #expect(try documents().count == 2 && documents()["b"] == nil)
    }
}
