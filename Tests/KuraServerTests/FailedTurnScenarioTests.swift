import Glibc
import Testing

/// Turns whose commit fails or finds no room, beside what goes on apart from turns.
@Suite struct FailedTurnScenarioTests {
    private static let put = Client.request(
        "documents.put", "{\"collection\":\"c\",\"id\":\"lost\",\"value\":1}", id: "2")
    private static let export = Client.request("documents.export", "{\"collection\":\"c\",\"fd\":true}", id: "1")

    private func filled() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon()
        let value = "\"" + String(repeating: "x", count: 1000) + "\""
        let documents = (0..<600).map { "{\"id\":\"\($0)\",\"value\":\(value)}" }.joined(separator: ",")
        try daemon.connect().result("documents.putMany", "{\"collection\":\"c\",\"documents\":[\(documents)]}")
        #expect(daemon.terminate() == 0)
        return daemon
    }

    @Test func `a transfer that ends in a turn whose commit fails lets no reply of the turn out`() throws {
        let daemon = try filled()
        try daemon.start(faults: "log.append:sleep=1500:1,log.commit:fail:1")
        let client = try daemon.connect()
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        try client.send(Self.export, descriptors: [ends[1]])
        close(ends[1])
        // The pipe is full; what is left is read while the turn's append sleeps, so that the export ends within it.
        usleep(500_000)
        client.send(Self.put)
        usleep(500_000)
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while read(ends[0], &chunk, chunk.count) > 0 {}
        close(ends[0])
        var kinds: [Int: String] = [:]
        while let line = try? client.line() {
            let reply = try JSON(line)
            if let id = reply["id"]?.int { kinds[id] = reply["error"]?["data"]?["kind"]?.text ?? "acknowledged" }
        }
        #expect(kinds[2] == "outcomeUnknown")
        #expect(daemon.wait() == 1)
    }

    @Test func `a relaxed write whose commit fails is not acknowledged`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("settings.configure", "{\"domain\":\"r\",\"durability\":\"relaxed\"}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:fail:1")
        let client = try daemon.connect()
        #expect(
            try client.refusal("settings.put", "{\"domain\":\"r\",\"key\":\"k\",\"value\":1}")["kind"]
                == .string("outcomeUnknown"))
        #expect(daemon.wait() == 1)
    }

    @Test func `a turn that found no room holds no unique key, and drops nothing`() throws {
        let daemon = try TemporaryDaemon()
        let before = try daemon.connect()
        try before.result(
            "documents.configure",
            "{\"collection\":\"c\",\"indexes\":[{\"name\":\"u\",\"fields\":[\"k\"],\"unique\":true}]}")
        try before.result("documents.put", "{\"collection\":\"c\",\"id\":\"held\",\"value\":{\"k\":0}}")
        _ = try before.result("documents.describe", "{\"collection\":\"c\",\"waitMs\":600000}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1,log.append:full:3")
        let client = try daemon.connect()
        func put(_ id: String, _ key: Int) throws -> JSON {
            let value = "{\"collection\":\"c\",\"id\":\"\(id)\",\"value\":{\"k\":\(key)}}"
            while true {
                let reply = try client.call("documents.put", value)
                // Changes are refused until the reserve has been looked at again.
                guard reply["error"]?["data"]?["kind"]?.text == "noSpace" else { return reply }
                usleep(50_000)
            }
        }
        #expect(
            try client.refusal("documents.put", "{\"collection\":\"c\",\"id\":\"one\",\"value\":{\"k\":1}}")["kind"]?
                .text
                == "noSpace")
        #expect(try put("two", 1)["result"] != nil)
        #expect(try put("three", 1)["error"]?["data"]?["id"]?.text == "two")
        #expect(try client.refusal("documents.drop", "{\"collection\":\"c\"}")["kind"]?.text == "noSpace")
        #expect(try put("four", 0)["error"]?["data"]?["id"]?.text == "held")
        #expect(try client.result("documents.count", "{\"collection\":\"c\"}")["count"]?.int == 2)
        #expect(try put("four", 4)["result"] != nil)
    }

    @Test func `transfers of turns that found no room leave their places free`() throws {
        let daemon = try filled()
        try daemon.start(faults: "log.append:full:1+")
        let client = try daemon.connect()
        let output = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(output) }
        // More than there are places.
        for _ in 0..<20 {
            try client.send(Self.put + Self.export, descriptors: [output])
            var kinds = Set<String>()
            while kinds.count < 2 {
                let reply = try client.reply()
                if reply["method"] == nil {
                    kinds.insert(reply["error"]?["data"]?["kind"]?.text ?? "\(reply["result"]?["exported"]?.int ?? -1)")
                }
            }
            #expect(kinds == ["noSpace", "600"])
        }
    }
}
