import Glibc
import Testing

/// Files that are passed and do not answer: a call on one takes as long as whoever serves its file system likes.
@Suite struct HangingReadScenarioTests {
    private typealias World = AttachmentWorld

    private func ask(_ client: Client, _ world: World, _ name: String, _ text: String = "text") throws {
        let file = try world.daemon.file(text)
        defer { close(file) }
        try client.send(
            Client.request("documents.attach", World.params("a", name, ",\"fd\":true")), descriptors: [file])
    }

    /// Attaching a file of a client's own.
    private func attach(_ client: Client, _ world: World, _ name: String) throws -> JSON {
        try ask(client, world, name)
        return try client.reply()
    }

    @Test func `a file that does not answer has its request refused, and holds up nobody else`() throws {
        // A file is asked for its size, then read. Which of them comes first is the threads' affair.
        let world = try World(faults: "foreign.read:sleep=600000:1")
        let clients = try (0..<4).map { _ in try world.connect() }
        let reader = try world.connect()
        try World.put(reader, "a")
        for (number, client) in clients.enumerated() { try ask(client, world, "n\(number)") }
        let replies = try clients.map { try $0.reply() }
        let errors = replies.compactMap { $0["error"]?["data"] }
        #expect(errors.count == 1)
        #expect(errors.first?["kind"]?.text == "transferFailed")
        #expect(errors.first?["hint"]?.text?.contains("does not answer") == true)
        #expect(world.daemon.log.contains("does not answer: its request was given up"))
        for (number, reply) in replies.enumerated() where reply["result"] != nil {
            #expect(try World.read(reader, "a", "n\(number)") == "text")
        }
        #expect(try World.names(reader, "a").count == 3)
    }

    @Test func `a user with several such files is told so, and has everything else`() throws {
        let world = try World(faults: "foreign.read:sleep=600000:1,foreign.read:sleep=600000:2")
        let enemies = try (0..<5).map { _ in try world.connect() }
        let client = try world.connect()
        try World.put(client, "a")
        for enemy in enemies { try ask(enemy, world, "hangs") }
        let kinds = try enemies.map { try $0.reply()["error"]?["data"]?["kind"]?.text }
        #expect(kinds.count { $0 == "transferFailed" } == 2)
        #expect(kinds.count { $0 == "overloaded" } == 3)
        #expect(try attach(client, world, "n")["error"]?["data"]?["limit"]?.int == 2)
        try World.attach(client, "a", "m", "text")
        #expect(try World.read(client, "a", "m") == "text")
    }

    @Test(arguments: [true, false])
    func `the daemon ends while a read hangs`(_ waits: Bool) throws {
        let world = try World(faults: "foreign.read:sleep=600000:1")
        var enemy: Client? = try world.connect()
        let client = try world.connect()
        try World.put(client, "a")
        try ask(enemy!, world, "hangs")
        // What is no file of a client's is taken in meanwhile.
        try World.attach(client, "a", "n", "text")
        if !waits { enemy = nil }
        #expect(world.daemon.terminate() == 0)
        if let enemy { #expect(try enemy.reply()["error"]?["data"]?["kind"]?.text == "shuttingDown") }
        try world.daemon.start()
        #expect(try World.names(try world.connect(), "a") == ["n"])
    }
}
