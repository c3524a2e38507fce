import Glibc
import KuraBytes
import Sodium
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
        #expect(left == ["secrets 1 damaged"], "\(left)")
        #expect(daemon.terminate() == 0)
    }

    /// A daemon with secrets of two services, stopped: `mail` with two accounts, and `web` with one.
    private func stopped(_ daemon: TemporaryDaemon) throws {
        let client = try daemon.connect()
        for (service, account) in [("mail", "ada"), ("mail", "bob"), ("web", "ada")] {
            try client.result(
                "secrets.put", "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"secret\":\"x\"}")
        }
        #expect(daemon.terminate() == 0)
    }

    private static func flipped(_ row: SecretsTables.Row) -> [UInt8] {
        var value = row.value
        value[value.count / 2] ^= 1
        return value
    }

    /// The row of `web`'s one secret in a table, or of its service's record.
    private func row(of daemon: TemporaryDaemon, _ table: String, isRecord: Bool = false) throws -> SecretsTables.Row {
        let rows = try SecretsTables(daemon.data).rows()
        let heads = rows.filter {
            $0.table == "settings" && $0.key != [UInt8(ascii: ".")] && $0.key != [UInt8(ascii: "-")]
        }
        // Its scope has one head; that of `mail` two.
        let scopes = Dictionary(grouping: heads) { $0.condition.prefix { $0 != "A" } }
        let head = try #require(scopes.values.first { $0.count == 1 }?.first)
        if isRecord {
            let scope = head.condition.prefix { $0 != "A" }
            return try #require(rows.first { $0.key == [UInt8(ascii: ".")] && $0.condition.hasPrefix(scope) })
        }
        return try #require(
            table == "settings" ? head : rows.first { $0.table == table && $0.key.starts(with: head.key) })
    }

    @Test(arguments: ["head removed", "head altered", "value removed", "value altered"])
    func `a backup takes damaged secrets along as they are, says which, and does not count as whole`(
        what: String
    ) throws {
        let daemon = try TemporaryDaemon()
        try stopped(daemon)
        let found = try row(of: daemon, what.hasPrefix("head") ? "settings" : "documents")
        let tables = try SecretsTables(daemon.data)
        if what.hasSuffix("removed") {
            try tables.delete(found)
        } else {
            try tables.write(Self.flipped(found), to: found)
        }
        try daemon.start()
        let client = try daemon.connect()
        let made = try client.result("storage.backup", "{\"name\":\"auto-one\"}")
        let left = made["leftOut"]?.elements.map {
            "\($0["store"]?.text ?? "") \($0["count"]?.int ?? 0) \($0["reason"]?.text ?? "")"
        }
        #expect(left == ["secrets 1 damaged"], "\(made)")
        #expect(try client.result("secrets.status")["integrity"]?.text == "damaged")
        let sealed = try client.result("storage.backup", "{\"name\":\"two\",\"passphrase\":\"correct horse\"}")
        let item = sealed["leftOut"]?[0]
        #expect(item?["scope"]?.text == "web", "\(sealed)")
        #expect(item?["name"]?.text ?? "" == (what.hasPrefix("value") ? "ada" : ""), "\(sealed)")
        // What is whole opens from it, what is not is refused as before.
        #expect(daemon.terminate() == 0)
        let other = try TemporaryDaemon(starts: false)
        #expect(
            try other.run([
                "restore", daemon.data + "/backups/auto-one.kurabackup", "--data-dir", other.data, "--keys",
                daemon.data + "/keys",
            ]) == 0, "\(other.log)")
        let root = try #require(TemporaryDaemon.contents(daemon.data + "/keys/root.key"))
        let file = open(other.data + "/keys/root.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try root.withBytes { try FileSystem.write(file, $0, at: 0, path: "") }
        close(file)
        try other.start()
        let restored = try other.connect()
        #expect(
            try restored.result("secrets.get", "{\"service\":\"mail\",\"account\":\"bob\"}")["secret"]?.text == "x")
        let refused = try restored.refusal("secrets.get", "{\"service\":\"web\",\"account\":\"ada\"}")
        #expect(refused["kind"]?.text == "integrity", "\(refused)")
    }

    @Test func `a backup of whole secrets leaves nothing out, versions that were destroyed included`() throws {
        let daemon = try TemporaryDaemon()
        try stopped(daemon)
        try daemon.start()
        let client = try daemon.connect()
        let name = "\"service\":\"mail\",\"account\":\"ada\""
        for secret in ["y", "z"] { try client.result("secrets.put", "{\(name),\"secret\":\"\(secret)\"}") }
        try client.result("secrets.destroyVersion", "{\(name),\"version\":2}")
        try client.result("secrets.delete", "{\"service\":\"mail\",\"account\":\"bob\"}")
        try client.result(
            "secrets.put", "{\"service\":\"host\",\"account\":\"a\",\"secret\":\"x\",\"deviceOnly\":true}")
        let made = try client.result("storage.backup", "{\"name\":\"one\"}")
        #expect(made["counts"]?["secrets"]?.int == 2, "\(made)")
        #expect(made["leftOut"]?.elements.map { $0["reason"]?.text } == ["deviceOnly"], "\(made)")
    }

    @Test func `a snapshot while there are no secrets is whole, though they are locked`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("secrets.lock")
        let made = try client.result("storage.backup", "{\"name\":\"one\"}")
        #expect(made["leftOut"]?.elements.isEmpty == true, "\(made)")
    }

    @Test(arguments: ["service", "store", "services", "set back", "removed"])
    func `secrets that nothing vouches for are in no backup, and a snapshot says how many`(what: String) throws {
        let configuration = "{\"backups\":{\"every\":\"1s\"}}"
        let daemon = try TemporaryDaemon(configuration: configuration, movesTime: true)
        try stopped(daemon)
        func all() throws -> [SecretsTables.Row] {
            let tables = try SecretsTables(daemon.data)
            return try tables.rows() + tables.rows(ofAudit: true)
        }
        switch what {
        case "service":
            let record = try row(of: daemon, "settings", isRecord: true)
            try SecretsTables(daemon.data).write(Self.flipped(record), to: record)
        case "store":
            let tables = try SecretsTables(daemon.data)
            try tables.delete(try #require(try tables.beside(".")))
        case "services":
            let tables = try SecretsTables(daemon.data)
            for row in try tables.rows() { try tables.delete(row) }
        case "removed": for row in try all() { try SecretsTables(daemon.data).delete(row) }
        default:
            let before = try all()
            try daemon.start()
            try daemon.connect().result("secrets.put", "{\"service\":\"web\",\"account\":\"ada\",\"secret\":\"y\"}")
            #expect(daemon.terminate() == 0)
            let known = Set(before.map { $0.table + $0.condition })
            let tables = try SecretsTables(daemon.data)
            for row in try all() where !known.contains(row.table + row.condition) { try tables.delete(row) }
            for row in before { try tables.write(row.value, rev: row.rev, to: row) }
        }
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        // Nobody has asked for a secret yet.
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        #expect(try leftOut(daemon, above: rev) == ["secrets 3 damaged"])
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == "integrity")
    }

    @Test(arguments: ["altered", "removed", "moved"])
    func `secrets that may be bound to this host stay out of a backup when their heads do not open`(what: String) throws
    {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (service, more) in [("host", ",\"deviceOnly\":true"), ("mail", "")] {
            try client.result(
                "secrets.put", "{\"service\":\"\(service)\",\"account\":\"a\",\"secret\":\"x\"\(more)}")
        }
        #expect(daemon.terminate() == 0)
        let tables = try SecretsTables(daemon.data)
        let values = try tables.rows().filter { $0.table == "documents" }
        try #require(values.count == 2)
        // The one that was put first.
        let bound = try #require(values.min { $0.rev < $1.rev })
        let head = try #require(
            try tables.rows().first { $0.table == "settings" && bound.key.starts(with: $0.key) && $0.key.count > 1 })
        switch what {
        case "removed": try tables.delete(head)
        case "altered": try tables.write(Self.flipped(head), to: head)
        default: try tables.move(bound, beside: try #require(values.first { $0 != bound }), as: 7)
        }
        try daemon.start()
        let made = try daemon.connect().result("storage.backup", "{\"name\":\"one\"}")
        #expect(made["counts"]?["secrets"]?.int == 1, "\(made)")
        let reason = what == "moved" ? "deviceOnly" : "damaged"
        #expect(made["leftOut"]?.elements.map { $0["reason"]?.text } == [reason], "\(made)")
        let file = try #require(TemporaryDaemon.contents(daemon.data + "/backups/one.kurabackup"))
        for value in values {
            #expect((file.firstRange(of: value.value) != nil) == (value != bound))
            #expect((file.firstRange(of: value.key) != nil) == (value != bound))
        }
    }

    /// Advances the time until a snapshot is there that the condition holds for, and gives what all are called.
    private func names(
        _ daemon: TemporaryDaemon, until condition: ([String]) -> Bool
    ) throws -> [String] {
        let client = try daemon.connect()
        let deadline = now() + 60
        while true {
            let names = try client.result("backups.list")["backups"]?.elements.compactMap { $0["name"]?.text } ?? []
            if condition(names) || now() > deadline { return names }
            try daemon.advance(seconds: 1)
            usleep(20_000)
        }
    }

    private static let keepsOne = "\"every\":\"1s\",\"keep\":{\"hourly\":1,\"daily\":0,\"weekly\":0}"

    @Test(arguments: ["locked", "damaged"])
    func `an encrypted snapshot without the secrets says so by its name, and the newest with them stays`(
        what: String
    ) throws {
        let key = AttachmentWorld.base64(try BoxKeyPair().publicKey)
        let configuration = "{\"backups\":{\(Self.keepsOne),\"recipients\":[\"\(key)\"]}}"
        let daemon = try TemporaryDaemon(configuration: configuration, movesTime: true)
        if what == "locked" {
            try daemon.connect().result(
                "secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"x\"}")
        } else {
            try stopped(daemon)
            try daemon.start(configuration: configuration)
        }
        let whole = try #require(try names(daemon) { !$0.isEmpty }.first)
        #expect(!whole.hasSuffix("-partial"))
        if what == "locked" {
            try daemon.connect().result("secrets.lock")
        } else {
            #expect(daemon.terminate() == 0)
            let value = try row(of: daemon, "documents")
            try SecretsTables(daemon.data).write(Self.flipped(value), to: value)
            try daemon.start(configuration: configuration)
        }
        var partial: Set<String> = []
        let last = try names(daemon) { names in
            partial.formUnion(names.filter { $0.hasSuffix("-partial") })
            return partial.count > 3
        }
        #expect(partial.count > 3 && last.count == 2, "\(last)")
        let kept = last.filter { !$0.hasSuffix("-partial") }
        #expect(kept.count == 1 && kept[0] >= whole, "\(last)")
    }

    @Test func `a recovery that has lost the secrets has no snapshot of before it thinned`() throws {
        let configuration = "{\"backups\":{\(Self.keepsOne)}}"
        let daemon = try TemporaryDaemon(configuration: configuration, movesTime: true)
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"x\"}")
        // With the secret in it.
        _ = try leftOut(daemon, above: try #require(try client.result("storage.status")["rev"]?.int))
        try client.result("secrets.lock")
        _ = try names(daemon) { $0.contains { $0.hasSuffix("-partial") } }
        #expect(daemon.terminate() == 0)
        let before = Set(TemporaryDaemon.names(daemon.data + "/backups") ?? [])
        TemporaryDaemon.write("no database", to: daemon.data + "/durable/kura.sqlite")
        for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] where name.hasSuffix(".log") {
            unlink(daemon.data + "/log/" + name)
        }
        for _ in 0..<2 {
            #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 1)
        }
        try daemon.start(configuration: configuration)
        func old(_ names: [String]) -> Set<String> { before.intersection(names.map { $0 + ".kurabackup" }) }
        var made: Set<String> = []
        let last = try names(daemon) { names in
            made.formUnion(Set(names.map { $0 + ".kurabackup" }).subtracting(before))
            return made.count > 3
        }
        #expect(made.count > 3 && old(last) == before, "\(last), \(before): \(daemon.log)")
        let pruned = try daemon.connect().result("backups.prune", "{\"hourly\":1,\"daily\":0,\"weekly\":0}")
        #expect(pruned["removed"]?.elements.allSatisfy { !before.contains(($0.text ?? "") + ".kurabackup") } == true)
        try daemon.connect().result("storage.acknowledge")
        #expect(try names(daemon) { old($0).isEmpty }.count == 1)
    }
}
