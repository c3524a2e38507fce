import Glibc
import Testing

/// `secrets.*` over a real socket: what the verbs do.
@Suite struct SecretsScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon(movesTime: true)
        client = try daemon.connect()
    }

    @discardableResult
    private func put(_ account: String, _ secret: String, _ more: String = "", service: String = "s") throws -> JSON {
        try client.result(
            "secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\(secret)\(more)}")
    }

    private func get(_ account: String, _ more: String = "", service: String = "s") throws -> JSON {
        try client.result("secrets.get", "{\"service\":\"\(service)\",\"account\":\"\(account)\"\(more)}")
    }

    private func restart(killing: Bool = false) throws -> Client {
        if killing { daemon.kill() } else { #expect(daemon.terminate() == 0) }
        try daemon.start()
        return try daemon.connect()
    }

    // MARK: Putting and getting

    @Test func `what is put is read again, each time as a new version`() throws {
        let first = try put("ada", "\"one\"")
        #expect(first["version"]?.int == 1)
        let second = try put("ada", "\"two\"")
        #expect(second["version"]?.int == 2)
        #expect(try #require(second["rev"]?.int) == first["rev"]!.int! + 1)
        let found = try get("ada")
        #expect(found["secret"] == .string("two"))
        #expect(found["rev"] == second["rev"] && found["version"]?.int == 2)
        #expect(found["createdAt"]?.text != nil && found["expiresAt"] == nil)
        #expect(try get("ada", ",\"version\":1")["secret"] == .string("one"))
        #expect(
            try client.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"ada\",\"version\":3}")["kind"]
                == .string("notFound"))
        #expect(try get("nobody") == JSON("{\"rev\":0}"))
        #expect(try get("ada", service: "none") == JSON("{\"rev\":0}"))
    }

    @Test(arguments: [
        ("\"\"", "\"\""), ("\"caf\\u00e9 \\\"x\\\" \\\\ \\uD83D\\uDE00\"", "\"café \\\"x\\\" \\\\ 😀\""),
        ("\"蔵\"", "\"蔵\""),
        ("{\"user\":\"ada\",\"password\":\"p\\\"w\"}", "{\"user\":\"ada\",\"password\":\"p\\\"w\"}"),
        ("{ \"a\" : \"1\" , \"b\" : \"\" }", "{\"a\":\"1\",\"b\":\"\"}"),
    ])
    func `texts and dictionaries come back as they were`(secret: String, shown: String) throws {
        try put("x", secret)
        #expect(try get("x")["secret"] == JSON(shown))
        let again = try restart()
        #expect(try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"x\"}")["secret"] == JSON(shown))
    }

    @Test func `bytes go in and out as base64`() throws {
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"b\",\"secretBase64\":\"AAEC\\/w==\"}")
        let found = try get("b")
        #expect(found["secretBase64"] == .string("AAEC/w==") && found["secret"] == nil)
    }

    @Test func `one field of a dictionary is read alone`() throws {
        try put("d", "{\"user\":\"ada\",\"pass\\u0077ord\":\"x\\ny\"}")
        #expect(try get("d", ",\"field\":\"password\"")["secret"] == .string("x\ny"))
        let error = try client.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"d\",\"field\":\"host\"}")
        #expect(error["kind"] == .string("notFound") && error["parameter"] == .string("field"))
        try put("t", "\"text\"")
        #expect(
            try client.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"t\",\"field\":\"user\"}")["kind"]
                == .string("notFound"))
    }

    @Test(arguments: [
        "", ",\"secret\":1", ",\"secret\":null", ",\"secret\":[]", ",\"secret\":{}", ",\"secret\":{\"a\":1}",
        ",\"secret\":{\"\":\"x\"}", ",\"secret\":\"a\",\"secretBase64\":\"AA==\"", ",\"secretBase64\":\"A\"",
        ",\"secretBase64\":1", ",\"secretSealed\":\"AAAA\"", ",\"secret\":\"a\",\"expiresAt\":\"tomorrow\"",
        ",\"secret\":\"a\",\"expiresAt\":\"2001-01-01T00:00:00Z\"", ",\"secret\":\"a\",\"attributes\":{\"a\":1}",
        ",\"secret\":\"a\",\"accessibility\":\"never\"", ",\"secret\":\"a\",\"maxVersions\":101",
        ",\"secret\":\"a\",\"maxVersions\":-1", ",\"secret\":\"a\",\"label\":1", ",\"secret\":\"a\",\"color\":1",
        ",\"secret\":\"a\",\"accessGroup\":\"\"", ",\"secret\":\"a\",\"attributes\":{\"\":\"x\"}",
    ])
    func `bad input changes nothing`(more: String) throws {
        try put("ada", "\"one\"")
        let before = try client.result("storage.status")["rev"]
        #expect(
            try client.refusal("secrets.put", "{\"service\":\"s\",\"account\":\"ada\"\(more)}")["kind"]
                == .string("invalidParams"), "\(more)")
        #expect(try client.result("storage.status")["rev"] == before)
        #expect(try get("ada")["secret"] == .string("one"))
    }

    @Test func `a value has at most a mebibyte`() throws {
        let most = String(repeating: "x", count: 1 << 20)
        try put("large", "\"\(most)\"")
        #expect(try get("large")["secret"] == .string(most))
        let error = try client.refusal(
            "secrets.put", "{\"service\":\"s\",\"account\":\"large\",\"secret\":\"\(most)x\"}")
        #expect(error["kind"] == .string("valueTooLarge") && error["limit"]?.int == 1 << 20)
        #expect(try get("large")["version"]?.int == 1)
        let again = try restart()
        #expect(try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"large\"}")["secret"] == .string(most))
    }

    // MARK: Conditions

    @Test func `ifRev makes a write conditional, and the error tells the revision`() throws {
        let rev = try #require(try put("ada", "\"one\"", ",\"ifRev\":0")["rev"]?.int)
        for (method, more) in [
            ("put", ",\"secret\":\"x\",\"ifRev\":0"), ("delete", ",\"ifRev\":\(rev + 1)"),
            ("setAttributes", ",\"label\":\"x\",\"ifRev\":\(rev + 1)"),
            ("rename", ",\"newAccount\":\"eve\",\"ifRev\":\(rev + 1)"),
            ("restoreVersion", ",\"version\":1,\"ifRev\":\(rev + 1)"), ("generate", ",\"ifRev\":0"),
        ] {
            let error = try client.refusal("secrets.\(method)", "{\"service\":\"s\",\"account\":\"ada\"\(more)}")
            #expect(error["kind"] == .string("conflict") && error["currentRev"]?.int == rev, "\(method)")
        }
        #expect(try get("ada")["version"]?.int == 1)
        #expect(try put("ada", "\"two\"", ",\"ifRev\":\(rev)")["version"]?.int == 2)
    }

    @Test func `of two clients with one revision one wins`() throws {
        let rev = try #require(try put("ada", "\"start\"")["rev"]?.int)
        let other = try daemon.connect()
        let lines = (0..<2).map { "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"c\($0)\",\"ifRev\":\(rev)}" }
        client.send(Client.request("secrets.put", lines[0]))
        other.send(Client.request("secrets.put", lines[1]))
        let replies = [try client.reply(), try other.reply()]
        #expect(replies.filter { $0["result"] != nil }.count == 1)
        #expect(replies.filter { $0["error"]?["data"]?["kind"] == .string("conflict") }.count == 1)
        let winner = replies[0]["result"] != nil ? "c0" : "c1"
        #expect(try get("ada")["secret"] == .string(winner))
        #expect(try get("ada")["version"]?.int == 2)
    }

    @Test func `a request key answers a write once`() throws {
        let first = try put("ada", "\"one\"", ",\"requestKey\":\"k1\"")
        #expect(try put("ada", "\"one\"", ",\"requestKey\":\"k1\"") == first)
        #expect(try get("ada")["version"]?.int == 1)
    }

    // MARK: Deleting

    @Test func `a deleted secret is absent, with all its versions`() throws {
        try put("ada", "\"one\"")
        try put("ada", "\"two\"")
        let gone = try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"ada\"}")
        #expect(gone["deleted"]?.bool == true)
        #expect(try get("ada") == JSON("{\"rev\":0}"))
        #expect(try get("ada", ",\"version\":1") == JSON("{\"rev\":0}"))
        #expect(
            try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"ada\"}")
                == JSON("{\"rev\":0,\"deleted\":false}"))
        // A new one begins anew, in memory and on the disk.
        #expect(try put("ada", "\"three\"")["version"]?.int == 1)
        let again = try restart()
        #expect(
            try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"ada\"}")["secret"] == .string("three"))
        #expect(try again.result("secrets.describe", "{\"service\":\"s\"}")["count"]?.int == 1)
        // Nor is anything of its values in the tables.
        #expect(daemon.terminate() == 0)
        let values = try SecretsTables(daemon.data).rows().filter { $0.table == "documents" && !$0.value.isEmpty }
        #expect(values.count == 1)
    }

    // MARK: Versions

    @Test func `ten versions are kept, or as many as the item or its service says`() throws {
        func versions(_ account: String) throws -> [Int] {
            try client.result("secrets.versions", "{\"service\":\"s\",\"account\":\"\(account)\"}")["versions"]!
                .elements
                .compactMap { $0["version"]?.int }
        }
        for number in 1...13 { try put("ada", "\"v\(number)\"") }
        #expect(try versions("ada") == Array(4...13))
        #expect(
            try client.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"ada\",\"version\":3}")["kind"]
                == .string("notFound"))
        #expect(try get("ada", ",\"version\":4")["secret"] == .string("v4"))
        for number in 1...4 { try put("two", "\"v\(number)\"", ",\"maxVersions\":2") }
        #expect(try versions("two") == [3, 4])
        try client.result("secrets.configure", "{\"service\":\"s\",\"maxVersions\":3}")
        try put("ada", "\"v14\"")
        #expect(try versions("ada") == [12, 13, 14])
        #expect(try versions("none").isEmpty)
        let again = try restart()
        #expect(
            try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"ada\",\"version\":12}")["secret"]
                == .string("v12"))
    }

    @Test func `an earlier version is made the newest again`() throws {
        try put("ada", "{\"user\":\"a\"}")
        try put("ada", "\"two\"")
        let restored = try client.result(
            "secrets.restoreVersion", "{\"service\":\"s\",\"account\":\"ada\",\"version\":1}")
        #expect(restored["version"]?.int == 3)
        #expect(try get("ada")["secret"] == JSON("{\"user\":\"a\"}"))
        for (version, account) in [(9, "ada"), (1, "nobody")] {
            #expect(
                try client.refusal(
                    "secrets.restoreVersion", "{\"service\":\"s\",\"account\":\"\(account)\",\"version\":\(version)}")[
                        "kind"]
                    == .string("notFound"))
        }
    }

    // MARK: Names and what is known

    @Test func `a renamed secret keeps its versions, and its old name is free`() throws {
        try put("ada", "\"one\"", ",\"label\":\"Mail\"")
        try put("ada", "\"two\"")
        try put("eve", "\"other\"")
        #expect(
            try client.refusal("secrets.rename", "{\"service\":\"s\",\"account\":\"ada\",\"newAccount\":\"eve\"}")[
                "kind"]
                == .string("conflict"))
        let own = try client.refusal("secrets.rename", "{\"service\":\"s\",\"account\":\"ada\",\"newAccount\":\"ada\"}")
        #expect(own["kind"]?.text == "conflict" && own["currentRev"]?.int ?? 0 > 0)
        try client.result("secrets.rename", "{\"service\":\"s\",\"account\":\"ada\",\"newAccount\":\"bob\"}")
        var client = client
        for isAnew in [false, true] {
            if isAnew { client = try restart() }
            #expect(try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"ada\"}") == JSON("{\"rev\":0}"))
            #expect(
                try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"bob\",\"version\":1}")["secret"]
                    == .string("one"))
            #expect(
                try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"bob\"}")["secret"] == .string("two"))
        }
        let after = try daemon.connect()
        #expect(
            try after.refusal("secrets.rename", "{\"service\":\"s\",\"account\":\"zoe\",\"newAccount\":\"x\"}")["kind"]
                == .string("notFound"))
    }

    @Test func `what is known of a secret is listed and changed without its value`() throws {
        try put(
            "ada", "\"hidden\"", ",\"label\":\"Mail\",\"attributes\":{\"host\":\"m\",\"tls\":\"1\"},\"deviceOnly\":true"
        )
        try put("eve", "{\"a\":\"b\"}", ",\"attributes\":{\"host\":\"n\"},\"backup\":false")
        try put("z", "\"q\"", service: "t")
        let items = try client.result("secrets.list", "{\"service\":\"s\"}")["items"]!.elements
        #expect(items.count == 2)
        let ada = try #require(items.first { $0["account"] == .string("ada") })
        #expect(ada["label"] == .string("Mail") && ada["kind"] == .string("text") && ada["deviceOnly"]?.bool == true)
        #expect(ada["attributes"] == (try JSON("{\"host\":\"m\",\"tls\":\"1\"}")) && ada["version"]?.int == 1)
        #expect(ada["secret"] == nil && ada["accessibility"] == .string("whenUnlocked"))
        #expect(try client.result("secrets.list")["items"]?.elements.count == 3)
        for (filter, accounts) in [
            ("{\"host\":\"m\"}", ["ada"]), ("{\"host\":\"m\",\"tls\":\"0\"}", []), ("{\"host\":\"n\"}", ["eve"]),
            ("{\"none\":\"n\"}", []),
        ] {
            let found = try client.result("secrets.list", "{\"attributes\":\(filter)}")["items"]!.elements
            #expect(found.compactMap { $0["account"]?.text } == accounts, "\(filter)")
        }
        try client.result(
            "secrets.setAttributes", "{\"service\":\"s\",\"account\":\"ada\",\"label\":\"Post\",\"attributes\":{}}")
        let now = try client.result("secrets.list", "{\"service\":\"s\"}")["items"]!.elements
            .first { $0["account"] == .string("ada") }
        #expect(now?["label"] == .string("Post") && now?["attributes"] == nil && now?["version"]?.int == 1)
        #expect(try get("ada")["secret"] == .string("hidden"))
        #expect(
            try client.refusal("secrets.setAttributes", "{\"service\":\"s\",\"account\":\"no\",\"label\":\"x\"}")[
                "kind"]
                == .string("notFound"))
    }

    @Test func `a list goes on behind its pages, and shows each once`() throws {
        var expected: Set<String> = []
        for index in 0..<25 {
            try put("a\(index)", "\"x\"", service: "s\(index % 3)")
            expected.insert("s\(index % 3)/a\(index)")
        }
        var seen: [String] = []
        var cursor = ""
        for _ in 0..<30 {
            let page = try client.result("secrets.list", "{\"limit\":2\(cursor)}")
            seen += page["items"]!.elements.map { "\($0["service"]!.text!)/\($0["account"]!.text!)" }
            guard let next = page["cursor"]?.text else { break }
            cursor = ",\"cursor\":\"\(next)\""
        }
        #expect(seen.count == 25 && Set(seen) == expected)
        let scopes = try client.result("secrets.scopes")["scopes"]!.elements
        #expect(Set(scopes.map { "\($0["service"]!.text!) \($0["count"]!.int!)" }) == ["s0 9", "s1 8", "s2 8"])
        #expect(try client.refusal("secrets.list", "{\"cursor\":\"12\"}")["kind"] == .string("invalidParams"))
    }

    // MARK: Made here

    @Test func `what is generated is stored, and shown only when asked for`() throws {
        let made = try client.result(
            "secrets.generate", "{\"service\":\"s\",\"account\":\"p\",\"length\":40,\"alphabet\":\"ab\"}")
        #expect(made["secret"] == nil && made["version"]?.int == 1)
        let password = try #require(try get("p")["secret"]?.text)
        #expect(password.count == 40 && Set(password) == ["a", "b"])
        let key = try client.result(
            "secrets.generate", "{\"service\":\"s\",\"account\":\"k\",\"kind\":\"key\",\"returnSecret\":true}")
        #expect(try get("k")["secretBase64"] == key["secretBase64"])
        #expect(key["secretBase64"]?.text?.count == 44)
        let uuid = try client.result(
            "secrets.generate", "{\"service\":\"s\",\"account\":\"u\",\"kind\":\"uuid\",\"returnSecret\":true}")[
                "secret"]?.text
        #expect(uuid?.count == 36 && uuid?.split(separator: "-").map(\.count) == [8, 4, 4, 4, 12])
        let standard = try client.result(
            "secrets.generate", "{\"service\":\"s\",\"account\":\"q\",\"returnSecret\":true}")["secret"]?.text
        #expect(standard?.count == 24)
        for more in [
            "\"kind\":\"uuid\",\"length\":3", "\"kind\":\"key\",\"length\":8", "\"alphabet\":\"aa\"",
            "\"alphabet\":\"a\"",
            "\"alphabet\":\"aé\"", "\"kind\":\"key\",\"alphabet\":\"ab\"", "\"returnSecret\":true,\"requestKey\":\"r\"",
        ] {
            #expect(
                try client.refusal("secrets.generate", "{\"service\":\"s\",\"account\":\"n\",\(more)}")["kind"]
                    == .string("invalidParams"), "\(more)")
        }
        #expect(try get("n") == JSON("{\"rev\":0}"))
    }

    // MARK: Time

    @Test func `what has expired is absent, and goes by itself`() throws {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        var soon = time.tv_sec + 3600
        gmtime_r(&soon, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let text =
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
        try put("old", "\"kept\"")
        let rev = try put("old", "\"short\"", ",\"expiresAt\":\"\(text)\"")["rev"]?.int
        try put("stays", "\"x\"")
        let found = try get("old")
        #expect(found["secret"] == .string("short"))
        #expect(found["expiresAt"]?.text?.hasPrefix(text.dropLast()) == true)
        try daemon.advance(seconds: 3600)
        let deadline = now() + 60
        while try client.result("secrets.describe", "{\"service\":\"s\"}")["count"]?.int != 1, now() < deadline {
            usleep(20_000)
        }
        #expect(try client.result("secrets.describe", "{\"service\":\"s\"}")["count"]?.int == 1)
        #expect(try get("old") == JSON("{\"rev\":0}"))
        #expect(try get("old", ",\"version\":1") == JSON("{\"rev\":0}"))
        #expect(try put("old", "\"new\"", ",\"ifRev\":0")["version"]?.int == 1)
        #expect(rev != nil)
        #expect(try get("stays")["secret"] == .string("x"))
    }

    // MARK: Together with others

    @Test func `a transaction over rooms takes secrets along, or none of it`() throws {
        func apply(_ last: String) throws -> JSON {
            try client.call(
                "transaction.apply",
                """
                {"operations":[{"method":"secrets.put","params":{"service":"s","account":"a","secret":"one"}},
                {"method":"settings.put","params":{"domain":"d","key":"k","value":1}},
                {"method":"secrets.put","params":{"service":"s","account":"b","secret":{"x":"y"}}},
                {"method":"secrets.generate","params":{"service":"new","account":"c"}},\(last)]}
                """.replacing("\n", with: ""))
        }
        let failed = try apply(
            "{\"method\":\"secrets.delete\",\"params\":{\"service\":\"s\",\"account\":\"q\",\"ifRev\":7}}")
        #expect(failed["error"]?["data"]?["kind"] == .string("conflict"))
        #expect(failed["error"]?["data"]?["operation"]?.int == 4)
        #expect(try get("a") == JSON("{\"rev\":0}"))
        #expect(try client.result("secrets.scopes")["scopes"]?.elements.isEmpty == true)
        let done = try apply("{\"method\":\"settings.put\",\"params\":{\"domain\":\"d\",\"key\":\"l\",\"value\":2}}")
        let rev = try #require(done["result"]?["rev"]?.int)
        #expect(try get("a")["rev"]?.int == rev && get("b")["rev"]?.int == rev)
        #expect(done["result"]?["results"]?[2] == (try JSON("{\"rev\":\(rev),\"version\":1}")))
        let again = try restart(killing: true)
        #expect(try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")["secret"] == .string("one"))
        #expect(try again.result("secrets.describe", "{\"service\":\"s\"}")["count"]?.int == 2)
        let twice = try again.refusal(
            "transaction.apply",
            """
            {"operations":[{"method":"secrets.put","params":{"service":"s","account":"a","secret":"1"}},\
            {"method":"secrets.put","params":{"service":"s","account":"a","secret":"2"}}]}
            """)
        #expect(twice["kind"] == .string("invalidParams") && twice["operation"]?.int == 1)
    }

    @Test func `a service is emptied when somebody confirms it`() throws {
        for index in 0..<5 { try put("a\(index)", "\"x\"") }
        #expect(
            try client.refusal("secrets.clear", "{\"service\":\"s\",\"confirm\":\"t\"}")["kind"]
                == .string("invalidParams"))
        try client.result("secrets.configure", "{\"service\":\"s\",\"installation\":\"first\"}")
        #expect(
            try client.refusal("secrets.clear", "{\"service\":\"s\",\"confirm\":\"s\"}")["kind"]
                == .string("invalidParams"))
        let cleared = try client.result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"first\"}")
        #expect(cleared["deleted"]?.int == 5 && cleared["left"]?.int == 0)
        let again = try restart()
        #expect(try again.result("secrets.list")["items"]?.elements.isEmpty == true)
        let described = try again.result("secrets.describe", "{\"service\":\"s\"}")
        #expect(described["count"]?.int == 0 && described["installation"] == .string("first"))
    }

    @Test func `a locked store says so at once, and goes on when it is unlocked`() throws {
        try put("ada", "\"one\"")
        try client.result("secrets.lock")
        for (method, params) in [
            ("put", ",\"account\":\"ada\",\"secret\":\"x\""), ("get", ",\"account\":\"ada\""), ("list", ""),
            ("delete", ",\"account\":\"ada\""), ("versions", ",\"account\":\"ada\""), ("describe", ""),
            ("configure", ",\"maxVersions\":1"), ("generate", ",\"account\":\"g\""), ("clear", ",\"confirm\":\"s\""),
        ] {
            let error = try client.refusal("secrets.\(method)", "{\"service\":\"s\"\(params)}")
            #expect(error["kind"] == .string("sealed") && error["retryable"]?.bool == true, "\(method)")
        }
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("secrets.unlock")
        #expect(try get("ada")["secret"] == .string("one"))
    }
}
