import Glibc
import KuraBytes
import Sodium
import Testing

@testable import KuraStorage

/// `storage.backup`, `backups.…` and restores, through the socket and the programs.
@Suite struct BackupScenarioTests: BackedUpSuite {
    let daemon: TemporaryDaemon
    let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        daemon = try TemporaryDaemon()
        client = try daemon.connect()
    }

    /// A daemon over what a backup is restored to.
    private func restored(
        _ file: String, _ opener: BackupOpener = BackupOpener(), before: (String) throws -> Void = { _ in }
    ) throws -> TemporaryDaemon {
        let other = try TemporaryDaemon(starts: false)
        try BackupRestore.restore(file, into: other.data, opener)
        try before(other.data)
        try other.start()
        return other
    }

    private func read(_ client: Client, _ account: String) throws -> String? {
        let reply = try client.call("secrets.get", "{\"service\":\"mail\",\"account\":\"\(account)\"}")
        return reply["result"]?["secret"]?.text ?? reply["error"]?["data"]?["kind"]?.text
    }

    // MARK: What is in it

    @Test func `a restore brings back items with their revisions, under a new epoch, and indexes are built anew`()
        throws
    {
        try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}")
        try client.result(
            "documents.configure",
            """
            {"collection":"notes","indexes":[{"name":"byTitle","fields":["title"],"unique":true}],\
            "searchFields":["title"],"schema":{"type":"object"},"schemaMode":"enforce"}
            """)
        for number in 0..<50 { try put("notes", "\(number)", "{\"title\":\"note \(number)\"}") }
        try client.result("documents.delete", "{\"collection\":\"notes\",\"id\":\"7\"}")
        let attached = try client.result(
            "documents.attach",
            "{\"collection\":\"notes\",\"id\":\"8\",\"name\":\"a.txt\",\"data\":\"\(AttachmentWorld.base64(Array("hi".utf8)))\"}"
        )
        let made = try backup("one")
        #expect(made["counts"]?["documents"]?.int == 49 && made["counts"]?["settings"]?.int == 1)
        #expect(made["counts"]?["attachments"]?.int == 1 && made["leftOut"]?.elements == [])
        #expect(made["rev"] == attached["rev"])
        let other = try restored(path("one"))
        let reader = try other.connect()
        let (before, after) = (try client.result("storage.status"), try reader.result("storage.status"))
        #expect(before["epoch"] != after["epoch"] && before["rev"] == after["rev"])
        let get = "{\"collection\":\"notes\",\"id\":\"8\"}"
        #expect(try reader.result("documents.get", get) == client.result("documents.get", get))
        let text = try reader.result(
            "documents.attachment", "{\"collection\":\"notes\",\"id\":\"8\",\"name\":\"a.txt\"}")
        #expect(text["data"]?.text == AttachmentWorld.base64(Array("hi".utf8)))
        #expect(
            try reader.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"] == .string("dark"))
        // The tombstone is there as well: the document can be brought back.
        try reader.result("documents.restore", "{\"collection\":\"notes\",\"id\":\"7\"}")
        try reader.result("documents.describe", "{\"collection\":\"notes\",\"waitMs\":600000}")
        let found = try reader.result(
            "documents.find", "{\"collection\":\"notes\",\"where\":{\"title\":\"note 9\"}}")
        #expect(found["documents"]?.elements.count == 1)
        #expect(
            try reader.result("documents.search", "{\"collection\":\"notes\",\"query\":\"note\"}")["documents"]?
                .elements.isEmpty == false)
        #expect(
            try reader.refusal(
                "documents.put", "{\"collection\":\"notes\",\"id\":\"x\",\"value\":{\"title\":\"note 9\"}}")[
                    "kind"] == .string("uniqueViolation"))
        #expect(other.terminate() == 0)
        #expect(try TablesRecount.difference(other.data) == nil)
        #expect(try TablesRecount.searchDifference(other.data) == nil)
    }

    @Test func `what is configured with backup false is left out, and said`() throws {
        try client.result("settings.put", "{\"domain\":\"scratch\",\"key\":\"a\",\"value\":\"canary-one\"}")
        try client.result("settings.configure", "{\"domain\":\"scratch\",\"backup\":false}")
        try put("drafts", "1", "\"canary-two\"")
        try put("kept", "1", "1")
        try client.result("documents.configure", "{\"collection\":\"drafts\",\"backup\":false}")
        try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"a\",\"value\":\"canary-three\"}")
        let made = try backup("one")
        let left = Set(made["leftOut"]?.elements.map { "\($0["store"]?.text ?? "")/\($0["scope"]?.text ?? "")" } ?? [])
        #expect(left == ["settings/scratch", "documents/drafts"])
        let bytes = String(decoding: try #require(TemporaryDaemon.contents(path("one"))), as: UTF8.self)
        for canary in ["canary-one", "canary-two", "canary-three"] { #expect(!bytes.contains(canary), "\(canary)") }
        let other = try restored(path("one"))
        let reader = try other.connect()
        #expect(try reader.result("documents.count", "{\"collection\":\"kept\"}")["count"]?.int == 1)
        #expect(try reader.result("documents.count", "{\"collection\":\"drafts\"}")["count"]?.int == 0)
        #expect(try reader.result("documents.describe", "{\"collection\":\"drafts\"}")["backup"]?.bool == false)
        #expect(other.terminate() == 0)
    }

    @Test func `include takes stores and scopes, and refuses what it does not know`() throws {
        try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"a\",\"value\":1}")
        try put("one", "1", "1")
        try put("two", "1", "1")
        let made = try backup("part", ",\"include\":[\"documents/one\"]")
        #expect(made["counts"]?["documents"]?.int == 1 && made["counts"]?["settings"]?.int == 0)
        for wrong in ["[\"models\"]", "[]", "[\"secrets/mail\"]"] {
            let refusal = try client.refusal("storage.backup", "{\"name\":\"x\",\"include\":\(wrong)}")
            #expect(refusal["parameter"]?.text == "include")
        }
        // A start would not go on from a part.
        #expect(BackupDirectory.newestSnapshot(StorageConfiguration(dataDirectory: daemon.data)) == nil)
        try backup("all")
        try backup("later", ",\"include\":[\"settings\"]")
        let newest = BackupDirectory.newestSnapshot(StorageConfiguration(dataDirectory: daemon.data))
        #expect(newest?.path == path("all"))
    }

    // MARK: Secrets

    @Test func `secrets of a backup for a recipient open elsewhere; device-only and marked ones are absent and listed`()
        throws
    {
        try secret("ada", "open sesame")
        try secret("bob", "second")
        try secret("bound", "to this host", ",\"deviceOnly\":true")
        try secret("private", "not in backups", ",\"backup\":false")
        let pair = try BoxKeyPair()
        let made = try backup("one", ",\"recipients\":[\"\(AttachmentWorld.base64(pair.publicKey))\"]")
        #expect(made["encrypted"]?.bool == true && made["counts"]?["secrets"]?.int == 2)
        #expect(
            made["leftOut"]?.elements.map { "\($0["name"]?.text ?? "") \($0["reason"]?.text ?? "")" }
                == ["bound deviceOnly", "private marked"])
        #expect(throws: BackupFault.keyNeeded) { try BackupRestore.verify(path("one")) }
        var opener = BackupOpener()
        opener.identities = [pair]
        let other = try restored(path("one"), opener)
        let reader = try other.connect()
        #expect(try read(reader, "ada") == "open sesame" && read(reader, "bob") == "second")
        #expect(try read(reader, "bound") == "notFound" || (try read(reader, "bound")) == nil)
        #expect(try reader.result("secrets.list", "{\"service\":\"mail\"}")["items"]?.elements.count == 2)
        // The sums fit what is there: nothing counts as missing, now and after a change.
        try expectIntegrity(reader)
        try reader.result("secrets.put", "{\"service\":\"mail\",\"account\":\"new\",\"secret\":\"x\"}")
        try expectIntegrity(reader)
        #expect(other.terminate() == 0)
        try other.start()
        #expect(try read(other.connect(), "ada") == "open sesame")
        try expectIntegrity(try other.connect())
    }

    private func expectIntegrity(_ client: Client) throws {
        let verified = try client.result("secrets.verify")
        #expect(verified["damagedCount"]?.int == 0, "\(verified)")
        let audit = try client.result("secrets.auditVerify")
        #expect(audit["valid"]?.bool == true && (audit["newest"]?.int ?? 0) > 1, "\(audit)")
    }

    @Test func `without a recipient secrets stay sealed, and open with the root key of where they come from`() throws {
        try secret("ada", "open sesame")
        try secret("bound", "to this host", ",\"deviceOnly\":true")
        let made = try backup("one")
        #expect(made["leftOut"]?.elements.map { $0["name"] } == [nil])
        let bytes = String(decoding: try #require(TemporaryDaemon.contents(path("one"))), as: UTF8.self)
        // No word of hexadecimal digits, of which there are some.
        for word in ["open sesame", "mail", "bound"] { #expect(!bytes.contains(word), "\(word)") }
        let sealed = try restored(path("one"))
        #expect(try read(sealed.connect(), "ada") == "sealed")
        #expect(sealed.terminate() == 0)
        let opened = try restored(path("one")) { data in
            let key = try #require(TemporaryDaemon.contents(daemon.data + "/keys/root.key"))
            let file = open(data + "/keys/root.key", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            key.withBytes { try? FileSystem.write(file, $0, at: 0, path: "") }
            close(file)
        }
        #expect(try read(opened.connect(), "ada") == "open sesame")
        try expectIntegrity(try opened.connect())
        #expect(opened.terminate() == 0)
    }

    @Test func `a backup with a passphrase opens with it alone`() throws {
        try secret("ada", "open sesame")
        let made = try backup("one", ",\"passphrase\":\"correct horse\"")
        #expect(made["encrypted"]?.bool == true)
        var opener = BackupOpener()
        opener.passphrase = Array("correct horse".utf8)
        let other = try restored(path("one"), opener)
        #expect(try read(other.connect(), "ada") == "open sesame")
        #expect(other.terminate() == 0)
        #expect(
            try client.result("backups.verify", "{\"name\":\"one\",\"passphrase\":\"correct horse\"}")["digest"]
                == made["digest"])
        for (more, hint) in [("", "identity"), (",\"passphrase\":\"x\"", "somebody else")] {
            let refusal = try client.refusal("backups.verify", "{\"name\":\"one\"\(more)}")
            #expect(refusal["kind"]?.text == "wrongKey" && refusal["hint"]?.text?.contains(hint) == true)
        }
    }

    @Test func `while the secrets are locked a backup goes without them only when it is told to`() throws {
        try secret("ada", "x")
        try put("notes", "1", "1")
        try client.result("secrets.lock")
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == "sealed")
        #expect(try backup("two", ",\"include\":[\"settings\",\"documents\"]")["counts"]?["documents"]?.int == 1)
    }

    // MARK: Where it goes

    @Test func `a backup by descriptor is the same file, and a pipe will do`() throws {
        try put("notes", "1", "{\"a\":1}")
        let target = daemon.root + "/out"
        let file = open(target, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        let made = try client.result("storage.backup", "{\"fd\":true}", descriptors: [file])
        close(file)
        #expect(made["verified"]?.bool == true && made["name"] == nil)
        let verified = try BackupRestore.verify(target)
        let (manifest, bytes) = (verified.manifest, verified.bytes)
        #expect(Int(manifest.rev) == made["rev"]?.int && bytes == made["bytes"]?.int)
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        try client.send(Client.request("storage.backup", "{\"fd\":true}", id: "77"), descriptors: [ends[1]])
        close(ends[1])
        var piped: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Glibc.read(ends[0], &chunk, chunk.count)
            guard count > 0 else { break }
            piped += chunk[..<count]
        }
        close(ends[0])
        var reply = try client.reply()
        while reply["method"]?.text == "progress" { reply = try client.reply() }
        #expect(reply["result"]?["verified"]?.bool == false && reply["result"]?["bytes"]?.int == piped.count)
        // A descriptor that cannot be written to, and none.
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let refused = try client.call("storage.backup", "{\"fd\":true}", descriptors: [nothing])
        close(nothing)
        #expect(refused["error"]?["data"]?["kind"]?.text == "transferFailed")
        #expect(try client.refusal("storage.backup", "{\"fd\":true}")["kind"]?.text == "descriptorMissing")
    }

    @Test func `names are checked, and a backup takes no other's place`() throws {
        try backup("one")
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == "transferFailed")
        for name in ["../x", ".x", "a/b", "ä"] {
            #expect(try client.refusal("storage.backup", "{\"name\":\"\(name)\"}")["kind"]?.text == "invalidParams")
        }
        #expect(try client.refusal("storage.backup", "{}")["kind"]?.text == "invalidParams")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == ["one.kurabackup"])
    }

    @Test func `damage is found, whatever byte it is in, and thinning leaves what somebody named`() throws {
        for number in 0..<100 { try put("notes", "\(number)", "{\"text\":\"\(String(repeating: "z", count: 500))\"}") }
        try backup("one")
        try backup("two")
        #expect(try client.result("backups.list")["backups"]?.elements.map { $0["name"]?.text } == ["two", "one"])
        #expect(try client.result("backups.verify", "{\"name\":\"one\"}")["counts"]?["documents"]?.int == 100)
        let file = open(path("one"), O_RDWR)
        var byte: UInt8 = 0xFF
        pwrite(file, &byte, 1, 20_000)
        close(file)
        #expect(try client.refusal("backups.verify", "{\"name\":\"one\"}")["kind"]?.text == "integrity")
        #expect(try client.refusal("backups.verify", "{\"name\":\"none\"}")["kind"]?.text == "notFound")
        #expect(try client.result("backups.prune", "{\"hourly\":0,\"daily\":0,\"weekly\":0}")["kept"]?.int == 2)
        let dry = try client.result("backups.prune", "{\"names\":[\"one\"],\"dryRun\":true}")
        #expect(dry["removed"]?.elements == [.string("one")] && dry["kept"]?.int == 1)
        try client.result("backups.prune", "{\"names\":[\"one\"]}")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == ["two.kurabackup"])
        #expect(try client.refusal("backups.prune", "{\"names\":[\"one\"]}")["kind"]?.text == "notFound")
    }

    // MARK: What goes wrong

    @Test(arguments: [
        ("backup.write:fail:3", "transferFailed"), ("backup.write:full:3", "noSpace"),
        ("backup.sync:fail", "transferFailed"),
    ])
    func `a disk that fails leaves no backup, and nothing behind`(faults: String, kind: String) throws {
        let daemon = try TemporaryDaemon(faults: faults)
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == kind)
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
        #expect(TemporaryDaemon.names(daemon.data + "/tmp")?.filter { $0.contains("backup") } == [])
        // The daemon goes on, and so does the next backup.
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"2\",\"value\":1}")
        try client.result("storage.backup", "{\"name\":\"two\"}")
    }

    @Test func `a disk that lost a piece and said otherwise is found out by reading back`() throws {
        let daemon = try TemporaryDaemon(faults: "backup.write:skip:3")
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == "integrity")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
    }

    @Test func `near the end of the disk no backup takes what is left`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(more: ["--min-free", "1000000000000000"])
        let client = try daemon.connect()
        #expect(try client.refusal("storage.backup", "{\"name\":\"one\"}")["kind"]?.text == "noSpace")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
    }

    @Test func `a cancelled backup says so and leaves nothing`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "backup.write"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        client.send(Client.request("storage.backup", "{\"name\":\"one\"}", id: "\"b\""))
        try daemon.waitUntilPaused(at: "backup.write")
        client.send(Client.request("rpc.cancel", "{\"id\":\"b\"}", id: "2") + Client.request("storage.ping", id: "3"))
        // It has been read when what is out of band behind it is answered.
        var kinds: [String: JSON] = [:]
        while kinds.count < 3 {
            let reply = try client.reply()
            if reply["method"] == nil { kinds[reply["id"]?.text ?? "\(reply["id"]?.int ?? 0)"] = reply }
            if reply["id"]?.int == 3 { try daemon.goOn(at: "backup.write") }
        }
        #expect(kinds["b"]?["error"]?["data"]?["kind"]?.text == "cancelled")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
    }

    @Test func `a backup that the daemon ends because it stops says that, and leaves nothing`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "backup.write"))
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        client.send(Client.request("storage.backup", "{\"name\":\"one\"}", id: "\"b\""))
        try daemon.waitUntilPaused(at: "backup.write")
        Glibc.kill(daemon.pid, SIGTERM)
        try waitFor("it drains") { daemon.log.contains("draining") }
        try daemon.goOn(at: "backup.write")
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["id"]?.text == "b" && reply["error"]?["data"]?["kind"]?.text == "shuttingDown", "\(reply)")
        #expect(daemon.wait() == 0)
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
    }

    @Test func `an attachment that goes while a backup is under way is in it all the same`() throws {
        // The revision stands when the first records are written.
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "backup.write", hit: 3))
        let (client, other) = (try daemon.connect(), try daemon.connect())
        let card = "{\"collection\":\"c\",\"id\":\"1\""
        try client.result("documents.put", card + ",\"value\":1}")
        let data = AttachmentWorld.base64(Array("front".utf8))
        try client.result("documents.attach", card + ",\"name\":\"a\",\"data\":\"\(data)\"}")
        client.send(Client.request("storage.backup", "{\"name\":\"one\"}"))
        // What it is of is told at the beginning, before the records.
        try daemon.waitUntilPaused(at: "backup.write")
        try other.result("documents.detach", card + ",\"name\":\"a\"}")
        try daemon.waitUntilFolded()
        usleep(300_000)
        #expect(AttachmentTree.contents(daemon.data).count == 1)
        try daemon.goOn(at: "backup.write")
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["result"]?["counts"]?["attachments"]?.int == 1 && reply["result"]?["leftOut"]?.elements == [])
        // Then it goes.
        try waitFor("it is gone") { AttachmentTree.contents(daemon.data).isEmpty }
        let target = daemon.root + "/restored"
        try BackupRestore.restore(daemon.data + "/backups/one.kurabackup", into: target)
        #expect(AttachmentTree.contents(target).count == 1)
    }

    @Test func `a kill in the middle leaves no backup, and the next start tidies up`() throws {
        let daemon = try TemporaryDaemon(faults: "backup.sync:kill")
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        #expect(throws: (any Error).self) { try client.result("storage.backup", "{\"name\":\"one\"}") }
        _ = daemon.wait()
        try daemon.start()
        let again = try daemon.connect()
        #expect(try again.result("backups.list")["backups"]?.elements == [])
        #expect(TemporaryDaemon.names(daemon.data + "/tmp")?.filter { $0.contains("backup") } == [])
        try again.result("storage.backup", "{\"name\":\"one\"}")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == ["one.kurabackup"])
    }

    // MARK: By itself

    @Test func `scheduled snapshots are made and thinned`() throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"backups\":{\"every\":\"1s\",\"keep\":{\"hourly\":1,\"daily\":1,\"weekly\":1}}}",
            movesTime: true)
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        var seen: Set<String> = []
        let deadline = now() + 60
        while seen.count < 3, now() < deadline {
            let list = try client.result("backups.list")["backups"]?.elements ?? []
            #expect(list.count <= 2)
            for entry in list where entry["scheduled"]?.bool == true { seen.insert(entry["name"]?.text ?? "") }
            try daemon.advance(seconds: 1)
            usleep(50_000)
        }
        #expect(seen.count >= 3 && seen.allSatisfy { $0.hasPrefix("auto-") })
        #expect(daemon.terminate() == 0)
    }

    @Test(arguments: [true, false])
    func `the newest snapshot that has the secrets stays while they are locked or their keys gone, and the log says so`(
        isLocked: Bool
    ) throws {
        let daemon = try TemporaryDaemon(
            configuration: "{\"backups\":{\"every\":\"1s\",\"keep\":{\"hourly\":1,\"daily\":0,\"weekly\":0}}}",
            movesTime: true)
        let client = try daemon.connect()
        try client.result("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"x\"}")
        func secrets() throws -> [(name: String, count: Int)] {
            try client.result("backups.list")["backups"]!.elements.compactMap { entry in
                let name = entry["name"]?.text ?? ""
                // Those that follow may take its place at any moment.
                guard let found = try client.call("backups.verify", "{\"name\":\"\(name)\"}")["result"] else {
                    return nil
                }
                return (name, found["counts"]?["secrets"]?.int ?? -1)
            }
        }
        func wait(_ condition: () throws -> Bool) throws {
            let deadline = now() + 60
            while try !condition(), now() < deadline {
                try daemon.advance(seconds: 1)
                usleep(50_000)
            }
            let isMet = try condition()
            #expect(isMet, "\(daemon.log)")
        }
        try wait { try secrets().contains { $0.count == 1 } }
        if isLocked {
            try client.result("secrets.lock")
        } else {
            #expect(try Outsider.run("mv \(daemon.data)/keys \(daemon.root)/keys 2>&1").output == "")
        }
        var seen: Set<String> = []
        try wait {
            for entry in try secrets() where entry.count == 0 { seen.insert(entry.name) }
            return seen.count >= 4
        }
        let kept = try secrets()
        #expect(kept.contains { $0.count == 1 }, "\(kept)")
        let reason = isLocked ? "locked" : "damaged"
        #expect(daemon.log.contains("secrets (") && daemon.log.contains(", \(reason))"), "\(daemon.log)")
        let lines = daemon.log.split(separator: "\n").filter { $0.contains("snapshot made") }
        #expect(lines.allSatisfy { $0.contains("leftOut") == $0.contains("warning") }, "\(daemon.log)")
    }

    @Test func `scheduled snapshots are encrypted to the recipients that are configured, and secrets open from them`()
        throws
    {
        let pair = try BoxKeyPair()
        let key = AttachmentWorld.base64(pair.publicKey)
        let daemon = try TemporaryDaemon(
            configuration: "{\"backups\":{\"every\":\"1s\",\"recipients\":[\"\(key)\"]}}", movesTime: true)
        let client = try daemon.connect()
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":\"canary-one\"}")
        try client.result(
            "secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"open sesame\"}")
        let rev = try #require(try client.result("storage.status")["rev"]?.int)
        var opener = BackupOpener()
        opener.identities = [pair]
        let deadline = now() + 60
        var found: String?
        while found == nil, now() < deadline {
            for entry in try client.result("backups.list")["backups"]?.elements ?? [] {
                #expect(entry["encrypted"]?.bool == true, "\(entry)")
                // Those that follow may take its place at any moment.
                let path = daemon.root + "/\(entry["name"]?.text ?? "").kurabackup"
                link(daemon.data + "/backups/\(entry["name"]?.text ?? "").kurabackup", path)
                guard let made = try? BackupRestore.verify(path, opener), made.manifest.rev >= rev else { continue }
                found = path
                break
            }
            try daemon.advance(seconds: 1)
            usleep(50_000)
        }
        let path = try #require(found)
        let other = try restored(path, opener)
        #expect(try read(other.connect(), "ada") == "open sesame")
        #expect(other.terminate() == 0)
    }

    @Test func `a recipient that nothing can be sealed to is refused with the configuration`() throws {
        let zeros = AttachmentWorld.base64([UInt8](repeating: 0, count: 32))
        for wrong in ["\"x\"", "[]", "[\"AAAA\"]", "[\"\(zeros)\"]"] {
            let daemon = try TemporaryDaemon(starts: false)
            TemporaryDaemon.write(
                "{\"backups\":{\"every\":\"1h\",\"recipients\":\(wrong)}}", to: daemon.root + "/config.json")
            let arguments = [
                "--data-dir", daemon.data, "--socket", daemon.socket, "--config", daemon.root + "/config.json",
            ]
            #expect(try daemon.run(arguments) == 2, "\(wrong)")
            #expect(daemon.log.contains("backups.recipients"), "\(wrong)")
        }
    }

    @Test func `a backup under way lets go of the keys when the secrets are locked, and says why there is none`()
        throws
    {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "backup.write", hit: 3))
        let (client, other) = (try daemon.connect(), try daemon.connect())
        try client.result("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"x\"}")
        for id in 0..<50 {
            try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":1}")
        }
        client.send(Client.request("storage.backup", "{\"name\":\"one\"}"))
        try daemon.waitUntilPaused(at: "backup.write")
        other.send(Client.request("secrets.lock") + Client.request("storage.ping", id: "2"))
        let early = try other.reply()
        try daemon.goOn(at: "backup.write")
        #expect(try early["result"] != nil && other.reply()["result"] != nil)
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["error"]?["data"]?["kind"]?.text == "sealed", "\(reply)")
        #expect(TemporaryDaemon.names(daemon.data + "/backups") == [])
        try other.result("storage.backup", "{\"name\":\"two\",\"include\":[\"documents\"]}")
    }

    // MARK: The program

    @Test func `kurad restore restores, refuses what is not empty, and only checks when it is told to`() throws {
        try put("notes", "1", "1")
        try put("other", "1", "1")
        try backup("one")
        let target = daemon.root + "/restored"
        #expect(try daemon.run(["restore", path("one"), "--dry-run"]) == 0)
        #expect(daemon.log.contains("documents: 2") && daemon.log.contains("whole: "))
        #expect(!FileSystem.exists(target))
        #expect(
            try daemon.run(["restore", path("one"), "--data-dir", target, "--only", "documents/notes", "--unproved"])
                == 0)
        let other = try BackupModel.tables(target)
        #expect(Set(other.keys) == ["documents/notes/1"])
        #expect(try daemon.run(["restore", path("one"), "--data-dir", target]) == 1)
        #expect(daemon.log.contains("is not empty"))
        #expect(try BackupModel.tables(target) == other)
        #expect(try daemon.run(["restore"]) == 2)
        #expect(try daemon.run(["restore", path("one"), "--only", "models", "--data-dir", target + "2"]) == 1)
        #expect(!FileSystem.exists(target + "2"))
    }
}
