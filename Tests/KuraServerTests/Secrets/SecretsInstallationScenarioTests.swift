import Testing

/// An application that was installed anew while its secrets stayed.
@Suite struct SecretsInstallationScenarioTests {
    private let daemon: TemporaryDaemon
    private static let name = "{\"service\":\"s\",\"account\":\"ada\"}"
    private static let put = "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"one\"}"

    init() throws {
        daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("secrets.put", Self.put)
        try client.result("secrets.configure", "{\"service\":\"s\",\"installation\":\"old\"}")
    }

    private func connect(_ installation: String) throws -> Client {
        let client = try daemon.connect()
        try client.result("session.hello", "{\"installation\":\"\(installation)\"}")
        return client
    }

    @Test func `another installation sees nothing and changes nothing, and is told`() throws {
        let other = try connect("new")
        #expect(try other.refusal("secrets.get", Self.name)["kind"]?.text == "installationMismatch")
        #expect(try other.refusal("secrets.put", Self.put)["kind"]?.text == "installationMismatch")
        #expect(try other.refusal("secrets.generate", Self.name)["kind"]?.text == "installationMismatch")
        let put = "{\"operations\":[{\"method\":\"secrets.put\",\"params\":\(Self.put)}]}"
        #expect(try other.refusal("transaction.apply", put)["kind"]?.text == "installationMismatch")
        // Nor has it keys at work, tokens, or anything changed.
        let calls = [
            ("getMany", ",\"accounts\":[\"ada\"]"), ("sign", ",\"account\":\"ada\",\"data\":\"x\""),
            ("publicKey", ",\"account\":\"ada\""), ("hmac", ",\"account\":\"ada\",\"data\":\"x\""),
            ("verifySignature", ",\"account\":\"ada\",\"signature\":\"AAAA\",\"data\":\"x\""),
            ("verifyHmac", ",\"account\":\"ada\",\"code\":\"AAAA\",\"data\":\"x\""),
            ("encrypt", ",\"account\":\"ada\",\"data\":\"x\""),
            ("decrypt", ",\"account\":\"ada\",\"ciphertext\":\"AAAA\""),
            ("rewrap", ",\"account\":\"ada\",\"ciphertext\":\"AAAA\""),
            ("issueToken", ",\"account\":\"ada\",\"ttlSeconds\":9"), ("delete", ",\"account\":\"ada\""),
            ("rename", ",\"account\":\"ada\",\"newAccount\":\"eve\""),
            ("setAttributes", ",\"account\":\"ada\",\"label\":\"x\""),
            ("restoreVersion", ",\"account\":\"ada\",\"version\":1"),
            ("destroyVersion", ",\"account\":\"ada\",\"version\":1"),
        ]
        for (method, more) in calls {
            let kind = try other.refusal("secrets." + method, "{\"service\":\"s\"\(more)}")["kind"]?.text
            #expect(kind == "installationMismatch", "\(method)")
        }
        #expect(try other.result("secrets.status", "{\"service\":\"s\"}")["installationMismatch"]?.bool == true)
        #expect(try other.result("secrets.status")["installationMismatch"] == nil)
        #expect(try other.result("secrets.status", "{\"service\":\"t\"}")["installationMismatch"] == nil)
        // A service that is nobody's is everybody's.
        try other.result("secrets.put", Self.put.replacing("\"s\"", with: "\"t\""))
        // Nothing was deleted by itself.
        let same = try connect("old")
        #expect(try same.result("secrets.get", Self.name)["secret"] == .string("one"))
        #expect(try same.result("secrets.get", Self.name)["version"]?.int == 1)
        #expect(try same.result("secrets.status", "{\"service\":\"s\"}")["installationMismatch"] == nil)
        #expect(try daemon.connect().result("secrets.get", Self.name)["secret"] == .string("one"))
    }

    @Test func `it can empty the service, or take the secrets over`() throws {
        let other = try connect("new")
        for confirm in ["s", "new"] {
            let params = "{\"service\":\"s\",\"confirm\":\"\(confirm)\"}"
            #expect(try other.refusal("secrets.clear", params)["kind"]?.text == "invalidParams")
        }
        try other.result("secrets.configure", "{\"service\":\"s\",\"installation\":\"new\"}")
        #expect(try other.result("secrets.get", Self.name)["secret"] == .string("one"))
        let old = try connect("old")
        #expect(try old.refusal("secrets.get", Self.name)["kind"]?.text == "installationMismatch")
        #expect(try old.result("secrets.clear", "{\"service\":\"s\",\"confirm\":\"new\"}")["deleted"]?.int == 1)
        try old.result("secrets.configure", "{\"service\":\"s\",\"installation\":\"old\"}")
        #expect(try old.result("secrets.get", Self.name)["rev"]?.int == 0)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try connect("new")
        #expect(try again.refusal("secrets.get", Self.name)["kind"]?.text == "installationMismatch")
    }
}
