import Glibc
import Testing

/// Random histories of writers and watchers against a record of what was written. `KURA_HISTORIES=10000` runs so many;
/// `KURA_FIRST_HISTORY=77` begins at that one.
@Suite struct FeedModelTests {
    private static func number(_ name: String, _ fallback: Int) -> Int {
        getenv(name).flatMap { Int(String(cString: $0)) } ?? fallback
    }
    private static let histories = number("KURA_HISTORIES", 48)
    private static let first = number("KURA_FIRST_HISTORY", 0)

    @Test(arguments: 0..<4)
    func `no history loses a change without notice, tells one twice or divides a transaction`(_ part: Int) throws {
        var overflows = 0
        var compacted = 0
        var events = 0
        for seed in stride(from: Self.first + part, to: Self.first + Self.histories, by: 4) {
            let counts = try Self.run(seed: UInt64(seed))
            overflows += counts.overflows
            compacted += counts.compacted
            events += counts.events
        }
        if Self.histories >= 1000 {
            // The rare ways were gone, too.
            #expect(events > 0 && overflows > 0 && compacted > 0)
            print("part \(part): \(events) events, \(overflows) overflows, \(compacted) compacted")
        }
    }

    private static func run(seed: UInt64) throws -> (events: Int, overflows: Int, compacted: Int) {
        var random = SplitMix(state: seed &* 0x1234_5678_9ABC_DEF1 &+ 7)
        let world = try FeedWorld(seed: seed, random: &random)
        let writers = [try FeedWriter(world, number: 0), try FeedWriter(world, number: 1)]
        var watchers: [FeedWatcher] = []
        var compacted = 0
        for _ in 0..<Int.random(in: 10...40, using: &random) {
            switch Int.random(in: 0...15, using: &random) {
            case 0...6:
                try writers.randomElement(using: &random)!.write(
                    Int.random(in: 1...20, using: &random), random: &random)
            case 7 where watchers.count < 5: watchers.append(try FeedWatcher(world, random: &random))
            case 8: watchers.randomElement(using: &random)?.peer?.isStalled.toggle()
            case 9: watchers.randomElement(using: &random)?.die()
            case 10:
                for watcher in watchers where watcher.peer == nil { try watcher.watch() }
            case 11: compacted += try list(world, &random)
            case 12: try wait(world, &random)
            case 13 where Int.random(in: 0...2, using: &random) == 0:
                for watcher in watchers {
                    watcher.takeEvents()
                    watcher.die()
                }
                try world.restart()
                for writer in writers { try writer.reconnect() }
            default: for _ in 0..<5 { world.turn() }
            }
            for watcher in watchers { watcher.takeEvents() }
        }
        for watcher in watchers {
            if watcher.peer == nil { try watcher.watch() }
            watcher.peer?.isStalled = false
        }
        world.turns {
            for watcher in watchers { watcher.takeEvents() }
            return watchers.allSatisfy(\.isUpToDate)
        }
        for watcher in watchers { watcher.expectMirror() }
        try expectStore(world)
        return (
            watchers.reduce(0) { $0 + $1.events }, watchers.reduce(0) { $0 + $1.overflows },
            watchers.reduce(compacted) { $0 + $1.compacted }
        )
    }

    /// Reads everything that is kept above a random revision in small pages.
    /// - Returns: 1 when it was told that it is too late.
    private static func list(_ world: FeedWorld, _ random: inout SplitMix) throws -> Int {
        let peer = try world.connect()
        defer { world.disconnect(peer) }
        var rev = Int.random(in: 0...world.rev, using: &random)
        var compacted = 0
        for _ in 0..<10_000 {
            let limit = Int.random(in: 1...20, using: &random)
            let reply = try world.call(peer, "changes.list", "{\"afterRev\":\(rev),\"limit\":\(limit),\"values\":true}")
            if let data = reply["error"]?["data"] {
                // Written in one great burst, and its segment not closed yet.
                if data["kind"] == .string("overloaded") {
                    world.turn()
                    continue
                }
                #expect(data["kind"] == .string("compacted"), "\(reply)")
                let oldest = data["oldestRev"]?.int ?? 0
                #expect(oldest > rev && oldest <= world.rev)
                compacted = 1
                rev = oldest
                continue
            }
            let end = reply["result"]?["rev"]?.int ?? 0
            FeedWatcher.judge(
                reply["result"]?["changes"]?.elements ?? [], after: rev, upTo: end, values: true, world
            ) { _ in true }
            rev = end
            if reply["result"]?["hasMore"]?.bool == false { break }
        }
        #expect(rev == world.rev)
        return compacted
    }

    private static func wait(_ world: FeedWorld, _ random: inout SplitMix) throws {
        let peer = try world.connect()
        defer { world.disconnect(peer) }
        let rev = Int.random(in: max(0, world.rev - 30)...world.rev, using: &random)
        let reply = try world.call(peer, "changes.wait", "{\"afterRev\":\(rev),\"timeoutMs\":1}")
        guard let result = reply["result"] else {
            #expect(reply["error"]?["data"]?["kind"] == .string("compacted"), "\(reply)")
            return
        }
        FeedWatcher.judge(
            result["changes"]?.elements ?? [], after: rev, upTo: result["rev"]?.int ?? 0, values: false, world
        ) { _ in true }
    }

    /// The record is what the daemon has.
    private static func expectStore(_ world: FeedWorld) throws {
        let peer = try world.connect()
        let truth = world.changes(after: 0, upTo: world.rev) { $0.store == "settings" }
        for scope in ["s0", "s1", "s2"] {
            let reply = try world.call(peer, "settings.list", "{\"domain\":\"\(scope)\",\"limit\":1000}")
            let found = reply["result"]?["values"]?.members ?? [:]
            let expected = truth.filter { $0.key.scope == scope && $0.value.value != nil }
            #expect(found.count == expected.count)
            for (item, state) in expected { #expect(found[item.key] == .string(state.value!)) }
        }
    }
}
