import Glibc
import Testing

/// What caches cost the disk, and what they give up for what must last.
@Suite struct FullDiskCachesTests {
    /// With little to be left free, too, they make room for the reserve, without which changes are refused.
    @Test(.enabled(if: getuid() == 0, "only root can mount"), arguments: [4 << 20, 64 << 10])
    func `idle caches are purged when a change that must last finds the disk full`(minFree: Int) throws {
        let daemon = try TemporaryDaemon(movesTime: true, starts: false)
        mkdir(daemon.data, 0o700)
        guard mount("tmpfs", daemon.data, "tmpfs", 0, "size=80m,mode=0700") == 0 else { return }
        defer {
            daemon.kill()
            umount2(daemon.data, Int32(MNT_DETACH))
        }
        try daemon.start(environment: ["KURA_MIN_FREE_BYTES=\(minFree)"])
        let client = try daemon.connect()
        let input = daemon.root + "/input"
        let file = open(input, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        for number in 0..<30 {
            let bytes = [UInt8](repeating: UInt8(number), count: 1 << 20)
            #expect(pwrite(file, bytes, bytes.count, 0) == bytes.count)
            let reply = try client.call("blobs.put", BlobWorld.params("\(number)", ",\"fd\":true"), descriptors: [file])
            #expect(reply["result"]?["stored"]?.bool == true, "\(reply)")
        }
        close(file)
        // The last look that the puts have brought about is over.
        for _ in 0..<3 {
            try daemon.advance(seconds: 1)
            usleep(100_000)
        }
        #expect(try client.result("storage.status")["space"]?["low"]?.bool == false)
        let descriptor = open(daemon.data + "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let piece = [UInt8](repeating: 1, count: 64 << 10)
        while write(descriptor, piece, piece.count) > 0 {}
        // What the log has in advance is used up; then there is no room.
        let value = String(repeating: "v", count: 100_000)
        func put(_ number: Int) throws -> Bool {
            let reply = try client.call(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\"\(value)\"}")
            if reply["result"] != nil { return true }
            #expect(reply["error"]?["data"]?["kind"]?.text == "noSpace", "\(reply)")
            return false
        }
        var (stored, refused) = (0, 0)
        let deadline = now() + 120
        // Far more than there was room for.
        while stored < 60, now() < deadline {
            if try put(stored) {
                stored += 1
            } else {
                refused += 1
                usleep(20_000)
            }
        }
        let status = try client.result("storage.status")
        // Where the daemon looks in time nobody is refused.
        #expect(stored == 60, "\(stored) stored, \(refused) refused: \(status)")
        #expect(status["space"]?["purgedBytes"]?.int ?? 0 > 4 << 20)
        #expect(status["blobs"]?["count"]?.int ?? 30 < 30)
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 60)
    }

    @Test func `what is asked for is counted in memory, and nothing is written for it`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        func writes() throws -> Int? { try client.result("storage.status")["disk"]?["cache"]?["writes"]?.int }
        for number in 0..<20 {
            try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"\(number)\",\"value\":1}")
            try BlobWorld.put(client, "\(number)", [UInt8(number)])
        }
        // Until what waits is written.
        var (before, since) = (try writes(), now())
        while now() < since + 1.5 {
            usleep(100_000)
            // One of its threads that has something to write may be held up.
            let isAtRest = daemon.areThreads(in: "S")
            let after = try writes()
            if after != before || !isAtRest { (before, since) = (after, now()) }
        }
        #expect(before ?? 0 > 0)
        for number in 0..<2000 {
            try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"\(number % 20)\"}")
            #expect(try BlobWorld.read(client, "\(number % 20)") == [UInt8(number % 20)])
        }
        daemon.waitUntilIdle(seconds: 0.3)
        #expect(try writes() == before)
        let hits = try client.result("models.describe", "{\"namespace\":\"n\"}")["hits"]?.int
        #expect(hits == 2000)
    }
}
