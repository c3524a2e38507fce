import Testing

/// `session.hello {enable: ["outOfOrder"]}` over a real socket.
@Suite struct OutOfOrderScenarioTests {
    private static let list = Client.request("documents.list", "{\"collection\":\"c\"}", id: "1")

    // A list waits for its query's thread, so it never is answered in the turn in which it is read.
    private func put(_ value: Int, id: String) -> String {
        Client.request("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(value)}", id: id)
    }

    private func get(id: String) -> String {
        Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}", id: id)
    }

    private func ids(_ client: Client, _ count: Int) throws -> [Int?] {
        try (0..<count).map { _ in try client.reply()["id"]?.int }
    }

    private func open(_ daemon: TemporaryDaemon, enabling: Bool) throws -> Client {
        let client = try daemon.connect()
        if enabling { try client.result("session.hello", "{\"enable\":[\"outOfOrder\"]}") }
        return client
    }

    /// A daemon that has a document which is not in the tables, until it goes on at `fold.slice`: so long a list waits.
    private func folding() throws -> TemporaryDaemon {
        let daemon = try TemporaryDaemon(starts: false)
        try daemon.start(faults: daemon.pause(at: "fold.slice"))
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        return daemon
    }

    @Test func `replies come in the order of the requests, until the client waives it`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let requests = Self.list + put(1, id: "2") + get(id: "3") + "{]\n" + get(id: "4")
        let ordered = try open(daemon, enabling: false)
        ordered.send(requests)
        #expect(try ids(ordered, 5) == [1, 2, 3, nil, 4])
        let client = try open(daemon, enabling: true)
        client.send(requests)
        #expect(try ids(client, 5) == [2, 3, nil, 4, 1])
    }

    @Test func `what waits behind what waits keeps its place`() throws {
        let daemon = try folding()
        let client = try open(daemon, enabling: true)
        let second = Client.request("documents.list", "{\"collection\":\"c\",\"limit\":1}", id: "2")
        client.send(Self.list + get(id: "3") + second + get(id: "4") + "[" + get(id: "5").dropLast() + "]\n")
        #expect(try client.reply()["id"]?.int == 3)
        client.send(Client.request("storage.ping", id: "6") + get(id: "7"))
        // Out of band, as ever.
        #expect(try client.reply()["id"]?.int == 6)
        try daemon.goOn(at: "fold.slice")
        let rest = try (0..<5).map { _ in try client.reply() }
        #expect(rest[0]["id"]?.int == 1)
        let later = rest.dropFirst().map { $0["id"]?.int ?? $0[0]?["id"]?.int }
        #expect(Set(later) == [2, 4, 5, 7])
    }

    @Test func `a client may ask for much while one request waits`() throws {
        let daemon = try folding()
        let client = try open(daemon, enabling: true)
        client.send(Self.list)
        // More than is read ahead of a request that waits, and more than a turn's budget.
        let filler = String(repeating: "x", count: 1000)
        for round in 0..<10 {
            let writes = (0..<100).map { number in
                Client.request(
                    "settings.put", "{\"domain\":\"d\",\"key\":\"\(number)\",\"value\":\"\(round)\(filler)\"}",
                    id: "\(100 + number)")
            }
            client.send(writes.joined())
            #expect(try ids(client, 100) == (100..<200).map { $0 }, "round \(round)")
        }
        try daemon.goOn(at: "fold.slice")
        #expect(try client.reply()["id"]?.int == 1)
        #expect(try client.result("settings.list", "{\"domain\":\"d\"}")["values"]?.members.count == 100)
    }

    @Test func `a turn that finds the disk full refuses the writes that were answered ahead, once`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        #expect(daemon.terminate() == 0)
        try daemon.start(faults: "log.append:full:1")
        let client = try open(daemon, enabling: true)
        client.send(Self.list + put(1, id: "2") + get(id: "3"))
        let replies = try (0..<3).map { _ in try client.reply() }
        #expect(replies.map { $0["id"]?.int } == [2, 3, 1])
        #expect(replies[0]["error"]?["data"]?["kind"] == .string("noSpace"))
        #expect(replies[1]["result"]?["rev"]?.int == 0)
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["rev"]?.int == 0)
        let next = try client.call("settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":2}")
        #expect(next["result"]?["rev"]?.int == 2)
    }

    @Test func `a batch behind white space keeps its turn as well`() throws {
        let daemon = try TemporaryDaemon()
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        let client = try open(daemon, enabling: true)
        client.send(Self.list + " \t[" + get(id: "2").dropLast() + "]\n" + get(id: "3"))
        #expect(try client.reply()["id"]?.int == 1)
        #expect(try client.reply()[0]?["id"]?.int == 2)
        #expect(try client.reply()["id"]?.int == 3)
    }

    /// Turns that keep what they have answered (`models.put`), that wait (`documents.list`), and that are taken back (a full disk), in any order.
    @Test(arguments: [false, true]) func `each request is answered once, whichever turns a full disk takes back`(
        _ isUnordered: Bool
    ) throws {
        let seed = UInt64.random(in: 1 ... .max)
        var random = SplitMix(state: seed)
        let faults = Set((0..<60).map { _ in Int.random(in: 2...200, using: &random) }).sorted()
        let daemon = try TemporaryDaemon(faults: faults.map { "log.append:full:\($0)" }.joined(separator: ","))
        try daemon.connect().result("documents.put", "{\"collection\":\"c\",\"id\":\"a\",\"value\":1}")
        var sum = 0
        for round in 0..<40 {
            let client = try open(daemon, enabling: isUnordered)
            var text = ""
            var increments: [Int: Int] = [:]
            var pings: Set<Int> = []
            let count = Int.random(in: 2...14, using: &random)
            for id in 1...count {
                let by = Int.random(in: 1...1000, using: &random)
                let increment = Client.request(
                    "settings.increment", "{\"domain\":\"d\",\"key\":\"n\",\"by\":\(by)}", id: "\(id)")
                switch Int.random(in: 0..<8, using: &random) {
                case 0...1: text += Client.request("documents.list", "{\"collection\":\"c\"}", id: "\(id)")
                case 2...3:
                    text += Client.request(
                        "models.put", "{\"namespace\":\"m\",\"key\":\"\(id)\",\"value\":1}", id: "\(id)")
                case 4:
                    // Out of band, as ever.
                    text += Client.request("storage.ping", id: "\(id)")
                    pings.insert(id)
                case 5:
                    text += "[" + increment.dropLast() + "]\n"
                    increments[id] = by
                default:
                    text += increment
                    increments[id] = by
                }
            }
            client.send(text)
            var answered: [Int] = []
            for _ in 0..<count {
                let reply = try client.reply()
                let one = reply[0] ?? reply
                guard let id = one["id"]?.int else {
                    Issue.record("seed \(seed), round \(round): \(reply)")
                    continue
                }
                answered.append(id)
                if one["result"] != nil { sum += increments[id] ?? 0 }
            }
            #expect(answered.sorted() == Array(1...count), "seed \(seed), round \(round)")
            let inTurn = answered.filter { !pings.contains($0) }
            if !isUnordered { #expect(inTurn == inTurn.sorted(), "seed \(seed), round \(round)") }
        }
        let client = try daemon.connect()
        let value = try client.call("settings.get", "{\"domain\":\"d\",\"key\":\"n\"}")
        #expect(value["result"]?["value"]?.int ?? 0 == sum, "seed \(seed)")
    }
}
