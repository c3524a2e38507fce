import Glibc
import KuraBytes
import KuraSocket
import KuraStorage
import KuraTransport
import Testing

@testable import KuraServer

/// Very many subscriptions of one connection: none is forgotten, and no turn takes long because of them.
@Suite struct ManySubscriptionsTests {
    private static let count = 20_000

    /// The processor's time that the longest of the turns takes until the condition holds. Unlike the clock's it says the same on a
    /// busy machine.
    private func longestTurn(_ world: FeedWorld, until holds: () -> Bool) -> Double {
        func spent() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        var longest = 0.0
        let deadline = now() + 60
        while !holds() {
            guard now() < deadline else {
                Issue.record("waited in vain")
                break
            }
            let before = spent()
            world.turn()
            longest = max(longest, spent() - before)
        }
        return longest
    }

    /// Which subscriptions were told of a change; others are told by and by how far they are.
    private static func told(_ peer: FeedPeer) -> [Int] {
        peer.takeNotifications().filter { $0["params"]?["changes"]?.elements.isEmpty == false }
            .compactMap { $0["params"]?["subscription"]?.int }
    }

    @Test func `each is told what it wants, slice by slice`() throws {
        var random = SplitMix(state: 1)
        var limits = ServerLimits()
        limits.subscriptions = 65_536
        let world = try FeedWorld(seed: 1, random: &random, limits: limits)
        let peer = try world.connect()
        var done = 0
        while done < Self.count {
            let numbers = done..<done + 100
            peer.send(
                numbers.map {
                    Client.request("changes.watch", "{\"scope\":\"w\",\"prefix\":\"k\($0).\"}", id: "\($0)")
                }.joined())
            var replies = 0
            world.turns {
                while peer.takeReply() != nil { replies += 1 }
                return replies == numbers.count
            }
            done = numbers.upperBound
        }
        #expect(world.subscriptions == Self.count)
        let writer = try world.connect()
        // One turn over all of them would take some 100 ms here.
        for key in [0, 7777, Self.count - 1] {
            writer.send(
                Client.request("settings.put", "{\"domain\":\"w\",\"key\":\"k\(key).\",\"value\":1}", id: "1"))
            var told: [Int] = []
            var reply: JSON?
            // A sync that ends between the two has the change told a turn before the reply.
            let longest = longestTurn(world) {
                told += Self.told(peer)
                reply = reply ?? writer.takeReply()
                return !told.isEmpty && reply != nil
            }
            #expect(reply?["result"] != nil)
            #expect(told == [key + 1])
            #expect(longest < 0.02, "\(longest) s in one turn")
        }
        // Ending one finds the right one.
        #expect(try world.call(peer, "changes.unwatch", "{\"subscription\":7778}")["result"]?["ended"]?.bool == true)
        #expect(try world.call(peer, "changes.unwatch", "{\"subscription\":7778}")["result"]?["ended"]?.bool == false)
        for key in [7777, 7778] {
            _ = try world.call(writer, "settings.put", "{\"domain\":\"w\",\"key\":\"k\(key).\",\"value\":2}")
        }
        var told: [Int] = []
        world.turns {
            told += Self.told(peer)
            return !told.isEmpty
        }
        #expect(told == [7779])
        // All of them end with their client.
        world.disconnect(peer)
        let longest = longestTurn(world) { world.subscriptions == 0 }
        #expect(longest < 0.02, "\(longest) s in one turn")
        var turns = 0
        #expect(
            longestTurn(world) {
                turns += 1; return turns > 200
            } < 0.02)
    }

    @Test func `a turn that is taken back leaves every subscription as it was`() {
        let feed = ChangeFeed(limits: ServerLimits())
        let connection = Connection.lone()
        func selector(_ prefix: String) -> ChangeSelector {
            var filter = ChangeFilter()
            filter.prefix = Array(prefix.utf8)
            return feed.selector(filter, [])
        }
        func state() -> [String] {
            connection.feed.subscriptions.map {
                "\($0.number):\(String(decoding: $0.selector.filter.prefix, as: UTF8.self))"
            }
        }
        let pool = BufferPool()
        connection.beginTurn(pool, isTight: false)
        for name in ["a", "b", "c"] { _ = feed.subscribe(connection, selector(name), after: 0, at: 0) }
        connection.endTurn(pool)
        let (before, footprint) = (state(), connection.feed.footprint)
        #expect(before == ["1:a", "2:b", "3:c"])

        connection.beginTurn(pool, isTight: false)
        feed.unsubscribe(connection, at: 1)
        #expect(feed.subscribe(connection, selector("b"), after: 0, at: 0) == 4)
        feed.unsubscribe(connection, at: 2)
        feed.unsubscribe(connection, at: 0)
        feed.wait(connection, ChangeWait(id: [0x31], selector: selector("d"), after: 0, cursor: 0, deadline: 0))
        #expect(feed.count == 2)
        _ = connection.takeTurnBack(feed)
        #expect(state() == before)
        #expect(connection.feed.footprint == footprint)
        #expect(feed.count == 3 && connection.client.use.subscriptions == 3 && connection.feed.waits.isEmpty)
        #expect(feed.subscribe(connection, selector("e"), after: 0, at: 0) == 4)

        // Equal ones are one object as long as there is one.
        #expect(selector("a") === connection.feed.subscriptions[0].selector)
        feed.leave(connection)
        feed.sweepRemains()
        #expect(feed.count == 0 && connection.client.use.subscriptions == 0)
    }
}
