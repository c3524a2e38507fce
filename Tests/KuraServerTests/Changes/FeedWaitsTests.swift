import KuraBytes
import KuraProtocol
import KuraStorage
import Testing

@testable import KuraServer

/// Requests that wait for a change: each way that this can end answers one once, and nothing of it is left.
@Suite struct FeedWaitsTests {
    private enum Ending: CaseIterable {
        case comes, isOver, cancelled, forbidden, leaves, closed, drained, failed
    }
    private static let wanted = ["", ",\"scope\":\"s\"", ",\"stores\":[\"settings\"]", ",\"prefix\":\"k\""]
    private static let minute: UInt64 = 60_000_000_000

    private let time = ManualTime()

    private static func wait(_ filter: String, after rev: Int = 0, minutes: UInt64 = 10, id: String = "7") -> String {
        Client.request("changes.wait", "{\"afterRev\":\(rev),\"timeoutMs\":\(minutes * 60_000)\(filter)}", id: id)
    }

    private static func put(_ world: FeedWorld, _ peer: FeedPeer, _ scope: String) throws {
        let reply = try world.call(
            peer, "settings.put", "{\"domain\":\"\(scope)\",\"key\":\"k\",\"value\":\"\(world.rev)\"}")
        #expect(reply["result"]?["rev"]?.int == world.rev + 1, "\(reply)")
        world.record(world.rev + 1, [])
    }

    /// What a reply says: the changes' number, or the kind of an error.
    private static func told(_ reply: JSON) -> String {
        reply["error"]?["data"]?["kind"]?.text ?? "\(reply["result"]?["changes"]?.elements.count ?? -1)"
    }

    @Test(arguments: wanted, Ending.allCases)
    private func `each way that a wait ends answers it once, and leaves nothing`(filter: String, ending: Ending) throws
    {
        var random = SplitMix(state: 1)
        let world = try FeedWorld(seed: 1, random: &random, time: time)
        let (peer, other) = (try world.connect(), try world.connect())
        peer.send(Self.wait(filter))
        world.turns { world.subscriptions == 1 }
        // What is not wanted does not end it.
        if filter.contains("scope") { try Self.put(world, other, "t") }
        time.advance(by: 9 * Self.minute)
        for _ in 0..<5 { world.turn() }
        #expect(world.subscriptions == 1 && peer.takeReply() == nil)
        var expected: String?
        switch ending {
        case .comes:
            expected = "1"
            try Self.put(world, other, "s")
        case .isOver:
            expected = "0"
            time.advance(by: Self.minute)
        case .cancelled:
            expected = "cancelled"
            peer.send(Client.request("rpc.cancel", "{\"id\":7}", id: "8"))
        case .forbidden:
            expected = "forbidden"
            _ = world.withServer { server, _ in
                for connection in server.connections.all where !connection.feed.waits.isEmpty {
                    connection.feed.waits[0].unreadable = .init(store: .settings)
                }
                server.call.changes.wake()
            }
        case .leaves: world.disconnect(peer)
        case .closed:
            _ = world.withServer { server, _ in
                for connection in server.connections.all { server.close(connection) }
            }
        case .drained:
            expected = "0"
            _ = world.withServer { server, storage in server.beginDrain(storage) }
        case .failed:
            expected = "shuttingDown"
            _ = world.withServer { server, storage in server.failAll(storage) }
        }
        var replies: [JSON] = []
        if ending == .failed {
            // There are no more turns.
            peer.receive()
        } else {
            world.turns {
                while let reply = peer.takeReply() { replies.append(reply) }
                return world.subscriptions == 0 && replies.count >= (expected == nil ? 0 : 1)
            }
            for _ in 0..<5 { world.turn() }
        }
        while let reply = peer.takeReply() { replies.append(reply) }
        #expect(replies.filter { $0["id"]?.int == 7 }.map(Self.told) == (expected.map { [$0] } ?? []), "\(replies)")
        if ending == .cancelled { #expect(replies.contains { $0["result"]?["cancelled"]?.bool == true }) }
    }

    @Test func `a wait of a turn that is taken back has never been`() {
        var feed = ConnectionFeed()
        let selectors = [Store.settings, .documents].map { ChangeSelector(ChangeFilter(stores: [$0]), []) }
        feed.wait(ChangeWait(id: [1], selector: selectors[0], after: 0, cursor: 0, deadline: 9))
        let footprint = feed.footprint
        feed.wait(ChangeWait(id: [2], selector: selectors[1], after: 0, cursor: 0, deadline: 9))
        let undone = feed.undo(.waited)
        #expect(undone.selector === selectors[1] && !undone.isBack)
        #expect(feed.waits.map(\.id) == [[1]] && feed.footprint == footprint && feed.count == 1)
        var released: [ChangeSelector] = []
        feed.sweep(5) { released.append($0) }
        #expect(released.map(ObjectIdentifier.init) == [ObjectIdentifier(selectors[0])] && feed.isEmpty)
    }

    @Test(arguments: 0..<200) func `a round looks at each that was there, whoever comes or ends meanwhile`(seed: UInt64)
    {
        var random = SplitMix(state: seed)
        let selector = ChangeSelector(ChangeFilter(), [])
        var feed = ConnectionFeed()
        var lastID = 0
        func begin() {
            lastID += 1
            feed.wait(ChangeWait(id: Array("\(lastID)".utf8), selector: selector, after: 0, cursor: 0, deadline: 9))
            _ = feed.subscribe(selector, after: 0, at: 0)
        }
        for _ in 0..<4 { begin() }
        for round: UInt64 in 1...8 {
            feed.begin(round: round)
            var waits = Set(feed.waits.map(\.id))
            var subscriptions = Set(feed.subscriptions.map(\.number))
            // The round before may have ended before it was through.
            let isWhole = Bool.random(using: &random)
            while feed.waitsLeft > 0 || feed.subscriptionsLeft > 0 {
                if feed.waitsLeft > 0, !feed.waits.isEmpty {
                    let position = feed.takeWait()
                    waits.remove(feed.waits[position].id)
                    if Int.random(in: 0...2, using: &random) == 0 { _ = feed.remove(wait: position) }
                } else if feed.subscriptionsLeft > 0, !feed.subscriptions.isEmpty {
                    subscriptions.remove(feed.subscriptions[feed.takeSubscription()].number)
                } else {
                    break
                }
                switch Int.random(in: 0...7, using: &random) {
                case 0: begin()
                case 1 where !feed.subscriptions.isEmpty:
                    let position = Int.random(in: 0..<feed.subscriptions.count, using: &random)
                    let ended = feed.remove(subscription: position)
                    if Bool.random(using: &random) {
                        _ = feed.undo(.ended(ended, at: position))
                    } else {
                        subscriptions.remove(ended.number)
                    }
                case 2 where !isWhole: feed.begin(round: round)
                default: break
                }
                if !isWhole, Int.random(in: 0...5, using: &random) == 0 { break }
            }
            if isWhole { #expect(waits.isEmpty && subscriptions.isEmpty, "\(round): \(waits) \(subscriptions)") }
        }
    }

    /// As it is meant: a list of who waits for which scope until when.
    private struct Wait {
        var peer: Int
        var id: Int
        var scope: String?
        var minute: UInt64
    }

    @Test(arguments: 0..<12) func `no history loses a waiter or answers one twice`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        let world = try FeedWorld(seed: seed, random: &random, time: time)
        let writer = try world.connect()
        // Many waits of few connections, and few of many.
        let count = seed % 2 == 0 ? 3 : 16
        var peers = try (0..<count).map { _ in try world.connect() }
        var model: [Wait] = []
        var minute: UInt64 = 0
        for id in 0..<150 {
            let number = Int.random(in: 0..<count, using: &random)
            let scope = ["a", "b", "c", nil].randomElement(using: &random)!
            /// Those that are to be answered now, and with what.
            var expected: [Int: String] = [:]
            func end(_ kind: String, _ isOver: (Wait) -> Bool) {
                for wait in model where isOver(wait) { expected[wait.id] = kind }
                model.removeAll(where: isOver)
            }
            switch Int.random(in: 0...9, using: &random) {
            case 0...4:
                let minutes = UInt64.random(in: 1...10, using: &random)
                let filter = scope.map { ",\"scope\":\"\($0)\"" } ?? ""
                peers[number].send(Self.wait(filter, after: world.rev, minutes: minutes, id: "\(id)"))
                model.append(Wait(peer: number, id: id, scope: scope, minute: minute + minutes))
            case 5, 6:
                let changed = scope ?? "d"
                try Self.put(world, writer, changed)
                end("1") { $0.scope == nil || $0.scope == changed }
            case 7:
                guard let wait = model.randomElement(using: &random) else { break }
                peers[wait.peer].send(Client.request("rpc.cancel", "{\"id\":\(wait.id)}", id: "\"c\""))
                end("cancelled") { $0.id == wait.id }
            case 8:
                world.disconnect(peers[number])
                model.removeAll { $0.peer == number }
                peers[number] = try world.connect()
            default:
                let minutes = UInt64.random(in: 1...5, using: &random)
                time.advance(by: minutes * Self.minute)
                minute += minutes
                end("0") { $0.minute <= minute }
            }
            var told: [Int: String] = [:]
            world.turns {
                for peer in peers {
                    while let reply = peer.takeReply() {
                        guard let id = reply["id"]?.int else {
                            #expect(reply["result"]?["cancelled"]?.bool == true)
                            continue
                        }
                        #expect(told[id] == nil)
                        told[id] = Self.told(reply)
                    }
                }
                return told.count >= expected.count && world.subscriptions == model.count
            }
            #expect(told == expected)
        }
        for peer in peers { world.disconnect(peer) }
        world.turns { world.subscriptions == 0 }
    }
}
