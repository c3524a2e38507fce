import KuraBytes
import Sodium
import Testing

/// Several secrets at once, and secrets that come and go sealed.
@Suite struct SecretsManyScenarioTests {
    private let daemon: RoleDaemon
    private let admin: Client

    init() throws {
        daemon = try RoleDaemon([
            "reader": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "read")),
            "user": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "use", "list")),
        ])
        admin = try daemon.connect("admin")
    }

    private func put(_ account: String, _ more: String, service: String = "s") throws {
        try admin.result("secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\(more)}")
    }

    private func many(_ accounts: [String], _ more: String = "") -> String {
        "{\"service\":\"s\",\"accounts\":[\(accounts.map { "\"\($0)\"" }.joined(separator: ","))]\(more)}"
    }

    @Test func `several are read at once in the order asked for, and those that are missing are named`() throws {
        try put("text", "\"secret\":\"one\"")
        try put("bytes", "\"secretBase64\":\"AAEC\"")
        try put("texts", "\"secret\":{\"user\":\"a\"},\"expiresAt\":\"2100-01-01T00:00:00Z\"")
        try put("text", "\"secret\":\"of the team\",\"accessGroup\":\"team\"")
        try put("gone", "\"secret\":\"two\"")
        try admin.result("secrets.destroyVersion", "{\"service\":\"s\",\"account\":\"gone\",\"version\":1}")
        let reader = try daemon.connect("reader")
        let found = try reader.result("secrets.getMany", many(["texts", "none", "text", "gone", "bytes", "text"]))
        let secrets = found["secrets"]!.elements
        #expect(secrets.map { $0["account"]?.text } == ["texts", "text", "bytes", "text"])
        #expect(secrets[0]["secret"] == (try JSON("{\"user\":\"a\"}")) && secrets[1]["secret"]?.text == "one")
        #expect(secrets[0]["expiresAt"]?.text == "2100-01-01T00:00:00.000Z" && secrets[1]["version"]?.int == 1)
        #expect(secrets[2]["secretBase64"]?.text == "AAEC" && secrets[1]["rev"]?.int == 1)
        #expect(found["missing"]!.elements.map(\.text) == ["none", "gone"])
        #expect(found["rev"]!.int! >= secrets.map { $0["rev"]!.int! }.max()!)
        let group = try admin.result("secrets.getMany", many(["text", "bytes"], ",\"accessGroup\":\"team\""))
        #expect(group["secrets"]!.elements.map { $0["secret"]?.text } == ["of the team"])
        #expect(group["missing"]!.elements.map(\.text) == ["bytes"])
        // A grant of the group is another one.
        #expect(
            try reader.refusal("secrets.getMany", many(["text"], ",\"accessGroup\":\"team\""))["kind"]?.text
                == "forbidden")
        #expect(
            try daemon.connect("user").refusal("secrets.getMany", many(["text"]))["kind"]?.text == "forbidden")
        #expect(try reader.refusal("secrets.getMany", many([""]))["kind"]?.text == "invalidParams")
        let none = try reader.result("secrets.getMany", many([]))
        #expect(none["secrets"] == .array([]) && none["missing"] == .array([]))
    }

    @Test func `each of them is in the audit`() throws {
        try admin.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        for account in ["a", "b", "c"] { try put(account, "\"secret\":\"x\"") }
        try daemon.connect("reader").result("secrets.getMany", many(["c", "none", "a"]))
        daemon.daemon.kill()
        try daemon.daemon.start(configuration: daemon.configuration(daemon.roles))
        let records = try daemon.connect("admin").result("secrets.audit")["records"]!.elements
        let read = records.filter { $0["method"]?.text == "secrets.getMany" }
        #expect(read.map { $0["account"]?.text } == ["c", "none", "a"])
        #expect(read.allSatisfy { $0["service"]?.text == "s" && $0["role"]?.text == "reader" })
    }

    @Test func `many and large ones come over several turns, as of one moment`() throws {
        let accounts = (0..<300).map { "a\($0)" }
        let value = { (account: String) in account + String(repeating: "x", count: 8000) }
        for account in accounts { try put(account, "\"secret\":\"\(value(account))\"") }
        let reader = try daemon.connect("reader")
        let other = try daemon.connect("admin")
        for round in 0..<3 {
            reader.send(Client.request("secrets.getMany", many(accounts)))
            other.send(
                Client.request(
                    "secrets.put", "{\"service\":\"s\",\"account\":\"a299\",\"secret\":\"\(value("a299"))\"}"))
            let found = try reader.reply()["result"]
            _ = try other.reply()
            let secrets = try #require(found?["secrets"]?.elements)
            #expect(secrets.map { $0["account"]?.text } == accounts, "\(round)")
            #expect(secrets.allSatisfy { $0["secret"]?.text == value($0["account"]!.text!) })
            let rev = try #require(found?["rev"]?.int)
            #expect(secrets.allSatisfy { $0["rev"]!.int! <= rev })
        }
    }

    // MARK: Sealed on the way

    private func open(_ sealed: String?, _ pair: BoxKeyPair) throws -> JSON {
        var bytes = ByteBuffer()
        let isBase64 = Array((sealed ?? "").utf8).withBytes { Base64.decode($0, into: &bytes) }
        try #require(isBase64)
        var text = SecretBuffer()
        try SealedBox.open(bytes.bytes, into: &text, with: pair)
        return try JSON(String(decoding: Array(text.bytes), as: UTF8.self))
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        var text = ByteBuffer()
        bytes.withBytes { Base64.encode($0, into: &text) }
        return String(decoding: Array(text.bytes), as: UTF8.self)
    }

    @Test func `a reply is sealed to who asked for it, with what it answers, and nobody between reads it`() throws {
        try put("ada", "\"secret\":\"old-value\"")
        try put("ada", "\"secret\":\"hidden-value\"")
        try put("db", "\"secret\":{\"user\":\"hidden-user\",\"password\":\"hidden-word\"}")
        let pair = try BoxKeyPair()
        let key = Self.base64(pair.publicKey)
        func line(_ method: String, _ params: String) throws -> String {
            admin.send(Client.request("secrets." + method, params, id: "\"request-7\""))
            return try #require(try admin.line())
        }
        let name = "{\"service\":\"s\",\"account\":\"ada\",\"sealTo\":\"\(key)\""
        let reply = try line("get", name + "}")
        #expect(!reply.contains("hidden") && !reply.contains("\"secret\":"))
        let opened = try open(try JSON(reply)["result"]?["secretSealed"]?.text, pair)
        #expect(
            opened
                == (try JSON(
                    "{\"id\":\"request-7\",\"service\":\"s\",\"account\":\"ada\",\"version\":2,\"secret\":\"hidden-value\"}"
                )))
        let older = try JSON(try line("get", name + ",\"version\":1}"))["result"]
        let old = try open(older?["secretSealed"]?.text, pair)
        #expect(old["secret"]?.text == "old-value" && old["version"]?.int == 1 && older?["version"]?.int == 1)
        let field = try line(
            "get", "{\"service\":\"s\",\"account\":\"db\",\"field\":\"password\",\"sealTo\":\"\(key)\"}")
        #expect(!field.contains("hidden"))
        #expect(try open(try JSON(field)["result"]?["secretSealed"]?.text, pair)["secret"]?.text == "hidden-word")
        let several = try line("getMany", many(["db", "ada"], ",\"sealTo\":\"\(key)\""))
        #expect(!several.contains("hidden"))
        let items = try JSON(several)["result"]!["secrets"]!.elements
        #expect(try items.map { try open($0["secretSealed"]?.text, pair)["account"]?.text } == ["db", "ada"])
        // Another's key opens nothing, and what is no key is refused.
        let other = try BoxKeyPair()
        #expect(throws: SodiumError.self) { try open(items[0]["secretSealed"]?.text, other) }
        for wrong in ["AAAA", Self.base64([UInt8](repeating: 0, count: 32)), "!"] {
            let params = "{\"service\":\"s\",\"account\":\"ada\",\"sealTo\":\"\(wrong)\"}"
            #expect(try admin.refusal("secrets.get", params)["kind"]?.text == "invalidParams", "\(wrong)")
        }
    }

    @Test func `what is sealed to the daemon is stored under the names inside and no others`() throws {
        let status = try admin.result("secrets.status")
        var key = ByteBuffer()
        let isBase64 = Array(status["publicKey"]!.text!.utf8).withBytes { Base64.decode($0, into: &key) }
        try #require(isBase64)
        func seal(_ object: String) throws -> String {
            var sealed = ByteBuffer()
            try Array(object.utf8).withBytes { (object) throws(SodiumError) in
                try SealedBox.seal(object, for: key.bytes, to: &sealed)
            }
            return Self.base64(Array(sealed.bytes))
        }
        func put(_ sealed: String, _ account: String = "ada", more: String = "") throws -> JSON {
            try admin.call(
                "secrets.put",
                "{\"service\":\"s\",\"account\":\"\(account)\",\"secretSealed\":\"\(sealed)\"\(more)}")
        }
        let whole = "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"from \\u0041 afar\"}"
        #expect(try put(try seal(whole))["result"]?["version"]?.int == 1)
        let name = "{\"service\":\"s\",\"account\":\"ada\"}"
        #expect(try admin.result("secrets.get", name)["secret"]?.text == "from A afar")
        let bytes = "{\"service\":\"s\",\"account\":\"ada\",\"secretBase64\":\"AAEC\"}"
        #expect(try put(try seal(bytes))["result"]?["version"]?.int == 2)
        #expect(try admin.result("secrets.get", name)["secretBase64"]?.text == "AAEC")
        // Somebody else's names, no secret, two of them, something more, no object, and what was altered on the way.
        var altered = Array(try seal(whole))
        altered[60] = altered[60] == "A" ? "B" : "A"
        for wrong in [
            try seal("{\"service\":\"s\",\"account\":\"bob\",\"secret\":\"x\"}"),
            try seal("{\"service\":\"t\",\"account\":\"ada\",\"secret\":\"x\"}"),
            try seal("{\"account\":\"ada\",\"secret\":\"x\"}"),
            try seal("{\"service\":\"s\",\"account\":\"ada\"}"),
            try seal("{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"x\",\"secretBase64\":\"AAEC\"}"),
            try seal("{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"x\",\"label\":\"y\"}"), try seal("[]"),
            try seal("{"), String(altered),
        ] {
            let refused = try put(wrong)["error"]?["data"]
            #expect(refused?["kind"]?.text == "invalidParams", "\(String(describing: refused))")
        }
        #expect(try admin.result("secrets.get", name)["version"]?.int == 2)
        // A box is for one access group, or for none.
        let grouped = "{\"service\":\"s\",\"account\":\"ada\",\"accessGroup\":\"boss\",\"secret\":\"theirs\"}"
        let boss = ",\"accessGroup\":\"boss\""
        for (box, group) in [(whole, boss), (grouped, ""), (grouped, ",\"accessGroup\":\"g1\"")] {
            let refused = try put(try seal(box), more: group)["error"]?["data"]
            #expect(refused?["kind"]?.text == "invalidParams", "\(box) \(group)")
        }
        #expect(try put(try seal(grouped), more: boss)["result"]?["version"]?.int == 1)
        let pair = try BoxKeyPair()
        let asked = "{\"service\":\"s\",\"account\":\"ada\"\(boss),\"sealTo\":\"\(Self.base64(pair.publicKey))\"}"
        let opened = try open(try admin.result("secrets.get", asked)["secretSealed"]?.text, pair)
        #expect(opened["accessGroup"]?.text == "boss" && opened["secret"]?.text == "theirs")
        // It waits for the keys like everything else.
        let early = try seal("{\"service\":\"s\",\"account\":\"eve\",\"secret\":\"early\"}")
        try admin.result("secrets.lock")
        #expect(try put(early, "eve")["error"]?["data"]?["kind"]?.text == "sealed")
        try admin.result("secrets.unlock")
        #expect(try put(early, "eve")["result"]?["version"]?.int == 1)
    }
}
