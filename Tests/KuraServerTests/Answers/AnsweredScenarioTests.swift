import Glibc
import Testing

/// Requests that once were not answered, or ended the daemon. A read waits for a minute: without an answer the test fails.
@Suite struct AnsweredScenarioTests {
    /// Everything that looks through a collection.
    private static let looks = [
        ("documents.list", ""), ("documents.find", ",\"where\":{\"a\":1}"), ("documents.find", ",\"sort\":[\"a\"]"),
        ("documents.count", ",\"where\":{\"a\":1}"), ("documents.distinct", ",\"field\":\"a\""),
        ("documents.aggregate", ""), ("documents.deleteMany", ",\"where\":{\"a\":1}"), ("documents.watch", ""),
        ("documents.explain", ",\"where\":{\"a\":1}"), ("documents.describe", ""), ("documents.purge", ""),
    ]

    @Test(arguments: [
        "\"schema\":{\"type\":\"object\"}", "\"durability\":\"relaxed\"", "\"retainDays\":3", "\"tombstoneDays\":3",
        "\"backup\":false", "\"version\":2", "\"searchFields\":[\"a\"]",
    ])
    func `a collection that is configured and empty is answered like one that is empty`(_ rule: String) throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("documents.configure", "{\"collection\":\"c\",\(rule)}")
        for isRestarted in [false, true] {
            if isRestarted {
                #expect(daemon.terminate() == 0)
                try daemon.start()
            }
            let client = try daemon.connect()
            for (method, more) in Self.looks {
                let client = try daemon.connect()
                let reply = try client.call(method, "{\"collection\":\"c\"\(more)}")
                #expect(reply["result"] != nil, "\(method): \(reply)")
                for list in ["documents", "values", "groups"] {
                    guard let found = reply["result"]?[list].map(\.elements) else { continue }
                    #expect(found.count <= (list == "groups" ? 1 : 0), "\(method): \(reply)")
                }
            }
            // It is no other collection when something comes.
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":{\"a\":1}}")
            #expect(
                try client.result("documents.find", "{\"collection\":\"c\",\"where\":{\"a\":1}}")["documents"]?.elements
                    .count == 1)
            try client.result("documents.delete", "{\"collection\":\"c\",\"id\":\"x\"}")
        }
    }

    /// What waits for the tables waits for a sync first, which a relaxed change asks for after an hour only.
    @Test func `a relaxed domain holds nobody up`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result(
            "settings.configure", "{\"domain\":\"r\",\"durability\":\"relaxed\",\"flushSeconds\":3600}")
        try client.result(
            "documents.configure", "{\"collection\":\"c\",\"durability\":\"relaxed\",\"flushSeconds\":3600}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"one\"}")
        let requests = [
            ("documents.list", "{\"collection\":\"c\"}"),
            ("documents.find", "{\"collection\":\"c\",\"where\":{\"a\":1}}"),
            ("documents.aggregate", "{\"collection\":\"c\"}"),
            ("documents.deleteMany", "{\"collection\":\"c\",\"where\":{\"a\":2}}"),
            ("documents.watch", "{\"collection\":\"c\"}"), ("documents.purge", "{\"collection\":\"c\"}"),
            ("documents.configure", "{\"collection\":\"c\",\"indexes\":[{\"name\":\"i\",\"fields\":[\"a\"]}]}"),
            ("secrets.destroyVersion", "{\"service\":\"s\",\"account\":\"a\",\"version\":1}"),
            ("secrets.rotate", "{\"rootKey\":true}"), ("storage.compact", "{}"), ("storage.check", "{}"),
            ("storage.backup", "{\"name\":\"b\"}"), ("storage.bundle", "{\"name\":\"seed\"}"),
            ("backups.compare", "{\"name\":\"b\"}"), ("storage.sweep", "{}"),
        ]
        for (number, (method, params)) in requests.enumerated() {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"x\",\"value\":{\"a\":\(number)}}")
            try client.result("settings.put", "{\"domain\":\"r\",\"key\":\"k\",\"value\":\(number)}")
            try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"\(number)\"}")
            // Behind the strict change: nothing asks for a sync of it.
            try client.result("settings.put", "{\"domain\":\"r\",\"key\":\"k\",\"value\":-\(number)}")
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"y\",\"value\":{\"a\":\(number)}}")
            // What it is told of later comes to nobody else.
            let asking = try daemon.connect()
            let reply = try asking.call(method, params)
            #expect(reply["result"] != nil, "\(method): \(reply)")
        }
    }

    @Test func `when a sync fails, what was begun is answered outcomeUnknown and the rest shuttingDown`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "fold.slice:sleep=60000:1+,log.sync:fail:2")
        let writer = try daemon.connect()
        try writer.result("documents.put", "{\"collection\":\"c\",\"id\":\"b\",\"value\":1}")
        let reader = try daemon.connect()
        // The list waits for the fold, and the others behind it.
        let get = "{\"domain\":\"d\",\"key\":\"k\"}"
        reader.send(
            Client.request("documents.list", "{\"collection\":\"c\"}", id: "1")
                + Client.request("settings.get", get, id: "2")
                + "[" + Client.request("settings.get", get, id: "3").dropLast() + "]\n")
        // Out of band: it has been read, and the list waits.
        reader.send(Client.request("storage.ping", id: "4"))
        #expect(try reader.reply()["id"]?.int == 4)
        let refused = try writer.call("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(refused["error"]?["data"]?["kind"]?.text == "outcomeUnknown", "\(refused)")
        let first = try reader.reply()
        #expect(first["id"]?.int == 1 && first["error"]?["data"]?["kind"]?.text == "outcomeUnknown", "\(first)")
        let second = try reader.reply()
        #expect(second["id"]?.int == 2 && second["error"]?["data"]?["kind"]?.text == "shuttingDown", "\(second)")
        let third = try reader.reply()
        #expect(third[0]?["id"]?.int == 3 && third[0]?["error"]?["data"]?["kind"]?.text == "shuttingDown", "\(third)")
        #expect(try reader.line() == nil)
        #expect(daemon.wait() == 1)
    }

    @Test func `a terminal and an endless device are no files to import or export`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        for path in ["/dev/ptmx", "/dev/zero"] {
            let device = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
            defer { close(device) }
            for method in ["documents.import", "documents.export", "storage.backup"] {
                let collection = method == "storage.backup" ? "" : "\"collection\":\"c\","
                let reply = try client.call(method, "{\(collection)\"fd\":true}", descriptors: [device])
                #expect(reply["error"]?["data"]?["kind"]?.text == "transferFailed", "\(method) \(path): \(reply)")
            }
        }
    }

    @Test func `a collection that is configured and empty has its indexes after a restore, too`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result(
            "documents.configure",
            "{\"collection\":\"c\",\"indexes\":[{\"name\":\"i\",\"fields\":[\"n\"]}],\"searchFields\":[\"t\"]}")
        try client.result("storage.backup", "{\"name\":\"b\"}")
        let restored = try TemporaryDaemon(starts: false)
        #expect(
            try restored.run([
                "restore", daemon.data + "/backups/b.kurabackup", "--data-dir", restored.data, "--unproved",
            ]) == 0)
        try restored.start()
        let asking = try restored.connect()
        for round in 0..<2 {
            let found = try asking.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
            #expect(found["indexes"]?[0]?["state"]?.text == "ready", "\(found)")
            if round == 0 {
                try asking.result(
                    "documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"n\":1,\"t\":\"hello world\"}}")
            }
        }
        let search = try asking.result("documents.search", "{\"collection\":\"c\",\"query\":\"hello\"}")
        #expect(search["documents"]?.elements.count == 1, "\(search)")
    }

    @Test func `a leap second beyond the last year, and the epoch, are no expiry`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for time in ["9999-12-31T23:59:60.999Z", "1970-01-01T00:00:00.000Z"] {
            let refusal = try client.refusal(
                "secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\",\"expiresAt\":\"\(time)\"}")
            #expect(refusal["kind"]?.text == "invalidParams", "\(time): \(refusal)")
        }
        try client.result(
            "secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\",\"expiresAt\":\"\"}")
    }

    @Test(arguments: ["put", "setAttributes", "generate"])
    func `a secret that expires in the year 9999 is one that does not expire soon`(_ method: String) throws {
        let daemon = try TemporaryDaemon()
        let expiry = ",\"expiresAt\":\"9999-12-31T23:59:59.999Z\"}"
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
        switch method {
        case "put": try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"y\"" + expiry)
        case "generate": try client.result("secrets.generate", "{\"service\":\"s\",\"account\":\"a\"" + expiry)
        default: try client.result("secrets.setAttributes", "{\"service\":\"s\",\"account\":\"a\"" + expiry)
        }
        try client.result("storage.ping")
        daemon.kill()
        try daemon.start()
        let found = try daemon.connect().result("secrets.list", "{\"service\":\"s\"}")
        #expect(found["items"]?[0]?["expiresAt"] == .string("9999-12-31T23:59:59.999Z"), "\(found)")
    }
}
