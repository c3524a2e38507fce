import Glibc
import Testing

/// Budgets of what may be written to the disk: reports, events, and clients that write once a second.
@Suite struct DiskWriteBudgetScenarioTests {
    private static func configuration(_ bytes: Int, throttle: Bool = false) -> String {
        "{\"diskWrites\":{\"clients\":{\"mail\":{\"diskWriteBudget\":\(bytes),\"throttle\":\(throttle)}},"
            + "\"stores\":{\"documents\":{\"diskWriteBudget\":1000000000}}}}"
    }

    private func connect(_ daemon: TemporaryDaemon, as name: String) throws -> Client {
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"\(name)\",\"version\":\"1\"}")
        return client
    }

    private func put(_ client: Client, _ key: String, _ value: Int) throws {
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":\(value)}")
    }

    /// What `storage.diskWrites` says, once it `holds`.
    private func bill(_ daemon: TemporaryDaemon, until holds: (JSON) -> Bool) throws -> JSON {
        let client = try daemon.connect()
        let deadline = now() + 60
        while true {
            let bill = try client.result("storage.diskWrites", "{\"window\":\"hour\"}")
            if holds(bill) { return bill }
            guard now() < deadline else {
                Issue.record("waited in vain: \(bill)")
                return bill
            }
            usleep(20_000)
        }
    }

    private static func reports(_ bill: JSON) -> [JSON] { bill["reports"]?.elements ?? [] }

    /// The next event on budgets.
    private func event(_ watcher: Client) throws -> Bool? {
        while true {
            let change = try watcher.reply()["params"]?["changes"]?[0]
            if let isOver = change?["overBudget"]?.bool { return isOver }
        }
    }

    @Test func `an excess is reported until somebody resolves it, also over a restart`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.configuration(100_000), movesTime: true)
        let watcher = try daemon.connect()
        try watcher.result("changes.watch", "{\"stores\":[\"storage\"]}")
        let mail = try connect(daemon, as: "mail")
        for number in 0..<200 { try put(mail, "k\(number % 3)", number) }
        let notes = try connect(daemon, as: "notes")
        try put(notes, "n", 1)

        let bill = try bill(daemon) { !Self.reports($0).isEmpty }
        let report = try #require(Self.reports(bill).first)
        #expect(report["client"]?.text == "mail" && report["store"] == nil && report["count"]?.int == 1)
        #expect(report["diskWriteBudget"]?.int == 100_000)
        #expect((report["bytes"]?.int ?? 0) > 100_000)
        #expect((1...100).contains(report["share"]?.int ?? 0))
        #expect(report["clients"]?.elements.compactMap { $0["name"]?.text } == ["mail/1"])
        #expect(report["methods"]?.elements.compactMap { $0["name"]?.text } == ["settings.put"])
        let keys = report["keys"]?.elements ?? []
        #expect(!keys.isEmpty && keys.allSatisfy { ["k0", "k1", "k2"].contains($0["key"]?.text ?? "") }, "\(keys)")
        #expect(report["batchSizes"]?.elements.allSatisfy { $0.int == 1 } == true)
        #expect(report["batchSizes"]?.elements.isEmpty == false)
        let budgets = bill["budgets"]?.elements ?? []
        #expect(budgets.count == 2 && budgets.allSatisfy { $0["throttled"]?.bool == false })
        #expect(try event(watcher) == true)
        #expect(daemon.log.contains("disk writes: client mail"))

        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: Self.configuration(100_000))
        let again = try daemon.connect()
        // Whoever begins to watch is told.
        try again.result("changes.watch", "{\"stores\":[\"storage\"]}")
        #expect(try event(again) == true)
        let id = report["id"]?.int ?? 0
        let other = try daemon.connect()
        #expect(try other.result("storage.resolveReport", "{\"id\":\(id + 1)}")["resolved"]?.int == 0)
        #expect(try other.result("storage.resolveReport", "{\"id\":\(id)}")["resolved"]?.int == 1)
        #expect(try event(again) == false)
        #expect(Self.reports(try other.result("storage.diskWrites")).isEmpty)

        // It is not opened anew by what was forgiven.
        for isKilled in [false, true] {
            if isKilled { daemon.kill() } else { #expect(daemon.terminate() == 0) }
            try daemon.start(configuration: Self.configuration(100_000))
            let third = try connect(daemon, as: "mail")
            try put(third, "k0", Int.random(in: 0...1 << 40))
            // Longer than budgets are judged, and turns in which they are.
            try daemon.advance(seconds: 2)
            for _ in 0..<3 { try third.result("storage.ping") }
            let bill = try self.bill(daemon) { bill in
                let bytes: [Int] = (bill["budgets"]?.elements ?? []).map { $0["bytes"]?.int ?? 0 }
                return bytes.contains { $0 > 100_000 }
            }
            #expect(Self.reports(bill).isEmpty)
        }
    }

    @Test func `budgets are read again with the configuration`() throws {
        let daemon = try TemporaryDaemon(configuration: Self.configuration(1_000_000_000))
        let mail = try connect(daemon, as: "mail")
        for number in 0..<100 { try put(mail, "k", number) }
        #expect(Self.reports(try mail.result("storage.diskWrites")).isEmpty)
        TemporaryDaemon.write(Self.configuration(100_000), to: daemon.root + "/config.json")
        Glibc.kill(daemon.pid, SIGHUP)
        _ = try bill(daemon) { !Self.reports($0).isEmpty }
        TemporaryDaemon.write("{\"diskWrites\":{\"clients\":{\"mail\":{}}}}", to: daemon.root + "/config.json")
        Glibc.kill(daemon.pid, SIGHUP)
        let deadline = now() + 60
        while !daemon.log.contains("diskWriteBudget is missing"), now() < deadline { usleep(10_000) }
        #expect(daemon.log.contains("diskWrites.clients.mail: diskWriteBudget is missing"))
        #expect(try mail.result("storage.diskWrites")["budgets"]?.elements.count == 2, "everything stays as it was")
    }

    /// A daemon where mail may write once a second only.
    private func throttled() throws -> (TemporaryDaemon, Client) {
        let daemon = try TemporaryDaemon(configuration: Self.configuration(4096, throttle: true))
        let mail = try connect(daemon, as: "mail")
        for number in 0..<3 { try put(mail, "first", number) }
        _ = try bill(daemon) { bill in
            bill["budgets"]?.elements.contains { $0["throttled"]?.bool == true } == true
        }
        return (daemon, mail)
    }

    @Test func `a client over its budget writes once a second, reads as before, and loses nothing`() throws {
        let (daemon, mail) = try throttled()
        let start = now()
        for number in 0..<4 { try put(mail, "k", number) }
        #expect(now() - start >= 2.9, "the first may find the second over, three wait for theirs")
        // Those of all its connections share a commit.
        let clients = try (0..<8).map { _ in try connect(daemon, as: "mail") }
        let commits = try daemon.connect().result("storage.status")["log"]?["commits"]?.int ?? 0
        let before = now()
        for round in 0..<3 {
            for (number, client) in clients.enumerated() {
                client.send(
                    Client.request(
                        "settings.put", "{\"domain\":\"d\",\"key\":\"\(number)\",\"value\":\(round)}", id: "\(round)"))
            }
        }
        for client in clients {
            for round in 0..<3 { #expect(try client.reply()["id"]?.int == round) }
        }
        let seconds = Int(now() - before) + 2
        let more = (try daemon.connect().result("storage.status")["log"]?["commits"]?.int ?? 0) - commits
        #expect((1...seconds).contains(more), "\(more) commits of 24 changes in \(seconds) seconds")
        daemon.kill()
        try daemon.start(configuration: Self.configuration(4096, throttle: true))
        let after = try daemon.connect()
        for number in 0..<8 {
            #expect(try after.result("settings.get", "{\"domain\":\"d\",\"key\":\"\(number)\"}")["value"]?.int == 2)
        }
    }

    @Test func `others write meanwhile, and what is held back when the daemon ends is answered`() throws {
        let (daemon, mail) = try throttled()
        try put(mail, "k", 1)
        // Whatever is left of this second: it is held back until the next one.
        mail.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"late\",\"value\":5}", id: "9"))
        let notes = try connect(daemon, as: "notes")
        let start = now()
        for number in 0..<200 { try put(notes, "n", number) }
        let seconds = now() - start
        #expect(try mail.reply()["id"]?.int == 9)
        // Two hundred that are throttled take as many seconds.
        #expect(seconds < 60, "\(seconds) s")
        try put(mail, "k", 2)
        mail.send(Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"last\",\"value\":6}", id: "10"))
        // It has been read when what was sent behind it is answered.
        mail.send(Client.request("storage.ping", id: "11"))
        var answered: [Int] = []
        repeat { answered.append(try mail.reply()["id"]?.int ?? 0) } while answered.last != 11
        #expect(daemon.terminate() == 0)
        // On a machine that had other things to do its second has come already.
        if answered == [11] { #expect(try mail.reply()["id"]?.int == 10) } else { #expect(answered == [10, 11]) }
        try daemon.start()
        #expect(
            try daemon.connect().result("settings.get", "{\"domain\":\"d\",\"key\":\"last\"}")["value"]?.int == 6)
    }

    @Test func `what a full disk refused is on no bill`() throws {
        let daemon = try TemporaryDaemon()
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let client = try connect(daemon, as: "mail")
        let values = (0..<50).map { "\"k\($0)\":\($0)" }.joined(separator: ",")
        let refusal = try client.refusal("settings.putMany", "{\"domain\":\"d\",\"values\":{\(values)}}")
        #expect(refusal["kind"] == .string("noSpace"))
        func changes() throws -> Int? {
            try client.result("storage.diskWrites", "{\"window\":\"hour\"}")["totals"]?["changes"]?.int
        }
        #expect(try changes() == 0)
        let deadline = now() + 60
        while try client.call("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")["result"] == nil {
            try #require(now() < deadline)
            usleep(20_000)
        }
        #expect(try changes() == 1)
    }
}
