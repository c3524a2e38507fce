import Glibc
import KuraProtocol
import Testing

/// The laws of the line protocol, over a real socket.
@Suite struct ProtocolScenarioTests {
    private let daemon: TemporaryDaemon
    private let client: Client

    init() throws {
        daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"lineBytes\":131072,\"batchItems\":1000}}")
        client = try daemon.connect()
    }

    private func ids(_ lines: [String]) throws -> [JSON?] { try lines.map { try JSON($0)["id"] } }

    @Test func `pipelined requests are answered in order`() throws {
        // More than one turn's budget, reads and writes mixed.
        var text = ""
        for id in 0..<3000 {
            switch id % 3 {
            case 0:
                text += Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(id)}", id: "\(id)")
            case 1: text += Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\(id)")
            default: text += Client.request("storage.ping", id: "\(id)")
            }
        }
        let replies = try client.exchange(text).map { try JSON($0) }
        #expect(replies.map { $0["id"]?.int } == Array(0..<3000))
        for (id, reply) in replies.enumerated() where id % 3 == 1 {
            #expect(reply["result"]?["value"]?.int == id - 1)
        }
    }

    @Test(arguments: ["7", "\"seven\"", "null", "-1", "1.50", "\"\\u0041\\n\""])
    func `an id is echoed as it came`(id: String) throws {
        client.send(Client.request("storage.ping", id: id))
        let line = try #require(try client.line())
        #expect(line.contains("\"id\":\(id),"))
        client.send(Client.request("no.such", id: id))
        #expect(try #require(try client.line()).contains("\"id\":\(id),"))
    }

    @Test func `a notification gets nothing, on error neither`() throws {
        let lines = try client.exchange(
            Client.request("storage.ping", id: nil)
                + Client.request("no.such", id: nil)
                + Client.request("settings.get", "{\"domain\":7}", id: nil)
                + Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: nil)
                + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}"))
        #expect(lines.count == 1)
        #expect(try JSON(lines[0])["result"]?["value"]?.int == 1)
    }

    @Test func `a batch is answered in order, without its notifications`() throws {
        func member(_ method: String, _ params: String, id: String?) -> String {
            String(Client.request(method, params, id: id).dropLast())
        }
        let put = { (key: String, id: String?) in
            member("settings.put", "{\"domain\":\"d\",\"key\":\"\(key)\",\"value\":1}", id: id)
        }
        client.send("[\(put("a", "1")),\(put("b", nil)),7,\(member("no.such", "{}", id: "\"x\"")),\(put("c", "2"))]\n")
        let replies = try client.reply().elements
        #expect(replies.map { $0["id"] } == [.number("1"), .null, .string("x"), .number("2")])
        #expect(replies.map { $0["error"]?["code"]?.int } == [nil, -32600, -32601, nil])
        #expect(try client.result("settings.count", "{\"domain\":\"d\"}")["count"]?.int == 3)
    }

    @Test func `a batch of notifications gives no output, an empty one is an invalid request`() throws {
        let ping = String(Client.request("storage.ping", id: nil).dropLast())
        let lines = try client.exchange("[\(ping),\(ping)]\n[]\n[7]\n")
        #expect(lines.count == 2)
        #expect(try JSON(lines[0])["error"]?["code"]?.int == -32600)
        #expect(try JSON(lines[1])[0]?["error"]?["code"]?.int == -32600)
    }

    @Test func `a batch over the limit is refused whole`() throws {
        let put = String(
            Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: nil).dropLast())
        let lines = try client.exchange(
            "[" + Array(repeating: put, count: 1001).joined(separator: ",") + "]\n"
                + Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}"))
        #expect(try JSON(lines[0])["error"]?["data"]?["kind"] == .string("batchTooLarge"))
        #expect(try JSON(lines[0])["id"] == .null)
        #expect(try JSON(lines[1])["result"]?["rev"]?.int == 0)
    }

    @Test func `a batch of a thousand is answered whole, with what was asked before and after`() throws {
        func increment(_ id: Int) -> String {
            String(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\(id)").dropLast())
        }
        var text = ""
        for id in 0..<300 { text += Client.request("storage.ping", id: "\(id)") }
        text += "[" + (0..<600).map(increment).joined(separator: ",") + "]\n"
        text += Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\"after\"")
        let lines = try client.exchange(text)
        #expect(lines.count == 302)
        let batch = try JSON(lines[300]).elements
        #expect(batch.map { $0["id"]?.int } == Array(0..<600))
        #expect(batch.map { $0["result"]?["value"]?.int } == Array(1...600))
        #expect(try JSON(lines[301])["result"]?["value"]?.int == 600)
    }

    @Test func `an oversize line is answered under the id that it begins with, and the connection lives on`() throws {
        client.send(
            Client.request("storage.ping", "{\"x\":\"" + String(repeating: "x", count: 200_000) + "\"}", id: "5"))
        let reply = try client.reply()
        #expect(reply["id"]?.int == 5)
        client.send("{\"params\":{\"x\":\"" + String(repeating: "x", count: 200_000) + "\"},\"id\":6}\n")
        // Behind the long part it is known as far as it had come when the line was given up.
        #expect([.null, .number("6")].contains(try client.reply()["id"]))
        #expect(reply["error"]?["data"]?["kind"] == .string("lineTooLong"))
        #expect(reply["error"]?["data"]?["limit"]?.int == 131072)
        #expect(try client.result("storage.ping")["pong"] == .boolean(true))
    }

    @Test func `after a half close everything asked is answered, then the connection ends`() throws {
        let text = (0..<2000).map {
            Client.request("documents.put", "{\"collection\":\"c\",\"value\":\($0)}", id: "\($0)")
        }.joined()
        #expect(try ids(try client.exchange(text)) == (0..<2000).map { .number("\($0)") })
    }

    @Test func `the last line may lack its end, lines may end with CRLF, blank ones are passed over`() throws {
        let ping = String(Client.request("storage.ping", id: "1").dropLast())
        let lines = try client.exchange("\r\n\n  \n\(ping)\r\n\n\(ping)\r\n\(ping)")
        #expect(lines.count == 3)
        #expect(lines.allSatisfy { $0 == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"pong\":true}}" })
    }

    @Test func `a last line without its end is not done for one who is gone`() throws {
        for isGone in [false, true] {
            let put = Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"\(isGone)\",\"value\":1}")
            let one = try daemon.connect()
            one.send(Array(put.utf8.dropLast()))
            if !isGone {
                one.halfClose()
                _ = try one.line()
            }
        }
        let others = try client.result("settings.getMany", "{\"domain\":\"d\",\"keys\":[\"true\",\"false\"]}")
        #expect(others["values"]?["false"]?.int == 1)
        #expect(others["values"]?["true"] == nil)
    }

    @Test func `a line that is no JSON is a parse error and the connection lives on`() throws {
        let lines = try client.exchange("{\"jsonrpc\":\n\u{0}\n" + Client.request("storage.ping"))
        #expect(try JSON(lines[0])["error"]?["code"]?.int == -32700)
        #expect(try JSON(lines[1])["error"]?["code"]?.int == -32700)
        #expect(try JSON(lines[2])["result"] != nil)
    }

    /// Puts what the examples of documents' parts speak of.
    private func prepare(_ name: String) throws {
        let passphrase = "{\"kind\":\"passphrase\",\"newPassphrase\":\"old words\"}"
        if ["secrets.addSlot", "secrets.removeSlot", "secrets.changePassphrase"].contains(name) {
            try client.result("secrets.addSlot", passphrase)
        }
        if name == "secrets.addSlot" { try client.result("secrets.removeSlot", "{\"slot\":1}") }
        let ofSecret: Set = [
            "get", "versions", "restoreVersion", "rename", "setAttributes", "delete", "describe", "destroyVersion",
            "verify", "repair", "issueToken", "redeemToken",
        ]
        if name.hasPrefix("secrets."), ofSecret.contains(String(name.dropFirst(8))) {
            try client.result("secrets.put", "{\"service\":\"mail\",\"account\":\"ada\",\"secret\":\"open sesame\"}")
        }
        for (account, algorithm) in Self.keys where method(name).example.contains("\"\(account)\"") {
            try client.result(
                "secrets.generate",
                "{\"service\":\"mail\",\"account\":\"\(account)\",\"kind\":\"key\",\"algorithm\":\"\(algorithm)\"}")
        }
        if ["backups.verify", "backups.compare"].contains(name) {
            try client.result("storage.backup", "{\"name\":\"before-upgrade\"}")
        }
        if name == "models.describe" {
            try client.result("models.put", "{\"namespace\":\"feed\",\"key\":\"a\",\"value\":1}")
        }
        if name == "documents.search" {
            try client.result("documents.configure", "{\"collection\":\"articles\",\"searchFields\":[\"title\"]}")
            try client.result("documents.describe", "{\"collection\":\"articles\",\"waitMs\":600000}")
        }
        let documents = ["orders": "7", "pages": "home", "countries": "JP", "cards": "7"]
        let changing: Set = ["patch", "increment", "restore", "attach", "attachment", "detach"]
        guard name.hasPrefix("documents."), changing.contains(String(name.dropFirst(10))) else { return }
        for (collection, id) in documents {
            let key = "\"collection\":\"\(collection)\",\"id\":\"\(id)\""
            try client.result("documents.put", "{\(key),\"value\":{}}")
            if name == "documents.restore" { try client.result("documents.delete", "{\(key)}") }
        }
        guard name == "documents.attachment" || name == "documents.detach" else { return }
        try client.result(
            "documents.attach", "{\"collection\":\"cards\",\"id\":\"7\",\"name\":\"front.png\",\"data\":\"YWJj\"}")
    }

    /// Keys that examples speak of.
    private static let keys = ["signer": "ed25519", "codes": "hmac-sha512-256", "sealer": "xchacha20-poly1305"]

    private func method(_ name: String) -> Method { Method.all.first { $0.name == name }! }

    /// A method's example, with what only a daemon can make in its place.
    private func example(_ name: String) throws -> String {
        let example = method(name).example
        let sealer = "\"service\":\"mail\",\"account\":\"sealer\""
        let made: String?
        switch name {
        case "secrets.decrypt", "secrets.rewrap":
            made = try client.result("secrets.encrypt", "{\(sealer),\"data\":\"card\"}")["ciphertext"]?.text
        case "secrets.redeemToken":
            let issued = "{\"service\":\"mail\",\"account\":\"ada\",\"ttlSeconds\":60}"
            made = try daemon.connect().result("secrets.issueToken", issued)["token"]?.text
        case "models.fail", "models.renew":
            let claimed = try client.result("models.get", "{\"namespace\":\"feed\",\"key\":\"home\",\"claim\":true}")
            return example.replacing(String(repeating: "0", count: 64), with: try #require(claimed["token"]?.text))
        case "blobs.renew":
            let claimed = try client.result(
                "blobs.get", "{\"namespace\":\"thumbnails\",\"key\":\"a\",\"variant\":\"small\",\"claim\":true}")
            return example.replacing(String(repeating: "0", count: 64), with: try #require(claimed["token"]?.text))
        case "blobs.appendUpload", "blobs.commitUpload":
            let begun = try client.result("blobs.beginUpload", "{\"namespace\":\"thumbnails\",\"key\":\"b\"}")
            return example.replacing("0123456789abcdef0123456789abcdef", with: try #require(begun["upload"]?.text))
        case "transaction.undo":
            let put = try client.result("settings.put", "{\"domain\":\"app\",\"key\":\"undone\",\"value\":1}")
            return example.replacing("417", with: "\(try #require(put["rev"]?.int))")
        default: return example
        }
        return example.replacing("AAAA", with: try #require(made))
    }

    @Test func `rpc.discover names every method`() throws {
        let discovered = try client.result("rpc.discover")["methods"]?.elements.compactMap { $0["name"]?.text }
        #expect(discovered?.sorted() == Method.all.map(\.name).sorted())
    }

    @Test(arguments: Method.all.map(\.name)) func `every method answers its example`(name: String) throws {
        let method = method(name)
        // The file that an example's descriptor stands for is empty, and takes everything.
        let path = "/tmp/kura-example-\(UInt64.random(in: 0 ... .max))"
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        unlink(path)
        defer { close(file) }
        let takesFile = method.example.contains("\"fd\":true")
        // Nothing else has faults on demand.
        let ephemeral = method.store == .fault ? try TemporaryDaemon(starts: false) : nil
        try ephemeral?.launchEphemeral()
        let client = try ephemeral?.connect() ?? self.client
        try prepare(name)
        let result = try client.result(name, try example(name), descriptors: takesFile ? [file] : [])
        for field in method.result where field.isRequired {
            #expect(result[field.name] != nil, "\(name) leaves \(field.name) out")
        }
        let known = Set(method.result.map(\.name))
        #expect(known.isSuperset(of: result.members.keys), "\(name) answers more than it says")
    }

    @Test func `hello tells the limits that hold, and refuses what it does not offer`() throws {
        let hello = try client.result("session.hello", "{\"client\":\"tests\"}")
        #expect(hello["limits"]?["lineBytes"]?.int == 131072)
        #expect(hello["epoch"] == (try client.result("storage.status"))["epoch"])
        #expect(try client.refusal("session.hello", "{\"enable\":[\"noSuch\"]}")["kind"] == .string("invalidParams"))
    }

    @Test func `a client of another version of the protocol is told the daemon's, and may say another one`() throws {
        #expect(try client.result("session.hello")["protocol"]?.int == 1)
        #expect(try client.result("session.hello", "{\"protocol\":1}")["protocol"]?.int == 1)
        for version in [2, 9_007_199_254_740_991] {
            let refusal = try client.refusal(
                "session.hello", "{\"client\":\"late\",\"launch\":true,\"protocol\":\(version)}")
            #expect(refusal["kind"]?.text == "protocolMismatch" && refusal["protocol"]?.int == 1, "\(refusal)")
            #expect(refusal["retryable"]?.bool == false && refusal["parameter"]?.text == "protocol")
        }
        #expect(try client.refusal("session.hello", "{\"protocol\":0}")["kind"]?.text == "invalidParams")
        // Nothing of it was done: who writes now has no name.
        let rev = try client.result("settings.put", "{\"domain\":\"w\",\"key\":\"k\",\"value\":1}")["rev"]?.int
        let before = try #require(rev) - 1
        let changes = try client.result(
            "changes.list", "{\"afterRev\":\(before),\"stores\":[\"settings\"],\"scope\":\"w\"}")
        #expect(changes["changes"]?[0]?["key"]?.text == "k" && changes["changes"]?[0]?["client"] == nil, "\(changes)")
    }

    @Test func `a client that says its name is known by name and version, and its starts are counted`() throws {
        try client.result("session.hello", "{\"client\":\"notes\",\"version\":\"1.2\",\"launch\":true}")
        try client.result("session.hello", "{\"client\":\"notes\",\"version\":\"1.2\"}")
        #expect(try client.result("storage.status")["connections"]?["launches"]?.int == 1)
        for alone in ["{\"version\":\"1\"}", "{\"launch\":true}"] {
            #expect(try client.refusal("session.hello", alone)["parameter"] == .string("client"))
        }
    }

    @Test func `can judges a call without making it`() throws {
        func can(_ method: String, _ params: String? = nil) throws -> JSON {
            let more = params.map { ",\"params\":\($0)" } ?? ""
            return try client.result("session.can", "{\"method\":\"\(method)\"\(more)}")
        }
        let put = "{\"domain\":\"d\",\"key\":\"k\",\"value\":1}"
        #expect(try can("settings.put", put) == JSON("{\"allowed\":true}"))
        #expect(try can("settings.put") == JSON("{\"allowed\":true}"))
        #expect(try can("settings.put", "[\"d\",\"k\",1]") == JSON("{\"allowed\":true}"))
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}") == JSON("{\"rev\":0}"))
        #expect(try can("settings.get", put)["reason"] == .string("invalidParams"))
        #expect(try can("settings.put", "7")["reason"] == .string("invalidParams"))
        #expect(try can("settings.nothing")["reason"] == .string("methodNotFound"))
    }

    @Test func `parameters by position answer as those by name`() throws {
        try client.result("settings.put", "[\"d\",\"k\",[1]]")
        #expect(try client.result("settings.get", "[\"d\",\"k\"]")["value"] == .array([.number("1")]))
        #expect(
            try client.refusal("settings.get", "{\"domain\":\"d\",\"key\":\"k\",\"kee\":1}")["kind"]
                == .string("invalidParams"))
    }
}
