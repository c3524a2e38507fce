import Glibc
import Testing

/// Keys that others take the place of: everything can be read all the time, and the old ones go.
@Suite struct SecretsRotationScenarioTests {
    private let daemon: TemporaryDaemon
    private static let count = 150
    private static let rootKey = "{\"rootKey\":true}"

    init() throws {
        daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        var text = ""
        for number in 0..<Self.count {
            for version in 1...(number % 7 == 0 ? 3 : 1) {
                text += Client.request("secrets.put", Self.put(number, "v\(version)n\(number)"))
            }
        }
        text += Client.request("secrets.put", "{\"service\":\"other\",\"account\":\"x\",\"secret\":\"y\"}")
        client.send(text)
        for _ in 0..<text.split(separator: "\n").count { _ = try client.line() }
    }

    private static func put(_ number: Int, _ secret: String) -> String {
        let device = number % 5 == 0 ? ",\"deviceOnly\":true" : ""
        return "{\"service\":\"s\",\"account\":\"a\(number)\",\"secret\":\"\(secret)\"\(device)}"
    }

    private static func secret(_ number: Int) -> String { "v\(number % 7 == 0 ? 3 : 1)n\(number)" }

    /// Every secret is what it was.
    private func checkAll(_ what: String, except written: [Int: String] = [:]) throws {
        let client = try daemon.connect()
        for number in 0..<Self.count {
            let found = try client.call("secrets.get", "{\"service\":\"s\",\"account\":\"a\(number)\"}")
            let expected = written[number] ?? Self.secret(number)
            #expect(found["result"]?["secret"] == .string(expected), "\(what): a\(number) \(found)")
        }
        let first = try client.result("secrets.get", "{\"service\":\"s\",\"account\":\"a0\",\"version\":1}")
        #expect(first["secret"] == .string("v1n0"), "\(what)")
        let other = try client.result("secrets.get", "{\"service\":\"other\",\"account\":\"x\"}")
        #expect(other["secret"] == .string("y"), "\(what)")
        #expect(try client.result("secrets.status")["integrity"]?.text != "damaged", "\(what)")
    }

    private func waitUntilDone(_ what: String = "") throws {
        let client = try daemon.connect()
        let deadline = now() + 60
        while now() < deadline {
            let status = try client.result("secrets.status")
            let slots = try client.result("secrets.slots")
            let service = try client.result("secrets.describe", "{\"service\":\"s\"}")
            if status["rewrapping"] == nil, slots["retiredEpochs"] == .array([]), service["rewrapping"] == nil {
                return
            }
            usleep(5000)
        }
        Issue.record("\(what): it does not end: \(daemon.log)")
    }

    @Test func `a service gets another key, and the old one goes`() throws {
        let client = try daemon.connect()
        #expect(try client.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int == 1)
        // In one piece: a little later it may be done.
        let methods = ["secrets.rotate", "secrets.describe", "secrets.rotate"]
        client.send(methods.map { Client.request($0, "{\"service\":\"s\"}") }.joined())
        let replies = try methods.map { _ in try client.reply() }
        #expect(replies[0]["result"]?["rev"]?.int != nil)
        let service = replies[1]["result"]
        #expect(service?["keyNumber"]?.int == 2 && service?["rewrapping"]?.bool == true)
        #expect(replies[2]["error"]?["data"]?["kind"]?.text == "overloaded")
        // What is written meanwhile is sealed with the new one.
        try client.result("secrets.put", Self.put(1, "fresh"))
        try checkAll("meanwhile", except: [1: "fresh"])
        try waitUntilDone()
        try checkAll("afterwards", except: [1: "fresh"])
        #expect(try client.result("secrets.describe", "{\"service\":\"other\"}")["keyNumber"]?.int == 1)
        daemon.kill()
        try daemon.start()
        try checkAll("started again", except: [1: "fresh"])
        #expect(try daemon.connect().result("secrets.rotate", "{\"service\":\"s\"}")["rev"]?.int != nil)
        try waitUntilDone()
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try checkAll("twice", except: [1: "fresh"])
        #expect(
            try daemon.connect().refusal("secrets.rotate", "{\"service\":\"none\"}")["kind"]?.text == "notFound")
    }

    @Test func `secrets can be verified while the root key is rotated, and at once afterwards`() throws {
        let (client, other) = (try daemon.connect(), try daemon.connect())
        for _ in 0..<3 {
            other.send(Client.request("secrets.rotate", Self.rootKey))
            let found = try client.call("secrets.verify")
            #expect(found["result"]?["damagedCount"]?.int == 0, "\(found)")
            #expect(try other.reply()["result"]?["keyEpoch"]?.int != nil)
            for _ in 0..<20 {
                let next = try client.call("secrets.verify")
                #expect(next["result"]?["damagedCount"]?.int == 0, "\(next)")
            }
            try waitUntilDone()
        }
    }

    @Test func `an unlocking that a lock meets was done, or is told of the lock`() throws {
        let (client, other) = (try daemon.connect(), try daemon.connect())
        for _ in 0..<100 {
            try client.result("secrets.lock")
            client.send(Client.request("secrets.unlock"))
            other.send(Client.request("secrets.lock") + Client.request("secrets.lock"))
            let reply = try client.reply()
            for _ in 0..<2 { #expect(try other.reply()["result"]?["state"]?.text == "sealed") }
            if let refusal = reply["error"]?["data"] {
                #expect(refusal["kind"]?.text == "sealed" && refusal["retryable"]?.bool == true, "\(reply)")
            } else {
                #expect(reply["result"]?["state"]?.text == "unlocked", "\(reply)")
            }
        }
        try client.result("secrets.unlock")
        try checkAll("afterwards")
    }

    @Test func `older root keys go when nothing is sealed with them`() throws {
        let client = try daemon.connect()
        #expect(try client.result("secrets.rotate", Self.rootKey)["keyEpoch"]?.int == 2)
        #expect(try client.result("secrets.rotate", Self.rootKey)["keyEpoch"]?.int == 3)
        try checkAll("meanwhile")
        try waitUntilDone()
        try checkAll("afterwards")
        let slots = try client.result("secrets.slots")
        #expect(slots["keyEpoch"]?.int == 3 && slots["retiredEpochs"] == .array([]))
        daemon.kill()
        try daemon.start()
        try checkAll("started again")
        #expect(daemon.terminate() == 0)
        // Nothing in the tables is of an earlier epoch: 1, in the third to the sixth byte, is that of versions' own keys only.
        for row in try SecretsTables(daemon.data).rows() where row.table == "settings" && row.key != [0x2D] {
            #expect(Array(row.value[2..<6]) == [3, 0, 0, 0])
        }
    }

    @Test func `the store without a secret lets an older root key go as well`() throws {
        let empty = try TemporaryDaemon()
        let client = try empty.connect()
        try client.result("secrets.rotate", Self.rootKey)
        let deadline = now() + 60
        while try client.result("secrets.slots")["retiredEpochs"] != .array([]), now() < deadline { usleep(5000) }
        #expect(try client.result("secrets.slots")["retiredEpochs"] == .array([]))
    }

    @Test(arguments: ["{\"service\":\"s\"}", rootKey])
    func `killed at any slice, everything can be read and it goes on`(what: String) throws {
        // However quick the machine is, 150 secrets take five slices, and one more to see that nothing is left.
        for hit in [1, 2, 3, 5, 6] {
            try daemon.kill(during: what, "rewrap.slice:kill:\(hit)")
            try checkAll("\(what) \(hit)")
            try waitUntilDone("\(what) \(hit)")
        }
        for hit in [2, 3, 5] {
            try daemon.kill(during: what, "log.commit:kill:\(hit)")
            try checkAll("\(what) commit \(hit)")
            try waitUntilDone("\(what) commit \(hit)")
        }
        daemon.kill()
        try daemon.start()
        try checkAll("\(what) in the end")
    }

    @Test(arguments: ["keys.write", "keys.sync", "keys.rename", "keys.renamed"])
    func `killed while an older root key is let go, everything can be read`(point: String) throws {
        // The first is the rotation's own.
        try daemon.kill(during: Self.rootKey, "\(point):kill:2")
        try checkAll(point)
        try waitUntilDone(point)
        try checkAll(point)
    }

    @Test func `a full disk holds it up, and nothing is lost`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:2,log.append:full:4")
        let client = try daemon.connect()
        try client.result("secrets.rotate", "{\"service\":\"s\"}")
        try waitUntilDone()
        try client.result("secrets.rotate", Self.rootKey)
        try waitUntilDone()
        try checkAll("full")
        daemon.kill()
        try daemon.start()
        try checkAll("full, started again")
    }

    @Test func `a key that was taken back with its turn seals nothing`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let client = try daemon.connect()
        // One turn: the key is given, used, and taken back.
        client.send(
            Client.request("secrets.rotate", "{\"service\":\"s\"}")
                + Client.request("secrets.put", Self.put(2, "lost"), id: "2"))
        #expect(try JSON(try #require(try client.line()))["error"]?["data"]?["kind"]?.text == "noSpace")
        #expect(try JSON(try #require(try client.line()))["error"]?["data"]?["kind"]?.text == "noSpace")
        let deadline = now() + 60
        while try client.call("secrets.rotate", "{\"service\":\"s\"}")["error"] != nil, now() < deadline {
            usleep(5000)
        }
        try client.result("secrets.put", Self.put(2, "kept"))
        try waitUntilDone()
        daemon.kill()
        try daemon.start()
        try checkAll("taken back", except: [2: "kept"])
    }

    @Test func `an older root key stays for what cannot be opened, until that is repaired`() throws {
        #expect(daemon.terminate() == 0)
        let tables = try SecretsTables(daemon.data)
        let heads = try tables.rows().filter { $0.table == "settings" && $0.key.count == 32 }
        let scopes = Dictionary(grouping: heads) { $0.condition.split(separator: " ")[2] }
        let head = try #require(scopes.values.first { $0.count == Self.count }?.first)
        var value = head.value
        value[value.count / 2] ^= 1
        try tables.write(value, to: head)
        try daemon.start()
        let client = try daemon.connect()
        func retired() throws -> JSON? { try daemon.connect().result("secrets.slots")["retiredEpochs"] }
        #expect(try client.result("secrets.rotate", Self.rootKey)["rewrapping"]?.bool == true)
        usleep(500_000)
        #expect(try retired() == .array([.number("1")]))
        daemon.kill()
        try daemon.start()
        usleep(300_000)
        let again = try daemon.connect()
        #expect(try retired() == .array([.number("1")]))
        #expect(
            try again.result("secrets.get", "{\"service\":\"other\",\"account\":\"x\"}")["secret"]?.text == "y")
        let repaired = try again.result("secrets.repair", "{\"service\":\"s\",\"confirm\":\"s\"}")
        #expect(repaired["kept"]?.int == Self.count - 1 && repaired["lostSecrets"]?.int == 1)
        // Another look is taken when they are unlocked the next time.
        try again.result("secrets.lock")
        try again.result("secrets.unlock")
        let deadline = now() + 60
        while try retired() != .array([]), now() < deadline { usleep(5000) }
        #expect(try retired() == .array([]))
        #expect(try again.result("secrets.verify")["damagedCount"]?.int == 0)
    }

    @Test func `locked on the way, it goes on when the secrets are unlocked`() throws {
        let client = try daemon.connect()
        try client.result("secrets.rotate", "{\"service\":\"s\"}")
        try client.result("secrets.lock")
        usleep(50_000)
        try client.result("secrets.unlock")
        try waitUntilDone()
        try checkAll("unlocked")
        #expect(try client.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int == 2)
    }

    @Test(arguments: ["{\"service\":\"s\",\"waitMs\":600000}", "{\"rootKey\":true,\"waitMs\":600000}"])
    func `who waits for its end is told how far it is, once everything is done it is answered`(what: String) throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "rewrap.slice:sleep=150:1+")
        let client = try daemon.connect()
        client.send(Client.request("secrets.rotate", what, id: "\"r\""))
        var told: [JSON] = []
        var reply = try client.reply()
        while reply["method"]?.text == "progress" {
            told.append(try #require(reply["params"]))
            reply = try client.reply()
        }
        #expect(reply["id"]?.text == "r" && reply["result"]?["rewrapping"] == nil, "\(reply)")
        #expect(reply["result"]?["keyEpoch"]?.int == (what.contains("rootKey") ? 2 : 1))
        #expect(!told.isEmpty)
        #expect(told.allSatisfy { $0["id"]?.text == "r" && $0["unit"]?.text == "secrets" })
        let done = told.compactMap { $0["done"]?.int }
        #expect(done == done.sorted() && told.allSatisfy { $0["done"]!.int! <= $0["total"]!.int! }, "\(told)")
        #expect(try client.result("secrets.slots")["retiredEpochs"] == .array([]))
        #expect(
            try client.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int
                == (what.contains("rootKey") ? 1 : 2))
        try checkAll(what)
        // Once, and in the audit from its beginning.
        let records = try client.result("secrets.audit", "{\"limit\":1000}")["records"]!.elements
        #expect(records.count { $0["method"]?.text == "secrets.rotate" } == 1)
    }

    @Test func `a wait for the end of a rotation ends in time, and says that it goes on`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "rewrap.slice:sleep=200:1+")
        let client = try daemon.connect()
        // In one piece: a little later it may be done.
        let rotate = "{\"service\":\"s\",\"waitMs\":100}"
        client.send((1...2).map { Client.request("secrets.rotate", rotate, id: "\($0)") }.joined())
        var replies: [JSON] = []
        while replies.count < 2 {
            let reply = try client.reply()
            if reply["method"] == nil { replies.append(reply) }
        }
        #expect(replies[0]["result"]?["rewrapping"]?.bool == true && replies[0]["result"]?["rev"]?.int != nil)
        #expect(replies[1]["error"]?["data"]?["kind"]?.text == "overloaded", "\(replies)")
        try waitUntilDone()
        // Whoever has gone meanwhile is missed by nobody.
        try daemon.connect().send(Client.request("secrets.rotate", "{\"service\":\"s\",\"waitMs\":9000}"))
        try waitUntilDone()
        try checkAll("gone")
    }

    @Test(arguments: ["{\"service\":\"s\",\"waitMs\":600000}", "{\"rootKey\":true,\"waitMs\":600000}"])
    func `a rotation that was made is told as made, though somebody locks the secrets while it waits`(
        what: String
    ) throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "rewrap.slice:sleep=200:1+")
        let client = try daemon.connect()
        client.send(Client.request("secrets.rotate", what, id: "\"r\""))
        let other = try daemon.connect()
        try waitFor("it is made") {
            try other.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int == 2
                || other.result("secrets.slots")["keyEpoch"]?.int == 2
        }
        try other.result("secrets.lock")
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["id"]?.text == "r" && reply["result"]?["rewrapping"]?.bool == true, "\(reply)")
        #expect((reply["result"]?["rev"]?.int ?? 0 > 0) == what.contains("service"), "\(reply)")
        try other.result("secrets.unlock")
        try waitUntilDone(what)
        try checkAll(what)
    }

    @Test func `a rotation that was made is told as made when the daemon stops while it waits`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "rewrap.slice:sleep=200:1+")
        let client = try daemon.connect()
        client.send(Client.request("secrets.rotate", "{\"service\":\"s\",\"waitMs\":600000}", id: "\"r\""))
        let other = try daemon.connect()
        try waitFor("it is made") {
            try other.result("secrets.describe", "{\"service\":\"s\"}")["keyNumber"]?.int == 2
        }
        Glibc.kill(daemon.pid, SIGTERM)
        var reply = try client.reply()
        while reply["method"] != nil { reply = try client.reply() }
        #expect(reply["id"]?.text == "r" && reply["result"]?["rewrapping"]?.bool == true, "\(reply)")
        #expect(daemon.wait() == 0)
        try daemon.start()
        try waitUntilDone()
        try checkAll("started again")
    }

    @Test func `a batch whose change waits leaves as one line, once all of it is on the disk`() throws {
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.sync:sleep=100:1+")
        let client = try daemon.connect()
        func rotate(_ id: Int) -> String {
            #"{"jsonrpc":"2.0","id":\#(id),"method":"secrets.rotate","params":{"service":"s","waitMs":60000}}"#
        }
        for round in 0..<4 {
            client.send(#"[{"jsonrpc":"2.0","id":1,"method":"storage.ping"},"# + rotate(2) + "," + rotate(3) + "]\n")
            let replies = try client.reply().elements
            #expect(replies.map { $0["id"]?.int } == [1, 2, 3], "\(round)")
            #expect(replies.first?["result"]?["pong"]?.bool == true)
        }
        try checkAll("batches")
    }

    @Test func `the heads tell one state from another`() throws {
        let client = try daemon.connect()
        func heads() throws -> [String] {
            let status = try client.result("secrets.status")
            return [
                try #require(status["chainHead"]?.text), "\(try #require(status["chainLength"]?.int))",
                try #require(try client.result("secrets.describe", "{\"service\":\"s\"}")["head"]?.text),
                try #require(try client.result("secrets.describe", "{\"service\":\"other\"}")["head"]?.text),
            ]
        }
        let before = try heads()
        #expect(before.allSatisfy { $0.count == 64 || Int($0) != nil })
        #expect(try heads() == before)
        try client.result("secrets.put", Self.put(1, "another"))
        let after = try heads()
        #expect(after[0] != before[0] && after[1] != before[1] && after[2] != before[2] && after[3] == before[3])
        daemon.kill()
        try daemon.start()
        let again = try daemon.connect()
        let deadline = now() + 60
        while try again.result("secrets.status")["integrity"]?.text != "whole", now() < deadline { usleep(2000) }
        #expect(try again.result("secrets.status")["chainHead"]?.text == after[0])
    }
}

extension TemporaryDaemon {
    /// Ends the daemon and starts it with faults, has keys rotated, waits for its end, and starts it again.
    fileprivate func kill(during rotation: String, _ faults: String) throws {
        kill()
        try start(faults: faults)
        let client = try connect()
        client.send(Client.request("secrets.rotate", rotation))
        _ = try? client.line()
        #expect(wait() == 128 + SIGKILL, "\(faults)")
        try start()
    }
}
