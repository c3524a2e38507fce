import Glibc
import Testing

/// Descriptors that are passed to hold the daemon up: to close them takes as long as whoever made them likes.
@Suite struct HostileDescriptorTests {
    /// A TCP connection with more on its way than the other end takes, whose last owner waits in close(2) (SO_LINGER).
    private final class Lingering {
        let descriptor: Int32
        private let others: [Int32]
        static let seconds: Int32 = 120

        init() throws {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let (near, far) = (descriptor, listener)
            let result = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                    bind(far, address, length) | listen(far, 1) | getsockname(far, address, &length)
                        | connect(near, address, length)
                }
            }
            let peer = accept(listener, nil, nil)
            others = [listener, peer]
            try #require(result == 0 && peer >= 0)
            let chunk = [UInt8](repeating: 0, count: 1 << 16)
            while send(descriptor, chunk, chunk.count, Int32(MSG_DONTWAIT)) > 0 {}
            var time = linger(l_onoff: 1, l_linger: Self.seconds)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &time, socklen_t(MemoryLayout<linger>.size))
        }

        deinit { for descriptor in others { close(descriptor) } }
    }

    /// Seconds until somebody else is answered.
    private func delay(_ client: Client) throws -> Double {
        let began = now()
        for _ in 0..<20 {
            try client.result("storage.ping")
            usleep(5000)
        }
        return now() - began
    }

    @Test func `a descriptor that takes long to close holds nobody up`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("storage.ping")
        let lingering = try Lingering()
        let stranger = try daemon.connect()
        // Asked for by nobody.
        try stranger.send(Client.request("storage.ping"), descriptors: [lingering.descriptor])
        close(lingering.descriptor)
        #expect(try delay(client) < 60)
        try stranger.result("storage.ping")
    }

    @Test func `nor does one that is never read`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"limits\":{\"connections\":1}}")
        let client = try daemon.connect()
        try client.result("storage.ping")
        let lingering = try Lingering()
        let other = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(other) }
        // While the daemon sleeps, a stranger comes and sends; one message is read when they are told that there is no room.
        Glibc.kill(daemon.pid, SIGSTOP)
        let stranger = try daemon.connect()
        for descriptor in [other, lingering.descriptor] {
            try stranger.send(Client.request("storage.ping"), descriptors: [descriptor])
        }
        close(lingering.descriptor)
        Glibc.kill(daemon.pid, SIGCONT)
        #expect(try stranger.reply()["error"]?["data"]?["kind"]?.text == "overloaded")
        #expect(try delay(client) < 60)
    }

    @Test func `a socket with such a one inside holds nobody up`() throws {
        let daemon = try TemporaryDaemon()
        let client = try daemon.connect()
        try client.result("storage.ping")
        let lingering = try Lingering()
        // A pair of Unix sockets: what lies unread in one is closed with it.
        var pair: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
        let carrier = Client(adopting: pair[0])
        try carrier.send("x", descriptors: [lingering.descriptor])
        close(lingering.descriptor)
        let stranger = try daemon.connect()
        try stranger.send(Client.request("storage.ping"), descriptors: [pair[1]])
        close(pair[1])
        #expect(try delay(client) < 60)
    }

    @Test func `a user whose descriptors hang in being closed is told so, and is served without any`() throws {
        let daemon = try TemporaryDaemon(faults: "foreign.close:sleep=600000:1+")
        let client = try daemon.connect()
        try client.result("storage.ping")
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        // Few on each connection, which is never too many.
        var told: JSON?
        let deadline = now() + 60
        while told == nil, now() < deadline {
            let enemy = try daemon.connect()
            try enemy.send(Client.request("storage.ping"), descriptors: [null, null, null])
            told = try enemy.reply()["error"]
            if told == nil { usleep(50_000) } else { #expect((try? enemy.line()) == nil) }
        }
        #expect(told?["data"]?["kind"]?.text == "overloaded")
        #expect(told?["data"]?["hint"]?.text?.contains("take too long to close") == true)
        #expect(daemon.log.contains("those of their user take too long to close"))
        #expect(try delay(client) < 60)
        // Neither the end nor the next start waits for them.
        #expect(daemon.terminate() == 0)
        try daemon.start()
        try daemon.connect().result("storage.ping")
    }

    @Test func `who passes more than are kept, again and again, waits ever longer, and nobody else does`() throws {
        let daemon = try TemporaryDaemon()
        let other = try daemon.connect()
        try other.result("storage.ping")
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        let many = [Int32](repeating: null, count: 250)
        func seconds() throws -> Double {
            let begun = now()
            try other.result("storage.ping")
            return now() - begun
        }
        // The control: what others wait for beside nobody.
        let quiet = try (0..<40).map { _ in try seconds() }.sorted()[20]
        let flooder = try daemon.connect()
        // Held up for 1, 2, 4 … 128 ms; others that were would be answered once or twice between two of them.
        let begun = now()
        for _ in 0..<8 { try flooder.send(" ", descriptors: many) }
        try flooder.send(Client.request("storage.ping"), descriptors: [])
        var times: [Double] = []
        while !flooder.hasInput { times.append(try seconds()) }
        #expect(try flooder.reply()["result"] != nil)
        #expect(now() - begun > 0.2)
        // On a busy machine this client may sleep through all of it, or most.
        let middle = times.sorted().dropFirst(times.count / 2).first ?? 0
        #expect(times.count > 40 || times.count < 5 || middle < 4 * quiet + 0.004, "\(times) beside \(quiet)")
    }

    @Test func `one who does so and goes is let go at once`() throws {
        let daemon = try TemporaryDaemon()
        let other = try daemon.connect()
        try other.result("storage.ping")
        let before = daemon.settledDescriptorCount
        let null = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(null) }
        var flooder: Client? = try daemon.connect()
        // It is let in: from now on its socket is among them, until it is let go.
        try flooder?.result("storage.ping")
        let many = [Int32](repeating: null, count: 250)
        // Where closing them takes long, on a busy machine, it is turned away before the last.
        for _ in 0..<40 { try? flooder?.send(" ", descriptors: many) }
        flooder = nil
        _ = flooder
        // Read to its end with a second between two messages it would stay for half a minute.
        let deadline = now() + 60
        var count = daemon.descriptorCount
        while count > before, now() < deadline {
            usleep(20_000)
            count = daemon.descriptorCount
        }
        guard count > before else { return }
        let others = daemon.openFiles.filter { !$0.contains(".sqlite") }
        let kinds = Dictionary(grouping: others) { String($0.suffix(24)) }.mapValues(\.count)
        Issue.record("more than \(before): \(kinds.sorted { $0.value > $1.value }) \(daemon.log)")
    }

    @Test func `the kernel's table of descriptors has its size from the beginning`() throws {
        let daemon = try TemporaryDaemon()
        func size() throws -> Int {
            let status = String(
                decoding: try #require(TemporaryDaemon.contents("/proc/\(daemon.pid)/status")), as: UTF8.self)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("FDSize:") })
            return try #require(line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        }
        let before = try size()
        let clients = try (0..<200).map { _ in try daemon.connect() }
        for client in clients { try client.result("storage.ping") }
        // One that grows has 64 or 128 places at first.
        #expect(try before > 512 && size() == before)
    }

    @Test func `subscribers who leave take their descriptors with them, also while nothing changes`() throws {
        let daemon = try TemporaryDaemon(configuration: "{\"changes\":{\"progressSeconds\":3600}}")
        let client = try daemon.connect()
        try client.result("storage.ping")
        let before = daemon.settledDescriptorCount
        for _ in 0..<20 { try daemon.connect().result("changes.watch") }
        let deadline = now() + 60
        while daemon.descriptorCount > before, now() < deadline { usleep(5000) }
        #expect(daemon.descriptorCount <= before)
    }
}
