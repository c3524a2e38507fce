import Glibc
import Testing

/// Law 14: paths in requests.
@Suite struct ImportRootsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client
    private var files: String { daemon.root + "/files" }

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
        mkdir(daemon.root + "/files", 0o700)
        mkdir(daemon.root + "/files/deep", 0o700)
        TemporaryDaemon.write("{\"id\":\"a\",\"value\":1}", to: daemon.root + "/files/deep/in")
        TemporaryDaemon.write("{\"id\":\"b\",\"value\":1}", to: daemon.root + "/outside")
        symlink("../outside", daemon.root + "/files/link")
        symlink("deep", daemon.root + "/files/shortcut")
        try daemon.start(configuration: "{\"importRoots\":[\"\(daemon.root)/files/\",\"\(daemon.root)/data\"]}")
        client = try daemon.connect()
    }

    private func load(_ path: String) throws -> JSON {
        try client.call("documents.import", "{\"collection\":\"c\",\"path\":\(JSON.quoted(path))}")
    }

    @Test func `a file beneath a root is opened, for reading and as a new one for writing`() throws {
        #expect(try load(files + "/deep/in")["result"]?["imported"]?.int == 1)
        let out = JSON.quoted(files + "/out")
        #expect(try client.result("documents.export", "{\"collection\":\"c\",\"path\":\(out)}")["exported"]?.int == 1)
        #expect(TemporaryDaemon.contents(files + "/out") == Array("{\"id\":\"a\",\"value\":1}\n".utf8))
        #expect(
            try client.refusal("documents.export", "{\"collection\":\"c\",\"path\":\(out)}")["kind"]?.text
                == "transferFailed")
        #expect(try load(files + "/none")["error"]?["data"]?["kind"]?.text == "transferFailed")
    }

    @Test func `a FIFO or a directory beneath a root is refused at once`() throws {
        mkfifo(files + "/pipe", 0o600)
        for name in ["pipe", "deep"] {
            let data = try #require(try load(files + "/" + name)["error"]?["data"])
            #expect(data["kind"]?.text == "transferFailed" && data["hint"]?.text == "it is no regular file", "\(data)")
        }
    }

    @Test func `nothing else is`() throws {
        let denied = [
            daemon.root + "/outside", files + "/../outside", files + "/link", files + "/shortcut/in", files,
            files + "/",
            "files/deep/in", "", "/", daemon.data + "/durable/kura.sqlite", daemon.data + "/lock",
            files + "/../data/lock", "/proc/self/root" + files + "/deep/in",
        ]
        for path in denied {
            #expect(try load(path)["error"]?["data"]?["kind"]?.text == "pathDenied", "\(path)")
        }
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 0)
    }

    @Test func `without roots no path is, and it is one of path and fd`() throws {
        let plain = try TemporaryDaemon()
        let client = try plain.connect()
        let path = JSON.quoted(files + "/deep/in")
        #expect(
            try client.refusal("documents.import", "{\"collection\":\"c\",\"path\":\(path)}")["kind"]?.text
                == "pathDenied")
        for more in ["", ",\"fd\":false", ",\"fd\":true,\"path\":\(path)"] {
            #expect(
                try client.refusal("documents.import", "{\"collection\":\"c\"\(more)}")["kind"]?.text
                    == "invalidParams")
        }
    }

    @Test func `a root that is not there, or is no absolute path, stops the start`() throws {
        for roots in ["[\"/nowhere/at/all\"]", "[\"files\"]", "\"/tmp\"", "[1]"] {
            let other = try TemporaryDaemon(starts: false)
            let path = other.root + "/config.json"
            TemporaryDaemon.write("{\"importRoots\":\(roots)}", to: path)
            let status = try other.run(["--data-dir", other.data, "--socket", other.socket, "--config", path])
            #expect(status == 2, "\(roots)")
        }
    }
}
