import Glibc
import Testing

/// What the audit has of what was asked of secrets.
@Suite struct SecretsAuditScenarioTests {
    private let roles: RoleDaemon
    private var daemon: TemporaryDaemon { roles.daemon }
    private let admin: Client

    init() throws {
        roles = try RoleDaemon([
            "app": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "list", "read", "create", "update", "delete")),
            "user": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "use")),
        ])
        admin = try roles.connect("admin")
    }

    private func name(_ account: String, _ more: String = "", service: String = "s") -> String {
        "{\"service\":\"\(service)\",\"account\":\"\(account)\"\(more)}"
    }

    private func records(_ more: String = "") throws -> [JSON] {
        try roles.connect("admin").result("secrets.audit", "{\"limit\":1000\(more)}")["records"]!.elements
    }

    private func lines(_ records: [JSON]) -> [String] {
        records.map { record in
            ["method", "refused", "role", "client", "service", "account", "accessGroup"].map { record[$0]?.text ?? "-" }
                .joined(separator: " ")
        }
    }

    private func verify(_ client: Client? = nil) throws -> JSON {
        let client = try client ?? roles.connect("admin")
        var check = try client.result("secrets.auditVerify")
        while let cursor = check["cursor"]?.text, check["valid"]?.bool == true {
            check = try client.result("secrets.auditVerify", "{\"cursor\":\"\(cursor)\"}")
        }
        return check
    }

    private func restart(_ more: String = "") throws {
        try daemon.start(configuration: roles.configuration(roles.roles))
    }

    // MARK: What is in it

    @Test func `reads, uses, writes, refusals and key operations are there with who asked, in order, and no value is`()
        throws
    {
        let (app, user) = (try roles.connect("app"), try roles.connect("user"))
        try app.result("session.hello", "{\"client\":\"mailer\",\"version\":\"2\"}")
        try app.result("secrets.put", name("ada", ",\"secret\":\"hidden-value\",\"label\":\"hidden-label\""))
        try app.result("secrets.get", name("ada"))
        try admin.result("secrets.generate", name("key", ",\"kind\":\"key\",\"algorithm\":\"ed25519\""))
        try user.result("secrets.sign", name("key", ",\"data\":\"hidden-data\""))
        _ = try user.refusal("secrets.get", name("ada"))
        _ = try app.refusal("secrets.get", name("eve", service: "t"))
        _ = try admin.refusal("secrets.get", name("ada", ",\"version\":9"))
        _ = try admin.refusal("secrets.get", "{\"service\":1}")
        try admin.result("secrets.addSlot", "{\"kind\":\"passphrase\",\"newPassphrase\":\"hidden words\"}")
        try app.result("secrets.rename", name("ada", ",\"newAccount\":\"bob\""))
        try app.result("secrets.list", "{\"service\":\"s\"}")
        try app.result("secrets.delete", name("bob"))
        let found = try records()
        #expect(
            lines(found) == [
                "secrets.put - app mailer/2 s ada -", "secrets.get - app mailer/2 s ada -",
                "secrets.generate - admin - s key -", "secrets.sign - user - s key -",
                "secrets.get forbidden user - s ada -", "secrets.get forbidden app mailer/2 t eve -",
                "secrets.get notFound admin - s ada -", "secrets.addSlot - admin - - - -",
                "secrets.rename - app mailer/2 s ada -", "secrets.list - app mailer/2 s - -",
                "secrets.delete - app mailer/2 s bob -",
            ])
        #expect(found.map { $0["number"]?.int } == (1...found.count).map { $0 })
        #expect(found.allSatisfy { $0["uid"]?.int == Int(getuid()) && $0["at"]?.text != nil })
        #expect(found[0]["rev"]?.int == 1)
        #expect(!"\(found)".contains("hidden"))
        #expect(try verify()["valid"]?.bool == true)
        // Reading it is in it too.
        #expect(lines(try records()).last == "secrets.auditVerify - admin - - - -")
    }

    @Test func `the same read again is counted, and a write never is`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        for _ in 0..<300 { try admin.result("secrets.get", name("ada")) }
        for _ in 0..<3 { try admin.result("secrets.put", name("ada", ",\"secret\":\"x\"")) }
        let found = try records()
        #expect(found.map { $0["count"]?.int ?? 1 } == [1, 300, 1, 1, 1])
        #expect(found[1]["lastAt"]!.text! >= found[1]["at"]!.text!)
    }

    @Test func `what a transaction has not done is not in it, and what it was refused is`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        func operation(_ method: String, _ params: String) -> String {
            "{\"method\":\"secrets.\(method)\",\"params\":\(params)}"
        }
        let done = [operation("put", name("one", ",\"secret\":\"x\"")), operation("delete", name("ada"))]
        try admin.result("transaction.apply", "{\"operations\":[\(done.joined(separator: ","))]}")
        let undone = [
            operation("put", name("two", ",\"secret\":\"x\"")),
            operation("put", name("one", ",\"secret\":\"y\",\"ifRev\":0")),
        ]
        _ = try admin.refusal("transaction.apply", "{\"operations\":[\(undone.joined(separator: ","))]}")
        #expect(
            lines(try records()) == [
                "secrets.put - admin - s ada -", "secrets.put - admin - s one -", "secrets.delete - admin - s ada -",
                "secrets.put conflict admin - s one -",
            ])
    }

    @Test func `what was refused while the secrets were sealed is there when they are not any more`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        try admin.result("secrets.lock")
        let app = try roles.connect("app")
        for _ in 0..<5 { _ = try app.refusal("secrets.get", name("ada")) }
        #expect(try admin.refusal("secrets.audit")["kind"]?.text == "sealed")
        #expect(try admin.refusal("secrets.auditVerify")["kind"]?.text == "sealed")
        try admin.result("secrets.unlock")
        let found = try records()
        #expect(
            lines(found) == [
                "secrets.put - admin - s ada -", "secrets.lock - admin - - - -", "secrets.get sealed app - s ada -",
                "secrets.audit sealed admin - - - -", "secrets.auditVerify sealed admin - - - -",
                "secrets.unlock - admin - - - -",
            ])
        #expect(found[2]["count"]?.int == 5)
        #expect(try verify()["valid"]?.bool == true)
    }

    @Test func `what was refused while they were sealed outlives kills, and nobody reads it on the disk`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        // From here on only a passphrase opens them.
        try admin.result("secrets.addSlot", "{\"kind\":\"passphrase\",\"newPassphrase\":\"words\"}")
        try admin.result("secrets.removeSlot", "{\"slot\":1}")
        daemon.kill()
        for round in 0..<2 {
            try restart()
            let app = try roles.connect("app")
            for _ in 0..<3 { _ = try app.refusal("secrets.get", name("canaryName\(round)")) }
            let rev = try roles.connect("admin").result("storage.status")["rev"]!.int!
            try daemon.waitUntil(seconds: 15) { ($0["rev"]?.int ?? 0) > rev }
            daemon.kill()
        }
        #expect(DirectoryScan.find(["canaryName"], under: daemon.data).isEmpty)
        try restart()
        let again = try roles.connect("admin")
        try again.result("secrets.unlock", "{\"passphrase\":\"words\"}")
        func sealed() throws -> [JSON] { try records().filter { $0["refused"]?.text == "sealed" } }
        let found = try sealed()
        #expect(found.map { $0["account"]?.text } == ["canaryName0", "canaryName1"])
        #expect(found.allSatisfy { $0["count"]?.int == 3 && $0["role"]?.text == "app" })
        #expect(try verify()["valid"]?.bool == true)
        daemon.kill()
        try restart()
        try roles.connect("admin").result("secrets.unlock", "{\"passphrase\":\"words\"}")
        #expect(try sealed() == found)
    }

    @Test func `a token's issue, use and second use are there with the secret's name`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        let token = try admin.result("secrets.issueToken", name("ada", ",\"ttlSeconds\":600"))["token"]!.text!
        let user = try roles.connect("user")
        try user.result("secrets.redeemToken", "{\"token\":\"\(token)\"}")
        _ = try user.refusal("secrets.redeemToken", "{\"token\":\"\(token)\"}")
        #expect(
            lines(try records()).dropFirst() == [
                "secrets.issueToken - admin - s ada -", "secrets.redeemToken - user - s ada -",
                "secrets.redeemToken tokenUnusable user - - - -",
            ])
    }

    @Test func `it is read in pages, by service and by time`() throws {
        for number in 0..<40 {
            try admin.result(
                "secrets.put", name("a\(number)", ",\"secret\":\"x\"", service: number % 4 == 0 ? "t" : "s"))
        }
        var found: [String] = []
        var more = ""
        repeat {
            let page = try admin.result("secrets.audit", "{\"limit\":7,\"service\":\"t\"\(more)}")
            found += page["records"]!.elements.compactMap { $0["account"]?.text }
            more = page["cursor"].map { ",\"cursor\":\"\($0.text!)\"" } ?? ""
        } while !more.isEmpty
        #expect(found == (0..<10).map { "a\($0 * 4)" })
        usleep(20_000)
        try admin.result("secrets.put", name("last", ",\"secret\":\"x\""))
        let at = try #require(try records().first { $0["account"]?.text == "last" }?["at"]?.text)
        let since = try records(",\"since\":\"\(at)\"")
        #expect(since.first?["account"]?.text == "last" && since.count <= 4)
        #expect(try records(",\"since\":\"2100-01-01T00:00:00Z\"").isEmpty)
        for wrong in [",\"cursor\":\"x\"", ",\"since\":\"yesterday\""] {
            #expect(try admin.refusal("secrets.audit", "{\"limit\":1\(wrong)}")["kind"]?.text == "invalidParams")
        }
    }

    // MARK: When it is there

    @Test func `a write, and each read where that is configured, is there before it is answered`() throws {
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        #expect(try admin.result("secrets.describe", "{\"service\":\"s\"}")["auditReads"]?.text == "each")
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\"", service: "t"))
        #expect(try admin.result("secrets.describe", "{\"service\":\"t\"}")["auditReads"]?.text == "batched")
        for _ in 0..<3 { try admin.result("secrets.get", name("ada")) }
        try admin.result("secrets.get", name("ada", service: "t"))
        daemon.kill()
        try restart()
        let found = lines(try records())
        #expect(
            Array(found.prefix(6)) == [
                "secrets.configure - admin - s - -", "secrets.put - admin - s ada -", "secrets.put - admin - t ada -",
                "secrets.get - admin - s ada -", "secrets.get - admin - s ada -", "secrets.get - admin - s ada -",
            ])
        #expect(found.count == 6)
        #expect(try verify()["valid"]?.bool == true)
    }

    @Test func `a refusal is there before it is answered, but of a read that would not be there either`() throws {
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        for service in ["s", "t"] {
            try admin.result("secrets.put", name("ada", ",\"secret\":\"x\"", service: service))
        }
        let (app, user) = (try roles.connect("app"), try roles.connect("user"))
        // Of a write that its condition has stopped, of what nobody may, whatever there is, and of key operations.
        _ = try app.refusal("secrets.put", name("ada", ",\"secret\":\"y\",\"ifRev\":0"))
        _ = try user.refusal("secrets.get", name("ada"))
        _ = try app.refusal("secrets.get", name("ada", service: "t"))
        _ = try app.refusal("secrets.get", name("eve", service: "none"))
        _ = try admin.refusal("secrets.removeSlot", "{\"slot\":77}")
        _ = try user.refusal("secrets.redeemToken", "{\"token\":\"AAAA\"}")
        // Of reads: the one service says each, the other does not.
        _ = try admin.refusal("secrets.get", name("ada", ",\"version\":9"))
        _ = try admin.refusal("secrets.get", name("ada", ",\"version\":9", service: "t"))
        daemon.kill()
        try restart()
        #expect(
            lines(try records()).filter { !$0.contains(" - admin") } == [
                "secrets.put conflict app - s ada -", "secrets.get forbidden user - s ada -",
                "secrets.get forbidden app - t ada -", "secrets.get forbidden app - none eve -",
                "secrets.removeSlot notFound admin - - - -", "secrets.redeemToken tokenUnusable user - - - -",
                "secrets.get notFound admin - s ada -",
            ])
        #expect(try verify()["valid"]?.bool == true)
    }

    @Test func `who is refused very often has the disk synced for some of it, and the rest is there later`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        let user = try roles.connect("user")
        let syncs = { try self.admin.result("storage.status")["rev"]!.int! }
        let before = try syncs()
        let started = now()
        for number in 0..<300 { _ = try user.refusal("secrets.get", name("a\(number)")) }
        let revisions = try syncs() - before
        let seconds = now() - started
        let most = 32 + Int(seconds * 16) + 2
        #expect(revisions >= 32 && revisions <= most, "\(revisions) in \(seconds) s")
        // It comes back with time.
        usleep(200_000)
        let again = try syncs()
        _ = try user.refusal("secrets.get", name("last"))
        // On a busy machine what nobody waits for may have come as well.
        #expect(try syncs() > again)
        let found = try records().filter { $0["refused"]?.text == "forbidden" }
        #expect(Set(found.map { $0["account"]!.text! }).count == 301)
    }

    @Test func `a read that waits for the audit waits for the disk, and no other does`() throws {
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        for service in ["s", "t"] {
            try admin.result("secrets.put", name("ada", ",\"secret\":\"x\"", service: service))
        }
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: roles.configuration(roles.roles), faults: "log.sync:sleep=400:1+")
        let client = try roles.connect("admin")
        func seconds(_ service: String) throws -> Double {
            let start = now()
            #expect(try client.result("secrets.get", name("ada", service: service))["secret"]?.text == "x")
            return now() - start
        }
        // One of many, on a busy machine: were they to wait, each would take as long as a sync.
        func isQuick() throws -> Bool { try (0..<20).contains { _ in try seconds("t") < 0.35 } }
        #expect(try isQuick())
        #expect(try seconds("s") >= 0.4)
        #expect(try isQuick())
        // One that was told of while another waits goes with it.
        let other = try roles.connect("app")
        client.send(Client.request("secrets.get", name("ada")))
        other.send(Client.request("secrets.get", name("ada")))
        #expect(try client.reply()["result"] != nil && other.reply()["result"] != nil)
    }

    @Test func `reads that nobody waits for are there some seconds later, and at a clean stop`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        let rev = try admin.result("storage.status")["rev"]!.int!
        let began = now()
        try admin.result("secrets.get", name("ada"))
        let early = try admin.result("storage.status")["rev"]?.int
        #expect(early == rev || now() - began > 4.9)
        try daemon.waitUntil { ($0["rev"]?.int ?? 0) > rev }
        daemon.kill()
        try restart()
        #expect(lines(try records()) == ["secrets.put - admin - s ada -", "secrets.get - admin - s ada -"])
        try roles.connect("admin").result("secrets.get", name("ada"))
        #expect(daemon.terminate() == 0)
        try restart()
        #expect(lines(try records()).suffix(2) == ["secrets.audit - admin - - - -", "secrets.get - admin - s ada -"])
    }

    @Test func `a write and its record are one transaction`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        let rev = try admin.result("storage.status")["rev"]?.int
        #expect(rev == 1)
        try admin.result("secrets.put", name("ada", ",\"secret\":\"y\""))
        #expect(try admin.result("storage.status")["rev"]?.int == 2)
        #expect(try records().map { $0["rev"]?.int } == [1, 2])
    }

    // MARK: Whether it is as it was written

    /// Some records in blocks of their own, over which the daemon has ended.
    private func fill(_ count: Int) throws {
        for number in 0..<count { try admin.result("secrets.put", name("a\(number)", ",\"secret\":\"x\"")) }
        #expect(daemon.terminate() == 0)
    }

    private func judge() throws -> JSON {
        try restart()
        defer { daemon.kill() }
        return try verify()
    }

    @Test func `a record that was altered, removed, swapped or set back is named`() throws {
        try fill(6)
        let tables = { try SecretsTables(daemon.data) }
        let rows = try tables().rows(ofAudit: true)
        try #require(rows.count == 7 && rows[0].table == "settings")
        let (head, blocks) = (rows[0], Array(rows.dropFirst()))
        #expect(try judge()["valid"]?.bool == true)
        for (index, block) in blocks.enumerated() {
            for position in stride(from: index, to: block.value.count, by: 41) {
                var value = block.value
                value[position] ^= 1
                try tables().write(value, to: block)
                let check = try judge()
                #expect(check["valid"]?.bool == false && check["firstBroken"]?.int == index + 1, "\(check)")
            }
            try tables().write(block.value, to: block)
        }
        try tables().swap(blocks[1], blocks[3])
        #expect(try judge()["firstBroken"]?.int == 2)
        try tables().write(blocks[1].value, to: blocks[1])
        try tables().write(blocks[3].value, to: blocks[3])
        var value = head.value
        value[20] ^= 1
        try tables().write(value, to: head)
        #expect(try judge()["valid"]?.bool == false)
        try tables().write(head.value, to: head)
        #expect(try judge()["valid"]?.bool == true)
        try tables().delete(blocks[5])
        #expect(try judge()["firstBroken"]?.int == 6)
        try tables().delete(blocks[2])
        let check = try judge()
        #expect(check["firstBroken"]?.int == 3 && check["records"]?.int == 2)
        // Reading says so as well, behind what comes before it.
        try restart()
        let reader = try roles.connect("admin")
        let page = try reader.result("secrets.audit")
        #expect(page["records"]?.elements.map { $0["number"]?.int } == [1, 2])
        let cursor = try #require(page["cursor"]?.text)
        #expect(try reader.refusal("secrets.audit", "{\"cursor\":\"\(cursor)\"}")["kind"]?.text == "integrity")
    }

    @Test func `an older head in the place of the newest shows`() throws {
        try fill(3)
        let older = try SecretsTables(daemon.data).rows(ofAudit: true)[0]
        try restart()
        try roles.connect("admin").result("secrets.put", name("b", ",\"secret\":\"x\""))
        #expect(daemon.terminate() == 0)
        let tables = try SecretsTables(daemon.data)
        let head = try tables.rows(ofAudit: true)[0]
        try tables.write(older.value, to: head)
        try restart()
        let client = try roles.connect("admin")
        let first = try client.result("secrets.auditVerify")
        #expect(first["valid"]?.bool == false && first["reason"]?.text == "head" && first["newest"]?.int == 4)
        // And that something is behind its end shows to whoever would be put there.
        #expect(try client.refusal("secrets.get", name("b"))["kind"]?.text == "integrity")
    }

    @Test func `a block of another history in the place of one is named`() throws {
        try fill(3)
        let copy = daemon.root + "/copy"
        #expect(try Outsider.run("cp -a \(daemon.data) \(copy)").status == 0)
        func put(_ account: String) throws {
            try restart()
            try roles.connect("admin").result("secrets.put", name(account, ",\"secret\":\"x\""))
            #expect(daemon.terminate() == 0)
        }
        try put("other")
        // Whole, of the same store, and with the number of the one whose place it takes.
        let other = try #require(try SecretsTables(daemon.data).rows(ofAudit: true).last)
        #expect(try Outsider.run("rm -rf \(daemon.data) && mv \(copy) \(daemon.data)").status == 0)
        try put("b")
        let last = try #require(try SecretsTables(daemon.data).rows(ofAudit: true).last)
        #expect(other.key == last.key && other.value != last.value)
        try SecretsTables(daemon.data).write(other.value, to: last)
        #expect(try judge()["valid"]?.bool == false)
        try SecretsTables(daemon.data).write(last.value, to: last)
        try put("c")
        #expect(try judge()["valid"]?.bool == true)
        daemon.kill()
        try SecretsTables(daemon.data).write(other.value, to: last)
        let check = try judge()
        #expect(check["valid"]?.bool == false && check["firstBroken"]?.int == 5, "\(check)")
    }

    @Test func `the chain goes on over restarts, kills and another root key`() throws {
        try admin.result("secrets.put", name("ada", ",\"secret\":\"x\""))
        try admin.result("secrets.rotate", "{\"rootKey\":true}")
        try admin.result("secrets.put", name("ada", ",\"secret\":\"y\""))
        daemon.kill()
        try restart()
        try roles.connect("admin").result("secrets.put", name("ada", ",\"secret\":\"z\""))
        #expect(daemon.terminate() == 0)
        try restart()
        let check = try verify()
        #expect(check["valid"]?.bool == true && check["newest"]?.int == 4, "\(check)")
        #expect(lines(try records()).prefix(2) == ["secrets.put - admin - s ada -", "secrets.rotate - admin - - - -"])
    }

    @Test func `the oldest go when there is too much`() throws {
        let small = try TemporaryDaemon(configuration: "{\"secrets\":{\"auditBytes\":16384}}")
        let client = try small.connect()
        for number in 0..<200 { try client.result("secrets.put", name("a\(number)", ",\"secret\":\"x\"")) }
        let found = try client.result("secrets.audit", "{\"limit\":1000}")["records"]!.elements
        let first = try #require(found.first?["number"]?.int)
        #expect(first > 100 && first < 180 && found.last?["number"]?.int == 200)
        #expect(found.map { $0["number"]!.int! } == Array(first...200))
        #expect(try verify(client)["valid"]?.bool == true)
        small.kill()
        try small.start(configuration: "{\"secrets\":{\"auditBytes\":16384}}")
        let again = try small.connect()
        #expect(try verify(again)["valid"]?.bool == true)
        for number in 0..<200 { try again.result("secrets.put", name("a\(number)", ",\"secret\":\"x\"")) }
        #expect(try verify(again)["valid"]?.bool == true)
        try small.waitUntilFolded()
        #expect(small.terminate() == 0)
        let bytes = try SecretsTables(small.data).rows(ofAudit: true).dropFirst().reduce(0) { $0 + $1.value.count }
        #expect(bytes <= 16_384 + 4096)
    }
}
