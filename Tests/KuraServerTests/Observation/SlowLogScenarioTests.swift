import Glibc
import Testing

/// Requests that take long: who may learn what of them.
@Suite struct SlowLogScenarioTests {
    private let slow = "{\"slowMilliseconds\":30}"

    private func put(_ client: Client, _ key: String) throws {
        try client.result("secrets.put", "{\"service\":\"hush\",\"account\":\"\(key)\",\"secret\":\"s3cret\"}")
    }

    @Test func `a slow request is noted with its method and its client, and nothing of what it said`() throws {
        let daemon = try TemporaryDaemon(configuration: slow, faults: "log.sync:sleep=60:1+")
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"mail\",\"version\":\"2\"}")
        try put(client, "lovelace")
        client.send(Client.request("storage.slow"))
        let line = try #require(try client.line())
        let told = try #require(try JSON(line)["result"])
        let item = try #require(told["items"]?.elements.first { $0["method"]?.text == "secrets.put" })
        #expect((item["microseconds"]?.int ?? 0) >= 60_000)
        #expect(item["client"]?.text == "mail/2" && item["role"]?.text == "admin" && item["user"]?.int == Int(getuid()))
        #expect(told["thresholdMilliseconds"]?.int == 30 && (told["count"]?.int ?? 0) >= 1)
        for word in ["hush", "lovelace", "s3cret"] {
            #expect(!line.contains(word) && !daemon.log.contains(word), "\(word) in \(line) or \(daemon.log)")
        }
        #expect(daemon.log.contains("\"event\":\"slow request\",\"method\":\"secrets.put\""))
    }

    @Test func `the newest come first, a bounded number of them, and the log has a line a second at most`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"slowMilliseconds\":1}", faults: "log.sync:sleep=3:1+")
        let client = try daemon.connect()
        for number in 0..<150 {
            try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(number)}")
        }
        let told = try client.result("storage.slow", "{\"limit\":128}")
        let numbers = try #require(told["items"]?.elements.map { $0["number"]?.int ?? 0 })
        #expect(numbers.count == 128 && numbers == numbers.sorted(by: >) && numbers[0] == told["count"]?.int)
        #expect(numbers[0] >= 150)
        #expect(try client.result("storage.slow", "{\"limit\":3}")["items"]?.elements.count == 3)
        #expect(daemon.log.occurrences(of: "slow request") < 150)
    }

    @Test func `a request that was put back says for what`() throws {
        let daemon = try TemporaryDaemon(configuration: slow, faults: "fold.slice:sleep=60:1+")
        let client = try daemon.connect()
        // Together: by itself a fold might come between them.
        client.send(
            Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
                + Client.request("documents.find", "{\"collection\":\"c\"}"))
        _ = try (client.reply(), client.reply())
        let items = try #require(try client.result("storage.slow")["items"]?.elements)
        let find = try #require(items.first { $0["method"]?.text == "documents.find" }, "\(items)")
        #expect(find["waitedFor"]?.elements.map(\.text) == ["query"])
    }

    @Test func `the threshold is read again, and zero ends it`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"slowMilliseconds\":0}", faults: "log.sync:sleep=60:1+")
        let client = try daemon.connect()
        func write() throws -> Int {
            try client.result("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}")
            return try client.result("storage.slow")["count"]?.int ?? -1
        }
        func reload(_ text: String) throws {
            let before = daemon.log.occurrences(of: "read again")
            TemporaryDaemon.write(text, to: daemon.root + "/config.json")
            Glibc.kill(daemon.pid, SIGHUP)
            let deadline = now() + 60
            while daemon.log.occurrences(of: "read again") == before, now() < deadline { usleep(2000) }
            // What is told in the log is in force before the next request is answered.
            try client.result("storage.ping")
        }
        #expect(try write() == 0)
        try reload(slow)
        #expect(try write() >= 1)
        try reload("{\"slowMilliseconds\":0}")
        let count = try client.result("storage.slow")["count"]?.int
        #expect(try write() == count)
        #expect(try client.result("storage.slow")["thresholdMilliseconds"]?.int == 0)
        #expect(!daemon.log.contains("takes a restart to change"))
    }
}
