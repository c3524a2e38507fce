import Glibc
import Testing

/// `--ephemeral --disk-limit`: a full disk for applications to be tried with.
@Suite struct DiskLimitScenarioTests {
    private static let limit = 16 << 20

    private func launch() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral(more: ["--profile", "small", "--disk-limit", "\(Self.limit)"])
        return daemon
    }

    /// The daemon's temporary directory.
    private func place(_ daemon: TemporaryDaemon) throws -> String {
        let name = (TemporaryDaemon.names(daemon.root) ?? []).first { $0.hasPrefix("kura-") }
        return try daemon.root + "/" + #require(name)
    }

    /// Bytes that the files beneath a directory take.
    private func taken(_ directory: String) -> Int {
        (TemporaryDaemon.names(directory) ?? []).reduce(0) { sum, name in
            var information = stat()
            guard lstat(directory + "/" + name, &information) == 0 else { return sum }
            switch information.st_mode & S_IFMT {
            case S_IFDIR: return sum + taken(directory + "/" + name)
            case S_IFREG: return sum + Int(information.st_blocks) * 512
            default: return sum
            }
        }
    }

    private func put(_ client: Client, _ number: Int) throws -> String? {
        let value = String(repeating: "v", count: 100_000)
        client.send(
            Client.request(
                "documents.put", "{\"collection\":\"c\",\"id\":\"\(number)\",\"value\":\"\(number)\(value)\"}"))
        return try client.reply()["error"]?["data"]?["kind"]?.text
    }

    @Test func `what exceeds the limit is refused, and nothing else`() throws {
        let daemon = try launch()
        let client = try daemon.connect()
        var stored = 0
        var kind: String?
        while kind == nil, stored < 1000 {
            kind = try put(client, stored)
            if kind == nil { stored += 1 }
        }
        #expect(kind == "noSpace")
        #expect(stored > 10 && stored < Self.limit / 100_000)
        // Two threads may find room at once that is there for one.
        #expect(try taken(place(daemon)) <= Self.limit + (1 << 20))
        for number in 0..<stored {
            let text = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(number)\"}")["value"]?.text
            #expect(text?.hasPrefix("\(number)v") == true)
        }
        let total = try client.result("storage.status")["space"]?["free"]?.int
        #expect(try #require(total) < Self.limit)
        #expect(daemon.terminate() == 0)
    }

    @Test func `a file that is put beside the data fills the disk until it is removed`() throws {
        let daemon = try launch()
        let client = try daemon.connect()
        #expect(try put(client, 0) == nil)
        let filler = try place(daemon) + "/filler"
        let descriptor = open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        #expect(posix_fallocate(descriptor, 0, off_t(Self.limit)) == 0)
        close(descriptor)
        var number = 1
        while try put(client, number) == nil, number < 100 { number += 1 }
        #expect(number < 100, "what the log has in advance is used up, and then there is no room")
        unlink(filler)
        let deadline = now() + 60
        while try put(client, number) != nil, now() < deadline { usleep(20_000) }
        #expect(try put(client, number + 1) == nil)
        #expect(daemon.terminate() == 0)
    }

    @Test func `blobs are held to it as well`() throws {
        let daemon = try launch()
        let client = try daemon.connect()
        let data = String(repeating: "AAAA", count: 250_000)
        // 750 kB each, in files; at last they are declined, or make room for each other.
        for number in 0..<60 {
            client.send(
                Client.request(
                    "blobs.put", "{\"namespace\":\"n\",\"key\":\"\(number)\",\"data\":\"\(number + 1000)\(data)\"}"))
            _ = try client.reply()
        }
        #expect(try taken(place(daemon)) <= Self.limit + (1 << 20))
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [
        ["--disk-limit", "1000000"], ["--ephemeral", "--disk-limit", "much"], ["--ephemeral", "--disk-limit", "0"],
    ])
    func `it is a number of bytes, for data that may be lost`(arguments: [String]) throws {
        let daemon = try TemporaryDaemon(starts: false)
        let data = arguments[0] == "--ephemeral" ? [] : ["--data-dir", daemon.data]
        #expect(try daemon.run(arguments + data + ["--socket", daemon.socket]) == 2)
        #expect(TemporaryDaemon.names(daemon.data) == nil)
    }
}
