import KuraBytes
import Testing

/// Keys that do something for whoever does not see them.
@Suite struct SecretsUseScenarioTests {
    private let daemon: RoleDaemon
    private let admin: Client

    init() throws {
        daemon = try RoleDaemon([
            "user": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "use")),
            "reader": RoleDaemon.role(RoleDaemon.grant("secrets", "s", "list", "read", "create", "update", "delete")),
        ])
        admin = try daemon.connect("admin")
    }

    /// Parameters of the secret `s`/`account`.
    private func params(_ account: String, _ more: String = "") -> String {
        "{\"service\":\"s\",\"account\":\"\(account)\"\(more)}"
    }

    private func put(_ account: String, _ key: String, _ algorithm: String, _ more: String = "") throws {
        try admin.result(
            "secrets.put", params(account, ",\"secretBase64\":\"\(key)\",\"algorithm\":\"\(algorithm)\"\(more)"))
    }

    private func generate(_ account: String, _ algorithm: String) throws {
        try admin.result("secrets.generate", params(account, ",\"kind\":\"key\",\"algorithm\":\"\(algorithm)\""))
    }

    private func encrypt(_ client: Client, _ account: String, _ data: String, _ more: String = "") throws -> String {
        try #require(
            try client.result("secrets.encrypt", params(account, ",\"data\":\"\(data)\"\(more)"))["ciphertext"]?.text)
    }

    private func decrypt(_ client: Client, _ account: String, _ ciphertext: String, _ more: String = "") throws -> JSON
    {
        try client.call("secrets.decrypt", params(account, ",\"ciphertext\":\"\(ciphertext)\"\(more)"))
    }

    private static let keyText = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    // MARK: Against known answers

    /// RFC 8032, 7.1, tests 1 to 3.
    @Test(arguments: [
        (
            "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=", "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", "",
            "5VZDAMNgrHKQhuLMgG6CioSHfx645dl02HPgZSJJAVVfuIIVkKM7rMYeOXAc+bRr0lv18FlbviRlUUFDjnoQCw=="
        ),
        (
            "TM0Imyj/ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U+4pvs=", "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=", "cg==",
            "kqAJqfDUyrhyDoILX2QlQKKye1QWUD+Ps3YiI+vbadoIWsHkPhWZbkWPNhPQ8R2MOHsurrQwKu6wDSkWErsMAA=="
        ),
        (
            "xaqN9D+fg3vtt0QvMdy3sWbThTUHbwlLhc46LgtEWPc=", "/FHNjmIYoaONpH7QAjDwWAgW7RO6MwOsXeuRFUiQgCU=", "r4I=",
            "YpHWV97sJAJIJ+acOr4BowzlSKKEdDpEXjaA19taw6wY/5tTjRbykK5n92CYTcZZSnwV6XFu0o3AJ77O6h7ECg=="
        ),
    ])
    func `signatures are those of RFC 8032`(seed: String, publicKey: String, message: String, signature: String) throws
    {
        try put("sig", seed, "ed25519")
        let user = try daemon.connect("user")
        #expect(
            try user.result("secrets.publicKey", params("sig"))
                == JSON("{\"publicKey\":\"\(publicKey)\",\"version\":1}"))
        #expect(
            try user.result("secrets.sign", params("sig", ",\"dataBase64\":\"\(message)\""))
                == JSON("{\"signature\":\"\(signature)\",\"version\":1}"))
        func isValid(_ signature: String, _ message: String) throws -> Bool? {
            try user.result(
                "secrets.verifySignature",
                params("sig", ",\"signature\":\"\(signature)\",\"dataBase64\":\"\(message)\""))["valid"]?.bool
        }
        #expect(try isValid(signature, message) == true)
        #expect(try isValid(signature, "AAAA") == false)
        #expect(try isValid("A" + signature.dropFirst(), message) == (signature.first == "A"))
        #expect(try isValid("AAAA", message) == false)
    }

    /// RFC 4231, case 2, cut to 32 bytes; and Python's `hashlib.blake2b(b"abc", key=bytes(range(32)), digest_size=32)`.
    @Test(arguments: [
        (
            "SmVmZQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "hmac-sha512-256", "what do ya want for nothing?",
            "Fkt6e/z4GeLjlfvnO1bgo4e9ZCIugx/WECcM1+olBVQ="
        ),
        (Self.keyText, "blake2b-256", "abc", "1joy0+RHONeQf5ZDFsJBraugq/6rwyNJZ3V4oVogP38="),
    ])
    func `codes are those that others make`(key: String, algorithm: String, text: String, code: String) throws {
        try put("code", key, algorithm)
        let user = try daemon.connect("user")
        #expect(
            try user.result("secrets.hmac", params("code", ",\"data\":\"\(text)\""))
                == JSON("{\"code\":\"\(code)\",\"version\":1}"))
        func isValid(_ code: String, _ text: String) throws -> Bool? {
            try user.result("secrets.verifyHmac", params("code", ",\"code\":\"\(code)\",\"data\":\"\(text)\""))[
                "valid"]?
                .bool
        }
        #expect(try isValid(code, text) == true)
        #expect(try isValid(code, text + "!") == false)
        #expect(try isValid("B" + code.dropFirst(), text) == false)
        #expect(try isValid("", text) == false)
    }

    /// Made by Python with libsodium, the associated data put together as `SecretCiphertext` and the page say.
    @Test func `a ciphertext that others have made is opened`() throws {
        try put("k", Self.keyText, "xchacha20-poly1305")
        try put("k", Self.keyText, "xchacha20-poly1305", ",\"accessGroup\":\"g\"")
        let text = "AQEBAAAAQEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXt1h3FPDUTie+fkmzJf/8LMdOibRh/prWgA=="
        #expect(
            try decrypt(admin, "k", text, ",\"associatedData\":\"order 7\"")["result"]
                == JSON("{\"data\":\"card 4711\",\"version\":1}"))
        let bytes = "AQABAAAAQEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZX1Mag+1g8SeOhx/0HGPcVO+Px"
        #expect(
            try decrypt(admin, "k", bytes, ",\"accessGroup\":\"g\"")["result"]
                == JSON("{\"dataBase64\":\"AP8=\",\"version\":1}"))
        // Under another group it is another key, whatever its bytes are.
        #expect(try decrypt(admin, "k", bytes)["error"]?["data"]?["kind"]?.text == "forged")
    }

    // MARK: Grants

    @Test func `who may use a key and not read it has it at work and never sees it`() throws {
        for (account, algorithm) in [
            ("sig", "ed25519"), ("code", "hmac-sha512-256"), ("hash", "blake2b-256"), ("seal", "xchacha20-poly1305"),
        ] { try generate(account, algorithm) }
        let (user, reader) = (try daemon.connect("user"), try daemon.connect("reader"))
        let sealed = try encrypt(user, "seal", "x")
        let requests = [
            ("sign", "sig", ",\"data\":\"x\""), ("publicKey", "sig", ""), ("hmac", "code", ",\"data\":\"x\""),
            ("hmac", "hash", ",\"data\":\"x\""), ("verifyHmac", "code", ",\"code\":\"\",\"data\":\"x\""),
            ("verifySignature", "sig", ",\"signature\":\"\",\"data\":\"x\""), ("encrypt", "seal", ",\"data\":\"x\""),
            ("decrypt", "seal", ",\"ciphertext\":\"\(sealed)\""), ("rewrap", "seal", ",\"ciphertext\":\"\(sealed)\""),
        ]
        for (method, account, more) in requests {
            let shown = try user.result("secrets.\(method)", params(account, more))
            #expect(shown["version"]?.int == 1, "\(method)")
            let refused = try reader.refusal("secrets.\(method)", params(account, more))
            #expect(refused["kind"]?.text == "forbidden", "\(method)")
            #expect(try refused["grant"]?["allow"] == JSON("[\"use\"]"), "\(method)")
            // In another group there is another key, or none: both are not theirs.
            let other = params(account, more + ",\"accessGroup\":\"g\"")
            #expect(try user.refusal("secrets.\(method)", other)["kind"]?.text == "forbidden", "\(method)")
        }
        for method in ["get", "versions", "list"] {
            let account = method == "list" ? "{\"service\":\"s\"}" : params("sig")
            #expect(try user.refusal("secrets.\(method)", account)["kind"]?.text == "forbidden", "\(method)")
        }
        #expect(
            try user.refusal("secrets.issueToken", params("sig", ",\"ttlSeconds\":9"))["kind"]?.text == "forbidden")
        // Who may read sees the bytes.
        #expect(try reader.result("secrets.get", params("sig"))["secretBase64"]?.text?.count == 44)
    }

    // MARK: One key for one thing

    @Test func `a key is good for what it was made for, and nothing else is a key`() throws {
        let algorithms = [
            ("ed25519", ["sign", "verifySignature", "publicKey"]), ("hmac-sha512-256", ["hmac", "verifyHmac"]),
            ("blake2b-256", ["hmac", "verifyHmac"]), ("xchacha20-poly1305", ["encrypt", "decrypt", "rewrap"]),
        ]
        let sealed = "AQEBAAAAQEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXt1h3FPDUTie+fkmzJf/8LMdOibRh/prWgA=="
        let more = [
            "sign": ",\"data\":\"x\"", "verifySignature": ",\"signature\":\"\",\"data\":\"x\"", "publicKey": "",
            "hmac": ",\"data\":\"x\"", "verifyHmac": ",\"code\":\"\",\"data\":\"x\"", "encrypt": ",\"data\":\"x\"",
            "decrypt": ",\"ciphertext\":\"\(sealed)\"", "rewrap": ",\"ciphertext\":\"\(sealed)\"",
        ]
        for (algorithm, _) in algorithms { try generate(algorithm, algorithm) }
        try admin.result("secrets.put", params("text", ",\"secret\":\"x\""))
        try admin.result("secrets.put", params("bytes", ",\"secretBase64\":\"\(Self.keyText)\""))
        for (method, more) in more {
            for (account, uses) in algorithms + [("text", []), ("bytes", [])] {
                let reply = try admin.call("secrets.\(method)", params(account, more))
                let kind = reply["error"]?["data"]?["kind"]?.text
                #expect((kind == "typeMismatch") == !uses.contains(method), "\(method) of \(account): \(reply)")
            }
            #expect(try admin.refusal("secrets.\(method)", params("none", more))["kind"]?.text == "notFound")
        }
        let listed = try admin.result("secrets.list", "{\"service\":\"s\"}")["items"]!.elements
        #expect(
            Set(listed.map { "\($0["account"]!.text!) \($0["kind"]!.text!) \($0["algorithm"]?.text ?? "")" })
                == Set(algorithms.map { "\($0.0) key \($0.0)" } + ["text text ", "bytes binary "]))
        // Nor does it become good for something else.
        for more in [
            "\"secret\":\"x\"", "\"secretBase64\":\"\(Self.keyText)\"",
            "\"secretBase64\":\"\(Self.keyText)\",\"algorithm\":\"blake2b-256\"",
        ] {
            #expect(try admin.refusal("secrets.put", params("ed25519", "," + more))["kind"]?.text == "typeMismatch")
        }
        for kind in ["\"uuid\"", "\"password\"", "\"key\"", "\"key\",\"algorithm\":\"hmac-sha512-256\""] {
            #expect(
                try admin.refusal("secrets.generate", params("ed25519", ",\"kind\":\(kind)"))["kind"]?.text
                    == "typeMismatch")
        }
        #expect(
            try admin.refusal(
                "secrets.put", params("text", ",\"secretBase64\":\"\(Self.keyText)\",\"algorithm\":\"ed25519\""))[
                    "kind"]?
                .text == "typeMismatch")
        #expect(try admin.result("secrets.versions", params("ed25519"))["versions"]?.elements.count == 1)
        // What it has sealed names it.
        #expect(
            try admin.refusal("secrets.rename", params("xchacha20-poly1305", ",\"newAccount\":\"other\""))["kind"]?.text
                == "typeMismatch")
        try admin.result("secrets.rename", params("ed25519", ",\"newAccount\":\"other\""))
        #expect(try admin.result("secrets.sign", params("other", ",\"data\":\"x\""))["version"]?.int == 1)
    }

    @Test(arguments: [
        ("put", ",\"secret\":\"x\",\"algorithm\":\"ed25519\""),
        ("put", ",\"secretBase64\":\"AAEC\",\"algorithm\":\"ed25519\""),
        ("put", ",\"secretBase64\":\"\(Self.keyText)\",\"algorithm\":\"rsa\""),
        ("generate", ",\"algorithm\":\"ed25519\""), ("generate", ",\"kind\":\"uuid\",\"algorithm\":\"ed25519\""),
        ("generate", ",\"kind\":\"key\",\"length\":64,\"algorithm\":\"ed25519\""),
        ("sign", ""), ("sign", ",\"data\":\"x\",\"dataBase64\":\"AAEC\""), ("sign", ",\"dataBase64\":\"AAE\""),
        ("sign", ",\"data\":1"), ("sign", ",\"data\":\"x\",\"version\":-1"), ("publicKey", ",\"data\":\"x\""),
        ("verifySignature", ",\"data\":\"x\""), ("verifySignature", ",\"data\":\"x\",\"signature\":\"!\""),
        ("decrypt", ""), ("decrypt", ",\"ciphertext\":\"!\""), ("rewrap", ",\"ciphertext\":\"AAE\""),
        ("encrypt", ",\"data\":\"x\",\"associatedData\":1"),
    ])
    func `what cannot be meant is refused`(method: String, more: String) throws {
        #expect(try admin.refusal("secrets.\(method)", params("a", more))["kind"]?.text == "invalidParams")
    }

    @Test func `so much is taken at once and no more`() throws {
        try generate("sig", "ed25519")
        try generate("seal", "xchacha20-poly1305")
        let most = String(repeating: "x", count: 256 << 10)
        #expect(try admin.result("secrets.sign", params("sig", ",\"data\":\"\(most)\""))["version"]?.int == 1)
        let sealed = try encrypt(admin, "seal", most)
        #expect(try decrypt(admin, "seal", sealed)["result"]?["data"]?.text == most)
        let again = try admin.result("secrets.rewrap", params("seal", ",\"ciphertext\":\"\(sealed)\""))
        #expect(try decrypt(admin, "seal", again["ciphertext"]!.text!)["result"]?["data"]?.text == most)
        for method in ["sign", "encrypt"] {
            let error = try admin.refusal("secrets.\(method)", params("sig", ",\"data\":\"\(most)x\""))
            #expect(error["kind"]?.text == "invalidParams" && error["limit"]?.int == 256 << 10)
        }
    }

    // MARK: Ciphertexts

    @Test func `a ciphertext opens with its own key, name and associated data alone, and shows any change`() throws {
        for account in ["a", "b"] { try put(account, Self.keyText, "xchacha20-poly1305") }
        try admin.result(
            "secrets.put",
            "{\"service\":\"t\",\"account\":\"a\",\"secretBase64\":\"\(Self.keyText)\",\"algorithm\":\"xchacha20-poly1305\"}"
        )
        let sealed = try encrypt(admin, "a", "caf\\u00e9", ",\"associatedData\":\"x\"")
        #expect(try encrypt(admin, "a", "caf\\u00e9", ",\"associatedData\":\"x\"") != sealed)
        #expect(try decrypt(admin, "a", sealed, ",\"associatedData\":\"x\"")["result"]?["data"]?.text == "café")
        for (account, more) in [("b", ",\"associatedData\":\"x\""), ("a", ",\"associatedData\":\"y\""), ("a", "")] {
            #expect(
                try decrypt(admin, account, sealed, more)["error"]?["data"]?["kind"]?.text == "forged",
                "\(account)\(more)")
        }
        #expect(
            try admin.refusal(
                "secrets.decrypt",
                "{\"service\":\"t\",\"account\":\"a\",\"ciphertext\":\"\(sealed)\",\"associatedData\":\"x\"}")["kind"]?
                .text
                == "forged")
        var whole = ByteBuffer()
        try #require(Array(sealed.utf8).withBytes { Base64.decode($0, into: &whole) })
        let bytes = Array(whole.bytes)
        for position in bytes.indices {
            var changed = bytes
            changed[position] ^= 1
            var text = ByteBuffer()
            changed.withBytes { Base64.encode($0, into: &text) }
            let changedText = String(text.bytes)
            for method in ["decrypt", "rewrap"] {
                let line = ",\"ciphertext\":\"\(changedText)\",\"associatedData\":\"x\""
                let reply = try admin.call("secrets.\(method)", params("a", line))
                let kind = reply["error"]?["data"]?["kind"]?.text
                // Another version of the key there is not.
                #expect(
                    kind == ((2..<6).contains(position) ? "notFound" : "forged"), "\(method) at \(position): \(reply)")
            }
        }
        for count in 0..<bytes.count {
            var text = ByteBuffer()
            bytes[..<count].withBytes { Base64.encode($0, into: &text) }
            #expect(try decrypt(admin, "a", String(text.bytes))["error"]?["data"]?["kind"]?.text == "forged")
        }
    }

    @Test func `each version opens its own, and rewrap leads to the newest`() throws {
        try generate("seal", "xchacha20-poly1305")
        let first = try encrypt(admin, "seal", "one")
        try generate("seal", "xchacha20-poly1305")
        let user = try daemon.connect("user")
        #expect(try decrypt(user, "seal", first)["result"] == JSON("{\"data\":\"one\",\"version\":1}"))
        let again = try user.result("secrets.rewrap", params("seal", ",\"ciphertext\":\"\(first)\""))
        #expect(again["version"]?.int == 2 && again["data"] == nil)
        let second = try #require(again["ciphertext"]?.text)
        #expect(try decrypt(user, "seal", second)["result"] == JSON("{\"data\":\"one\",\"version\":2}"))
        // Ten versions of other secrets are kept, and a hundred of a key.
        for _ in 3...12 { try generate("seal", "xchacha20-poly1305") }
        #expect(try decrypt(user, "seal", first)["result"]?["data"]?.text == "one")
        try admin.result("secrets.setAttributes", params("seal", ",\"maxVersions\":2"))
        for ciphertext in [first, second] {
            #expect(try decrypt(user, "seal", ciphertext)["error"]?["data"]?["kind"]?.text == "notFound")
        }
        let last = try encrypt(user, "seal", "two")
        #expect(daemon.daemon.terminate() == 0)
        try daemon.daemon.start(configuration: daemon.configuration(daemon.roles))
        #expect(
            try decrypt(try daemon.connect("user"), "seal", last)["result"] == JSON("{\"data\":\"two\",\"version\":12}")
        )
    }

    @Test func `signatures and codes name their version, and older ones are made and checked when asked for`() throws {
        try generate("sig", "ed25519")
        let first = try admin.result("secrets.sign", params("sig", ",\"data\":\"x\""))
        let firstKey = try admin.result("secrets.publicKey", params("sig"))["publicKey"]
        try generate("sig", "ed25519")
        let second = try admin.result("secrets.sign", params("sig", ",\"data\":\"x\""))
        #expect(second["version"]?.int == 2 && second["signature"] != first["signature"])
        #expect(try admin.result("secrets.sign", params("sig", ",\"data\":\"x\",\"version\":1")) == first)
        #expect(try admin.result("secrets.publicKey", params("sig", ",\"version\":1"))["publicKey"] == firstKey)
        func isValid(_ version: Int) throws -> Bool? {
            let more = ",\"signature\":\"\(first["signature"]!.text!)\",\"data\":\"x\",\"version\":\(version)"
            return try admin.result("secrets.verifySignature", params("sig", more))["valid"]?.bool
        }
        #expect(try isValid(1) == true && isValid(2) == false)
        for version in [0, 3] {
            #expect(
                try admin.refusal("secrets.sign", params("sig", ",\"data\":\"x\",\"version\":\(version)"))["kind"]?.text
                    == "notFound")
        }
        try admin.result("secrets.lock")
        #expect(try admin.refusal("secrets.sign", params("sig", ",\"data\":\"x\""))["kind"]?.text == "sealed")
    }
}
