import Testing

/// Secrets and the disk: what survives, and what can be read there.
@Suite struct SecretsDurabilityScenarioTests {
    @Test func `every acknowledged put survives kill -9`() throws {
        let daemon = try TemporaryDaemon()
        var acknowledged: [String: (secret: String, version: Int)] = [:]
        for round in 0..<4 {
            let client = try daemon.connect()
            var sent: [(account: String, secret: String)] = []
            let stop = now() + 0.25
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
            while now() < stop, let line = try? client.line() {
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
