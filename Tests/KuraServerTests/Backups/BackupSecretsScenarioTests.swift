import Glibc
import Testing

@testable import KuraStorage

/// Backups that have secrets in them, or should have.
@Suite struct BackupSecretsScenarioTests {
    /// What the newest snapshot that has the revision says of secrets that are not in it.
    private func leftOut(_ daemon: TemporaryDaemon, above rev: Int) throws -> [String] {
        let client = try daemon.connect()
        let deadline = now() + 60
        while now() < deadline {
            for entry in try client.result("backups.list")["backups"]?.elements ?? [] {
                let path = daemon.data + "/backups/\(entry["name"]?.text ?? "").kurabackup"
                guard let made = try? BackupRestore.verify(path), made.manifest.rev >= rev else { continue }
                return made.manifest.leftOut.map { "\($0.store) \($0.count) \($0.reason)" }
            }
            try daemon.advance(seconds: 1)
            usleep(50_000)
        }
        return ["none"]
    }

    @Test(arguments: ["record", "slots"])
    func `secrets whose records or slots do not fit are a reason that is named, and snapshots go without them`(
        what: String
    ) throws {
        let configuration = "{\"backups\":{\"every\":\"1s\"}}"
        let daemon = try TemporaryDaemon(configuration: configuration, movesTime: true)
        var client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"x\"}")
        if what == "record" {
            #expect(daemon.terminate() == 0)
            let tables = try SecretsTables(daemon.data)
            let record = try #require(try tables.beside("."))
            var value = record.value
            value[value.count / 2] ^= 1
            try tables.write(value, to: record)
            try daemon.start(configuration: configuration)
            client = try daemon.connect()
        } else {
            #expect(unlink(daemon.data + "/keys/slots.json") == 0)
        }
        let refused = try client.refusal("storage.backup", "{\"name\":\"one\"}")
        #expect(refused["kind"]?.text == "integrity" && refused["retryable"]?.bool == false, "\(refused)")
        let word = what == "record" ? "kura secrets repair" : "keys/slots.json"
        #expect(refused["hint"]?.text?.contains(word) == true, "\(refused)")
        try client.result("storage.backup", "{\"name\":\"two\",\"include\":[\"documents\"]}")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        let left = try leftOut(daemon, above: rev)
        #expect(left.count == 1 && left[0].hasPrefix("secrets ") && left[0].hasSuffix(" damaged"), "\(left)")
        #expect(daemon.terminate() == 0)
    }
}
