import Glibc
import Testing

/// A daemon whose data directory is a file system of 64 MiB, on which others take what they like. Only root can mount one.
private final class SmallDisk {
    let daemon: TemporaryDaemon
    static let mebibyte = 1 << 20

    static let isAvailable: Bool = {
        guard let path = try? TemporaryDirectory.make("kura-mount") else { return false }
        defer { rmdir(path) }
        guard mount("tmpfs", path, "tmpfs", 0, "size=1m") == 0 else { return false }
        return umount2(path, Int32(MNT_DETACH)) == 0
    }()

    init(minFree mebibytes: Int) throws {
        daemon = try TemporaryDaemon(movesTime: true, starts: false)
        mkdir(daemon.data, 0o700)
        try #require(mount("tmpfs", daemon.data, "tmpfs", 0, "size=64m,mode=0700") == 0)
        try daemon.start(environment: ["KURA_MIN_FREE_BYTES=\(mebibytes * Self.mebibyte)"])
    }

    deinit {
        daemon.kill()
        umount2(daemon.data, Int32(MNT_DETACH))
    }

    /// Bytes that are left.
    var free: Int {
        var information = statvfs()
        statvfs(daemon.data, &information)
        return Int(information.f_bavail) * Int(information.f_frsize)
    }

    /// Somebody else takes room until so much is left. The daemon sees that at once: while room is being taken, caches would give some back.
    func fill(leaving mebibytes: Int) {
        kill(daemon.pid, SIGSTOP)
        let file = open(daemon.data + "/tmp/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer {
            close(file)
            kill(daemon.pid, SIGCONT)
        }
        posix_fallocate(file, lseek(file, 0, SEEK_END), off_t(max(free - mebibytes * Self.mebibyte, 0)))
    }

    /// Somebody else needs less than before.
    func giveBack(_ mebibytes: Int) {
        var information = stat()
        stat(daemon.data + "/tmp/filler", &information)
        truncate(daemon.data + "/tmp/filler", information.st_size - off_t(mebibytes * Self.mebibyte))
    }

    func release() { unlink(daemon.data + "/tmp/filler") }
}

/// Caches live with what others leave them of the disk.
@Suite(.enabled(if: SmallDisk.isAvailable)) struct LowStorageScenarioTests {
    private let disk: SmallDisk
    private let client: Client
    private let text = "\"" + String(repeating: "v", count: 900 << 10) + "\""

    init() throws {
        disk = try SmallDisk(minFree: 16)
        client = try disk.daemon.connect()
        // The reserve takes its room behind the start.
        let ballast = disk.daemon.data + "/ballast"
        var information = stat()
        let deadline = now() + 60
        while stat(ballast, &information) != 0 || information.st_size < 4 << 20, now() < deadline { usleep(10_000) }
    }

    private func putModel(_ key: String, _ value: String? = nil) throws -> JSON {
        try client.result("models.put", "{\"namespace\":\"n\",\"key\":\"\(key)\",\"value\":\(value ?? text)}")
    }

    private func putBlob(_ key: String, _ seed: Int) throws -> JSON {
        try BlobWorld.put(client, key, BlobWorld.bytes(2 << 20, seed: seed))
    }

    private func state(_ key: String) throws -> String? {
        try client.result("models.get", "{\"namespace\":\"n\",\"key\":\"\(key)\"}")["state"]?.text
    }

    private func count(_ method: String, _ namespace: String) throws -> Int {
        try client.result(method, "{\"namespace\":\"\(namespace)\"}")["count"]?.int ?? -1
    }

    /// Asks until it holds.
    private func wait(_ what: String, seconds: Double = 60, _ holds: () throws -> Bool) throws {
        let deadline = now() + seconds
        while try !holds() {
            guard now() < deadline else {
                Issue.record("waited in vain: \(what)")
                return
            }
            usleep(20_000)
        }
    }

    /// The daemon has looked at the room twice and more.
    private func letItLook() throws {
        for _ in 0..<3 {
            try disk.daemon.advance(seconds: 1)
            usleep(100_000)
        }
    }

    private func isLow() throws -> Bool? { try client.result("storage.status")["space"]?["low"]?.bool }

    @Test func `low storage stores nothing, gives caches up, and is over by itself`() throws {
        for number in 0..<4 {
            #expect(try putModel("m\(number)")["stored"]?.bool == true)
            #expect(try putBlob("b\(number)", number)["stored"]?.bool == true)
        }
        try client.result("models.configure", "{\"namespace\":\"memory\",\"persist\":false}")
        #expect(try isLow() == false)
        // More is missing than caches have.
        disk.fill(leaving: 2)
        try wait("lowStorage") { try putModel("x")["reason"]?.text == "lowStorage" }
        #expect(try isLow() == true)
        let blob = try putBlob("x", 9)
        #expect(blob["stored"]?.bool == false && blob["reason"]?.text == "lowStorage")
        try wait("purged") {
            try count("models.describe", "n") == 0
                && client.result("blobs.describe", "{\"namespace\":\"images\"}")["count"]?.int == 0
        }
        #expect((try client.result("storage.stats")["purgedBytes"]?.int ?? 0) >= 8 << 20)
        #expect(try state("m0") == "miss" && BlobWorld.read(client, "b0") == nil)
        // All else goes on, and what is in no file.
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"i\",\"value\":{\"a\":1}}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        let kept = try client.result("models.put", "{\"namespace\":\"memory\",\"key\":\"k\",\"value\":1}")
        #expect(kept["stored"]?.bool == true)
        disk.release()
        try wait("stored again") { try putModel("y")["stored"]?.bool == true }
        #expect(try putBlob("y", 10)["stored"]?.bool == true)
        #expect(try isLow() == false && client.result("storage.status")["space"]?["timesLow"]?.int == 1)
        #expect(try state("y") == "fresh")
    }

    @Test func `blobs go before models, and no more than is missing`() throws {
        for number in 0..<3 { #expect(try putModel("m\(number)")["stored"]?.bool == true) }
        for number in 0..<8 { #expect(try putBlob("b\(number)", number)["stored"]?.bool == true) }
        // 20 MiB are to be free: about 6 are missing, and blobs have 16.
        disk.fill(leaving: 14)
        _ = try putModel("x", "1")
        // Nobody writes from here on, which would have the room looked at.
        try wait("purged") { (try client.result("storage.stats")["purgedBytes"]?.int ?? 0) > 0 }
        try wait("fine again") { try isLow() == false }
        let left = try client.result("blobs.describe", "{\"namespace\":\"images\"}")["count"]?.int ?? -1
        #expect((1...5).contains(left), "\(left)")
        for number in 0..<3 { #expect(try state("m\(number)") == "fresh") }
    }

    @Test func `between the bound and a quarter above it nothing changes`() throws {
        disk.fill(leaving: 18)
        try wait("stored") { try putModel("a", "1")["stored"]?.bool == true }
        try letItLook()
        #expect(try putModel("a", "1")["stored"]?.bool == true)
        #expect(try isLow() == false)
        disk.fill(leaving: 10)
        try wait("lowStorage") { try putModel("b", "1")["reason"]?.text == "lowStorage" }
        // Nothing is left to give up, so it stays low until there is ample room.
        try wait("purged") { try count("models.describe", "n") == 0 }
        disk.giveBack(7)
        try letItLook()
        #expect(try putModel("b", "1")["reason"]?.text == "lowStorage" && isLow() == true)
        disk.release()
        try wait("stored again") { try putModel("b", "1")["stored"]?.bool == true }
    }

    @Test func `contents on their way in end where space becomes low`() throws {
        let upload = try client.result("blobs.beginUpload", BlobWorld.params("a"))["upload"]?.text ?? ""
        let bytes = BlobWorld.bytes(3 << 20)
        var (offset, kind) = (0, String?.none)
        while kind == nil, offset < 64 << 20 {
            let piece = "{\"upload\":\"\(upload)\",\"offset\":\(offset)\(BlobWorld.data(bytes))}"
            kind = try client.call("blobs.appendUpload", piece)["error"]?["data"]?["kind"]?.text
            if kind == nil { offset += bytes.count }
        }
        #expect(kind == "noSpace" && disk.free >= 8 << 20, "\(kind ?? "-"): \(disk.free)")
        try client.result("blobs.abortUpload", "{\"upload\":\"\(upload)\"}")
        try wait("fine again") { try isLow() == false }
        let file = open(disk.daemon.root + "/input", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        #expect(ftruncate(file, 100 << 20) == 0)
        let reply = try client.call("blobs.put", BlobWorld.params("b", ",\"fd\":true"), descriptors: [file])
        #expect(reply["result"]?["reason"]?.text == "lowStorage", "\(reply)")
    }
}
