import Glibc
import Testing

/// Daemons that end by faults of their own, and starts that know of it.
@Suite struct TrapScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws { daemon = try TemporaryDaemon(starts: false) }

    /// Changes that are in the log alone, and the revision of one of them.
    private func fill() throws -> Int {
        let client = try daemon.connect()
        var named = 0
        for key in 0..<20 {
            let put = try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(key)}")
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(key)\",\"value\":\(key)}")
            if key == 7 { named = try #require(put["rev"]?.int) }
        }
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"open sesame\"}")
        return named
    }

    /// Everything but one setting is there.
    private func expectAll(without key: Int? = nil) throws {
        let client = try daemon.connect()
        for number in 0..<20 {
            let text = "{\"domain\":\"d\",\"key\":\"\(number)\"}"
            if number == key {
                #expect(try client.result("settings.get", text)["value"] == nil)
            } else {
                #expect(try client.result("settings.get", text)["value"]?.int == number)
            }
            let document = try client.result("documents.get", "{\"collection\":\"c\",\"id\":\"\(number)\"}")
            #expect(document["value"]?.int == number)
        }
        let secret = try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")
        #expect(secret["secret"]?.text == "open sesame")
    }

    /// Starts a daemon that has to end by a fault of its own.
    private func expectTrap(_ faults: String, _ comment: Comment? = nil) throws {
        try daemon.launch(faults: faults)
        let status = try #require(daemon.wait(), comment)
        // Of a sanitizer the exit status is its own.
        #expect(status != 0 && status != 128 + SIGKILL, comment)
    }

    private var quarantined: [String] {
        (TemporaryDaemon.names(daemon.data + "/quarantine") ?? []).filter { !$0.hasPrefix("place-") }
    }

    private var boot: String {
        String(decoding: TemporaryDaemon.contents(daemon.data + "/boot.json") ?? [], as: UTF8.self)
    }

    private func lastTrap() throws -> JSON? { try daemon.connect().result("storage.status")["lastTrap"] }

    // MARK: Telling

    @Test func `a trap while requests are served is told by the next run, and sets nothing aside however often`() throws
    {
        try daemon.start()
        _ = try fill()
        #expect(try lastTrap() == nil)
        #expect(daemon.terminate() == 0)
        for _ in 0..<4 {
            try daemon.launch(faults: "log.append:trap:1+")
            let deadline = now() + 60
            // Whoever asks has the connection closed by it.
            while now() < deadline, daemon.isRunning {
                let client = try? daemon.connect()
                _ = try? client?.call("settings.put", "{\"domain\":\"d\",\"key\":\"0\",\"value\":100}")
                usleep(2000)
            }
            #expect(!daemon.isRunning)
        }
        try daemon.start()
        let trap = try #require(try lastTrap())
        #expect(["SIGILL", "SIGTRAP"].contains(trap["signal"]?.text), "\(trap)")
        #expect(trap["servedMilliseconds"] != nil && trap["thread"]?.text != "" && trap["rev"] == nil, "\(trap)")
        #expect(daemon.log.contains("THE LAST RUN ENDED IN A TRAP"))
        try expectAll()
        // On a busy machine the traps may come while caches are being read, which these pay for.
        let recovered = try daemon.connect().result("storage.status")["recovered"]?.elements ?? []
        #expect(recovered.allSatisfy { $0["what"]?.text == "caches" }, "\(recovered)")
        #expect(quarantined == [])
        // The directory tells it too, until this run has ended.
        _ = try daemon.run(["doctor", "--data-dir", daemon.data])
        #expect(daemon.log.contains("warning: trap: "))
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try lastTrap() == nil)
    }

    @Test(arguments: [SIGKILL, SIGABRT, SIGSEGV, SIGILL])
    func `twenty runs that others end a moment after they served are no traps, and nothing is set aside`(
        signal: Int32
    ) throws {
        try daemon.start()
        _ = try fill()
        for round in 0..<20 {
            let put = "{\"domain\":\"rounds\",\"key\":\"\(round)\",\"value\":\(round)}"
            try daemon.connect().result("settings.put", put)
            daemon.waitUntilCachesAreRead()
            kill(daemon.pid, signal)
            #expect(daemon.wait() != nil)
            try daemon.start()
            #expect(try lastTrap() == nil)
        }
        try expectAll()
        let client = try daemon.connect()
        for round in 0..<20 {
            let value = try client.result("settings.get", "{\"domain\":\"rounds\",\"key\":\"\(round)\"}")
            #expect(value["value"]?.int == round)
        }
        #expect(try client.result("storage.status")["recovered"] == nil)
        #expect(quarantined == [])
        #expect(boot.contains("\"trapFailures\":0") && boot.contains("\"durableFailures\":0"), "\(boot)")
    }

    // MARK: Getting past a record

    /// A change of the log, as it is taken in and as it is folded behind the start.
    @Test(arguments: ["recover.change", "fold.change"])
    func `a change of the log that traps at each start is set aside by the third, and all else is there`(
        point: String
    ) throws {
        // Nothing is folded before the kill.
        try daemon.start(faults: "fold.slice:full:1+")
        let rev = try fill()
        daemon.killServing()
        try expectPassed("\(point):trap=\(rev)", rev)
    }

    @Test func `a row of the tables that traps at each start is set aside by the third, and all else is there`() throws
    {
        try daemon.start()
        let rev = try fill()
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        try expectPassed("recover.item:trap=\(rev)", rev)
    }

    /// The setting 7, of this revision, traps; two starts do not outlive that, the third and all later ones do.
    private func expectPassed(_ faults: String, _ rev: Int) throws {
        for _ in 0..<2 {
            try expectTrap(faults)
            #expect(quarantined == [])
        }
        try daemon.start(faults: faults)
        try daemon.waitUntilFolded()
        try expectAll(without: 7)
        let client = try daemon.connect()
        let notice = try #require(try client.result("storage.status")["recovered"]?[0])
        #expect(notice["what"]?.text == "durable" && notice["startedFrom"]?.text == "tables", "\(notice)")
        #expect(notice["reason"]?.text?.contains("at revision \(rev)") == true, "\(notice)")
        let named = [notice["missing"]?[0], notice["leftOut"]?[0]].compactMap { $0 }
        #expect(named.contains { $0["store"]?.text == "settings" && $0["scope"]?.text == "d" }, "\(notice)")
        #expect(daemon.log.contains("REVISION \(rev) IS LEFT OUT"))
        #expect(quarantined.count == 1)
        // It is written anew, and stays.
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"7\",\"value\":7}")
        daemon.killServing()
        try daemon.start(faults: faults)
        try expectAll()
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try expectAll()
        #expect(try daemon.connect().result("storage.check")["problems"]?.elements.isEmpty == true)
        #expect(quarantined.count == 1)
    }

    @Test func `a secret that traps as it is looked when it expires is set aside, and all other services are there`()
        throws
    {
        try daemon.start()
        _ = try fill()
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"poison\",\"account\":\"before\",\"secret\":\"1\"}")
        let rev = try #require(
            try client.result(
                "secrets.put",
                "{\"service\":\"poison\",\"account\":\"a\",\"secret\":\"2\",\"expiresAt\":\"2199-01-01T00:00:00Z\"}")[
                    "rev"]?.int)
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"later\",\"secret\":\"3\"}")
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        let faults = "secrets.expiry:trap=\(rev)"
        for _ in 0..<2 { try expectTrap(faults) }
        try daemon.start(faults: faults)
        try expectAll()
        let again = try daemon.connect()
        #expect(try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"later\"}")["secret"]?.text == "3")
        let notice = try #require(try again.result("storage.status")["recovered"]?[0])
        #expect(notice["reason"]?.text?.contains("at revision \(rev)") == true, "\(notice)")
        // What is left of the service comes back on somebody's word.
        try again.result("secrets.repair", "{\"service\":\"poison\",\"confirm\":\"poison\"}")
        let before = try again.result("secrets.get", "{\"service\":\"poison\",\"account\":\"before\"}")
        #expect(before["secret"]?.text == "1")
        let left = try again.result("secrets.get", "{\"service\":\"poison\",\"account\":\"a\"}")
        #expect(left["secret"] == nil)
        #expect(quarantined.count == 1)
    }

    @Test(arguments: ["open", "log"])
    func `two traps in a phase of tables and log have these set aside, and kills between them count as nothing`(
        phase: String
    ) throws {
        try daemon.start()
        _ = try fill()
        daemon.killServing()
        for _ in 0..<2 {
            try expectTrap("boot.\(phase):trap")
            for _ in 0..<3 {
                #expect(quarantined == [])
                try daemon.launch(faults: "boot.lock:kill")
                #expect(daemon.wait() == 128 + SIGKILL)
            }
        }
        try daemon.start()
        try expectAll()
        let notice = try #require(try daemon.connect().result("storage.status")["recovered"]?[0])
        #expect(notice["startedFrom"]?.text == "tables" && notice["phase"]?.text == phase, "\(notice)")
        #expect(quarantined.count == 1)
    }

    @Test func `traps at no change in particular are answered with one copy, and no more are made`() throws {
        try daemon.start(faults: "fold.slice:full:1+")
        _ = try fill()
        daemon.killServing()
        for _ in 0..<6 { try expectTrap("fold.slice:trap:1+", "\(daemon.log)") }
        #expect(quarantined.count == 1)
        #expect(daemon.log.contains("nothing more is"))
        try daemon.start()
        try expectAll()
        #expect(try daemon.connect().result("storage.status")["recovered"]?.elements.count == 1)
    }

    @Test(arguments: [0, 1, 40, 71, 72, 4096])
    func `a note that is cut short, or is none, is no trap`(bytes: Int) throws {
        try daemon.start()
        _ = try fill()
        daemon.killServing()
        let text = String(String(repeating: "KURATRAP\u{1}", count: 500).prefix(bytes))
        TemporaryDaemon.write(text, to: daemon.data + "/trap")
        try daemon.start()
        #expect(try lastTrap() == nil)
        try expectAll()
    }
}
