import Glibc
import KuraBytes
import SQLite
import Testing

@testable import KuraStorage

/// `storage.bundle` and `--seed-bundle`: what a daemon begins with.
@Suite struct SeedBundleScenarioTests {
    private let source: TemporaryDaemon
    private let client: Client

    init() throws {
        signal(SIGPIPE, SIG_IGN)
        source = try TemporaryDaemon()
        client = try source.connect()
    }

    private func fill() throws {
        try client.result(
            "settings.register", "{\"domain\":\"app\",\"defaults\":{\"size\":12}}")
        try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"dark\"}")
        try client.result("settings.put", "{\"domain\":\"scratch\",\"key\":\"a\",\"value\":1}")
        try client.result("settings.configure", "{\"domain\":\"scratch\",\"backup\":false}")
        try client.result(
            "documents.configure",
            "{\"collection\":\"notes\",\"indexes\":[{\"name\":\"byText\",\"fields\":[\"text\"]}]}")
        for id in 0..<20 { try put(client, "notes", "\(id)", "{\"text\":\"note \(id)\"}") }
        try put(client, "notes", "gone", "\"canary-deleted\"")
        try client.result("documents.delete", "{\"collection\":\"notes\",\"id\":\"gone\"}")
        try client.result(
            "documents.attach", "{\"collection\":\"notes\",\"id\":\"3\",\"name\":\"card\",\"data\":\"aGVsbG8=\"}")
        try client.result(
            "secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"canary-secret\"}")
        try client.result("models.configure", "{\"namespace\":\"feed\",\"ttlSeconds\":60}")
        try putModel(client, "feed", "home", "[1,2.50]", ",\"etag\":\"v1\",\"tags\":[\"front\",\"all\"]")
        try putModel(client, "feed", "old", "\"canary-expired\"", ",\"ttlSeconds\":0,\"staleSeconds\":0")
        try putModel(client, "feed", "dropped", "\"canary-dropped\"", ",\"tags\":[\"bad\"]")
        try client.result("models.invalidate", "{\"namespace\":\"feed\",\"tag\":\"bad\",\"mode\":\"drop\"}")
        try client.result("models.configure", "{\"namespace\":\"large\",\"partition\":true}")
        for key in 0..<200 { try putModel(client, "large", "\(key)", "\(key)") }
    }

    private func put(_ client: Client, _ collection: String, _ id: String, _ value: String) throws {
        try client.result("documents.put", "{\"collection\":\"\(collection)\",\"id\":\"\(id)\",\"value\":\(value)}")
    }

    private func putModel(
        _ client: Client, _ namespace: String, _ key: String, _ value: String, _ more: String = ""
    ) throws {
        try client.result(
            "models.put", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\",\"value\":\(value)\(more)}")
    }

    private func model(_ client: Client, _ namespace: String, _ key: String, _ more: String = "") throws -> JSON {
        try client.result("models.get", "{\"namespace\":\"\(namespace)\",\"key\":\"\(key)\"\(more)}")
    }

    /// A bundle of what the source has.
    private func bundle(_ name: String = "first", of daemon: TemporaryDaemon? = nil) throws -> String {
        let daemon = daemon ?? source
        try daemon.connect().result("storage.bundle", "{\"name\":\"\(name)\"}")
        return daemon.data + "/backups/\(name).kurabundle"
    }

    private func started(_ file: String, faults: String? = nil) throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: faults, more: ["--seed-bundle", file])
        return daemon
    }

    private func status(_ daemon: TemporaryDaemon) throws -> JSON {
        try #require(try daemon.connect().result("storage.status")["seedBundle"])
    }

    /// What became of the bundle, when the models have been read in too.
    private func settled(_ daemon: TemporaryDaemon) throws -> JSON {
        _ = try model(daemon.connect(), "feed", "home")
        return try status(daemon)
    }

    /// All that the bundle of `fill` has.
    private func expectAll(_ daemon: TemporaryDaemon) throws {
        let reader = try daemon.connect()
        #expect(try reader.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "dark")
        #expect(try reader.result("settings.get", "{\"domain\":\"app\",\"key\":\"size\"}")["value"]?.int == 12)
        #expect(try reader.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 20)
        let card = try reader.result(
            "documents.attachment", "{\"collection\":\"notes\",\"id\":\"3\",\"name\":\"card\"}")
        #expect(card["data"]?.text == "aGVsbG8=")
        let home = try model(reader, "feed", "home")
        #expect(home["state"]?.text == "stale" && home["etag"]?.text == "v1", "\(home)")
        #expect(home["value"]?[1] == .number("2.50"), "\(home)")
        #expect(try model(reader, "large", "199")["value"]?.int == 199)
    }

    // MARK: Laying down

    @Test func `a daemon begins with what the bundle has, and its models are stale until they are fetched`() throws {
        try fill()
        let made = try client.result("storage.bundle", "{\"name\":\"first\"}")
        let counts = try #require(made["counts"])
        #expect(made["verified"]?.bool == true && counts["secrets"] == nil)
        #expect(counts["settings"]?.int == 1 && counts["domains"]?.int == 1)
        #expect(counts["documents"]?.int == 20 && counts["attachments"]?.int == 1)
        #expect(counts["namespaces"]?.int == 2 && counts["models"]?.int == 201)
        #expect(made["leftOut"]?.elements.map { $0["scope"]?.text } == ["scratch"])
        let file = source.data + "/backups/first.kurabundle"
        let bytes = String(decoding: try #require(TemporaryDaemon.contents(file)), as: UTF8.self)
        for canary in ["canary-deleted", "canary-secret", "canary-expired", "canary-dropped"] {
            #expect(!bytes.contains(canary), "\(canary)")
        }
        // It is no backup, though it lies beside them.
        #expect(try client.result("backups.list")["backups"]?.elements == [])
        #expect(throws: BackupFault.isBundle) { try BackupRestore.verify(file) }

        let daemon = try started(file)
        try expectAll(daemon)
        let first = try settled(daemon)
        #expect(first["state"]?.text == "laidDown" && first["problem"] == nil)
        #expect(first["stores"]?.elements.map(\.text) == ["settings", "documents", "models"])
        let user = try daemon.connect()
        let epochs = (try user.result("storage.status")["epoch"], try client.result("storage.status")["epoch"])
        #expect(epochs.0 != epochs.1)
        #expect(try user.result("documents.get", "{\"collection\":\"notes\",\"id\":\"gone\"}")["rev"]?.int == 0)
        #expect(try user.call("documents.restore", "{\"collection\":\"notes\",\"id\":\"gone\"}")["error"] != nil)
        #expect(try user.result("secrets.list", "{\"service\":\"mail\"}")["items"]?.elements == [])
        // Indexes are built, the counter goes on.
        try user.result("documents.describe", "{\"collection\":\"notes\",\"waitMs\":600000}")
        let found = try user.result(
            "documents.find", "{\"collection\":\"notes\",\"where\":{\"text\":\"note 7\"}}")
        #expect(found["documents"]?.elements.count == 1)
        // Of several that are read from the file each has its own.
        let several = try user.result("models.getMany", "{\"namespace\":\"large\",\"keys\":[\"11\",\"12\",\"13\"]}")
        #expect(several["entries"]?.elements.map { $0["value"]?.int } == [11, 12, 13], "\(several)")
        // The first who asks fetches it; then it is fresh, and stays what it is over a restart.
        let claimed = try model(user, "feed", "home", ",\"claim\":true")
        let token = try #require(claimed["token"]?.text)
        try putModel(user, "feed", "home", "3", ",\"token\":\"\(token)\"")
        #expect(try model(user, "feed", "home")["state"]?.text == "fresh")
        try user.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"light\"}")
        try user.result("documents.delete", "{\"collection\":\"notes\",\"id\":\"5\"}")
        #expect(daemon.terminate() == 0)
        try daemon.start(more: ["--seed-bundle", file])
        let again = try daemon.connect()
        let home = try model(again, "feed", "home")
        #expect(home["value"]?.int == 3 && home["state"]?.text == "fresh", "\(home)")
        #expect(try again.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "light")
        #expect(try again.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 19)
        #expect(try status(daemon)["state"]?.text == "notNeeded")
        #expect(daemon.terminate() == 0)
        #expect(try TablesRecount.difference(daemon.data) == nil)
    }

    @Test func `what itself came from a bundle is in no other one, until it is changed`() throws {
        try fill()
        let daemon = try started(try bundle())
        try expectAll(daemon)
        let user = try daemon.connect()
        let untouched = try user.result("storage.bundle", "{\"name\":\"nothing\"}")
        #expect(untouched["counts"]?["documents"]?.int == 0 && untouched["counts"]?["models"]?.int == 0)
        try user.result("settings.put", "{\"domain\":\"app\",\"key\":\"own\",\"value\":1}")
        try put(user, "notes", "1", "\"changed\"")
        try put(user, "notes", "new", "1")
        try putModel(user, "large", "7", "700")
        // Found to be good still: it is the bundle's all the same.
        try user.result("models.touch", "{\"namespace\":\"large\",\"key\":\"8\"}")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let made = try daemon.connect().result("storage.bundle", "{\"name\":\"second\"}")
        let counts = try #require(made["counts"])
        #expect(counts["settings"]?.int == 1 && counts["documents"]?.int == 2, "\(counts)")
        #expect(counts["models"]?.int == 1 && counts["namespaces"]?.int == 1, "\(counts)")
        // A backup has all of it, and what is restored still knows where it came from.
        let backup = try daemon.connect().result("storage.backup", "{\"name\":\"b\"}")
        #expect(backup["counts"]?["documents"]?.int == 21)
        let restored = try TemporaryDaemon(starts: false)
        try BackupRestore.restore(daemon.data + "/backups/b.kurabackup", into: restored.data)
        try restored.start()
        let third = try restored.connect().result("storage.bundle", "{\"name\":\"third\"}")
        #expect(third["counts"]?["documents"]?.int == 2)
        let last = try started(daemon.data + "/backups/second.kurabundle")
        #expect(try last.connect().result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 2)
    }

    @Test func `include takes stores and scopes, and a bundle of models alone leaves the tables empty`() throws {
        try fill()
        let made = try client.result(
            "storage.bundle", "{\"name\":\"models\",\"include\":[\"models/feed\"]}")
        #expect(made["counts"]?["models"]?.int == 1 && made["counts"]?["documents"]?.int == 0)
        for wrong in ["[\"secrets\"]", "[]", "[\"blobs\"]", "[\"models/\"]"] {
            let refusal = try client.refusal("storage.bundle", "{\"name\":\"x\",\"include\":\(wrong)}")
            #expect(refusal["parameter"]?.text == "include")
        }
        let daemon = try started(source.data + "/backups/models.kurabundle")
        #expect(try settled(daemon)["stores"]?.elements.map(\.text) == ["models"])
        #expect(try daemon.connect().result("storage.status")["rev"]?.int == 0)
    }

    @Test func `while others write, a bundle is as of one revision`() throws {
        // A walk that takes its time, and somebody whose queries have everything folded: slices fall into every walk.
        let source = try TemporaryDaemon(faults: "backup.write:sleep=20:1+")
        let client = try source.connect()
        let pad = String(repeating: "x", count: 1000)
        for id in 0..<3000 { try put(client, "busy", "\(id)", "{\"n\":0,\"pad\":\"\(pad)\"}") }
        try source.waitUntilFolded()
        let stop = Guarded(false)
        let (path, data, root) = (source.socket, source.data, source.root)
        try onThreads(2) { index in
            guard index == 1 else {
                // Deletions, drops and changes beside the walk.
                guard let writer = try? Client(path: path, seconds: 60) else { return }
                var round = 0
                while !stop.withLock({ $0 }) {
                    round += 1
                    let id = (round * 7919) % 3000
                    _ = try? writer.call("documents.delete", "{\"collection\":\"busy\",\"id\":\"\(id)\"}")
                    _ = try? writer.call(
                        "documents.put", "{\"collection\":\"busy\",\"id\":\"n\(round)\",\"value\":\(round)}")
                    if round % 8 == 0 {
                        _ = try? writer.call("documents.list", "{\"collection\":\"busy\",\"limit\":1}")
                    }
                    _ = try? writer.call("documents.drop", "{\"collection\":\"fleeting\"}")
                    _ = try? writer.call(
                        "documents.put", "{\"collection\":\"fleeting\",\"id\":\"a\(round)\",\"value\":\(round)}")
                }
                return
            }
            defer { stop.withLock { $0 = true } }
            for number in 0..<4 {
                let made = try Client(path: path, seconds: 120).result("storage.bundle", "{\"name\":\"w\(number)\"}")
                let counts = try #require(made["counts"])
                // Laying it down counts anew, and holds that against what the bundle says of itself.
                let bundle = try SeedBundle(data + "/backups/w\(number).kurabundle")
                let outcome = try BackupRestore.restore(bundle, into: root + "/laid-\(number)")
                #expect(outcome.counts[.documents] == counts["documents"]?.int)
                #expect(outcome.counts[.settings] == counts["settings"]?.int)
                let tables = try Connection(path: root + "/laid-\(number)/durable/kura.sqlite", mode: .readOnly)
                #expect(try tables.scalar("SELECT count(*) FROM documents WHERE isDeleted = 1") == 0)
                tables.close()
            }
        }
    }

    // MARK: Stores that are absent

    @Test func `a bundle of a storage without a change says revision 0, though a change comes before its reply`() throws
    {
        let put = "{\"domain\":\"app\",\"key\":\"k\",\"value\":1}"
        client.send(
            Client.request("storage.bundle", "{\"name\":\"early\"}") + Client.request("settings.put", put, id: "2"))
        var bundle = try client.reply()
        while bundle["id"]?.int != 1 { bundle = try client.reply() }
        let result = try #require(bundle["result"])
        #expect(result["rev"]?.int == result["counts"]?["settings"]?.int)
    }

    @Test func `a model cache that the starts drop is laid down again, and the rest stays as it is`() throws {
        try fill()
        let file = try bundle()
        let daemon = try started(file)
        try expectAll(daemon)
        let user = try daemon.connect()
        try user.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"light\"}")
        try putModel(user, "feed", "home", "3")
        #expect(daemon.terminate() == 0)
        try daemon.launch(faults: "boot.openCache:trap:1", more: ["--seed-bundle", file])
        #expect(daemon.wait() != 128 + SIGKILL)
        try daemon.start(more: ["--seed-bundle", file])
        let told = try settled(daemon)
        #expect(told["stores"]?.elements.map(\.text) == ["models"], "\(told)")
        let again = try daemon.connect()
        let home = try model(again, "feed", "home")
        #expect(home["state"]?.text == "stale" && home["etag"]?.text == "v1")
        #expect(try again.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "light")
    }

    /// The tables are no database any more, and two starts have failed with them.
    private func damage(_ daemon: TemporaryDaemon, log: Bool, _ file: String) throws {
        TemporaryDaemon.write("no database", to: daemon.data + "/durable/kura.sqlite")
        if log {
            for name in TemporaryDaemon.names(daemon.data + "/log") ?? [] where name.hasSuffix(".log") {
                unlink(daemon.data + "/log/" + name)
            }
        }
        let arguments = ["--data-dir", daemon.data, "--socket", daemon.socket, "--seed-bundle", file]
        for _ in 0..<2 { #expect(try daemon.run(arguments) == 1) }
    }

    @Test func `tables that are lost come back from the bundle that they began with, and the log adds what it has`()
        throws
    {
        try fill()
        let file = try bundle()
        let daemon = try started(file)
        let user = try daemon.connect()
        try user.result("settings.put", "{\"domain\":\"app\",\"key\":\"theme\",\"value\":\"light\"}")
        try put(user, "notes", "own", "1")
        let rev = try user.result("storage.status")["rev"]?.int
        #expect(daemon.terminate() == 0)
        try damage(daemon, log: false, file)
        try daemon.start(more: ["--seed-bundle", file])
        let again = try daemon.connect()
        let notice = try #require(try again.result("storage.status")["recovered"]?[0])
        #expect(notice["startedFrom"]?.text == "bundle" && notice["savedRev"]?.int == rev, "\(notice)")
        #expect(try again.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 21)
        #expect(try again.result("settings.get", "{\"domain\":\"app\",\"key\":\"theme\"}")["value"]?.text == "light")
        #expect(try again.result("storage.check")["problemCount"]?.int == 0)
    }

    @Test func `with another bundle nothing of the log is added to it, and the daemon says what is missing`() throws {
        try fill()
        let daemon = try started(try bundle())
        try put(try daemon.connect(), "notes", "own", "1")
        #expect(daemon.terminate() == 0)
        // As of an earlier revision than the log begins with, so that its rows would come next to it.
        let other = try TemporaryDaemon()
        let maker = try other.connect()
        let limit = try #require(try client.result("storage.status")["rev"]?.int)
        for number in 0..<limit { try put(maker, "others", "\(number)", "1") }
        let file = try bundle("other", of: other)
        try damage(daemon, log: false, file)
        // Kills while it is laid down do not have the daemon begin without it.
        for _ in 0..<4 {
            try daemon.launch(faults: "bundle.lay:kill:1", more: ["--seed-bundle", file])
            #expect(daemon.wait() == 128 + SIGKILL)
        }
        // Begun again, the recovery does the same.
        try daemon.launch(faults: "boot.open:kill", more: ["--seed-bundle", file])
        #expect(daemon.wait() == 128 + SIGKILL)
        try daemon.start(more: ["--seed-bundle", file])
        let again = try daemon.connect()
        let status = try again.result("storage.status")
        let notice = try #require(status["recovered"]?[0])
        #expect(notice["startedFrom"]?.text == "bundle" && notice["savedRev"]?.int == 0, "\(notice)")
        #expect(try again.result("documents.count", "{\"collection\":\"others\"}")["count"]?.int == limit)
        #expect(try again.result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 0)
        // Nor are revisions given out again.
        #expect(try #require(status["rev"]?.int) > (try #require(notice["newestRev"]?.int)))
        #expect(daemon.log.contains("NOTHING OF WHAT WAS CHANGED SINCE IS THERE"))
    }

    // MARK: Bad bundles

    /// Files that are no bundle of this version, by what is wrong with them.
    private func bad(_ file: String) throws -> [(what: String, path: String)] {
        let bytes = try #require(TemporaryDaemon.contents(file))
        var files: [(String, String)] = []
        func write(_ what: String, _ bytes: [UInt8]) throws {
            let path = source.root + "/bad-\(files.count)"
            let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
            defer { close(descriptor) }
            try bytes.withBytes { try FileSystem.write(descriptor, $0, at: 0, path: path) }
            files.append((what, path))
        }
        for tenth in [0, 3, 9] { try write("cut off", Array(bytes.prefix(bytes.count * tenth / 10))) }
        try write("cut off", Array(bytes.dropLast()))
        var damaged = bytes
        damaged[bytes.count / 2] ^= 1
        try write("damaged", damaged)
        var newer = bytes
        newer[8] = 2
        try write("version 2", newer)
        files.append(("is a backup", source.data + "/backups/backup.kurabackup"))
        files.append(("No such file", source.root + "/none"))
        return files
    }

    @Test func `a bad bundle is refused at a first start, and nothing is begun`() throws {
        try fill()
        let file = try bundle()
        try client.result("storage.backup", "{\"name\":\"backup\"}")
        let daemon = try TemporaryDaemon(starts: false)
        for (what, path) in try bad(file) {
            let before = daemon.log.utf8.count
            let arguments = ["--data-dir", daemon.data, "--socket", daemon.socket, "--seed-bundle", path]
            #expect(try daemon.run(arguments) == 2, "\(what)")
            let said = String(decoding: daemon.log.utf8.dropFirst(before), as: UTF8.self)
            #expect(said.contains(what) && said.contains("was not laid down"), "\(what): \(said)")
            #expect(!FileSystem.exists(daemon.data + "/durable/kura.sqlite"))
            #expect(TemporaryDaemon.names(daemon.data + "/tmp") == [], "\(what)")
        }
        // None of that counts, and the good one is laid down.
        try daemon.start(more: ["--seed-bundle", file])
        try expectAll(daemon)
        #expect(try daemon.connect().result("storage.status")["recovered"] == nil)
    }

    @Test func `a bad bundle keeps no daemon from what is there, and is told of when the model cache begins empty`()
        throws
    {
        try fill()
        let file = try bundle()
        try client.result("storage.backup", "{\"name\":\"backup\"}")
        let daemon = try started(file)
        try expectAll(daemon)
        #expect(daemon.terminate() == 0)
        for (what, path) in try bad(file) {
            try daemon.start(more: ["--seed-bundle", path])
            try expectAll(daemon)
            #expect(try status(daemon)["state"]?.text == "notNeeded", "\(what)")
            #expect(daemon.terminate() == 0)
        }
        for (what, path) in try bad(file) {
            for name in TemporaryDaemon.names(daemon.data + "/cache") ?? [] where name.contains(".sqlite") {
                unlink(daemon.data + "/cache/" + name)
            }
            try daemon.start(more: ["--seed-bundle", path])
            let told = try settled(daemon)
            #expect(told["state"]?.text == "failed" && told["stores"]?.elements == [], "\(what): \(told)")
            #expect(told["problem"]?.text?.contains(what) == true, "\(what): \(told)")
            #expect(
                try daemon.connect().result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 20)
            #expect(try model(daemon.connect(), "feed", "home")["state"]?.text == "miss")
            #expect(daemon.terminate() == 0)
        }
        #expect(daemon.log.contains("the model cache begins empty"))
        // Nothing has been put there yet, so the next good one is laid down.
        try daemon.start(more: ["--seed-bundle", file])
        try expectAll(daemon)
    }

    @Test func `a recovery that has found nothing goes on without a bad bundle, and says so`() throws {
        try fill()
        let file = try bundle()
        let daemon = try started(file)
        #expect(daemon.terminate() == 0)
        let torn = source.root + "/torn"
        let bytes = try #require(TemporaryDaemon.contents(file))
        let descriptor = open(torn, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try bytes[..<(bytes.count / 2)].withBytes { try FileSystem.write(descriptor, $0, at: 0, path: torn) }
        close(descriptor)
        try damage(daemon, log: true, torn)
        try daemon.start(more: ["--seed-bundle", torn])
        let told = try settled(daemon)
        #expect(told["state"]?.text == "failed" && told["problem"]?.text?.contains("cut off") == true, "\(told)")
        #expect(daemon.log.contains("SETTINGS AND DOCUMENTS BEGIN EMPTY"))
        // What was acknowledged before is known, and none of its revisions is given again.
        #expect(try daemon.connect().result("storage.status")["rev"]?.int ?? 0 > 0)
    }

    // MARK: Kills

    @Test(arguments: [
        "boot.bundle:kill", "bundle.lay:kill:1", "bundle.lay:kill:2", "bundle.lay:kill:3", "bundle.lay:kill:4",
    ])
    func `a start that is killed while it lays a bundle down is made good by the next`(faults: String) throws {
        try fill()
        let file = try bundle()
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.launch(faults: faults, more: ["--seed-bundle", file])
        #expect(daemon.wait() == 128 + SIGKILL)
        try daemon.start(more: ["--seed-bundle", file])
        try expectAll(daemon)
        #expect(try daemon.connect().result("storage.status")["recovered"]?[0]?["what"]?.text != "durable")
        #expect(try daemon.connect().result("storage.check")["problemCount"]?.int == 0)
    }

    @Test func `the models of a bundle are given up after traps while they are laid down, and never for kills`() throws
    {
        try fill()
        let file = try bundle()
        let daemon = try started(file)
        #expect(daemon.terminate() == 0)
        for name in TemporaryDaemon.names(daemon.data + "/cache") ?? [] where name.contains(".sqlite") {
            unlink(daemon.data + "/cache/" + name)
        }
        for action in ["trap", "kill", "kill", "kill", "trap"] {
            try daemon.launch(faults: "bundle.lay:\(action)", more: ["--seed-bundle", file])
            let status = try #require(daemon.wait())
            #expect(status != 0 && (status == 128 + SIGKILL) == (action == "kill"))
        }
        try daemon.start(faults: "bundle.lay:kill", more: ["--seed-bundle", file])
        let told = try settled(daemon)
        #expect(told["state"]?.text == "failed" && told["problem"]?.text?.contains("trapped while") == true, "\(told)")
        #expect(try daemon.connect().result("documents.count", "{\"collection\":\"notes\"}")["count"]?.int == 20)
    }
}
