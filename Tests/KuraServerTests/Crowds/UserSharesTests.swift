import Glibc
import Testing

@testable import KuraServer

@Suite struct UserSharesTests {
    @Test func `one user gets seven eighths, and the last eighth is for those who have little`() {
        var (greedy, used) = (0, 0)
        while UserShares.admits(held: greedy, used: used, of: 16) {
            greedy += 1
            used += 1
        }
        #expect(greedy == 14)
        #expect(UserShares.admits(held: 0, used: used, of: 16))
        #expect(UserShares.admits(held: 1, used: used + 1, of: 16))
        #expect(!UserShares.admits(held: 2, used: used + 1, of: 16))
    }

    @Test func `of very few nothing is kept back, and with nothing taken everybody is welcome`() {
        #expect((0..<7).allSatisfy { UserShares.admits(held: $0, used: $0, of: 7) })
        #expect(UserShares.admits(held: 0, used: 0, of: 1))
    }

    @Test func `a user is forgotten with the last that it had`() {
        var users = UserShares()
        let use = users.use(of: 7)
        use.connections = 1
        users.forget(use)
        #expect(users.use(of: 7) === use)
        use.connections = 0
        users.forget(use)
        #expect(users.use(of: 7) !== use)
    }

    private static let role = ["app": RoleDaemon.role(RoleDaemon.grant("*", "*", "list", "read", "write"))]

    private func kind(_ reply: JSON) -> String? { reply["error"]?["data"]?["kind"]?.text }

    @Test(.enabled(if: geteuid() == 0)) func `one user cannot take all connections`() throws {
        let daemon = try RoleDaemon(Self.role, limits: "\"connections\":16")
        daemon.open()
        let admin = try daemon.connect("admin")
        try admin.result("storage.ping")
        // One of 16 is the administrator's, and two are kept back.
        let taken = try (0..<13).map { _ in try daemon.connect("app") }
        for client in taken { try client.result("storage.ping") }
        for _ in 0..<3 {
            let refused = try daemon.connect("app")
            let reply = try refused.reply()
            #expect(kind(reply) == "overloaded")
            #expect(reply["error"]?["data"]?["hint"]?.text?.contains("share") == true)
            #expect(try refused.line() == nil)
        }
        let ping = Client.request("storage.ping")
        let other = try Outsider(uid: 60_001).exchange(daemon.path(of: "app"), ping)
        #expect(try JSON(#require(other.first))["result"] != nil)
        // The administrator is not bound.
        try daemon.connect("admin").result("storage.ping")
        #expect(daemon.daemon.log.contains("their user has its share of the connections"))
        // What is given back can be taken again.
        taken[0].halfClose()
        #expect(try taken[0].line() == nil)
        try daemon.daemon.waitForConnections(13, over: admin)
        try daemon.connect("app").result("storage.ping")
    }

    @Test func `one user cannot take all subscriptions`() throws {
        let daemon = try RoleDaemon(Self.role, limits: "\"totalSubscriptions\":16")
        let client = try daemon.connect("app")
        for _ in 0..<14 { try client.result("changes.watch") }
        let refusal = try client.refusal("changes.watch")
        #expect(refusal["kind"] == .string("tooManySubscriptions"))
        #expect(refusal["hint"]?.text?.contains("share") == true)
        #expect(try client.refusal("changes.wait", "{\"afterRev\":0}")["kind"] == .string("tooManySubscriptions"))
        let admin = try daemon.connect("admin")
        try admin.result("changes.watch")
        try client.result("changes.unwatch", "{\"subscription\":3}")
        #expect(try client.refusal("changes.watch")["kind"] == .string("tooManySubscriptions"))
        try client.result("changes.unwatch", "{\"subscription\":4}")
        try client.result("changes.watch")
        // A connection's end gives back what it had.
        client.halfClose()
        #expect(try client.lines().isEmpty)
        try daemon.daemon.waitForConnections(1, over: admin)
        let next = try daemon.connect("app")
        for _ in 0..<13 { try next.result("changes.watch") }
        #expect(try next.refusal("changes.watch")["kind"] == .string("tooManySubscriptions"))
    }

    @Test func `one user cannot take all transfers`() throws {
        let daemon = try RoleDaemon(Self.role, limits: "\"transfers\":16")
        let client = try daemon.connect("app")
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let request = "{\"collection\":\"c\",\"fd\":true}"
        for id in 1...14 {
            try client.send(
                Client.request("documents.import", request, id: "\(id)"), descriptors: [ends[0]])
        }
        let refused = try client.call("documents.import", request, descriptors: [ends[0]])
        #expect(kind(refused) == "overloaded")
        #expect(refused["error"]?["data"]?["hint"]?.text?.contains("share") == true)
        let admin = try daemon.connect("admin")
        try admin.result("documents.put", "{\"collection\":\"d\",\"id\":\"a\",\"value\":1}")
        let null = open("/dev/null", O_WRONLY | O_CLOEXEC)
        defer { close(null) }
        let exported = try admin.result("documents.export", "{\"collection\":\"d\",\"fd\":true}", descriptors: [null])
        #expect(exported["exported"]?.int == 1)
    }
}
