import Glibc
import KuraTestSupport
import Testing

/// The keys of the secrets through a real daemon and its socket.
@Suite struct SecretsKeysScenarioTests {
    private static let passphrase = "{\"kind\":\"passphrase\",\"newPassphrase\":\"correct horse\",\"label\":\"me\"}"

    private func kind(_ reply: JSON) -> String? { reply["error"]?["data"]?["kind"]?.text }

    /// A daemon whose secrets only a passphrase opens, sealed.
    private func sealed() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("secrets.addSlot", Self.passphrase)
        try client.result("secrets.removeSlot", "{\"slot\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        return daemon
    }

    @Test func `a first start is unlocked with a key file of its own, and so is the next`() throws {
        let daemon = try TemporaryDaemon()
        let status = try daemon.connect().result("secrets.status")
        #expect(status["state"]?.text == "unlocked" && status["hasBeenUnlocked"]?.bool == true)
        #expect(status["slots"]?.int == 1 && status["keyEpoch"]?.int == 1)
        #expect(status["storeId"]?.text?.count == 32 && status["publicKey"]?.text?.count == 44)
        daemon.kill()
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status") == status)
        let slots = try daemon.connect().result("secrets.slots")
        #expect(slots["slots"]?.elements.map { $0["kind"]?.text } == ["keyFile"])
    }

    @Test func `with only a passphrase the daemon starts sealed, everything else works, and the passphrase opens it`()
        throws
    {
        let daemon = try sealed()
        let client = try daemon.connect()
        let status = try client.result("secrets.status")
        #expect(status["state"]?.text == "sealed" && status["publicKey"] == nil && status["keyEpoch"]?.int == 1)
        #expect(status["hasBeenUnlocked"]?.bool == false)
        #expect(!(TemporaryDaemon.names(daemon.data + "/keys") ?? []).contains("root.key"))
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        try client.result("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
        for (method, params) in [("secrets.addSlot", Self.passphrase), ("secrets.removeSlot", "{\"slot\":2}")] {
            let refusal = try client.refusal(method, params)
            #expect(refusal["kind"]?.text == "sealed" && refusal["retryable"]?.bool == true, "\(method)")
        }
        #expect(try client.refusal("secrets.unlock", "{\"passphrase\":\"wrong\"}")["kind"]?.text == "wrongKey")
        #expect(try client.refusal("secrets.unlock")["kind"]?.text == "wrongKey")
        let opened = try client.result("secrets.unlock", "{\"passphrase\":\"correct horse\"}")
        #expect(opened["state"]?.text == "unlocked" && opened["slot"]?.int == 2)
        #expect(try client.result("secrets.status")["publicKey"] != nil)
        #expect(try client.result("secrets.lock")["state"]?.text == "sealed")
        #expect(try client.result("secrets.status")["hasBeenUnlocked"]?.bool == true)
        #expect(!daemon.log.contains("correct horse") && !daemon.log.contains("wrong\""))
    }

    @Test func `while a passphrase is hashed the loop serves on, and the replies keep their order`() throws {
        let daemon = try sealed()
        let (client, other) = (try daemon.connect(), try daemon.connect())
        let before = daemon.starvation
        client.send(
            Client.request("secrets.unlock", "{\"passphrase\":\"wrong\"}", id: "1")
                + Client.request("secrets.unlock", "{\"passphrase\":\"correct horse\"}", id: "2")
                + Client.request("secrets.status", id: "3"))
        // Were the loop to hash, it would serve one request before and one after.
        var count = 0
        while !client.hasInput {
            try other.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
            count += 1
        }
        #expect(count > 5 || daemon.starvation - before > 0.1)
        let replies = [try client.reply(), try client.reply(), try client.reply()]
        #expect(replies.map { $0["id"]?.int } == [1, 2, 3])
        #expect(kind(replies[0]) == "wrongKey")
        #expect(replies[1]["result"]?["state"]?.text == "unlocked")
        #expect(replies[2]["result"]?["state"]?.text == "unlocked")
    }

    @Test func `an addition is made once, whatever order of replies was waived, in a batch and behind others`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}")
        let add = Client.request("secrets.addSlot", Self.passphrase, id: "1").dropLast()
        let unlock = Client.request("secrets.unlock", "{\"passphrase\":\"correct horse\"}", id: "2").dropLast()
        client.send("\(add)\n\(unlock)\n\(add)\n[\(unlock),\(add)]\n")
        var lines: [JSON] = []
        for _ in 0..<4 { lines.append(try client.reply()) }
        #expect(lines.allSatisfy { $0["error"] == nil })
        let slots = try daemon.connect().result("secrets.slots")["slots"]
        #expect(slots?.elements.compactMap { $0["id"]?.int } == [1, 2, 3, 4])
    }

    @Test func `the passphrase is changed, and the old one opens nothing more`() throws {
        let daemon = try sealed()
        let client = try daemon.connect()
        let change = "{\"passphrase\":\"correct horse\",\"newPassphrase\":\"battery \\u0073taple\"}"
        #expect(try client.result("secrets.changePassphrase", change)["slot"]?["id"]?.int == 2)
        #expect(try client.refusal("secrets.changePassphrase", change)["kind"]?.text == "wrongKey")
        #expect(try client.refusal("secrets.unlock", "{\"passphrase\":\"correct horse\"}")["kind"]?.text == "wrongKey")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let opened = try daemon.connect().result("secrets.unlock", "{\"passphrase\":\"battery staple\"}")
        #expect(opened["state"]?.text == "unlocked")
    }

    @Test func `the last slot stays`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        let refusal = try client.refusal("secrets.removeSlot", "{\"slot\":1}")
        #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == "slot")
        #expect(try client.refusal("secrets.removeSlot", "{\"slot\":77}")["kind"]?.text == "notFound")
        #expect(try client.result("secrets.slots")["slots"]?.elements.count == 1)
    }

    @Test func `what no slot can be is refused by its parameter`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        for (params, parameter) in [
            ("{\"kind\":\"passphrase\"}", "newPassphrase"),
            ("{\"kind\":\"passphrase\",\"newPassphrase\":\"\"}", "newPassphrase"),
            ("{\"kind\":\"credential\",\"newPassphrase\":\"x\"}", "newPassphrase"),
            ("{\"kind\":\"keyFile\"}", "kind"), ("{\"kind\":\"credential\"}", "kind"),
            ("{\"kind\":\"descriptor\"}", "kind"), ("{\"kind\":\"container\"}", "kind"),
            ("{\"kind\":\"other\"}", "kind"),
        ] {
            let refusal = try client.refusal("secrets.addSlot", params)
            #expect(refusal["kind"]?.text == "invalidParams" && refusal["parameter"]?.text == parameter, "\(params)")
        }
        #expect(try client.refusal("secrets.rotate", "{\"rootKey\":false}")["parameter"]?.text == "rootKey")
        #expect(
            try client.call("secrets.unlock", "{\"requestKey\":\"k\"}")["error"]?["data"]?["kind"]?.text
                == "invalidParams")
        let operations = "{\"operations\":[{\"method\":\"secrets.lock\",\"params\":{}}]}"
        #expect(try client.refusal("transaction.apply", operations)["kind"]?.text == "invalidParams")
    }

    @Test func `only who may administer the secrets changes how they open, and who may list them sees the state`()
        throws
    {
        func role(_ allow: String, store: String = "secrets") -> String {
            "{\"grants\":[{\"store\":\"\(store)\",\"scope\":\"*\",\"allow\":[\"\(allow)\"]}]}"
        }
        let daemon = try RoleDaemon([
            "reader": role("read"), "lister": role("list"), "keeper": role("admin"),
            "settler": role("admin", store: "settings"),
        ])
        let methods = ["slots", "addSlot", "removeSlot", "unlock", "lock", "changePassphrase", "rotate"]
        let params = [
            "removeSlot": "{\"slot\":1}", "addSlot": "{\"kind\":\"keyFile\"}", "rotate": "{\"rootKey\":false}",
            "changePassphrase": "{\"passphrase\":\"a\",\"newPassphrase\":\"b\"}",
        ]
        for name in ["reader", "lister", "settler"] {
            let client = try daemon.connect(name)
            for method in methods {
                #expect(kind(try client.call("secrets." + method, params[method] ?? "{}")) == "forbidden", "\(name)")
            }
            #expect((kind(try client.call("secrets.status")) == nil) == (name == "lister"))
        }
        let keeper = try daemon.connect("keeper")
        for method in methods {
            #expect(kind(try keeper.call("secrets." + method, params[method] ?? "{}")) != "forbidden")
        }
    }

    @Test func `a key from a descriptor, a credential or a container's file opens by itself`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        let key = daemon.root + "/kura.key"
        TemporaryDaemon.write(String(repeating: "k", count: 32), to: key)
        let descriptor = open(key, O_RDONLY | O_CLOEXEC)
        defer { close(descriptor) }
        try daemon.start(more: ["--key-fd", "3"], passing: descriptor)
        #expect(try daemon.connect().result("secrets.slots")["slots"]?[0]?["kind"]?.text == "descriptor")
        try daemon.connect().result("secrets.lock")
        #expect(try daemon.connect().refusal("secrets.unlock")["kind"]?.text == "wrongKey")
        #expect(daemon.terminate() == 0)
        let credentials = ["CREDENTIALS_DIRECTORY=\(daemon.root)"]
        let container = "{\"secrets\":{\"keyFile\":\"\(key)\"}}"
        lseek(descriptor, 0, SEEK_SET)
        try daemon.start(
            configuration: container, environment: credentials, more: ["--key-fd=3"], passing: descriptor)
        for kind in ["credential", "container"] {
            try daemon.connect().result("secrets.addSlot", "{\"kind\":\"\(kind)\"}")
        }
        try daemon.connect().result("secrets.removeSlot", "{\"slot\":1}")
        try daemon.connect().result("secrets.lock")
        #expect(try daemon.connect().result("secrets.unlock")["slot"]?.int == 2)
        #expect(daemon.terminate() == 0)
        try daemon.start(configuration: container)
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "unlocked")
        #expect(daemon.terminate() == 0)
        try daemon.start()
        #expect(try daemon.connect().result("secrets.status")["state"]?.text == "sealed")
        #expect(daemon.terminate() == 0)
        // What is no key, or no descriptor, is refused before anything is touched.
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket, "--key-fd", "1999"]) == 2)
        #expect(try daemon.run(["--data-dir", daemon.data, "--socket", daemon.socket, "--key-fd", "x"]) == 2)
    }

    @Test func `damaged slots are said by every method, and the rest works`() throws {
        let daemon = try TemporaryDaemon()
        #expect(daemon.terminate() == 0)
        let path = daemon.data + "/keys/slots.json"
        let good = try #require(TemporaryDaemon.contents(path))
        var bad = good
        bad[good.count / 3] ^= 0x40
        TemporaryDaemon.write(String(decoding: bad, as: UTF8.self), to: path)
        try daemon.start()
        let client = try daemon.connect()
        let status = try client.result("secrets.status")
        #expect(status["state"]?.text == "unusable" && status["reason"]?.text?.contains("slots.json") == true)
        for (method, params) in [
            ("slots", "{}"), ("unlock", "{}"), ("unlock", "{\"passphrase\":\"x\"}"), ("addSlot", Self.passphrase),
            ("removeSlot", "{\"slot\":1}"), ("rotate", "{\"rootKey\":true}"),
            ("changePassphrase", "{\"passphrase\":\"x\",\"newPassphrase\":\"y\"}"),
        ] { #expect(try client.refusal("secrets." + method, params)["kind"]?.text == "integrity", "\(method)") }
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(TemporaryDaemon.contents(path) == Array(String(decoding: bad, as: UTF8.self).utf8))
        TemporaryDaemon.write(String(decoding: good, as: UTF8.self), to: path)
        #expect(try client.result("secrets.unlock")["state"]?.text == "unlocked")
    }

    // MARK: Faults

    private static let points = ["keys.write", "keys.sync", "keys.rename", "keys.renamed"]
    /// What changes slots.json, and what it leaves of slots.
    private static let changes = [
        ("secrets.addSlot", "{\"kind\":\"container\"}"), ("secrets.removeSlot", "{\"slot\":2}"),
        ("secrets.rotate", "{\"rootKey\":true}"),
    ]

    @Test(arguments: points)
    func `killed at any point of a change, the daemon opens with the old slots or the new ones`(
        point: String
    ) throws {
        for (method, params) in Self.changes {
            let daemon = try TemporaryDaemon(starts: false)
            let key = daemon.root + "/kura.key"
            TemporaryDaemon.write(String(repeating: "k", count: 32), to: key)
            let configuration = "{\"secrets\":{\"keyFile\":\"\(key)\"}}"
            // Slot 1 is the key file's.
            try daemon.start()
            #expect(daemon.terminate() == 0)
            if method != "secrets.addSlot" {
                try daemon.start(configuration: configuration)
                try daemon.connect().result("secrets.addSlot", "{\"kind\":\"container\"}")
                #expect(daemon.terminate() == 0)
            }
            let path = daemon.data + "/keys/slots.json"
            let before = TemporaryDaemon.contents(path)
            // A rotation makes a key file first.
            let hit = method == "secrets.rotate" ? 2 : 1
            try daemon.start(configuration: configuration, faults: "\(point):kill:\(hit)")
            let names = try daemon.connect().result("secrets.status")["storeId"]
            let client = try daemon.connect()
            client.send(Client.request(method, params))
            #expect(try client.line() == nil)
            #expect(daemon.wait() == 128 + SIGKILL)
            #expect((TemporaryDaemon.contents(path) == before) == (point != "keys.renamed"))
            try daemon.start(configuration: configuration)
            let status = try daemon.connect().result("secrets.status")
            #expect(status["state"]?.text == "unlocked" && status["storeId"] == names, "\(method) \(point)")
            // And goes on changing.
            try daemon.connect().result("secrets.rotate", "{\"rootKey\":true}")
        }
    }

    @Test(arguments: points.dropLast()) func `on a full disk a change is refused, and the old slots stay and open`(
        point: String
    ) throws {
        let daemon = try TemporaryDaemon()
        #expect(daemon.terminate() == 0)
        let path = daemon.data + "/keys/slots.json"
        let before = TemporaryDaemon.contents(path)
        try daemon.start(faults: "\(point):full:1,\(point):fail:2")
        let client = try daemon.connect()
        let refusal = try client.refusal("secrets.rotate", "{\"rootKey\":true}")
        #expect(refusal["kind"]?.text == "noSpace" && refusal["retryable"]?.bool == true)
        #expect(try client.refusal("secrets.rotate", "{\"rootKey\":true}")["kind"]?.text == "internalError")
        #expect(TemporaryDaemon.contents(path) == before)
        #expect(TemporaryDaemon.names(daemon.data + "/keys") == ["host.key", "root.key", "slots.json"])
        let status = try client.result("secrets.status")
        #expect(status["state"]?.text == "unlocked" && status["keyEpoch"]?.int == 1)
        #expect(try client.result("secrets.rotate", "{\"rootKey\":true}")["keyEpoch"]?.int == 2)
    }

    @Test func `a first start that is killed while it makes keys, or finds no room for them, is made good by the next`()
        throws
    {
        for hit in 1...12 {
            let points = Self.points + Self.points + Self.points
            let daemon = try TemporaryDaemon(starts: false)
            try daemon.launch(faults: "\(points[hit - 1]):kill:\((hit - 1) / 4 + 1)")
            #expect(daemon.wait() == 128 + SIGKILL)
            try daemon.start()
            #expect(try daemon.connect().result("secrets.status")["state"]?.text == "unlocked")
        }
        let daemon = try TemporaryDaemon(faults: "keys.write:full:1")
        let client = try daemon.connect()
        #expect(try client.result("secrets.status")["state"]?.text == "unusable")
        #expect(try client.refusal("secrets.slots")["kind"]?.text == "noSpace")
        try client.result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}")
        #expect(try client.result("secrets.unlock")["state"]?.text == "unlocked")
    }

    // MARK: Memory

    private static let setpriv = "/usr/bin/setpriv"

    @Test(.enabled(if: access(setpriv, X_OK) == 0, "no setpriv"))
    func `that the kernel locks no memory is told, and everything works`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        // Root may lock as much as it likes, unless it gives that up.
        let without = getuid() == 0 ? [Self.setpriv, "--bounding-set=-ipc_lock", "--inh-caps=-ipc_lock"] : []
        func locked(_ kibibytes: String) throws -> Bool? {
            try daemon.start(through: without + ["/bin/sh", "-c", "ulimit -l \(kibibytes); exec \"$@\"", "sh"])
            defer { #expect(daemon.terminate() == 0) }
            let status = try daemon.connect().result("secrets.status")
            #expect(status["state"]?.text == "unlocked")
            let pid = daemon.pid
            let kernel = String(decoding: TemporaryDaemon.contents("/proc/\(pid)/status") ?? [], as: UTF8.self)
            #expect(kernel.contains("VmLck:\t       0 kB") == (status["memoryLocked"]?.bool == false))
            return status["memoryLocked"]?.bool
        }
        #expect(try locked("64") == true)
        #expect(!daemon.log.contains("the memory of keys is not locked"))
        #expect(try locked("0") == false)
        #expect(daemon.log.contains("the memory of keys is not locked"))
    }

    @Test func `without the variable nobody but root may look into the daemon, and it leaves no core`() throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(environment: ["KURA_DUMPABLE=0"])
        var information = stat()
        #expect(stat("/proc/\(daemon.pid)/mem", &information) == 0 && information.st_uid == 0)
        let limits = String(decoding: TemporaryDaemon.contents("/proc/\(daemon.pid)/limits") ?? [], as: UTF8.self)
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
        #expect(core.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"], "\(limits)")
        #expect(!daemon.log.contains("KURA_DUMPABLE"))
    }

    /// Swift's report of a crash shows what registers point at, which may be a secret.
    @Test(arguments: [[], ["SWIFT_BACKTRACE=enable=yes,color=no"]])
    func `a crash shows memory only where that is asked for`(environment: [String]) throws {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(environment: environment)
        let kernel = String(decoding: TemporaryDaemon.contents("/proc/\(daemon.pid)/status") ?? [], as: UTF8.self)
        let line = kernel.split(separator: "\n").first { $0.hasPrefix("SigCgt:") } ?? ""
        let caught = try #require(UInt64(line.dropFirst(7).drop { $0 == "\t" }, radix: 16), "\(kernel)")
        // One that we do not catch ourselves, for the note of a trap. A daemon that has the runtime in it finds no program that reports.
        let mayReport = !environment.isEmpty && !BuiltPrograms.isGiven
        #expect((caught & 1 << (SIGFPE - 1) != 0) == mayReport)
        // A report takes minutes.
        guard environment.isEmpty else { return }
        let log = daemon.log
        kill(daemon.pid, SIGABRT)
        #expect(daemon.wait(seconds: 120) == 128 + SIGABRT)
        #expect(daemon.log == log)
    }
}
