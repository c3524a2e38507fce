import Glibc
import Testing

/// Secrets and the disk: what survives, and what can be read there.
@Suite struct SecretsDurabilityScenarioTests {
    @Test func `every acknowledged put survives kill -9`() throws {
        let daemon = try TemporaryDaemon()
        var acknowledged: [String: (secret: String, version: Int)] = [:]
        for round in 0..<4 {
            let client = try daemon.connect()
            var sent: [(account: String, secret: String)] = []
            // Killed with requests under way, if it has not answered all of them by then.
            let stop = now() + 0.25
            var answered = 0
            var text = ""
            while text.utf8.count < 200_000 {
                let account = "a\(sent.count % 40)"
                sent.append((account, "r\(round)n\(sent.count)"))
                text += Client.request(
                    "secrets.put",
                    "{\"service\":\"s\(sent.count % 3)\",\"account\":\"\(account)\",\"secret\":\"\(sent.last!.secret)\"}",
                    id: "\(sent.count - 1)")
            }
            client.send(text)
            while answered < sent.count, answered == 0 || now() < stop, let line = try client.line() {
                answered += 1
                let reply = try JSON(line)
                let index = try #require(reply["id"]?.int)
                guard let version = reply["result"]?["version"]?.int else {
                    Issue.record("\(reply)")
                    break
                }
                acknowledged["s\((index + 1) % 3)/\(sent[index].account)"] = (sent[index].secret, version)
            }
            daemon.kill()
            try daemon.start()
            let after = try daemon.connect()
            #expect(!acknowledged.isEmpty)
            for (name, last) in acknowledged {
                let parts = name.split(separator: "/")
                let found = try after.result("secrets.get", "{\"service\":\"\(parts[0])\",\"account\":\"\(parts[1])\"}")
                // What was not acknowledged any more may be there as well.
                let version = try #require(found["version"]?.int)
                #expect(version >= last.version, "\(name)")
                let same = version == last.version
                let secret =
                    same
                    ? found["secret"]
                    : try after.call(
                        "secrets.get",
                        "{\"service\":\"\(parts[0])\",\"account\":\"\(parts[1])\",\"version\":\(last.version)}")[
                            "result"]?["secret"]
                if let secret { #expect(secret == .string(last.secret), "\(name)") }
                // The count goes on from what is there.
                acknowledged[name] = (found["secret"]!.text!, version)
            }
        }
        #expect(daemon.terminate() == 0)
        try daemon.start()
        let client = try daemon.connect()
        for (name, last) in acknowledged {
            let parts = name.split(separator: "/")
            #expect(
                try client.result("secrets.get", "{\"service\":\"\(parts[0])\",\"account\":\"\(parts[1])\"}")["secret"]
                    == .string(last.secret))
        }
    }

    @Test func `a put that finds no room changes nothing, and the next one that does is whole`() throws {
        let daemon = try TemporaryDaemon()
        func put(_ client: Client, _ service: String, _ secret: String) throws -> JSON {
            try client.call("secrets.put", "{\"service\":\"\(service)\",\"account\":\"ada\",\"secret\":\"\(secret)\"}")
        }
        let name = "{\"service\":\"s\",\"account\":\"ada\"}"
        #expect(try put(try daemon.connect(), "s", "one")["result"] != nil)
        #expect(daemon.terminate() == 0)
        // Each of the first commits finds the disk full.
        try daemon.start(faults: "log.append:full:1,log.append:full:2")
        let client = try daemon.connect()
        let chain = try client.result("secrets.status")["chainHead"]
        // A version, a service and a deletion, all of one turn.
        let requests = [
            Client.request("secrets.put", "{\"service\":\"s\",\"account\":\"ada\",\"secret\":\"two\"}"),
            Client.request("secrets.put", "{\"service\":\"t\",\"account\":\"ada\",\"secret\":\"new\"}"),
            Client.request("secrets.delete", name),
        ]
        client.send("[" + requests.map { String($0.dropLast()) }.joined(separator: ",") + "]\n")
        let kinds = try client.reply().elements.map { $0["error"]?["data"]?["kind"]?.text }
        #expect(kinds == Array(repeating: "noSpace", count: 3))
        let found = try client.result("secrets.get", name)
        #expect(found["secret"]?.text == "one" && found["version"]?.int == 1)
        #expect(try client.result("secrets.scopes")["scopes"]?.elements.count == 1)
        #expect(try client.result("secrets.status")["chainHead"] == chain)
        let deadline = now() + 60
        while try put(client, "t", "third")["error"] != nil, now() < deadline { usleep(20_000) }
        #expect(try put(client, "s", "second")["result"]?["version"]?.int == 2)
        for isClean in [false, true] {
            let reader = try daemon.connect()
            #expect(try reader.result("secrets.get", name)["secret"]?.text == "second")
            #expect(
                try reader.result("secrets.get", "{\"service\":\"t\",\"account\":\"ada\"}")["secret"]?.text == "third")
            #expect(try reader.result("secrets.verify")["damagedCount"]?.int == 0)
            if isClean { #expect(daemon.terminate() == 0) } else { daemon.kill() }
            try daemon.start()
        }
    }

    @Test func `nothing of secrets is in any file of the data directory`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("session.hello", "{\"client\":\"canaryClient7f3a\"}")
        var canaries: [String] = ["canaryClient7f3a"]
        func canary(_ what: String, _ index: Int) -> String {
            let text = "canary\(what)\(UInt64.random(in: 0...UInt64.max))x\(index)"
            canaries.append(text)
            return text
        }
        for index in 0..<100 {
            let (service, account) = (canary("Service", index), canary("Account", index))
            let params = """
                {"service":"\(service)","account":"\(account)","secret":"\(canary("Secret", index))",\
                "label":"\(canary("Label", index))","attributes":{"\(canary("Name", index))":"\(canary("Text", index))"},\
                "accessGroup":"\(canary("Group", index))"}
                """
            try client.result("secrets.put", params)
            if index % 3 == 0 {
                try client.result("secrets.put", params.replacing("canarySecret", with: "canaryOther"))
            }
            if index % 5 == 0 {
                try client.result(
                    "secrets.delete",
                    "{\"service\":\"\(service)\",\"account\":\"\(account)\",\"accessGroup\":\"\(canaries[canaries.count - 1])\"}"
                )
            }
        }
        // The same scan finds what is planted.
        // By another client: settings say who wrote them.
        try daemon.connect().result("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"plantedLeak77\"}")
        daemon.kill()
        #expect(DirectoryScan.find(["plantedLeak77"], under: daemon.data) == ["plantedLeak77"])
        // All of them begin so.
        #expect(canaries.allSatisfy { $0.hasPrefix("canary") })
        #expect(DirectoryScan.find(["canary"], under: daemon.data).isEmpty)
        try daemon.start()
        try daemon.waitUntilFolded()
        #expect(daemon.terminate() == 0)
        #expect(DirectoryScan.find(["canary"], under: daemon.data).isEmpty)
        #expect(!daemon.log.contains("canary"))
    }
}
