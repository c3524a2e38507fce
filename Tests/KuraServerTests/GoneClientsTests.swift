import Testing

@testable import KuraServer
@testable import KuraStorage

/// Nothing waits for clients that are gone.
@Suite struct GoneClientsTests {
    /// A connection whose request waits for the fold, which nobody hears of before `nextTimeout`.
    private func waiting() throws -> FeedWorld {
        var random = SplitMix(state: 1)
        let world = try FeedWorld(seed: 1, random: &random)
        let peer = try world.connect()
        peer.send(
            Client.request("documents.put", "{\"collection\":\"c\",\"id\":\"1\",\"value\":1}")
                + Client.request("documents.list", "{\"collection\":\"c\"}"))
        let deadline = now() + 60
        while world.withServer({ server, storage in
            server.takeTurn(0, storage)
            return storage.desk.waits.isEmpty
        }) == true {
            try #require(now() < deadline)
        }
        return world
    }

    @Test func `a query that waits for the fold goes with its connection`() throws {
        let world = try waiting()
        _ = world.withServer { server, storage in
            #expect(storage.desk.waits.wantedRev > 0)
            for connection in server.connections.all { server.close(connection) }
            #expect(storage.desk.waits.isEmpty && storage.desk.waits.wantedRev == 0)
        }
    }

    @Test func `a request that waits when its client hangs up ends at once`() throws {
        let world = try waiting()
        _ = world.withServer { server, storage in
            for connection in server.connections.all { server.hangUp(connection) }
            _ = storage.settleWaits(1)
            #expect(storage.desk.waits.hasDone && storage.desk.waits.wantedRev == 0)
            #expect(storage.takeAnswers().map(\.error) == [.engine(.interrupted)])
        }
    }
}
