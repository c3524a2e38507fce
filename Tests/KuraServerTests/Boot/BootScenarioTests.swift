import Glibc
import Testing

/// Starts that are killed or fail, over and over, and a daemon that serves all the same.
@Suite struct BootScenarioTests {
    private static func fill(_ daemon: TemporaryDaemon) throws {
        let client = try daemon.connect()
        for key in 0..<20 {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(key)}")
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(key)\",\"value\":\(key)}")
        }
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"open sesame\"}")
    }

    private static func expectAll(_ daemon: TemporaryDaemon) throws {
        let client = try daemon.connect()
        for key in 0..<20 {
            let setting = try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"\(key)\"}")
            #expect(setting["value"]?.int == key)
            let document = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(key)\"}")
            #expect(document["value"]?.int == key)
        }
        let secret = try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")
        #expect(secret["secret"]?.text == "open sesame")
    }

    /// Starts a daemon that kills itself.
    private func expectKill(_ daemon: TemporaryDaemon, _ faults: String) throws {
        try daemon.launch(faults: faults)
        #expect(daemon.wait() == 128 + SIGKILL, "\(faults): \(daemon.log)")
    }

    /// Starts a daemon that meets damage.
    private func expectDamage(_ daemon: TemporaryDaemon, _ phase: String) throws {
        try daemon.launch(faults: "boot.\(phase):fail")
        #expect(daemon.wait() == 1, "\(phase): \(daemon.log)")
    }

    private func quarantined(_ daemon: TemporaryDaemon) -> [String] {
        TemporaryDaemon.names(daemon.data + "/quarantine") ?? []
    }

    @Test(arguments: ["open", "migrate", "integrity", "tables", "log"])
    func `damage twice in a phase of tables and log: the third start serves everything from a copy`(
        phase: String
    ) throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        let epoch = try daemon.connect().result("storage.status")["epoch"]
        // What is looked through is looked through after an unclean stop alone.
        if phase == "integrity" { daemon.killServing() } else { #expect(daemon.terminate() == 0) }
        for _ in 0..<2 {
            try expectDamage(daemon, phase)
            #expect(quarantined(daemon) == [])
        }
        let key = TemporaryDaemon.contents(daemon.data + "/keys/root.key")
        try daemon.start()
        try Self.expectAll(daemon)
        let client = try daemon.connect()
        let status = try client.result("storage.status")
        #expect(status["epoch"] != epoch)
        #expect(status["recovered"]?.elements.count == 1)
        let notice = try #require(status["recovered"]?[0])
        #expect(notice["what"]?.text == "durable" && notice["startedFrom"]?.text == "tables", "\(notice)")
        #expect(notice["phase"]?.text == phase && notice["savedRev"] == notice["newestRev"], "\(notice)")
        let items = try client.result("storage.quarantine")["items"]
        #expect(items?.elements.count == 1 && items?[0]?["name"] == notice["quarantine"])
        #expect(quarantined(daemon).map { .string($0) } == [notice["quarantine"]])
        #expect(daemon.log.contains("tables and log were set aside"))
        #expect(TemporaryDaemon.contents(daemon.data + "/keys/root.key") == key)

        // It is told until somebody has acknowledged it, over starts.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("storage.status")["recovered"]?.elements.count == 1)
        try again.result("changes.watch", "{\"stores\":[\"storage\"]}")
        #expect(try again.reply()["params"]?["changes"]?[0]?["recovered"]?.bool == true)
        let other = try daemon.connect()
        #expect(try other.result("storage.acknowledge")["acknowledged"]?.int == 1)
        #expect(try again.reply()["params"]?["changes"]?[0]?["recovered"]?.bool == false)
        #expect(try other.result("storage.status")["recovered"] == nil)
        #expect(try other.result("storage.acknowledge")["acknowledged"]?.int == 0)
        #expect(try other.result("storage.quarantine")["items"]?.elements.count == 1)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
        try Self.expectAll(daemon)
    }

    @Test(arguments: ["lock", "open", "migrate", "integrity", "tables", "log", "keys", "caches", "listen"])
    func `kill -9 in a phase moves nothing, however often`(phase: String) throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        // What is looked through is looked through after an unclean stop alone.
        if phase == "integrity" { daemon.killServing() } else { #expect(daemon.terminate() == 0) }
        for _ in 0..<20 { try expectKill(daemon, "boot.\(phase):kill") }
        try daemon.start()
        try Self.expectAll(daemon)
        // While it listens, caches are being read already.
        let notices = try daemon.connect().result("storage.status")["recovered"]?.elements ?? []
        #expect(notices.allSatisfy { $0["what"]?.text == "caches" && phase == "listen" })
        #expect(quarantined(daemon) == [])
    }

    @Test func `kill -9 while it serves moves nothing, however often`() throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        for _ in 0..<6 {
            daemon.killServing()
            try daemon.start()
            try Self.expectAll(daemon)
        }
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
        #expect(quarantined(daemon) == [])
    }

    @Test func `a socket in use ten times in a row moves nothing, and costs no cache`() throws {
        let other = try TemporaryDaemon()
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        try daemon.connect().result("models.put", "{\"namespace\":\"feed\",\"key\":\"a\",\"value\":7}")
        #expect(daemon.terminate() == 0)
        for _ in 0..<10 {
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", other.socket]) == 1)
        }
        try daemon.start()
        try Self.expectAll(daemon)
        let model = try daemon.connect().result("models.get", "{\"namespace\":\"feed\",\"key\":\"a\"}")
        #expect(model["value"]?.int == 7)
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
        #expect(quarantined(daemon) == [])
    }

    @Test func `a full disk at each phase, five times each, moves nothing`() throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        daemon.killServing()
        for phase in ["lock", "open", "migrate", "integrity", "tables", "log", "keys", "caches"] {
            for _ in 0..<5 {
                try daemon.launch(faults: "boot.\(phase):full:1+")
                #expect(daemon.wait() == 1, "\(phase)")
            }
        }
        try daemon.start()
        try Self.expectAll(daemon)
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
        #expect(quarantined(daemon) == [])
    }

    @Test func `a key that is gone stops the start, counts as nothing, and nothing moves`() throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        #expect(daemon.terminate() == 0)
        #expect(rename(daemon.data + "/keys/slots.json", daemon.root + "/slots") == 0)
        for _ in 0..<5 { #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 2) }
        #expect(quarantined(daemon) == [])
        #expect(rename(daemon.root + "/slots", daemon.data + "/keys/slots.json") == 0)
        try daemon.start()
        try Self.expectAll(daemon)
    }

    @Test func `with tables set aside no new keys take the place of those that are gone`() throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        #expect(daemon.terminate() == 0)
        // Neither tables nor log are left to say that there were secrets.
        TemporaryDaemon.write("no database", to: daemon.data + "/durable/kura.sqlite")
        for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] where name.hasSuffix(".log") {
            unlink(daemon.data + "/log/" + name)
        }
        for _ in 0..<2 { #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1) }
        for name in ["slots.json", "root.key"] {
            #expect(rename(daemon.data + "/keys/" + name, daemon.root + "/" + name) == 0)
        }
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("storage.status")["recovered"]?.elements.count == 1)
        #expect(
            try client.call("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")["error"] != nil)
        #expect(access(daemon.data + "/keys/root.key", F_OK) != 0)
        #expect(daemon.terminate() == 0)
        // They are brought back, and go on.
        for name in ["slots.json", "root.key"] {
            #expect(rename(daemon.root + "/" + name, daemon.data + "/keys/" + name) == 0)
        }
        try daemon.start()
        try daemon.connect().result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
    }

    // MARK: Backups

    @Test(arguments: [true, false])
    func `tables that are damaged come back from the newest backup that holds, and the log adds what it has`(
        hasLog: Bool
    ) throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        let client = try daemon.connect()
        try client.result(
            "documents.attach", "{\"collection\":\"c\",\"id\":\"3\",\"name\":\"card\",\"data\":\"aGVsbG8=\"}")
        let saved = try #require(try client.result("storage.backup", "{\"name\":\"good\"}")["rev"]?.int)
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"after\",\"value\":1}")
        try client.result("storage.backup", "{\"name\":\"torn\"}")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"after\",\"value\":2}")
        #expect(daemon.terminate() == 0)
        // The newest is not what was written.
        let torn =
            daemon.data + "/backups/"
            + (try #require(
                (TemporaryDaemon.names(daemon.data + "/backups") ?? []).first { $0.contains("torn") }))
        #expect(truncate(torn, 700) == 0)
        TemporaryDaemon.write("no database", to: daemon.data + "/durable/kura.sqlite")
        if !hasLog {
            for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] where name.hasSuffix(".log") {
                unlink(daemon.data + "/log/" + name)
            }
        }
        for _ in 0..<2 { #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1) }
        try daemon.start()
        try Self.expectAll(daemon)
        let again = try daemon.connect()
        let notice = try #require(try again.result("storage.status")["recovered"]?[0])
        #expect(notice["startedFrom"]?.text == "snapshot", "\(notice)")
        #expect(notice["snapshot"]?.text?.contains("good") == true, "\(notice)")
        let after = try again.result("settings.get", "{\"domain\":\"d\",\"key\":\"after\"}")
        if hasLog {
            #expect(after["value"]?.int == 2)
        } else {
            #expect(after["value"] == nil && notice["savedRev"]?.int == saved, "\(notice)")
        }
        let card = try again.result("documents.attachment", "{\"collection\":\"c\",\"id\":\"3\",\"name\":\"card\"}")
        #expect(card["data"]?.text == "aGVsbG8=")
        try again.result("settings.put", "{\"domain\":\"d\",\"key\":\"after\",\"value\":3}")
        #expect(try again.result("storage.check")["problemCount"]?.int == 0)
    }

    @Test func `what the snapshot leaves out by rule is told as missing, by scope`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for key in 0..<3 {
            try client.result("settings.put", "{\"domain\":\"window\",\"key\":\"\(key)\",\"value\":\(key)}")
        }
        try client.result("settings.configure", "{\"domain\":\"window\",\"backup\":false}")
        try client.result("settings.put", "{\"domain\":\"kept\",\"key\":\"k\",\"value\":1}")
        for account in ["one", "two"] {
            try client.result(
                "secrets.put",
                "{\"service\":\"s\",\"account\":\"\(account)\",\"secret\":\"x\",\"deviceOnly\":true}")
        }
        try client.result("storage.backup", "{\"name\":\"good\"}")
        try client.result("settings.put", "{\"domain\":\"window\",\"key\":\"after\",\"value\":4}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        TemporaryDaemon.write("no database", to: daemon.data + "/durable/kura.sqlite")
        for _ in 0..<2 { #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1) }
        func expectNotice() throws {
            try daemon.start()
            let again = try daemon.connect()
            let notice = try #require(try again.result("storage.status")["recovered"]?[0])
            #expect(notice["startedFrom"]?.text == "snapshot", "\(notice)")
            let left = (notice["leftOut"]?.elements ?? []).map {
                "\($0["store"]?.text ?? "")/\($0["scope"]?.text ?? "") \($0["count"]?.int ?? 0) \($0["reason"]?.text ?? "")"
            }
            #expect(left == ["secrets/ 2 deviceOnly", "settings/window 3 marked"], "\(notice)")
            #expect(try again.result("settings.get", "{\"domain\":\"kept\",\"key\":\"k\"}")["value"]?.int == 1)
            let lost = try again.result("settings.get", "{\"domain\":\"window\",\"key\":\"1\"}")
            let later = try again.result("settings.get", "{\"domain\":\"window\",\"key\":\"after\"}")
            #expect(lost["value"] == nil && later["value"]?.int == 4, "the log has what came after the snapshot")
        }
        try expectNotice()
        let words =
            "BUT FOR secrets (2, bound to this host), settings/window (3, backup: false)"
        #expect(daemon.log.contains(words), "\(daemon.log)")
        #expect(daemon.terminate() == 0)
        // It outlives a restart.
        try expectNotice()
        #expect(daemon.terminate() == 0)
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 10)
        #expect(daemon.log.split(separator: "\n").contains { $0.hasPrefix("recovered: ") && $0.contains(words) })
        try daemon.start()
        try daemon.connect().result("storage.acknowledge")
    }

    // MARK: Caches

    private func fillCaches(_ daemon: TemporaryDaemon) throws {
        let client = try daemon.connect()
        try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"a\",\"value\":7}")
        try client.result("blobs.put", "{\"namespace\":\"b\",\"key\":\"a\",\"data\":\"YWJj\"}")
        #expect(daemon.terminate() == 0)
    }

    private func hasCaches(_ daemon: TemporaryDaemon) throws -> (model: Bool, blob: Bool) {
        let client = try daemon.connect()
        let model = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"a\"}")
        let blob = try client.call("blobs.get", "{\"namespace\":\"b\",\"key\":\"a\"}")["result"]
        return (model["value"] != nil, blob?["data"] != nil)
    }

    /// Starts a daemon that has to end by a fault of its own.
    private func expectTrap(_ daemon: TemporaryDaemon, _ faults: String, configuration: String? = nil) throws {
        try daemon.launch(configuration: configuration, faults: faults)
        let status = try #require(daemon.wait())
        // Of a sanitizer the exit status is its own.
        #expect(status != 0 && status != 128 + SIGKILL)
    }

    @Test(arguments: ["boot.openCache:kill:1", "boot.openCache:kill:2", "boot.readCache:kill", "vfs.read@cache:kill:4"])
    func `starts that are killed while they open or read caches keep them, and tell of nothing`(faults: String) throws {
        let daemon = try TemporaryDaemon()
        try fillCaches(daemon)
        for _ in 0..<4 {
            try daemon.launch(faults: faults)
            #expect(daemon.wait() == 128 + SIGKILL)
        }
        try daemon.start()
        #expect(try hasCaches(daemon) == (true, true))
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
    }

    @Test(arguments: 1...12)
    func `a first start that is killed while it makes caches' files leaves nothing to be told of`(step: Int) throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launch(faults: "vfs.write@cache:kill:\(step)")
        // Where fewer writes are needed it is killed a moment later.
        if daemon.wait(seconds: 1) == nil { daemon.kill() }
        try daemon.start()
        try fillCaches(daemon)
        try daemon.start()
        #expect(try hasCaches(daemon) == (true, true))
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
        #expect(!daemon.log.contains("damage") && !daemon.log.contains("begin anew"), "\(daemon.log)")
    }

    @Test func `the cache whose opening traps is dropped by the next start, the other one stays`() throws {
        let daemon = try TemporaryDaemon()
        try Self.fill(daemon)
        try fillCaches(daemon)
        try expectTrap(daemon, "boot.openCache:trap:1")
        try daemon.start()
        let (model, blob) = try hasCaches(daemon)
        #expect(model != blob, "one of them was being opened")
        let notice = try #require(try daemon.connect().result("storage.status")["recovered"]?[0])
        #expect(notice["what"]?.text == "caches" && notice["files"]?.elements.count == 1)
        #expect(daemon.log.contains("caches were dropped"))
        try Self.expectAll(daemon)
        #expect(quarantined(daemon) == [])
        #expect(try daemon.connect().result("storage.acknowledge")["acknowledged"]?.int == 1)
    }

    @Test func `bootAttempts says how many starts a cache gets`() throws {
        let daemon = try TemporaryDaemon()
        try fillCaches(daemon)
        for _ in 0..<2 {
            try expectTrap(daemon, "boot.openCache:trap:1", configuration: "{\"bootAttempts\":3}")
        }
        try daemon.start(configuration: "{\"bootAttempts\":3}")
        #expect(try hasCaches(daemon) == (true, true))
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
    }

    // MARK: Kills within a recovery

    @Test func `a recovery that is killed at each of its moves comes through`() throws {
        for step in 1...3 {
            let daemon = try TemporaryDaemon()
            try Self.fill(daemon)
            daemon.killServing()
            for _ in 0..<2 { try expectDamage(daemon, "open") }
            try expectKill(daemon, "boot.move:kill:\(step)")
            for phase in ["rebuild", "open", "log"] {
                for _ in 0..<6 { try expectKill(daemon, "boot.\(phase):kill") }
            }
            try daemon.start()
            try Self.expectAll(daemon)
            #expect(quarantined(daemon).count == 1)
            let status = try daemon.connect().result("storage.status")
            #expect(status["recovered"]?.elements.count == 1, "move \(step): \(status) \(daemon.log)")
            #expect(status["recovered"]?[0]?["startedFrom"]?.text == "tables", "move \(step): \(status)")
        }
    }
}
