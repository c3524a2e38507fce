import Glibc
import Testing

/// Blobs that come in pieces.
@Suite struct BlobUploadTests {
    private typealias World = BlobWorld
    private let world: BlobWorld
    private let client: Client

    init() throws {
        world = try BlobWorld(movesTime: true)
        client = try world.connect()
    }

    private func begin(_ client: Client, _ key: String, _ more: String = "") throws -> String {
        try #require(try client.result("blobs.beginUpload", World.params(key, more))["upload"]?.text)
    }

    private func piece(_ upload: String, _ offset: Int, _ bytes: some Collection<UInt8>) -> String {
        "{\"upload\":\"\(upload)\",\"offset\":\(offset)\(World.data(Array(bytes)))}"
    }

    @Test(arguments: [0, 3, 16_384, 16_385, 200_001])
    func `pieces become a blob with their commit, and are seen by nobody before`(_ size: Int) throws {
        let bytes = World.bytes(size)
        let upload = try begin(client, "a", ",\"bytes\":\(size),\"contentType\":\"image/png\"")
        var done = 0
        while done < size {
            let count = min(70_000, size - done)
            let received = try client.result("blobs.appendUpload", piece(upload, done, bytes[done..<done + count]))
            done += count
            #expect(received["received"]?.int == done)
            #expect(try World.read(client, "a") == nil)
        }
        let stored = try client.result("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        #expect(stored["stored"]?.bool == true && stored["bytes"]?.int == size)
        #expect(stored["contentType"]?.text == "image/png")
        #expect(try World.read(client, "a") == bytes)
        let again = try client.refusal("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        #expect(again["kind"]?.text == "uploadNotFound")
    }

    @Test func `a piece that is out of its place, too long or no base64 is refused, and the others stay`() throws {
        let upload = try begin(client, "a", ",\"bytes\":10")
        func kind(_ params: String) throws -> (String?, Int?) {
            let data = try client.refusal("blobs.appendUpload", params)
            return (data["kind"]?.text, data["offset"]?.int)
        }
        try client.result("blobs.appendUpload", piece(upload, 0, [1, 2, 3]))
        #expect(try kind(piece(upload, 0, [1, 2, 3])) == ("invalidParams", 3))
        #expect(try kind(piece(upload, 4, [1])) == ("invalidParams", 3))
        #expect(try kind(piece(upload, 3, [UInt8](repeating: 0, count: 8))).0 == "valueTooLarge")
        #expect(try kind("{\"upload\":\"\(upload)\",\"offset\":3,\"data\":\"A\"}").0 == "invalidParams")
        let short = try client.refusal("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        #expect(short["kind"]?.text == "invalidParams" && short["offset"]?.int == 3)
        try client.result("blobs.appendUpload", piece(upload, 3, [4, 5, 6, 7, 8, 9, 10]))
        try client.result("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        #expect(try World.read(client, "a") == Array(1...10))
    }

    @Test func `an upload ends with its connection, unless it has a lease, and with that`() throws {
        var other: Client? = try world.connect()
        let (held, leased) = (try begin(other!, "a"), try begin(other!, "b", ",\"leaseSeconds\":600"))
        let short = try begin(other!, "c", ",\"leaseSeconds\":60")
        for upload in [held, leased, short] {
            try other!.result("blobs.appendUpload", piece(upload, 0, World.bytes(20_000)))
        }
        other = nil
        try world.daemon.waitForConnections(1, over: client)
        #expect(try client.refusal("blobs.appendUpload", piece(held, 20_000, [1]))["kind"]?.text == "uploadNotFound")
        try client.result("blobs.appendUpload", piece(leased, 20_000, [1]))
        try client.result("blobs.commitUpload", "{\"upload\":\"\(leased)\"}")
        #expect(try World.read(client, "b") == World.bytes(20_000) + [1])
        try world.daemon.advance(seconds: 61)
        #expect(try client.refusal("blobs.appendUpload", piece(short, 20_000, [1]))["kind"]?.text == "uploadNotFound")
        world.expectNoneHeld()
        world.expectFiles(1)
    }

    @Test func `an aborted upload and one with the wrong digest leave nothing behind`() throws {
        let upload = try begin(client, "a")
        try client.result("blobs.appendUpload", piece(upload, 0, World.bytes(30_000)))
        #expect(try client.result("blobs.abortUpload", "{\"upload\":\"\(upload)\"}")["aborted"]?.bool == true)
        #expect(try client.result("blobs.abortUpload", "{\"upload\":\"\(upload)\"}")["aborted"]?.bool == false)
        let digest = String(repeating: "0", count: 64)
        for declared in [true, false] {
            let upload = try begin(client, "a", declared ? ",\"digest\":\"\(digest)\"" : "")
            try client.result("blobs.appendUpload", piece(upload, 0, World.bytes(30_000)))
            let refused = try client.refusal(
                "blobs.commitUpload", "{\"upload\":\"\(upload)\"\(declared ? "" : ",\"digest\":\"\(digest)\"")}")
            #expect(refused["kind"]?.text == "digestMismatch")
        }
        #expect(try World.read(client, "a") == nil)
        world.expectFiles(0)
        world.expectNoneHeld()
    }

    @Test func `what nobody has begun is not found, and too many are refused`() throws {
        for token in ["x", String(repeating: "0", count: 32)] {
            for (method, more) in [("append", ",\"offset\":0,\"data\":\"\""), ("commit", "")] {
                let refused = try client.refusal("blobs.\(method)Upload", "{\"upload\":\"\(token)\"\(more)}")
                #expect(refused["kind"]?.text == "uploadNotFound")
            }
        }
        var others: [Client] = []
        for number in 0..<256 {
            if number % 32 == 0 { others.append(try world.connect()) }
            _ = try begin(others[number / 32], "k\(number)", number % 2 == 0 ? ",\"leaseSeconds\":600" : "")
            guard number == 31 else { continue }
            let refused = try others[0].refusal("blobs.beginUpload", World.params("more"))
            #expect(refused["kind"]?.text == "overloaded" && refused["limit"]?.int == 32)
        }
        let refused = try client.refusal("blobs.beginUpload", World.params("more"))
        #expect(refused["kind"]?.text == "overloaded" && refused["limit"]?.int == 256)
    }

    @Test(arguments: ["full", "fail"]) func `a piece of which a part was written leaves nothing of it`(_ fault: String)
        throws
    {
        let world = try BlobWorld(faults: "blob.write:\(fault):2")
        let client = try world.connect()
        let bytes = World.bytes(200_000)
        let upload = try begin(client, "a")
        try client.result("blobs.appendUpload", piece(upload, 0, bytes[..<50_000]))
        let refused = try client.refusal("blobs.appendUpload", piece(upload, 50_000, bytes[50_000...]))
        #expect(refused["kind"]?.text == (fault == "full" ? "noSpace" : "internalError"))
        try client.result("blobs.appendUpload", piece(upload, 50_000, bytes[50_000..<60_000]))
        try client.result("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        #expect(try World.read(client, "a") == Array(bytes[..<60_000]))
        #expect(try World.read(client, "a", ",\"verify\":true") == Array(bytes[..<60_000]))
    }

    @Test func `what is more than its namespace may have is refused before it is written`() throws {
        // Whoever writes a byte of it ends.
        let world = try BlobWorld(faults: "blob.write:kill:1")
        let client = try world.connect()
        try client.result("blobs.configure", "{\"namespace\":\"images\",\"maxBytes\":100000}")
        let bytes = World.bytes(300_000)
        let file = try world.file(bytes)
        defer { close(file) }
        for more in [",\"fd\":true", World.data(bytes)] {
            let descriptors = more.contains("fd") ? [file] : []
            let declined = try client.call("blobs.put", World.params("a", more), descriptors: descriptors)["result"]
            #expect(declined?["stored"]?.bool == false && declined?["reason"]?.text == "overBudget")
        }
        let declined = try client.result("blobs.beginUpload", World.params("a", ",\"bytes\":100001"))
        #expect(declined["reason"]?.text == "overBudget")
        let upload = try begin(client, "a")
        let refused = try client.refusal("blobs.appendUpload", piece(upload, 0, bytes))
        #expect(refused["kind"]?.text == "valueTooLarge" && refused["limit"]?.int == 100_000)
    }
}
