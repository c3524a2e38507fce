import Glibc
import KuraBytes
import Sodium
import Testing

/// What comes into the audit while the secrets are sealed: by way of a public key, to which everybody can seal.
@Suite struct SecretsAuditInboxTests {
    private let daemon: TemporaryDaemon

    init() throws {
        daemon = try TemporaryDaemon()
        try daemon.connect().result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\"}")
    }

    /// A block that somebody makes up.
    private struct Invention {
        var method = "secrets.get"
        var outcome = "sealed"
        var firstRecord: UInt64 = 0
        var records = 1
        var at: Int64 = 1_700_000_000_000
        var count: UInt32 = 1
        var rev: UInt64 = 0
        var account: [UInt8] = Array("invented".utf8)

        var block: [UInt8] {
            var block = ByteBuffer()
            block.append(1)
            block.append(littleEndian: UInt64(0))
            block.append(littleEndian: firstRecord)
            block.append(littleEndian: UInt32(records))
            block.append([UInt8](repeating: 0, count: 32))
            for _ in 0..<records {
                for time in [at, at] { block.append(littleEndian: time) }
                block.append(littleEndian: count)
                block.append(littleEndian: rev)
                block.append(littleEndian: UInt32(4711))
                let (method, outcome) = (Array(method.utf8), Array(outcome.utf8))
                for text in [method, outcome, Array("admin".utf8), [], Array("s".utf8), account, []] {
                    block.append(littleEndian: UInt32(text.count))
                    block.append(text)
                }
            }
            return [UInt8](block.bytes)
        }
    }

    private func insert(_ inventions: [(key: String, Invention)]) throws {
        let tables = try SecretsTables(daemon.data)
        let key = try #require(try tables.beside("auditBox")).value
        for (name, invention) in inventions {
            var sealed = ByteBuffer()
            try key.withBytes { key in try invention.block.withBytes { try SealedBox.seal($0, for: key, to: &sealed) } }
            try tables.insertBeside(name, [UInt8](sealed.bytes))
        }
    }

    private func records() throws -> [JSON] {
        try daemon.connect().result("secrets.audit", "{\"limit\":1000}")["records"]!.elements
    }

    private static func key(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return "sealed-" + String(repeating: "0", count: 16 - digits.count) + digits
    }

    @Test func `a success that somebody has made up is left out, and a refusal is marked as unproved`() throws {
        #expect(daemon.terminate() == 0)
        let wrong = [
            Invention(outcome: ""), Invention(method: "secrets.put", outcome: ""), Invention(method: "settings.get"),
            Invention(method: "secrets.status"), Invention(outcome: "lost"), Invention(outcome: "whatever"),
            Invention(firstRecord: .max, records: 2), Invention(at: .min), Invention(at: .max), Invention(count: 0),
            Invention(rev: .max), Invention(account: [0xFF, 0xFE]),
        ]
        try insert(wrong.enumerated().map { (Self.key($0.offset + 1), $0.element) })
        try insert([
            (Self.key(100), Invention(account: Array("one".utf8))), ("sealed-x", Invention(account: Array("two".utf8))),
        ])
        try daemon.start()
        let found = try records().filter { $0["uid"]?.int == 4711 }
        #expect(found.map { $0["account"]?.text } == ["one", "two"], "\(found)")
        #expect(found.allSatisfy { $0["unproved"]?.bool == true && $0["refused"]?.text == "sealed" })
        #expect(daemon.log.contains("\(wrong.count) of what came into the audit while they were sealed was left out"))
        #expect(try daemon.connect().result("secrets.auditVerify")["valid"]?.bool == true)
        // Rows that were left out are gone with the others.
        #expect(daemon.terminate() == 0)
        for number in 1...wrong.count { #expect(try SecretsTables(daemon.data).beside(Self.key(number)) == nil) }
        try daemon.start()
        #expect(try records().filter { $0["unproved"] != nil }.count == 2)
    }

    @Test func `what is read of a service with each while the secrets are locked is there before it is answered`()
        throws
    {
        let client = try daemon.connect()
        try client.result("secrets.configure", "{\"service\":\"s\",\"auditReads\":\"each\"}")
        for service in ["s", "t"] {
            try client.result(
                "secrets.put",
                "{\"service\":\"\(service)\",\"account\":\"lasting\",\"secret\":\"y\",\"accessibility\":\"always\"}")
        }
        try client.result("secrets.lock")
        for service in ["t", "s", "s"] {
            let found = try client.result("secrets.get", "{\"service\":\"\(service)\",\"account\":\"lasting\"}")
            #expect(found["secret"]?.text == "y")
        }
        daemon.kill()
        try daemon.start()
        let found = try records().filter { ["secrets.lock", "secrets.get"].contains($0["method"]?.text) }
        // What was read of the other service before is in the same row.
        #expect(
            found.map { "\($0["method"]?.text ?? "") \($0["service"]?.text ?? "")" } == [
                "secrets.lock ", "secrets.get t", "secrets.get s", "secrets.get s",
            ], "\(found)")
        #expect(found.allSatisfy { $0["unproved"] == nil })
        #expect(try daemon.connect().result("secrets.auditVerify")["valid"]?.bool == true)
    }

    @Test func `a row with the greatest number ends neither the daemon nor the inbox`() throws {
        let client = try daemon.connect()
        try client.result("secrets.addSlot", "{\"kind\":\"passphrase\",\"newPassphrase\":\"words\"}")
        try client.result("secrets.removeSlot", "{\"slot\":1}")
        #expect(daemon.terminate() == 0)
        try insert([("sealed-ffffffffffffffff", Invention(firstRecord: .max, records: 2))])
        try daemon.start()
        let sealed = try daemon.connect()
        _ = try sealed.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"true\"}")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let again = try daemon.connect()
        try again.result("secrets.unlock", "{\"passphrase\":\"words\"}")
        let found = try records().filter { $0["unproved"]?.bool == true }
        #expect(found.map { $0["account"]?.text } == ["true"])
        #expect(try again.result("secrets.auditVerify")["valid"]?.bool == true)
    }

    @Test func `what was read while the secrets were locked outlives a stop and is proved, and nobody adds it again`()
        throws
    {
        let client = try daemon.connect()
        try client.result(
            "secrets.put", "{\"service\":\"s\",\"account\":\"lasting\",\"secret\":\"y\",\"accessibility\":\"always\"}")
        try client.result("secrets.lock")
        let rev = try client.result("storage.status")["rev"]!.int!
        for _ in 0..<3 {
            #expect(
                try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"lasting\"}")["secret"]?.text == "y")
        }
        _ = try client.refusal("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")
        try daemon.waitUntil(seconds: 15) { ($0["rev"]?.int ?? 0) > rev }
        #expect(daemon.terminate() == 0)
        let row = try #require(
            try SecretsTables(daemon.data).beside("locked-0000000000000001")
                ?? SecretsTables(daemon.data).beside("locked-0000000000000002"))
        for _ in 0..<2 {
            try daemon.start()
            let found = try records()
            let reads = found.filter { $0["method"]?.text == "secrets.get" && $0["refused"] == nil }
            #expect(reads.map { $0["account"]?.text } == ["lasting"], "\(found)")
            #expect(reads.allSatisfy { $0["unproved"] == nil && $0["count"]?.int == 3 })
            #expect(found.filter { $0["unproved"]?.bool == true }.map { $0["account"]?.text } == ["a"])
            #expect(try daemon.connect().result("secrets.auditVerify")["valid"]?.bool == true)
            #expect(daemon.terminate() == 0)
            #expect(try SecretsTables(daemon.data).beside(String(decoding: row.key, as: UTF8.self)) == nil)
            try SecretsTables(daemon.data).insertBeside(String(decoding: row.key, as: UTF8.self), row.value)
        }
    }
}
