import Glibc
import KuraBytes
import Testing

/// A thousand random secrets: written, read, rotated, destroyed, killed. None of their values and names is anywhere but in replies.
@Suite struct SecretsCanaryTests {
    private let daemon: TemporaryDaemon
    private static let count = 1000
    /// All values and names begin so, each goes on at random.
    private static let mark = "kanari7d"

    init() throws {
        daemon = try TemporaryDaemon()
    }

    private static func canary() -> String { mark + String(UInt64.random(in: 0...UInt64.max), radix: 36) }

    private struct Secret {
        var service: String
        var account = SecretsCanaryTests.canary()
        var value = SecretsCanaryTests.canary()

        var name: String { "{\"service\":\"\(service)\",\"account\":\"\(account)\"" }
        func put(_ value: String) -> String {
            name + ",\"secret\":\"\(value)\",\"label\":\"\(SecretsCanaryTests.canary())\","
                + "\"attributes\":{\"\(SecretsCanaryTests.canary())\":\"\(SecretsCanaryTests.canary())\"}}"
        }
    }

    private func exchange(_ client: Client, _ method: String, _ params: [String]) throws -> [JSON] {
        client.send(params.map { Client.request("secrets." + method, $0) }.joined())
        return try params.map { _ in try client.reply() }
    }

    private func expectNothing(_ what: String) {
        let places = DirectoryScan.places(of: [Self.mark], under: daemon.root)
        #expect(places.isEmpty, "\(what): on the disk: \(places)")
    }

    private func waitUntilRewrapped(_ client: Client) throws {
        try waitFor("it is sealed anew") { try client.result("secrets.status")["rewrapping"] == nil }
    }

    @Test func `none is in any file, nor in the daemon's memory once it is locked, and a planted one is found`() throws
    {
        let services = (0..<10).map { _ in Self.canary() }
        let secrets = (0..<Self.count).map { Secret(service: services[$0 % services.count]) }
        let client = try daemon.connect()
        let stored = try exchange(client, "put", secrets.map { $0.put($0.value) })
        #expect(stored.allSatisfy { $0["result"]?["version"]?.int == 1 })
        let read = try exchange(client, "get", secrets.map { $0.name + "}" })
        #expect(zip(read, secrets).allSatisfy { $0["result"]?["secret"]?.text == $1.value })
        let accounts = secrets.prefix(10).map { "\"\($0.account)\"" }.joined(separator: ",")
        try client.result("secrets.getMany", "{\"service\":\"\(services[0])\",\"accounts\":[\(accounts)]}")
        try client.result("secrets.list", "{\"limit\":1000}")
        // Others in their places, and the first ones destroyed.
        let some = secrets.prefix(100)
        _ = try exchange(client, "put", some.map { $0.put(Self.canary()) })
        let destroyed = try exchange(client, "destroyVersion", some.prefix(20).map { $0.name + ",\"version\":1}" })
        #expect(destroyed.allSatisfy { $0["result"] != nil })
        try client.result("secrets.rotate", "{\"rootKey\":true,\"waitMs\":600000}")
        for service in services.prefix(3) { try client.result("secrets.rotate", "{\"service\":\"\(service)\"}") }
        try waitUntilRewrapped(client)
        _ = try exchange(client, "delete", secrets.suffix(100).map { $0.name + "}" })
        // Refusals are in the audit with names.
        _ = try exchange(client, "get", some.map { $0.name + ",\"version\":9}" })
        try client.result("secrets.audit", "{\"limit\":1000}")
        expectNothing("running")
        // The same scans find what is planted.
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"plantedLeak77\"}")
        #expect(DirectoryScan.find(["plantedLeak77"], under: daemon.data) == ["plantedLeak77"])
        try client.result("secrets.lock")
        #expect(!MemoryScan.find(["plantedLeak77"], in: daemon.pid).isEmpty)
        let remains = MemoryScan.find([Self.mark], in: daemon.pid)
        #expect(remains.isEmpty, "\(remains)")
        expectNothing("locked")
        daemon.kill()
        expectNothing("killed")
        try daemon.start()
        // What recovery and unlocking have read goes with the keys as well.
        let again = try daemon.connect()
        let found = try again.result("secrets.get", secrets[200].name + "}")
        #expect(found["secret"]?.text == secrets[200].value)
        try again.result("secrets.lock")
        let after = MemoryScan.find([Self.mark], in: daemon.pid)
        #expect(after.isEmpty, "\(after)")
        try again.result("secrets.unlock")
        _ = try again.result("secrets.get", secrets[201].name + "}")
        // No core, where a signal that makes one ends it.
        let pid = daemon.pid
        Glibc.kill(pid, SIGABRT)
        if daemon.wait(seconds: 5) == nil { daemon.kill() }
        expectNothing("aborted")
        #expect(TemporaryDaemon.names(daemon.root)?.contains { $0.hasPrefix("core") } == false)
        #expect(TemporaryDaemon.names(".")?.contains("core.\(pid)") == false)
    }

    /// Not overwritten by what comes later: the same connection asks for nothing more, and others keep silent.
    @Test func `once its reply has left nothing of a secret is in memory`() throws {
        // Long, so that what is written over its beginning does not hide the rest.
        func value() -> String { (0..<60).map { _ in Self.canary() }.joined() }
        func piece(_ value: String) -> String { String(value.dropFirst(900).prefix(60)) }
        func encoded(_ text: String) -> String {
            var encoded = ByteBuffer()
            Array(text.utf8).withBytes { Base64.encode($0, into: &encoded) }
            return String(decoding: Array(encoded.bytes), as: UTF8.self)
        }
        func ask(_ method: String, _ params: String, of values: String...) throws -> JSON {
            let client = try daemon.connect()
            let reply = try client.call(method, params)
            // The reply may be there before its turn ends.
            let pieces = values.map(piece)
            let deadline = now() + 60
            var remains = MemoryScan.find(pieces, in: daemon.pid)
            while !remains.isEmpty, now() < deadline {
                usleep(20_000)
                remains = MemoryScan.find(pieces, in: daemon.pid)
            }
            #expect(remains.isEmpty, "\(method): \(remains)")
            return reply
        }
        let name = "{\"service\":\"s\",\"account\":\"a\""
        let (text, bytes, refused, inside) = (value(), value(), value(), value())
        let put = "\(name),\"secret\":\"\(text)\"}"
        #expect(try ask("secrets.put", put, of: text)["result"] != nil)
        #expect(try ask("secrets.get", name + "}", of: text)["result"]?["secret"]?.text == text)
        let many = "{\"service\":\"s\",\"accounts\":[\"a\"]}"
        #expect(try ask("secrets.getMany", many, of: text)["result"]?["secrets"]?[0]?["secret"]?.text == text)
        let other = "{\"service\":\"s\",\"account\":\"b\",\"secretBase64\":\"\(encoded(bytes))\"}"
        #expect(try ask("secrets.put", other, of: bytes, encoded(bytes))["result"] != nil)
        let found = try ask("secrets.get", "{\"service\":\"s\",\"account\":\"b\"}", of: bytes, encoded(bytes))
        #expect(found["result"]?["secretBase64"]?.text == encoded(bytes))
        // What has escapes is resolved elsewhere than in its line.
        let escaped = encoded(refused)
        let third = "{\"service\":\"s\",\"account\":\"c\",\"secretBase64\":\"\\u0061\(escaped.dropFirst())\"}"
        #expect(escaped.first == "a")
        #expect(try ask("secrets.put", third, of: refused, escaped)["result"] != nil)
        let conflict = "\(name),\"secret\":\"\(refused)\",\"ifRev\":9999}"
        #expect(try ask("secrets.put", conflict, of: refused)["error"] != nil)
        let operation = "{\"method\":\"secrets.put\",\"params\":\(name),\"secret\":{\"x\":\"\(inside)\"}}}"
        #expect(try ask("transaction.apply", "{\"operations\":[\(operation)]}", of: inside)["result"] != nil)
        let token = try ask("secrets.issueToken", name + ",\"ttlSeconds\":600}")["result"]?["token"]?.text ?? ""
        let redeemed = try ask("secrets.redeemToken", "{\"token\":\"\(token)\"}", of: inside)
        #expect(redeemed["result"]?["secret"]?["x"]?.text == inside)
        let key = "{\"service\":\"s\",\"account\":\"k\""
        _ = try ask("secrets.generate", key + ",\"kind\":\"key\",\"algorithm\":\"xchacha20-poly1305\"}")
        let sealed = try ask("secrets.encrypt", key + ",\"data\":\"\(text)\"}")["result"]?["ciphertext"]?.text ?? ""
        let opened = try ask("secrets.decrypt", key + ",\"ciphertext\":\"\(sealed)\"}", of: text)
        #expect(opened["result"]?["data"]?.text == text)
        // What is in memory is found.
        let setting = try daemon.connect().result(
            "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(value())\"}")
        #expect(setting["rev"] != nil && !MemoryScan.find([Self.mark], in: daemon.pid).isEmpty)
    }
}
