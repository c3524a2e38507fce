import Glibc
import Synchronization
import Testing

/// Several clients at once: who may hinder whom.
@Suite struct ConnectionScenarioTests {
    @Test func `of two clients that race with ifRev exactly one wins each revision`() throws {
        let daemon = try TemporaryDaemon()
        let socket = daemon.socket
        let wins = Mutex<[Int]>([])
        let winners = Mutex<Set<Int>>([])
        let rounds = 1000
        try onThreads(2) { index in
            let client = try Client(path: socket)
            var current = 0
            // One may come long after the other: both have won before either ends.
            while current < rounds || winners.withLock({ $0.count }) < 2 {
                let reply = try client.call(
                    "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\(current + 1),\"ifRev\":\(current)}")
                if let rev = reply["result"]?["rev"]?.int {
                    wins.withLock { $0.append(rev) }
                    current = rev
                    winners.withLock { _ = $0.insert(index) }
                } else {
                    guard let seen = reply["error"]?["data"]?["currentRev"]?.int, seen > current else {
                        throw Client.Failure.refused(reply)
                    }
                    current = seen
                }
            }
        }
        let found = wins.withLock { $0.sorted() }
        // The last round may be overtaken by one.
        #expect(found == Array(1...found.count))
        #expect(found.count >= rounds)
    }

    @Test func `a client that never reads does not hinder another`() throws {
        let daemon = try TemporaryDaemon()
        let deaf = try daemon.connect()
        let other = try daemon.connect()
        try other.result(
            "settings.put", "{\"domain\":\"d\",\"key\":\"k\",\"value\":\"\(String(repeating: "x", count: 100_000))\"}")
        // 400 MB of replies, if they were all made.
        let request = Client.request("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")
        deaf.send(String(repeating: request, count: 1000))
        let started = now()
        for _ in 0..<200 { #expect(try other.result("storage.ping")["pong"]?.bool == true) }
        #expect(now() - started < 60)
        let resident = try daemon.residentBytes()
        #expect(resident < 150 << 20, "\(resident) bytes resident")
        // It has lost nothing.
        deaf.halfClose()
        #expect(try deaf.lines().count == 1000)
    }

    @Test func `descriptors that are sent along are closed`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("storage.ping")
        let before = daemon.settledDescriptorCount
        for count in [1, 3, 253] {
            for _ in 0..<5 {
                #expect(sendDescriptors(client.descriptor, count, Client.request("storage.ping")))
                #expect(try client.reply()["result"] != nil)
            }
        }
        // A thread closes them. Fewer when the next segment was still being made at first.
        for _ in 0..<6000 where daemon.descriptorCount > before { usleep(10_000) }
        #expect(daemon.descriptorCount <= before)
    }

    private func sendDescriptors(_ socket: Int32, _ count: Int, _ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return send(bytes, descriptors: Array(repeating: 0, count: count), to: socket) == bytes.count
    }

    @Test func `two thousand connections are served`() throws {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(7), &limit)
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(7), &limit)
        let daemon = try TemporaryDaemon()
        let clients = try (0..<2000).map { _ in try daemon.connect() }
        for (index, client) in clients.enumerated() {
            client.send(Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: "\(index)"))
        }
        var sum = 0
        for (index, client) in clients.enumerated() {
            let reply = try client.reply()
            #expect(reply["id"]?.int == index)
            sum += reply["result"]?["value"]?.int ?? 0
        }
        #expect(sum == 2000 * 2001 / 2)
        #expect(try clients[0].result("storage.status")["connections"]?["open"]?.int == 2000)
    }

    @Test func `one client too many is told so and let go, and room is made again`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"connections\":3}}")
        // The start's own probe has gone by then.
        var clients = try [daemon.connect()]
        try clients[0].result("storage.ping")
        try daemon.waitForConnections(1, over: clients[0])
        for _ in 0..<2 { clients.append(try daemon.connect()) }
        for client in clients { try client.result("storage.ping") }
        let refused = try daemon.connect()
        #expect(try refused.reply()["error"]?["data"]?["kind"] == .string("overloaded"))
        #expect(try refused.line() == nil)
        clients.removeLast()
        try daemon.waitForConnections(2, over: clients[0])
        try daemon.connect().result("storage.ping")
    }

    @Test func `a client that hangs up in the middle of a line leaves no connection behind`() throws {
        let daemon = try TemporaryDaemon()
        let other = try daemon.connect()
        for _ in 0..<50 { try daemon.connect().send("{\"jsonrpc\":\"2.0\",") }
        try daemon.waitForConnections(1, over: other)
    }

    @Test func `what a client asked for before it hung up is done`() throws {
        let daemon = try TemporaryDaemon()
        do {
            let gone = try daemon.connect()
            gone.send(
                String(
                    repeating: Client.request("settings.increment", "{\"domain\":\"d\",\"key\":\"k\"}", id: nil),
                    count: 2000))
        }
        let client = try daemon.connect()
        try daemon.waitForConnections(1, over: client)
        #expect(try client.result("settings.get", "{\"domain\":\"d\",\"key\":\"k\"}")["value"]?.int == 2000)
    }
}

extension TemporaryDaemon {
    func waitForConnections(_ count: Int, over client: Client) throws {
        let deadline = now() + 60
        while try client.result("storage.status")["connections"]?["open"]?.int != count {
            guard now() < deadline else {
                Issue.record("there are not \(count) connections: \(try client.result("storage.status"))")
                return
            }
            usleep(2000)
        }
    }
}
