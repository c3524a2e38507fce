import Glibc
import Testing

/// Blobs on a file system that has no files without names: they lie in DATA/tmp until they are whole.
@Suite struct BlobNamedDraftTests {
    private typealias World = BlobWorld

    private func temporaries(_ world: World) -> [String] {
        (TemporaryDaemon.names(world.daemon.data + "/tmp") ?? []).filter { $0.hasPrefix("blob-") }
    }

    private func expectNoTemporaries(_ world: World, _ location: SourceLocation = #_sourceLocation) {
        let deadline = now() + 60
        while !temporaries(world).isEmpty, now() < deadline { usleep(5000) }
        #expect(temporaries(world).isEmpty, sourceLocation: location)
    }

    @Test func `contents are taken in however they come, and nothing is left in the temporary directory`() throws {
        let world = try World(faults: "blob.unnamed:fail:1+")
        let client = try world.connect()
        for (number, size) in [100, 20_000, 300_000, 20_001, 20_002].enumerated() {
            let bytes = World.bytes(size, seed: number)
            try World.put(client, "line\(number)", bytes)
            #expect(try World.read(client, "line\(number)") == bytes)
            let file = try world.file(bytes.reversed())
            let reply = try client.call(
                "blobs.put", World.params("file\(number)", ",\"fd\":true"), descriptors: [file])
            close(file)
            #expect(reply["result"]?["stored"]?.bool == true, "\(reply)")
            #expect(try World.read(client, "file\(number)") == bytes.reversed())
        }
        let bytes = World.bytes(50_000, seed: 9)
        let begun = try client.result("blobs.beginUpload", World.params("pieces"))
        let upload = try #require(begun["upload"]?.text)
        for (offset, piece) in [(0, bytes[..<30_000]), (30_000, bytes[30_000...])] {
            try client.result(
                "blobs.appendUpload", "{\"upload\":\"\(upload)\",\"offset\":\(offset)\(World.data(Array(piece)))}")
        }
        try client.result("blobs.commitUpload", "{\"upload\":\"\(upload)\"}")
        let passed = try #require(try World.open(client, "pieces").1)
        var byte: UInt8 = 0
        #expect(World.contents(of: passed) == bytes && write(passed, &byte, 1) < 0)
        close(passed)
        // Equal contents are one file; what is small has none.
        try World.put(client, "again", bytes)
        world.expectFiles(9)
        expectNoTemporaries(world)
    }

    @Test func `what is refused, given up or cut off leaves nothing`() throws {
        // The first content's directory is not there at its first attempt.
        let world = try World(faults: "blob.unnamed:fail:1+,blob.link:kill:3")
        let client = try world.connect()
        let bytes = World.bytes(40_000)
        let wrong = String(repeating: "0", count: 64)
        let refusal = try client.refusal("blobs.put", World.params("a", World.data(bytes) + ",\"digest\":\"\(wrong)\""))
        #expect(refusal["kind"]?.text == "digestMismatch")
        let uploader = try world.connect()
        let upload = try #require(try uploader.result("blobs.beginUpload", World.params("b"))["upload"]?.text)
        try uploader.result("blobs.appendUpload", "{\"upload\":\"\(upload)\",\"offset\":0\(World.data(bytes))}")
        #expect(temporaries(world).count == 1)
        uploader.halfClose()
        _ = try uploader.lines()
        expectNoTemporaries(world)
        world.expectFiles(0)
        // Killed before it gets its name: the next start empties the directory.
        client.send(Client.request("blobs.put", World.params("a", World.data(World.bytes(40_000, seed: 2)))))
        #expect(try client.lines() == [])
        #expect(temporaries(world).count == 1)
        world.daemon.kill()
        try world.daemon.start(faults: "blob.unnamed:fail:1+")
        expectNoTemporaries(world)
        let after = try world.connect()
        #expect(try World.read(after, "a") == nil)
        try World.put(after, "a", bytes)
        #expect(try World.read(after, "a") == bytes)
    }
}
