import Glibc
import Testing

/// What is found when rows are damaged, and how a user gets going again.
@Suite struct SecretsRepairScenarioTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (service, account, secret) in [
            ("s", "ada", "one"), ("s", "ada", "two"), ("s", "bob", "three"), ("s", "eve", "four"), ("t", "x", "five"),
        ] {
            try client.result(
                "secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\"\(secret)\"}")
        }
        #expect(daemon.terminate() == 0)
    }

    /// Rows by what they are: a service's are found by how many it has.
    private struct Rows {
        var heads: [SecretsTables.Row] = []
        var record: SecretsTables.Row
        var values: [SecretsTables.Row] = []
    }

    /// Those of service `s`.
    private func rows() throws -> Rows {
        let all = try SecretsTables(daemon.data).rows()
        let heads = all.filter { $0.table == "settings" && $0.key.count == 32 }
        let scopes = Dictionary(grouping: heads) { $0.condition.split(separator: " ")[2] }
        let scope = try #require(scopes.first { $0.value.count == 3 }).key
        let record = try #require(
            all.first { $0.key == [0x2E] && $0.condition.hasPrefix("scope = \(scope) ") })
        return Rows(heads: scopes[scope]!, record: record, values: all.filter { $0.table == "documents" })
    }

    private func damage(_ row: SecretsTables.Row) throws {
        var value = row.value
        value[value.count / 2] ^= 1
        try SecretsTables(daemon.data).write(value, to: row)
    }

    private func verify(_ params: String = "{}") throws -> JSON {
        try daemon.connect().result("secrets.verify", params)
    }

    private func whats(_ result: JSON) -> [String] {
        (result["damaged"]?.elements ?? []).map { $0["what"]?.text ?? "?" }
    }

    private func get(_ service: String, _ account: String) throws -> String {
        let reply = try daemon.connect().call(
            "secrets.get", "{\"service\":\"\(service)\",\"account\":\"\(account)\"}")
        if let kind = reply["error"]?["data"]?["kind"]?.text { return kind }
        return reply["result"]?["secret"]?.text ?? "absent"
    }

    private func repair(_ service: String = "s") throws -> JSON {
        try daemon.connect().result("secrets.repair", "{\"service\":\"\(service)\",\"confirm\":\"\(service)\"}")
    }

    @Test func `where nothing is damaged nothing is found, and everything was looked at`() throws {
        try daemon.start()
        let found = try verify()
        #expect(found["services"]?.int == 2 && found["secrets"]?.int == 4 && found["versions"]?.int == 5)
        #expect(found["damagedCount"]?.int == 0 && whats(found).isEmpty)
        #expect(try verify("{\"service\":\"t\"}")["versions"]?.int == 1)
        let client = try daemon.connect()
        #expect(try client.refusal("secrets.verify", "{\"service\":\"none\"}")["kind"]?.text == "notFound")
        #expect(try client.result("secrets.status")["integrity"]?.text == "whole")
        let before = try client.result("secrets.describe", "{\"service\":\"s\"}")
        #expect(try repair()["kept"]?.int == 3)
        #expect(try client.result("secrets.describe", "{\"service\":\"s\"}") == before)
    }

    @Test func `a damaged head is named by its row, and goes; the others stay`() throws {
        let rows = try rows()
        try damage(rows.heads[0])
        try daemon.start()
        #expect(try get("s", "bob") == "integrity" && get("t", "x") == "five")
        let found = try verify()
        #expect(Set(whats(found)) == ["secret", "sum"], "\(found)")
        #expect(
            found["damaged"]?.elements.first { $0["what"]?.text == "secret" }?["row"]?.text
                == String(decoding: rows.heads[0].key, as: UTF8.self))
        #expect(try daemon.connect().result("secrets.status")["integrity"]?.text == "damaged")
        let wrong = "{\"service\":\"s\",\"confirm\":\"t\"}"
        #expect(try daemon.connect().refusal("secrets.repair", wrong)["kind"]?.text == "invalidParams")
        let done = try repair()
        #expect(done["kept"]?.int == 2 && done["lostSecrets"]?.int == 1 && done["lostVersions"]?.int == 0)
        for round in 0..<2 {
            let answers = try [get("s", "ada"), get("s", "bob"), get("s", "eve")]
            #expect(answers.count { $0 == "absent" } == 1 && !answers.contains("integrity"), "\(round): \(answers)")
            #expect(try get("t", "x") == "five")
            #expect(try verify()["damagedCount"]?.int == 0)
            daemon.kill()
            try daemon.start()
        }
    }

    @Test func `a damaged value is named, and its version stays without it`() throws {
        let rows = try rows()
        let value = try #require(rows.values.first { $0.key.suffix(2).elementsEqual("/2".utf8) })
        try damage(value)
        try daemon.start()
        let found = try verify()
        #expect(whats(found) == ["version"])
        let damaged = found["damaged"]?[0]
        #expect(damaged?["service"]?.text == "s" && damaged?["account"]?.text == "ada" && damaged?["version"]?.int == 2)
        #expect(try get("s", "ada") == "integrity" && get("s", "bob") == "three")
        let done = try repair()
        #expect(done["kept"]?.int == 3 && done["lostSecrets"]?.int == 0 && done["lostVersions"]?.int == 1)
        #expect(try get("s", "ada") == "notFound")
        let name = "{\"service\":\"s\",\"account\":\"ada\",\"version\":1}"
        #expect(try daemon.connect().result("secrets.get", name)["secret"] == .string("one"))
        #expect(try verify()["damagedCount"]?.int == 0)
    }

    @Test func `what another host key opens is no damage, and a repair leaves it unless it is told`() throws {
        let value = try #require(try rows().values.first { $0.key.suffix(2).elementsEqual("/2".utf8) })
        try daemon.start()
        for secret in ["old", "bound"] {
            let bound = "{\"service\":\"s\",\"account\":\"dev\",\"secret\":\"\(secret)\",\"deviceOnly\":true}"
            try daemon.connect().result("secrets.put", bound)
        }
        #expect(daemon.terminate() == 0)
        let (key, old, renewed) = (daemon.data + "/keys/host.key", daemon.root + "/old", daemon.root + "/renewed")
        rename(key, old)
        try damage(value)
        try daemon.start()
        #expect(try get("s", "dev") == "integrity")
        let name = "{\"service\":\"s\",\"account\":\"dev\"}"
        let refused = try daemon.connect().refusal("secrets.get", name)
        #expect(refused["hint"]?.text?.contains("put the old one back") == true, "\(refused)")
        let found = try verify()
        #expect(found["damagedCount"]?.int == 1 && found["otherHostKey"]?.int == 2, "\(found)")
        let done = try repair()
        #expect(done["lostVersions"]?.int == 1 && done["otherHostKey"]?.int == 2, "\(done)")
        let left = try verify()
        #expect(left["damagedCount"]?.int == 0 && left["otherHostKey"]?.int == 2, "\(left)")
        // Nor does a rotation take it away.
        try daemon.connect().result("secrets.rotate", "{\"service\":\"s\"}")
        usleep(300_000)
        #expect(daemon.terminate() == 0)
        rename(key, renewed)
        rename(old, key)
        try daemon.start()
        #expect(try get("s", "dev") == "bound")
        #expect(try verify()["otherHostKey"] == nil)
        #expect(daemon.terminate() == 0)
        rename(renewed, key)
        try daemon.start()
        let all = "{\"service\":\"s\",\"confirm\":\"s\",\"otherHostKey\":true}"
        let destroyed = try daemon.connect().result("secrets.repair", all)
        #expect(destroyed["lostVersions"]?.int == 2 && destroyed["otherHostKey"] == nil, "\(destroyed)")
        #expect(try get("s", "dev") == "notFound")
    }

    @Test func `a secret that is missing is counted, and nobody says that it is there`() throws {
        try SecretsTables(daemon.data).delete(try rows().heads[1])
        try daemon.start()
        let found = try verify("{\"service\":\"s\"}")
        #expect(whats(found) == ["sum"])
        #expect(found["damaged"]?[0]?["missing"]?.int == 1 && found["damaged"]?[0]?["service"]?.text == "s")
        let done = try repair()
        #expect(done["kept"]?.int == 2 && done["damaged"]?[0]?["missing"]?.int == 1)
        #expect(try verify()["damagedCount"]?.int == 0)
        #expect(try get("t", "x") == "five")
    }

    @Test func `a service whose record is lost is empty afterwards, and can be used again`() throws {
        try damage(try rows().record)
        try daemon.start()
        // Nobody can tell what else does not fit.
        #expect(try get("t", "x") == "integrity")
        let found = try verify()
        // The values' keys were under those of the record. And the store's record, which does not fit, vouches for no audit.
        #expect(Set(whats(found)) == ["service", "version", "store", "audit"], "\(found)")
        let client = try daemon.connect()
        let id = try #require(try client.result("secrets.status")["storeId"]?.text)
        #expect(try client.refusal("secrets.repair", "{\"confirm\":\"x\"}")["kind"]?.text == "invalidParams")
        try client.result("secrets.repair", "{\"confirm\":\"\(id)\"}")
        #expect(try get("t", "x") == "five" && get("s", "ada") == "integrity")
        let done = try repair()
        #expect(done["kept"]?.int == 0 && done["lostSecrets"]?.int == 3, "\(done)")
        #expect(try get("s", "ada") == "absent")
        // Its values have gone as well, which nobody could open any more: also when a kill comes between.
        daemon.kill()
        try daemon.start()
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        try daemon.start()
        daemon.waitUntilIdle(seconds: 0.2)
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        #expect(try SecretsTables(daemon.data).values() == 1)
        try daemon.start()
        let again = try daemon.connect()
        try again.result("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"again\"}")
        for _ in 0..<2 {
            #expect(try get("s", "ada") == "again" && get("s", "bob") == "absent" && get("t", "x") == "five")
            #expect(try verify()["damagedCount"]?.int == 0)
            #expect(daemon.terminate() == 0)
            try daemon.start()
        }
    }

    /// As an operator does who knows nothing else: the service, and then all of it.
    private func repairAll() throws {
        for _ in 0..<2 { _ = try repair() }
        let client = try daemon.connect()
        let id = try #require(try client.result("secrets.status")["storeId"]?.text)
        try client.result("secrets.repair", "{\"confirm\":\"\(id)\"}")
    }

    private func put(_ service: String, _ account: String, _ secret: String) throws {
        try daemon.connect().result(
            "secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\"\(secret)\"}")
    }

    @Test func `a service whose record is gone from the tables can be used again after repairs`() throws {
        try SecretsTables(daemon.data).delete(try rows().record)
        try daemon.start()
        let name = "{\"service\":\"t\",\"account\":\"x\"}"
        let refused = try daemon.connect().refusal("secrets.get", name)
        #expect(refused["kind"]?.text == "integrity")
        // The service's own repair does not help the others, and the hint says what does.
        #expect(refused["hint"]?.text?.contains("repair STOREID") == true, "\(refused)")
        try repairAll()
        for round in 0..<2 {
            #expect(try verify()["damagedCount"]?.int == 0)
            let client = try daemon.connect()
            #expect(try client.result("secrets.list")["items"]?.elements.count == 1 + round)
            #expect(try get("t", "x") == "five" && get("s", "eve") == "absent")
            try put("s", "ada", "again")
            #expect(try get("s", "ada") == "again")
            daemon.kill()
            try daemon.start()
        }
        let cleared = try daemon.connect().result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"s\"}")
        #expect(cleared["deleted"]?.int == 1 && cleared["left"]?.int == 0, "\(cleared)")
    }

    @Test func `heads without their record are damage, also where the store does not know of them`() throws {
        try SecretsTables(daemon.data).delete(try rows().record)
        try daemon.start()
        let client = try daemon.connect()
        let id = try #require(try client.result("secrets.status")["storeId"]?.text)
        try client.result("secrets.repair", "{\"confirm\":\"\(id)\"}")
        #expect(try get("s", "ada") == "integrity" && get("t", "x") == "five")
        #expect(try client.result("secrets.status")["integrity"]?.text == "damaged")
        #expect(try repair()["lostSecrets"]?.int == 3)
        #expect(try get("s", "ada") == "absent")
        #expect(try verify()["damagedCount"]?.int == 0)
    }

    @Test(arguments: [true, false])
    func `a head with a revision that there has not been is repaired, and can be changed`(isDamaged: Bool) throws {
        let head = try rows().heads[0]
        var value = head.value
        if isDamaged { value[value.count / 2] ^= 1 }
        try SecretsTables(daemon.data).write(value, rev: 1000, to: head)
        try daemon.start()
        #expect(try get("s", "bob") == "integrity")
        let done = try repair()
        #expect(done["lostSecrets"]?.int == (isDamaged ? 1 : 0), "\(done)")
        for round in 0..<2 {
            #expect(try verify()["damagedCount"]?.int == 0)
            for account in ["ada", "bob", "eve"] {
                try put("s", account, "new\(round)")
                #expect(try get("s", account) == "new\(round)")
            }
            #expect(daemon.terminate() == 0)
            try daemon.start()
        }
    }

    @Test func `what is written while it looks is looked at as well`() throws {
        try daemon.start()
        let client = try daemon.connect()
        var text = ""
        for number in 0..<600 {
            text += Client.request(
                "secrets.put", "{\"service\":\"many\",\"account\":\"a\(number)\",\"secret\":\"x\"}")
        }
        client.send(text)
        for _ in 0..<600 { _ = try client.line() }
        let other = try daemon.connect()
        other.send(Client.request("secrets.verify"))
        for number in 0..<50 {
            try client.result(
                "secrets.put", "{\"service\":\"many\",\"account\":\"a\(number)\",\"secret\":\"y\"}")
        }
        let line = try other.line()
        let found = try JSON(try #require(line))["result"]
        #expect(found?["damagedCount"]?.int == 0 && found?["secrets"]?.int == 604, "\(String(describing: found))")
    }
}
