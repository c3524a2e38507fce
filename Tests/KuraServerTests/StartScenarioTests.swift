import CSyscalls
import Glibc
import Testing

/// How the daemon starts, refuses to start, and stops.
@Suite struct StartScenarioTests {
    @Test func `a second daemon over the same data exits 1 naming the holder and leaves it alone`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.root + "/other.sock"]) == 1)
        #expect(daemon.log.contains("process \(daemon.pid)"))
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1)
        #expect(try daemon.connect().result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 1)
        #expect(try client.result("storage.ping")["pong"]?.bool == true)
        #expect(access(daemon.root + "/other.sock", F_OK) != 0)
    }

    @Test func `files that may grow no further are no reason to end without a word`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(through: ["/bin/sh", "-c", "ulimit -f 4000; exec \"$0\" \"$@\""])
        // It makes room in advance as soon as there is time.
        let deadline = now() + 3
        while now() < deadline {
            try daemon.connect().result("storage.ping")
            usleep(100_000)
        }
        #expect(daemon.terminate() == 0)
    }

    @Test func `a directory that is made lets others through when one of its sockets is for others`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        let closed = daemon.root + "/c"
        try #require(mkdir(closed, 0o700) == 0)
        let sockets = [("/m/k.sock", "0600"), ("/m/a/a.sock", "0666"), ("/p/k.sock", "0600"), ("/c/a.sock", "0666")]
        let rules = sockets.map { path, mode in
            "{\"path\":\"\(daemon.root)\(path)\",\"mode\":\"\(mode)\",\"role\":\"admin\"}"
        }
        let own = "{\"path\":\"\(daemon.socket)\",\"role\":\"admin\"}"
        try daemon.start(configuration: "{\"sockets\":[\((rules + [own]).joined(separator: ","))]}")
        for (name, mode) in [("m", 0o711), ("m/a", 0o711), ("p", 0o700), ("c", 0o700)] as [(String, mode_t)] {
            var information = stat()
            try #require(lstat(daemon.root + "/" + name, &information) == 0)
            #expect(information.st_mode & 0o7777 == mode, "\(name)")
        }
        for (path, _) in sockets { try Client(path: daemon.root + path).result("storage.ping") }
        #expect(daemon.log.contains("its directory is closed to them\",\"socket\":\"\(closed)/a.sock\""))
        #expect(daemon.log.occurrences(of: "its directory is closed to them") == 1)
    }

    @Test func `a start that cannot make a thread ends with 1 and a word, and the next one serves`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        let names = ["kura-keeper", "kura-fold", "kura-sync", "kura-cache", "kura-cacheread", "kura-reader"]
        for (number, name) in names.enumerated() {
            try daemon.launch(faults: "thread.begin:fail:\(number + 1)")
            #expect(daemon.wait() == 1, "\(name): \(daemon.log)")
            #expect(daemon.log.contains("make the thread \(name): Resource temporarily unavailable"), "\(daemon.log)")
        }
        // Threads that are made later are refused, and asked for again.
        try daemon.start(faults: "thread.begin:fail:7,thread.begin:fail:8,thread.begin:fail:9,thread.begin:fail:10")
        let client = try daemon.connect()
        var kinds: [String] = []
        while kinds.count < 20, kinds.last != "ok" {
            kinds.append(try client.call("storage.check")["error"]?["data"]?["kind"]?.text ?? "ok")
        }
        #expect(kinds.contains("overloaded") && kinds.last == "ok", "\(kinds)")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let value = try daemon.connect().result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]
        #expect(value?.int == 1 && TemporaryDaemon.names(daemon.data + "/quarantine") ?? [] == [])
    }

    @Test func `a configuration that the disk does not give is a failure, and one that is not there is refused`() throws
    {
        let daemon = try TemporaryDaemon(starts: false)
        // Its first bytes are those of no page.
        #expect(try daemon.run(["--data-dir", daemon.data, "--config", "/proc/self/mem"]) == 1)
        #expect(daemon.log.contains("/proc/self/mem: Input/output error"))
        #expect(try daemon.run(["--data-dir", daemon.data, "--config", daemon.root + "/none"]) == 2)
    }

    @Test func `a clock that is none is refused`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        for path in [daemon.root + "/none", "/dev/null"] {
            try daemon.launch(environment: ["KURA_CLOCK=\(path)"])
            #expect(daemon.wait() == 2 && daemon.log.contains("KURA_CLOCK: \(path) "))
        }
    }

    @Test func `a live socket of a daemon over other data is left to it`() throws {
        let daemon = try TemporaryDaemon()
        #expect(try daemon.run(["--data-dir", daemon.root + "/other", "--socket", daemon.socket]) == 1)
        try daemon.connect().result("storage.ping")
    }

    @Test func `a live socket whose queue is full, or that is of another kind, is left to whom it belongs`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        func refuses() throws {
            var before = stat()
            try #require(lstat(daemon.socket, &before) == 0)
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1)
            var after = stat()
            #expect(lstat(daemon.socket, &after) == 0 && after.st_ino == before.st_ino)
            unlink(daemon.socket)
        }
        let listener = csys_stream_socket()
        try #require(csys_bind_unix(listener, daemon.socket) == 0 && listen(listener, 1) == 0)
        var others: [Int32] = []
        defer { for descriptor in others + [listener] { close(descriptor) } }
        // As many as the queue has room for.
        while true {
            let descriptor = csys_stream_socket()
            try #require(descriptor >= 0 && fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0)
            others.append(descriptor)
            if csys_connect_unix(descriptor, daemon.socket) != 0 { break }
        }
        try refuses()
        let datagrams = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        others.append(datagrams)
        try #require(csys_bind_unix(datagrams, daemon.socket) == 0)
        try refuses()
    }

    @Test func `a socket whose file is gone is told of at SIGHUP, and what took its place stays at the end`() throws {
        let daemon = try TemporaryDaemon()
        func warnings() throws -> Int {
            let before = daemon.log.occurrences(of: "configuration read again")
            Glibc.kill(daemon.pid, SIGHUP)
            let deadline = now() + 60
            while daemon.log.occurrences(of: "configuration read again") == before, now() < deadline { usleep(2000) }
            return daemon.log.occurrences(of: "nobody comes in by it")
        }
        #expect(try warnings() == 0)
        unlink(daemon.socket)
        #expect(try warnings() == 1)
        TemporaryDaemon.write("precious", to: daemon.socket)
        #expect(try warnings() == 2)
        #expect(daemon.terminate() == 0)
        #expect(TemporaryDaemon.contents(daemon.socket) == Array("precious".utf8))
    }

    @Test func `a stale socket file is replaced, another kind of file is not`() throws {
        let daemon = try TemporaryDaemon()
        daemon.kill()
        #expect(access(daemon.socket, F_OK) == 0)
        try daemon.start()
        #expect(daemon.terminate() == 0)
        TemporaryDaemon.write("precious", to: daemon.socket)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) != 0)
        #expect(TemporaryDaemon.contents(daemon.socket) == Array("precious".utf8))
    }

    /// Runs kurad over `data`, which it has to refuse with status 2.
    private func expectRefusal(_ daemon: TemporaryDaemon, _ arguments: [String] = [], data: String? = nil) throws {
        let status = try daemon.run(["--data-dir", data ?? daemon.data, "--socket", daemon.socket] + arguments)
        #expect(status == 2, "\(daemon.log)")
        #expect(access(daemon.socket, F_OK) != 0)
    }

    @Test(arguments: ["link", "link/"]) func `a data directory that is a symbolic link is refused`(name: String) throws
    {
        let daemon = try TemporaryDaemon(starts: false)
        mkdir(daemon.root + "/real", 0o700)
        symlink(daemon.root + "/real", daemon.root + "/link")
        try expectRefusal(daemon, data: daemon.root + "/" + name)
        #expect(TemporaryDaemon.names(daemon.root + "/real") == [])
        symlink(daemon.root + "/nowhere", daemon.root + "/dangling")
        try expectRefusal(daemon, data: daemon.root + "/dangling")
        #expect(access(daemon.root + "/nowhere", F_OK) != 0)
    }

    @Test(arguments: [0o750, 0o701, 0o777] as [mode_t])
    func `a data directory that is open to others is refused`(mode: mode_t) throws {
        let daemon = try TemporaryDaemon(starts: false)
        mkdir(daemon.data, 0o700)
        chmod(daemon.data, mode)
        try expectRefusal(daemon)
        #expect(TemporaryDaemon.names(daemon.data) == [])
    }

    @Test func `a data directory that is a file or another user's is refused`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        TemporaryDaemon.write("x", to: daemon.data)
        try expectRefusal(daemon)
        unlink(daemon.data)
        // Only root can give a directory away.
        guard geteuid() == 0 else { return }
        mkdir(daemon.data, 0o700)
        chown(daemon.data, 12345, 12345)
        try expectRefusal(daemon)
        #expect(TemporaryDaemon.names(daemon.data) == [])
    }

    @Test(arguments: [
        "", "{", "[]", "{\"profile\":\"huge\"}", "{\"dataDirr\":\"/tmp\"}", "{\"limits\":{\"lines\":1}}",
        "{\"limits\":{\"lineBytes\":1}}", "{\"limits\":7}", "{\"logLevel\":7}", "{} {}",
        "{\"limits\":{},\"limits\":{}}",
        "{\"changes\":{\"retainBytes\":-1}}", "{\"changes\":{\"retainSecond\":1}}", "{\"changes\":1}",
    ])
    func `a configuration that does not hold is refused and nothing is touched`(text: String) throws {
        let daemon = try TemporaryDaemon(starts: false)
        TemporaryDaemon.write(text, to: daemon.root + "/config.json")
        try expectRefusal(daemon, ["--config", daemon.root + "/config.json"])
        #expect(access(daemon.data, F_OK) != 0)
    }

    @Test(arguments: [0o620, 0o602, 0o666] as [mode_t], ["config", "locks"])
    func `a configuration that others may write is refused`(mode: mode_t, file: String) throws {
        let daemon = try TemporaryDaemon(starts: false)
        let (config, locks) = (daemon.root + "/config.json", daemon.root + "/locks.json")
        TemporaryDaemon.write("{\"settingsLocks\":\"\(locks)\"}", to: config)
        TemporaryDaemon.write("{}", to: locks)
        let path = daemon.root + "/\(file).json"
        chmod(path, mode)
        try expectRefusal(daemon, ["--config", config])
        #expect(daemon.log.contains("\(path): can be written by its group or by others"), "\(daemon.log)")
        #expect(access(daemon.data, F_OK) != 0)
    }

    @Test(arguments: ["config", "locks"])
    func `a configuration that is a FIFO is refused, and not waited for`(file: String) throws {
        let daemon = try TemporaryDaemon(starts: false)
        let (config, locks) = (daemon.root + "/config.json", daemon.root + "/locks.json")
        TemporaryDaemon.write("{\"settingsLocks\":\"\(locks)\"}", to: config)
        let path = daemon.root + "/\(file).json"
        unlink(path)
        try #require(mkfifo(path, 0o600) == 0)
        try expectRefusal(daemon, ["--config", config])
        #expect(daemon.log.contains("\(path): is no regular file"), "\(daemon.log)")
    }

    @Test(.enabled(if: getuid() == 0, "only root can give a file away"), arguments: ["config", "locks"])
    func `a configuration that is another user's is refused`(file: String) throws {
        let daemon = try TemporaryDaemon(starts: false)
        let (config, locks) = (daemon.root + "/config.json", daemon.root + "/locks.json")
        TemporaryDaemon.write("{\"settingsLocks\":\"\(locks)\"}", to: config)
        TemporaryDaemon.write("{}", to: locks)
        let path = daemon.root + "/\(file).json"
        chown(path, 2001, 2001)
        try expectRefusal(daemon, ["--config", config])
        #expect(daemon.log.contains("\(path): belongs to user 2001"), "\(daemon.log)")
    }

    @Test func `a directory in which others could replace the socket is refused by its name`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        let open = daemon.root + "/open"
        mkdir(open, 0o700)
        chmod(open, 0o777)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", open + "/kura.sock"]) == 2)
        #expect(daemon.log.contains("\(open) can be written by everybody"), "\(daemon.log)")
        #expect(TemporaryDaemon.names(open) == [])
    }

    @Test func `options and files that are not there are refused and nothing is touched`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try expectRefusal(daemon, ["--config", daemon.root + "/none.json"])
        try expectRefusal(daemon, ["--no-such"])
        try expectRefusal(daemon, ["--profile", "huge"])
        try expectRefusal(daemon, ["--log-level"])
        #expect(access(daemon.data, F_OK) != 0)
        let long = daemon.root + "/" + String(repeating: "x", count: 100)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", long]) == 2)
        #expect(access(daemon.data, F_OK) != 0)
    }

    @Test func `SIGTERM answers what was asked, folds, and exits 0`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let idle = try daemon.connect()
        let count = 1000
        client.send(
            (0..<count).map {
                Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"\($0)\",\"value\":\($0)}", id: "\($0)")
            }.joined())
        #expect(try client.reply()["id"]?.int == 0)
        #expect(daemon.terminate() == 0)
        #expect(try client.lines().count == count - 1)
        #expect(try idle.line() == nil)
        #expect(access(daemon.socket, F_OK) != 0)
        try daemon.start()
        #expect(!daemon.log.contains("unclean"))
        let status = try daemon.connect().result("storage.status")
        #expect(status["documents"]?["count"]?.int == count)
        #expect(status["foldedRev"]?.int == count)
    }

    @Test func `an ephemeral daemon leaves nothing behind`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral()
        let client = try daemon.connect()
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        let before = TemporaryDaemon.names(daemon.root) ?? []
        #expect(before.contains { $0.hasPrefix("kura-") })
        #expect(daemon.terminate() == 0)
        #expect((TemporaryDaemon.names(daemon.root) ?? []).allSatisfy { !$0.hasPrefix("kura-") })
    }

    @Test(.enabled(if: getuid() == 0, "only root can mount"))
    func `an ephemeral daemon leaves what is mounted in its directory, and says so`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launchEphemeral()
        let name = try #require(TemporaryDaemon.names(daemon.root)?.first { $0.hasPrefix("kura-") })
        let (kept, mounted) = (daemon.root + "/kept", "\(daemon.root)/\(name)/mounted")
        mkdir(kept, 0o700)
        mkdir(mounted, 0o700)
        TemporaryDaemon.write("kept", to: kept + "/file")
        // A container may not mount, root or not.
        guard mount(kept, mounted, nil, UInt(MS_BIND), nil) == 0 else { return }
        defer { umount2(mounted, Int32(MNT_DETACH)) }
        #expect(daemon.terminate() == 0)
        #expect(TemporaryDaemon.names(kept) == ["file"])
        #expect(TemporaryDaemon.names("\(daemon.root)/\(name)") == ["mounted"])
        #expect(daemon.log.contains("the temporary directory stays") && daemon.log.contains("a mount point"))
    }

    @Test func `a start that is refused late leaves what it has opened as a clean stop does`() throws {
        let daemon = try TemporaryDaemon()
        #expect(daemon.terminate() == 0)
        let clean = daemon.data + "/cache/clean"
        #expect(access(clean, F_OK) == 0)
        TemporaryDaemon.write("{\"importRoots\":[\"\(daemon.root)/none\"]}", to: daemon.root + "/bad.json")
        let arguments = ["--data-dir", daemon.data, "--socket", daemon.socket, "--config", daemon.root + "/bad.json"]
        #expect(try daemon.run(arguments) != 0)
        #expect(access(clean, F_OK) == 0)
    }
}
