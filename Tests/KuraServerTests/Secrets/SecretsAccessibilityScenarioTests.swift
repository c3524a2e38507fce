import Glibc
import Testing

/// When secrets can be read, and where.
@Suite struct SecretsAccessibilityScenarioTests {
    private let daemon: TemporaryDaemon
    private static let words = ["whenUnlocked", "afterFirstUnlock", "always"]

    init() throws {
        daemon = try TemporaryDaemon(movesTime: true)
        let client = try daemon.connect()
        for word in Self.words {
            for version in 1...2 {
                try client.result(
                    "secrets.put",
                    "{\"service\":\"s\",\"account\":\"\(word)\",\"secret\":\"\(version)\",\"accessibility\":\"\(word)\"}"
                )
            }
        }
        try client.result(
            "secrets.put",
            "{\"service\":\"t\",\"account\":\"g\",\"accessGroup\":\"team\",\"secret\":{\"a\":\"b\"},\"accessibility\":\"always\",\"deviceOnly\":true}"
        )
    }

    private func get(_ account: String, _ more: String = "", service: String = "s") throws -> String {
        let reply = try daemon.connect().call(
            "secrets.get", "{\"service\":\"\(service)\",\"account\":\"\(account)\"\(more)}")
        if let kind = reply["error"]?["data"]?["kind"]?.text { return kind }
        guard let result = reply["result"], result["rev"]?.int != 0 else { return "absent" }
        return result["secret"]?.text ?? result["secret"]?["a"]?.text ?? "?"
    }

    /// While it is locked.
    private func expectLocked(_ what: String) throws {
        #expect(try get("whenUnlocked") == "sealed", "\(what)")
        #expect(try get("afterFirstUnlock") == "2" && get("always") == "2", "\(what)")
        #expect(try get("always", ",\"version\":2") == "2", "\(what)")
        #expect(try get("g", ",\"accessGroup\":\"team\"", service: "t") == "b", "\(what)")
        #expect(try get("g", ",\"accessGroup\":\"team\",\"field\":\"a\"", service: "t") == "b", "\(what)")
        // Nobody learns what there is otherwise.
        for more in [",\"version\":1", ",\"accessGroup\":\"team\""] { #expect(try get("always", more) == "sealed") }
        #expect(
            try get("nobody") == "sealed" && get("g", service: "t") == "sealed"
                && get("always", service: "t") == "sealed")
        let client = try daemon.connect()
        for (method, params) in [
            ("put", "{\"service\":\"s\",\"account\":\"always\",\"secret\":\"x\"}"), ("list", "{}"),
            ("versions", "{\"service\":\"s\",\"account\":\"always\"}"),
            ("delete", "{\"service\":\"s\",\"account\":\"always\"}"), ("describe", "{\"service\":\"s\"}"),
        ] { #expect(try client.refusal("secrets." + method, params)["kind"]?.text == "sealed", "\(what): \(method)") }
    }

    @Test func `after a lock those stay readable that say so, and no others`() throws {
        let client = try daemon.connect()
        try client.result("secrets.lock")
        try expectLocked("locked")
        try client.result("secrets.lock")
        try expectLocked("locked twice")
        try client.result("secrets.unlock")
        #expect(try get("whenUnlocked") == "2")
        // What is said now counts at the next lock.
        try client.result(
            "secrets.setAttributes", "{\"service\":\"s\",\"account\":\"always\",\"accessibility\":\"whenUnlocked\"}")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"afterFirstUnlock\",\"secret\":\"3\"}")
        try client.result("secrets.lock")
        #expect(try get("always") == "sealed" && get("afterFirstUnlock") == "3")
        try client.result("secrets.unlock")
        try client.result("secrets.delete", "{\"service\":\"s\",\"account\":\"afterFirstUnlock\"}")
        try client.result("secrets.lock")
        #expect(try get("afterFirstUnlock") == "sealed")
    }

    @Test func `before the first unlocking nothing can be read`() throws {
        let client = try daemon.connect()
        try client.result("secrets.addSlot", "{\"kind\":\"passphrase\",\"newPassphrase\":\"x\"}")
        try client.result("secrets.removeSlot", "{\"slot\":1}")
        daemon.kill()
        try daemon.start()
        for word in Self.words { #expect(try get(word) == "sealed") }
        #expect(try get("g", ",\"accessGroup\":\"team\"", service: "t") == "sealed")
        let again = try daemon.connect()
        try again.result("secrets.unlock", "{\"passphrase\":\"x\"}")
        // At once: before everything has been looked at.
        try again.result("secrets.lock")
        try expectLocked("after the first")
    }

    @Test func `what has expired cannot be read while it is locked either`() throws {
        let client = try daemon.connect()
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        var at = time.tv_sec + 3600
        gmtime_r(&at, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let text =
            "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
        try client.result(
            "secrets.put",
            "{\"service\":\"s\",\"account\":\"soon\",\"secret\":\"x\",\"accessibility\":\"always\",\"expiresAt\":\"\(text)\"}"
        )
        try client.result("secrets.lock")
        #expect(try get("soon") == "x")
        try daemon.advance(seconds: 3600)
        #expect(try get("soon") == "sealed")
    }

    @Test func `what is bound to this host opens nowhere else, and the rest does`() throws {
        let client = try daemon.connect()
        try client.result(
            "secrets.put", "{\"service\":\"t\",\"account\":\"here\",\"secret\":\"only\",\"deviceOnly\":true}")
        try client.result("secrets.put", "{\"service\":\"t\",\"account\":\"there\",\"secret\":\"too\"}")
        #expect(daemon.terminate() == 0)
        // A backup has all but this key.
        let key = daemon.data + "/keys/host.key"
        let aside = daemon.root + "/host.key"
        rename(key, aside)
        try daemon.start()
        #expect(try get("here", service: "t") == "integrity" && get("there", service: "t") == "too")
        #expect(try get("g", ",\"accessGroup\":\"team\"", service: "t") == "integrity")
        // Neither does what is locked.
        try daemon.connect().result("secrets.lock")
        #expect(try get("g", ",\"accessGroup\":\"team\"", service: "t") == "sealed" && get("always") == "2")
        #expect(daemon.terminate() == 0)
        rename(aside, key)
        try daemon.start()
        #expect(try get("here", service: "t") == "only" && get("there", service: "t") == "too")
    }
}
