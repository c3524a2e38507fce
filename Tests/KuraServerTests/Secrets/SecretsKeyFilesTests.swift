import Glibc
import KuraBytes
import Testing

@testable import KuraStorage

/// What a stop amid a change leaves of key files, and what the next start does with it.
@Suite struct SecretsKeyFilesTests {
    private let daemon: TemporaryDaemon
    private var keys: String { daemon.data + "/keys" }
    private var rootKey: String { keys + "/root.key" }

    /// Where the directory lies that each test has a copy of: to hash its passphrase takes a second.
    private static let prepared: Result<String, any Error> = Result {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"a\",\"secret\":\"x\",\"deviceOnly\":true}")
        try client.result("secrets.addSlot", "{\"kind\":\"passphrase\",\"newPassphrase\":\"words\"}")
        #expect(daemon.terminate() == 0)
        let place = try TemporaryDirectory.make("kura-tests")
        #expect(try Outsider.run("cp -a \(daemon.data) \(place)/data 2>&1").output == "")
        atexit { FileTree.remove((try? SecretsKeyFilesTests.prepared.get()) ?? "") }
        return place
    }

    init() throws {
        daemon = try TemporaryDaemon(starts: false)
        #expect(try Outsider.run("cp -a \(Self.prepared.get())/data \(daemon.data) 2>&1").output == "")
    }

    private func doctor() throws -> String {
        let arguments = [TemporaryDaemon.binary, "doctor", "--data-dir", daemon.data].joined(separator: " ")
        return try Outsider.run(arguments + " 2>&1").output
    }

    private func expectUnlocking() throws {
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["state"]?.text == "sealed")
        try client.result("secrets.unlock", "{\"passphrase\":\"words\"}")
        #expect(try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")["secret"]?.text == "x")
    }

    @Test(arguments: ["kill", "fail"])
    func `a key file whose slot is gone is overwritten and removed once the secrets are unlocked`(
        fault: String
    ) throws {
        let key = TemporaryDaemon.contents(rootKey)
        try daemon.start(faults: "keys.renamed:\(fault)")
        let client = try daemon.connect()
        client.send(Client.request("secrets.removeSlot", "{\"slot\":1}"))
        if fault == "kill" {
            #expect(try client.line() == nil)
            #expect(daemon.wait() == 128 + SIGKILL)
        } else {
            #expect(try client.reply()["error"]?["data"]?["kind"]?.text == "internalError")
            daemon.kill()
        }
        #expect(TemporaryDaemon.contents(rootKey) == key && key?.count == 32)
        #expect(try doctor().contains("keys/root.key is there, and no slot of keys/slots.json needs it"))
        // Who has the file open sees what becomes of its block.
        let file = open(rootKey, O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        try daemon.start()
        #expect(TemporaryDaemon.contents(rootKey) == key)
        #expect(daemon.log.contains("keys/root.key is there, and no slot of keys/slots.json needs it"))
        #expect(try daemon.connect().result("secrets.status")["rootKeyUnneeded"]?.bool == true)
        try expectUnlocking()
        #expect(TemporaryDaemon.contents(rootKey) == nil)
        #expect(try daemon.connect().result("secrets.status")["rootKeyUnneeded"] == nil)
        var left = [UInt8](repeating: 1, count: 64)
        #expect(pread(file, &left, left.count, 0) == 32 && left[..<32].allSatisfy { $0 == 0 })
        #expect(daemon.log.contains("no slot needed it: it was overwritten and removed"))
        #expect(try !doctor().contains("keys/root.key is there"))
    }

    @Test(arguments: [true, false])
    func `keys that are gone beside secrets are an error of doctor, which changes nothing, and no start goes on`(
        hasMark: Bool
    ) throws {
        if !hasMark {
            // The tables alone tell.
            try daemon.start()
            try daemon.waitUntilFolded()
            #expect(daemon.terminate() == 0)
            #expect(unlink(daemon.data + "/acknowledged") == 0)
        }
        #expect(try Outsider.run("rm -r \(keys) 2>&1").output == "")
        let before = TemporaryDaemon.names(daemon.data + "/durable")
        let line = "error: keys: keys/slots.json is missing, and there are secrets that only its keys open"
        #expect(try doctor().contains(line))
        #expect(try daemon.run(["doctor", "--data-dir", daemon.data]) == 9)
        #expect(TemporaryDaemon.names(daemon.data + "/durable") == before && !FileSystem.exists(keys))
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket]) == 2)
        // Where there never was a secret the next start makes keys, and nothing is wrong.
        let other = try TemporaryDaemon()
        #expect(other.terminate() == 0)
        #expect(try Outsider.run("rm -r \(other.data)/keys 2>&1").output == "")
        #expect(try other.run(["doctor", "--data-dir", other.data]) == 0, "\(other.log)")
        #expect(other.log.contains("there are no keys, and no secrets"), "\(other.log)")
        try other.start()
    }

    @Test func `keys of before a rotation that are put back open nothing and change nothing`() throws {
        let earlier = daemon.root + "/earlier"
        let later = daemon.root + "/later"
        #expect(try Outsider.run("cp -a \(keys) \(earlier) 2>&1").output == "")
        try daemon.start()
        let client = try daemon.connect()
        try client.result("secrets.rotate", Self.rotation)
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"b\",\"secret\":\"new\"}")
        #expect(daemon.terminate() == 0)
        #expect(try Outsider.run("mv \(keys) \(later) && cp -a \(earlier) \(keys) 2>&1").output == "")
        try daemon.start()
        let stale = try daemon.connect()
        let status = try stale.result("secrets.status")
        #expect(status["state"]?.text == "unusable", "\(status)")
        #expect(status["reason"]?.text?.contains("older than the secrets") == true, "\(status)")
        for (method, params) in [
            ("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}"), ("secrets.unlock", "{\"passphrase\":\"words\"}"),
            ("secrets.put", "{\"service\":\"s\",\"account\":\"c\",\"secret\":\"x\"}"),
            ("secrets.repair", "{\"service\":\"s\",\"confirm\":\"s\"}"),
        ] {
            let kind = try stale.refusal(method, params)["kind"]?.text
            #expect(kind == (method == "secrets.unlock" ? "integrity" : "sealed"), "\(method): \(kind ?? "")")
        }
        // Put back while it runs, they open.
        #expect(try Outsider.run("rm -r \(keys) && mv \(later) \(keys) 2>&1").output == "")
        try stale.result("secrets.unlock")
        for (account, secret) in [("a", "x"), ("b", "new")] {
            let found = try stale.result("secrets.get", "{\"service\":\"s\",\"account\":\"\(account)\"}")
            #expect(found["secret"]?.text == secret)
        }
        #expect(try stale.result("secrets.status")["integrity"]?.text != "damaged")
        #expect(try stale.result("secrets.auditVerify")["valid"]?.bool == true)
    }

    @Test func `keys of after a rotation beside data of before it open nothing and change nothing`() throws {
        let (older, later, right) = (daemon.root + "/older", daemon.root + "/later", daemon.root + "/right")
        #expect(try Outsider.run("cp -a \(daemon.data) \(older) 2>&1").output == "")
        try daemon.start()
        let client = try daemon.connect()
        try client.result("secrets.rotate", Self.rotation)
        let deadline = now() + 60
        while try client.result("secrets.slots")["retiredEpochs"] != .array([]), now() < deadline { usleep(5000) }
        #expect(try client.result("secrets.slots")["retiredEpochs"] == .array([]))
        #expect(daemon.terminate() == 0)
        let swap = "mv \(keys) \(later) && rm -r \(daemon.data) && mv \(older) \(daemon.data)"
        #expect(try Outsider.run("\(swap) && mv \(keys) \(right) && cp -a \(later) \(keys) 2>&1").output == "")
        try daemon.start()
        let mixed = try daemon.connect()
        let status = try mixed.result("secrets.status")
        #expect(status["state"]?.text == "unusable", "\(status)")
        #expect(status["reason"]?.text?.contains("newer than the secrets") == true, "\(status)")
        for (method, params, kind) in [
            ("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}", "sealed"),
            ("secrets.unlock", "{}", "integrity"),
            ("secrets.put", "{\"service\":\"s\",\"account\":\"c\",\"secret\":\"x\"}", "sealed"),
            ("secrets.unlock", "{\"passphrase\":\"words\"}", "integrity"),
            ("secrets.changePassphrase", "{\"passphrase\":\"words\",\"newPassphrase\":\"more\"}", "integrity"),
        ] {
            #expect(try mixed.refusal(method, params)["kind"]?.text == kind, "\(method)")
        }
        for name in ["slots.json", "root.key"] {
            #expect(TemporaryDaemon.contents(keys + "/" + name) == TemporaryDaemon.contents(later + "/" + name))
        }
        #expect(try Outsider.run("rm -r \(keys) && mv \(right) \(keys) 2>&1").output == "")
        try mixed.result("secrets.unlock")
        #expect(try mixed.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")["secret"]?.text == "x")
        #expect(try mixed.result("secrets.status")["integrity"]?.text != "damaged")
        #expect(try mixed.result("secrets.auditVerify")["valid"]?.bool == true)
    }

    private static let rotation = "{\"rootKey\":true,\"passphrase\":\"words\",\"waitMs\":600000}"

    @Test func `a copy of root.key opens what it opened, and nothing that is new after a rotation`() throws {
        let stolen = try #require(TemporaryDaemon.contents(rootKey))
        try daemon.start()
        let client = try daemon.connect()
        try client.result("storage.backup", "{\"name\":\"before\"}")
        let rotated = try client.result("secrets.rotate", Self.rotation)
        #expect(rotated["keptSlots"]?.elements.map { $0["kind"]?.text } == ["passphrase"], "\(rotated)")
        #expect(rotated["keptSlots"]?[0]?["change"]?.text == "secrets.changePassphrase")
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"b\",\"secret\":\"new\"}")
        try client.result("storage.backup", "{\"name\":\"after\"}")
        let fresh = try #require(TemporaryDaemon.contents(rootKey))
        #expect(fresh.count == 32 && fresh != stolen && !FileSystem.exists(rootKey + ".next"))
        for (name, key, state) in [
            ("before", stolen, "unlocked"), ("after", stolen, "sealed"), ("after", fresh, "unlocked"),
        ] {
            let elsewhere = try TemporaryDaemon(starts: false)
            try BackupRestore.restore(daemon.data + "/backups/\(name).kurabackup", into: elsewhere.data)
            let path = elsewhere.data + "/keys/root.key"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            try key.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path) }
            close(descriptor)
            try elsewhere.start()
            #expect(try elsewhere.connect().result("secrets.status")["state"]?.text == state, "\(name)")
        }
        daemon.kill()
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "unlocked")
    }

    @Test(arguments: ["keys.write", "keys.sync", "keys.rename", "keys.renamed"], ["kill", "fail"])
    func `a rotation that is stopped anywhere leaves the keys of before or of after, whole`(
        point: String, fault: String
    ) throws {
        for hit in 1...3 {
            let what = "\(point):\(fault):\(hit)"
            let before = TemporaryDaemon.contents(rootKey)
            try daemon.start(faults: what)
            let client = try daemon.connect()
            client.send(Client.request("secrets.rotate", Self.rotation))
            let reply = try client.line()
            if fault == "fail" {
                // Whatever it has come to, the daemon goes on with keys that it has.
                try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"b\",\"secret\":\"\(what)\"}")
                let refused = try #require(reply).contains("\"error\"")
                #expect(!refused || TemporaryDaemon.contents(rootKey) == before || point == "keys.renamed", "\(what)")
            }
            daemon.kill()
            try daemon.start()
            #expect(!FileSystem.exists(rootKey + ".next"), "\(what)")
            let again = try daemon.connect()
            #expect(try again.result("secrets.status")["state"]?.text == "unlocked", "\(what): \(daemon.log)")
            #expect(
                try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"a\"}")["secret"]?.text == "x",
                "\(what)")
            if fault == "fail" {
                #expect(
                    try again.result("secrets.get", "{\"service\":\"s\",\"account\":\"b\"}")["secret"]?.text == what)
            }
            #expect(daemon.terminate() == 0)
        }
    }

    @Test func `slots that could not be synced are what the daemon goes on with, and the next change removes the file`()
        throws
    {
        try daemon.start(faults: "keys.renamed:fail")
        let client = try daemon.connect()
        #expect(try client.refusal("secrets.removeSlot", "{\"slot\":1}")["kind"]?.text == "internalError")
        #expect(try client.result("secrets.slots")["slots"]?.elements.map { $0["id"]?.int } == [2])
        #expect(try client.refusal("secrets.removeSlot", "{\"slot\":1}")["kind"]?.text == "notFound")
        #expect(TemporaryDaemon.contents(rootKey) == nil)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try expectUnlocking()
    }

    @Test(arguments: [1, 2])
    func `a key file whose slot never came to be is removed as well`(hit: Int) throws {
        try daemon.start()
        try daemon.connect().result("secrets.removeSlot", "{\"slot\":1}")
        #expect(daemon.terminate() == 0)
        // The first rename is that of the key file, the second one that of the slots.
        try daemon.start(faults: "keys.rename:kill:\(hit)")
        let client = try daemon.connect()
        try client.result("secrets.unlock", "{\"passphrase\":\"words\"}")
        client.send(Client.request("secrets.addSlot", "{\"kind\":\"keyFile\"}"))
        #expect(try client.line() == nil)
        #expect(daemon.wait() == 128 + SIGKILL)
        #expect(TemporaryDaemon.names(keys)!.contains(hit == 1 ? "root.key.new" : "root.key"))
        try daemon.start()
        try expectUnlocking()
        #expect(TemporaryDaemon.names(keys) == ["host.key", "slots.json"])
    }

    // MARK: Slots that are not the ones of the key

    /// Files under keys/ but for the host's.
    private var keyFiles: [[UInt8]?] {
        ["root.key", "root.key.next"].map { TemporaryDaemon.contents(keys + "/" + $0) }
    }

    private func copy(_ from: String, _ to: String) throws {
        #expect(try Outsider.run("cp -a \(from) \(to) 2>&1").output == "")
    }

    /// An older slots.json, whose only slot is a passphrase's; in the newer one is the key file's alone. The daemon has ended.
    private func makeOlderSlots(rotates: Bool) throws -> (older: String, newer: String) {
        let (older, newer) = (daemon.root + "/older.json", daemon.root + "/newer.json")
        try daemon.start()
        let client = try daemon.connect()
        try client.result("secrets.removeSlot", "{\"slot\":1}")
        try copy(keys + "/slots.json", older)
        try client.result("secrets.addSlot", "{\"kind\":\"keyFile\"}")
        try client.result("secrets.removeSlot", "{\"slot\":2}")
        if rotates { try client.result("secrets.rotate", "{\"rootKey\":true,\"waitMs\":600000}") }
        try client.result("secrets.put", "{\"service\":\"s\",\"account\":\"b\",\"secret\":\"new\"}")
        #expect(daemon.terminate() == 0)
        try copy(keys + "/slots.json", newer)
        try copy(older, keys + "/slots.json")
        return (older, newer)
    }

    private func expectEverything(_ client: Client) throws {
        for (account, secret) in [("a", "x"), ("b", "new")] {
            let found = try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"\(account)\"}")
            #expect(found["secret"]?.text == secret)
        }
    }

    @Test(arguments: [false, true], [[], ["--without-secrets"]])
    func `an older slots.json that has no slot for root.key takes nothing from it`(
        rotates: Bool, more: [String]
    ) throws {
        let (_, newer) = try makeOlderSlots(rotates: rotates)
        let key = keyFiles
        #expect(key[0]?.count == 32)
        try daemon.start(more: more)
        #expect(daemon.log.contains("keys/root.key is there, and no slot"))
        let client = try daemon.connect()
        let status = try client.result("secrets.status")
        #expect(status["state"]?.text == (rotates ? "unusable" : "sealed"), "\(status)")
        #expect(status["rootKeyUnneeded"]?.bool == true)
        for (method, params) in [
            ("secrets.unlock", "{}"), ("secrets.unlock", "{\"passphrase\":\"wrong\"}"),
            ("secrets.addSlot", "{\"kind\":\"keyFile\"}"), ("secrets.rotate", "{\"rootKey\":true}"),
            ("secrets.removeSlot", "{\"slot\":2}"),
            ("secrets.changePassphrase", "{\"passphrase\":\"wrong\",\"newPassphrase\":\"more\"}"),
        ] {
            #expect(try client.call(method, params)["error"] != nil, "\(method)")
            #expect(keyFiles == key, "\(method)")
        }
        if rotates {
            #expect(try client.call("secrets.unlock", "{\"passphrase\":\"words\"}")["error"] != nil)
            #expect(keyFiles == key)
        }
        try copy(newer, keys + "/slots.json")
        try client.result("secrets.unlock")
        try expectEverything(client)
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try expectEverything(try daemon.connect())
        #expect(keyFiles == key)
    }

    @Test func `another store's slots.json takes nothing from root.key, opened or not`() throws {
        let key = daemon.root + "/kura.key"
        TemporaryDaemon.write(String(repeating: "k", count: 32), to: key)
        chmod(key, 0o600)
        let configuration = "{\"secrets\":{\"keyFile\":\"\(key)\"}}"
        let other = try TemporaryDaemon(starts: false)
        try other.start(configuration: configuration)
        #expect(other.terminate() == 0)
        let right = daemon.root + "/right.json"
        try copy(keys + "/slots.json", right)
        try copy(other.data + "/keys/slots.json", keys + "/slots.json")
        let before = keyFiles
        try daemon.start(configuration: configuration)
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["state"]?.text == "unlocked")
        #expect(keyFiles == before)
        let refusal = try client.refusal("secrets.addSlot", "{\"kind\":\"keyFile\"}")
        // What the audit cannot record is refused before the key file is looked at.
        #expect(refusal["kind"]?.text == "integrity", "\(refusal)")
        #expect(keyFiles == before)
        try client.result("secrets.lock")
        try client.result("secrets.unlock")
        #expect(keyFiles == before)
        #expect(daemon.terminate() == 0)
        try copy(right, keys + "/slots.json")
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "unlocked")
        #expect(keyFiles == before)
    }

    @Test func `a root.key that waits for its slots.json is not written over by a start that makes new slots`() throws {
        let empty = try TemporaryDaemon()
        let key = try #require(TemporaryDaemon.contents(empty.data + "/keys/root.key"))
        #expect(empty.terminate() == 0)
        unlink(empty.data + "/keys/slots.json")
        try empty.start()
        #expect(try empty.connect().result("secrets.status")["state"]?.text == "unlocked")
        #expect(TemporaryDaemon.contents(empty.data + "/keys/root.key") == key)
    }

    @Test(arguments: ["removeSlot", "rotate"])
    func `a key file that has other names is taken away, and its copies stay`(method: String) throws {
        let key = try #require(TemporaryDaemon.contents(rootKey))
        let snapshot = daemon.root + "/snapshot"
        #expect(try Outsider.run("cp -al \(keys) \(snapshot) 2>&1").output == "")
        try daemon.start()
        let params = method == "rotate" ? Self.rotation : "{\"slot\":1}"
        try daemon.connect().result("secrets.\(method)", params)
        #expect(TemporaryDaemon.contents(rootKey) != key)
        #expect(TemporaryDaemon.contents(snapshot + "/root.key") == key)
        #expect(daemon.log.contains("had other names (hard links)"))
    }

    @Test func `a key file that its slot waits for is left alone`() throws {
        let key = try #require(TemporaryDaemon.contents(rootKey))
        unlink(rootKey)
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "sealed")
        #expect(daemon.terminate() == 0)
        let file = try #require(fopen(rootKey, "we"))
        fchmod(fileno(file), 0o600)
        #expect(fwrite(key, 1, key.count, file) == 32)
        fclose(file)
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "unlocked")
        #expect(TemporaryDaemon.contents(rootKey) == key)
    }

    @Test func `a host key that is too short is told, and is not written over`() throws {
        let aside = daemon.root + "/host.key"
        #expect(try Outsider.run("mv \(keys)/host.key \(aside) 2>&1").output == "")
        TemporaryDaemon.write("short", to: keys + "/host.key")
        chmod(keys + "/host.key", 0o600)
        #expect(try doctor().contains("keys/host.key has 5 bytes, not 32"))
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["hostKeyUnusable"]?.bool == true)
        let name = "{\"service\":\"s\",\"account\":\"a\"}"
        #expect(try client.refusal("secrets.get", name)["kind"]?.text == "integrity")
        #expect(daemon.terminate() == 0)
        #expect(TemporaryDaemon.contents(keys + "/host.key") == Array("short".utf8))
        #expect(try Outsider.run("cp -a \(aside) \(keys)/host.key 2>&1").output == "")
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("secrets.status")["hostKeyUnusable"] == nil)
        #expect(try again.result("secrets.get", name)["secret"]?.text == "x")
    }

    @Test func `a host key that was made anew is told until somebody has acknowledged it`() throws {
        #expect(!daemon.log.contains("host.key"))
        unlink(keys + "/host.key")
        #expect(try doctor().contains("keys/host.key is missing"))
        try daemon.start()
        #expect(daemon.log.contains("keys/host.key was missing, and another was made"))
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["hostKeyRenewedAt"]?.text?.hasSuffix("Z") == true)
        #expect(try doctor().contains("keys/host.key was missing, and was made anew on"))
        #expect(try client.result("storage.acknowledge")["acknowledged"]?.int == 1)
        #expect(try client.result("secrets.status")["hostKeyRenewedAt"] == nil)
        #expect(try !doctor().contains("host.key"))
    }
}
